/** Above the graph: where one is, before/after/both, what the cards show. */

import type { GraphMode, Panel, Store, Topic } from "../core/panel.ts";
import type { GraphView } from "../graph/view.ts";
import type { Metric } from "../graph/labels.ts";
import { Mark } from "../core/diff.ts";
import { Unit } from "../core/document.ts";
import { GLYPHS, MARK_WORDS, OUTPUT_GLYPH } from "../core/glyphs.ts";
import { UNITS } from "../core/palette.ts";
import { count } from "../core/units.ts";
import { markSign, unitGlyph } from "./glyph.ts";
import { fill, h } from "./dom.ts";

const MODES: GraphMode[] = ["before", "both", "after"];

export class Toolbar implements Panel {
  readonly element: HTMLElement;
  #modes: HTMLButtonElement[];
  readonly crumbs = h("nav", { class: "gx-crumbs", "aria-label": "Where the chosen node is" });
  #what = h("div", { class: "gx-what", role: "status", "aria-live": "polite" });
  readonly legend = h("div", { class: "gx-legend", role: "group", tabindex: "0", "aria-label": "Legend" });
  #legendOf: unknown = null;

  constructor(
    parent: HTMLElement,
    private readonly store: Store,
    private readonly graph: GraphView,
  ) {
    this.#modes = MODES.map((mode) => h("button", { class: "gx-segment", type: "button", "aria-pressed": "false", title: `${mode} (b)`, onclick: () => store.setMode(mode), text: mode }));
    const metric = h(
      "select",
      { "aria-label": "Number on the cards", title: "Number on the cards", onchange: (event: Event) => graph.setMetric((event.target as HTMLSelectElement).value as Metric) },
      ...[
        ["bytes", "bytes"],
        ["us", "time"],
        ["none", "no number"],
      ].map(([value, text]) => h("option", { value, text })),
    );
    const button = (text: string, title: string, press: () => void): HTMLElement => h("button", { class: "gx-button gx-icon", type: "button", title, "aria-label": title, onclick: press, text });
    const table = h("button", { class: "gx-button", type: "button", "aria-pressed": "false", title: "Visible nodes as a table (t)", text: "Table" });
    table.addEventListener("click", () => table.setAttribute("aria-pressed", String(graph.toggleTable())));
    this.element = h(
      "div",
      { class: "gx-toolbar" },
      this.#what,
      h("div", { class: "gx-segments", role: "group", "aria-label": "Show the graph" }, ...this.#modes),
      h("div", { class: "gx-graph-tools" }, metric, button("◎", "Focus on the change (f)", () => graph.focusChange()), button("−", "Farther (−)", () => graph.zoom(1 / 1.35)), button("+", "Nearer (+)", () => graph.zoom(1.35)), button("⤢", "Fit (0)", () => graph.fit()), table),
    );
    parent.append(this.element);
    this.update(new Set<Topic>(["parts", "cursor", "mode"]));
  }

  resize(): void {}
  destroy(): void {
    this.element.remove();
  }

  update(changed: ReadonlySet<Topic>): void {
    if (changed.has("mode")) this.#modes.forEach((button, i) => button.setAttribute("aria-pressed", String(MODES[i] === this.store.mode)));
    if (changed.has("cursor") || changed.has("parts")) {
      this.#where();
      this.#setCrumbs();
      this.#setLegend();
    }
  }

  #where(): void {
    const { steps } = this.store.parts;
    const step = steps?.steps[this.graph.step];
    if (!step) return fill(this.#what, h("span", { class: "gx-muted", text: "waiting for the graph …" }));
    const { cursor } = this.store;
    const part = cursor.rewrite !== undefined ? ` #${cursor.rewrite + 1}` : cursor.reject !== undefined ? ` ◇ ${cursor.reject + 1}` : "";
    fill(
      this.#what,
      h("b", { title: step.name, text: `${cursor.step === undefined ? (this.store.parts.head?.failure ? "before the failure" : "result") : step.name}${part}` }),
      h("span", { class: "gx-muted", text: this.graph.stage.plain && cursor.step !== undefined ? "changed nothing" : `${count(step.nodes_after)} nodes` }),
    );
    for (const button of this.#modes) button.disabled = this.graph.stage.plain;
  }

  #setCrumbs(): void {
    const { cursor, parts } = this.store;
    const { scenes, nodes } = parts;
    const way = cursor.node === undefined ? [] : (this.graph.stage.places?.way(cursor.node) ?? []);
    this.crumbs.hidden = way.length < 2;
    if (!scenes || !nodes || way.length < 2) return;
    fill(
      this.crumbs,
      ...way.flatMap((room, i) => {
        const container = scenes.containers[room.container];
        const label = `${scenes.strings[container?.label ?? -1] ?? "graph"}${room.instance ? ` (${room.instance + 1})` : ""}`;
        const go = (): void => {
          const rect = i ? this.graph.stage.around([this.graph.stage.ofPath(room.path)]) : undefined;
          if (rect) this.graph.frame(rect, 30, 1);
          else this.graph.fit();
        };
        return [i ? h("span", { class: "gx-muted", text: "›" }) : null, h("button", { class: "gx-link", type: "button", onclick: go, text: i ? label : "graph" })];
      }),
      h("span", { class: "gx-muted", text: "›" }),
      h("b", { text: nodes.strings[nodes.type[cursor.node ?? -1] ?? -1] ?? "" }),
    );
  }

  /** Marks while something differs, and the units that the picture has. */
  #setLegend(): void {
    const { scene } = this.graph.stage;
    if (this.#legendOf === scene) return;
    this.#legendOf = scene;
    const { nodes } = this.store.parts;
    const units = new Set<number>();
    if (nodes) {
      // A closed container hides units; all that the document has says more than what is open by chance.
      for (const unit of nodes.unit) {
        units.add(unit);
        if (units.size === GLYPHS.length) break;
      }
    }
    const marks = scene.differs ? [Mark.Removed, Mark.Added, Mark.Changed] : [];
    const item = (text: string, sign: HTMLElement): HTMLElement => h("span", { class: "gx-legend-item gx-legend-unit", title: text }, sign, h("span", { text }));
    const ends = ["Input", "Output"];
    fill(
      this.legend,
      ...marks.map((mark) => h("span", { class: "gx-legend-item" }, markSign(mark), MARK_WORDS[mark] ?? "")),
      ...[...units].sort((a, b) => a - b).map((unit) => item(UNITS[unit]?.label ?? "", unitGlyph(unit))),
      ...ends.map((text, i) => scene.result.some((out, box) => out === i && (scene.end[box] as number) >= 0) && item(text, unitGlyph(Unit.Boundary, i ? OUTPUT_GLYPH : undefined, text))),
    );
  }
}
