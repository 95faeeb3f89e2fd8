/** What is under the pointer, in a few words. */

import type { Store } from "../core/panel.ts";
import { mark } from "../core/diff.ts";
import { MARK_WORDS } from "../core/glyphs.ts";
import { UNITS } from "../core/palette.ts";
import { bytes, count } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { jumpOf } from "./jumps.ts";
import type { Stage } from "./stage.ts";

const MOST_NAMES = 4;

export class Tip {
  readonly element = h("div", { class: "gx-tip", role: "tooltip", hidden: true });
  #shown = "";

  constructor(private readonly store: Store) {}

  hide(): void {
    this.element.hidden = true;
    this.#shown = "";
  }

  /** Lines of words, or nothing, beside a point of a window. */
  show(lines: readonly string[] | null, x: number, y: number, width: number, height: number): void {
    if (!lines?.length) return this.hide();
    const key = lines.join("\n");
    if (key !== this.#shown) {
      fill(this.element, ...lines.filter(Boolean).map((line, i) => h("div", { class: i ? "gx-tip-more" : "gx-tip-title", text: line })));
      this.#shown = key;
      this.element.hidden = false;
    }
    const { offsetWidth, offsetHeight } = this.element;
    const left = x + 16 + offsetWidth > width ? Math.max(4, x - offsetWidth - 12) : x + 16;
    const top = y + 18 + offsetHeight > height ? Math.max(4, y - offsetHeight - 12) : y + 18;
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  ofBox(stage: Stage, box: number): string[] {
    const { nodes, scenes } = this.store.parts;
    const member = stage.scene.member[box];
    const sort = mark(stage.scene.status[box]);
    const what = stage.scene.differs && sort ? ` — ${MARK_WORDS[sort]}` : "";
    if (member >= 0 && nodes) {
      const text = (at: number | undefined): string => nodes.strings[at ?? -1] ?? "";
      return [
        `${text(nodes.type[member])}${what}`,
        short(text(nodes.name[member])),
        text(nodes.detail[member]),
        `${UNITS[nodes.unit[member]]?.label ?? ""}${Number.isNaN(nodes.bytes[member]) ? "" : ` · ${bytes(nodes.bytes[member])}`}`,
        stage.scene.path[box] ? (stage.scene.open[box] ? "press ▾ or double-click to close" : "a fused kernel: press ▸ or double-click to open") : "",
      ];
    }
    const container = scenes?.containers[-1 - member];
    if (!container) return [];
    const end = stage.scene.end[box];
    if (end >= 0) return [...this.#value(end), `${container.kind} of the graph${what}`];
    const alike = container.count > 1 ? `${count(container.count)} alike` : "";
    return [
      `${short(scenes?.strings[container.label] ?? "")}${what}`,
      [alike, `${count(container.nodes)} nodes inside`].filter(Boolean).join(" · "),
      stage.scene.open[box] ? "press ▾ or double-click to close" : "press ▸ or double-click to open",
    ];
  }

  ofEdge(stage: Stage, edge: number): string[] {
    return this.#value(stage.scene.edge_value[edge]);
  }

  /** What comes or goes there, where to, and that one can go there. */
  ofStub(stage: Stage, stub: number, step: number): string[] {
    const { nodes } = this.store.parts;
    const { value, back, nodes: found, boxes } = jumpOf(stage, this.store, step, stub);
    const names = found.slice(0, MOST_NAMES).map((node) => `${nodes?.strings[nodes.type[node]] ?? ""} ${short(nodes?.strings[nodes.name[node]] ?? "")}`);
    const end = stage.ends(value).find((box) => stage.isInput(box) === back);
    if (end !== undefined) names.unshift(back ? "an input of the graph" : "an output of the graph");
    if (found.length > MOST_NAMES) names.push(`and ${count(found.length - MOST_NAMES)} more`);
    const go = boxes.length > 1 ? `press to go there, then n for the next of ${count(boxes.length)}` : boxes.length ? "press to go there" : "";
    return [...this.#value(value), ...names.map((name, i) => (i ? name : `${back ? "from" : "to"} ${name}`)), go];
  }

  #value(value: number): string[] {
    const { values } = this.store.parts;
    if (!values || value < 0) return [];
    const text = (at: number | undefined): string => values.strings[at ?? -1] ?? "";
    return [short(text(values.name[value])), `${text(values.dtype[value])} ${text(values.shape[value])}`, bytes(values.bytes[value])];
  }
}

function short(text: string): string {
  return text.length > 160 ? `${text.slice(0, 100)}…${text.slice(-40)}` : text;
}
