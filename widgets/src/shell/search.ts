/** Search over everything: opens with /, shows hits in the graph while one types. */

import type { NodeId } from "../core/document.ts";
import type { Store } from "../core/panel.ts";
import type { GraphView } from "../graph/view.ts";
import { Search } from "../core/search.ts";
import { count } from "../core/units.ts";
import { unitGlyph } from "./glyph.ts";
import { fill, h, uniqueId } from "./dom.ts";

const SHOWN = 60;

export class SearchBox {
  readonly element: HTMLElement;
  #input: HTMLInputElement;
  #id = uniqueId("hits");
  #list = h("div", { class: "gx-hits", role: "listbox", id: this.#id, "aria-label": "Found nodes" });
  #status = h("div", { class: "gx-hit-count", role: "status", "aria-live": "polite" });
  #search: Search | null = null;
  #of: unknown = null;
  #hits: NodeId[] = [];
  #at = 0;

  constructor(
    parent: HTMLElement,
    private readonly store: Store,
    private readonly graph: GraphView,
  ) {
    this.#input = h("input", {
      type: "search",
      class: "gx-search-input",
      placeholder: "name, type:MatMul, scope:layer.3, value:, op:Erf, unit:fallback, bytes>1MiB",
      "aria-label": "Search nodes",
      "aria-controls": this.#id,
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.#find(),
    });
    this.element = h("div", { class: "gx-search", role: "search", hidden: true }, h("div", { class: "gx-search-bar" }, this.#input, this.#status), this.#list);
    this.element.addEventListener("keydown", (event) => this.#key(event));
    parent.append(this.element);
  }

  get shown(): boolean {
    return !this.element.hidden;
  }

  open(): void {
    this.element.hidden = false;
    this.#input.focus();
    this.#input.select();
    this.#find();
  }

  close(): void {
    if (!this.shown) return;
    this.element.hidden = true;
    this.graph.highlight([]);
    this.graph.canvas.focus({ preventScroll: true });
  }

  #find(): void {
    const { nodes, values } = this.store.parts;
    if (!nodes) return;
    if (this.#of !== nodes) {
      this.#search = new Search(nodes, values);
      this.#of = nodes;
    }
    const { stage } = this.graph;
    const query = this.#input.value;
    const found = this.#search?.find(query, 2000, (node) => stage.holds(node)) ?? { total: 0, nodes: [] };
    this.#hits = found.nodes;
    this.#at = 0;
    this.graph.highlight(found.nodes.filter((node) => stage.holds(node)));
    this.#status.textContent = query.trim() ? `${count(found.total)} ${found.total === 1 ? "node" : "nodes"}` : "";
    this.#draw(query);
  }

  #draw(query: string): void {
    const { nodes } = this.store.parts;
    if (!nodes) return;
    if (!this.#hits.length) {
      fill(this.#list, query.trim() ? h("p", { class: "gx-empty", text: "No node of any step answers to that. Words are joined by “and”; try fewer." }) : null);
      return;
    }
    fill(
      this.#list,
      ...this.#hits.slice(0, SHOWN).map((node, i) =>
        h(
          "div",
          { class: `gx-hit${i === this.#at ? " gx-chosen" : ""}`, role: "option", "aria-selected": String(i === this.#at), id: `${this.#id}-${i}`, onclick: () => this.#take(i) },
          unitGlyph(nodes.unit[node] as number),
          h("b", { text: nodes.strings[nodes.type[node] as number] ?? "" }),
          h("span", { class: "gx-grow", text: nodes.strings[nodes.name[node] as number] ?? "" }),
          this.graph.stage.holds(node) ? null : h("span", { class: "gx-muted", text: "other step" }),
          h("span", { class: "gx-muted", text: nodes.strings[nodes.detail[node] as number] ?? "" }),
        ),
      ),
      this.#hits.length > SHOWN ? h("p", { class: "gx-empty", text: `The first ${SHOWN}; the others are lit in the graph.` }) : null,
    );
    this.#input.setAttribute("aria-activedescendant", `${this.#id}-${this.#at}`);
  }

  #take(at: number): void {
    const node = this.#hits[at];
    if (node === undefined) return;
    this.element.hidden = true;
    this.graph.highlight([]);
    const step = this.graph.stage.holds(node) ? undefined : this.#stepOf(node);
    this.store.move({ node, value: undefined, rewrite: undefined, reject: undefined, ...(step === undefined ? {} : { step }) });
    this.graph.canvas.focus({ preventScroll: true });
  }

  /** A step whose picture has the node: the one that took it away, else the one that brought it. */
  #stepOf(node: NodeId): number | undefined {
    const { nodes, steps } = this.store.parts;
    const count = steps?.steps.length ?? 0;
    const gone = nodes?.gone[node] ?? count;
    const born = nodes?.born[node] ?? -1;
    return gone >= 0 && gone < count ? gone : born >= 0 ? born : undefined;
  }

  #key(event: KeyboardEvent): void {
    const most = Math.min(SHOWN, this.#hits.length);
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter") this.#take(this.#at);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!most) return;
      this.#at = (this.#at + (event.key === "ArrowDown" ? 1 : -1) + most) % most;
      this.#draw(this.#input.value);
      this.#list.children[this.#at]?.scrollIntoView({ block: "nearest" });
    } else {
      event.stopPropagation(); // letters typed here are no shortcuts
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
