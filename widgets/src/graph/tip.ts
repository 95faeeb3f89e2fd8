/** What is under the pointer, in a few words. */

import type { Store } from "../core/panel.ts";
import { mark } from "../core/diff.ts";
import { MARK_WORDS } from "../core/glyphs.ts";
import { UNITS } from "../core/palette.ts";
import { bytes, count } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import type { Stage } from "./stage.ts";

export class Tip {
  readonly element = h("div", { class: "gx-tip", role: "tooltip", hidden: true });
  #shown = "";

  constructor(private readonly store: Store) {}

  hide(): void {
    this.element.hidden = true;
    this.#shown = "";
  }

  show(stage: Stage, box: number, edge: number, x: number, y: number, width: number, height: number): void {
    if (box < 0 && edge < 0) return this.hide();
    const key = `${box} ${edge}`;
    if (key !== this.#shown) {
      const lines = box >= 0 ? this.#box(stage, box) : this.#edge(stage, edge);
      fill(this.element, ...lines.filter(Boolean).map((line, i) => h("div", { class: i ? "gx-tip-more" : "gx-tip-title", text: line })));
      this.#shown = key;
      this.element.hidden = false;
    }
    const { offsetWidth, offsetHeight } = this.element;
    const left = x + 16 + offsetWidth > width ? Math.max(4, x - offsetWidth - 12) : x + 16;
    const top = y + 18 + offsetHeight > height ? Math.max(4, y - offsetHeight - 12) : y + 18;
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  #box(stage: Stage, box: number): string[] {
    const { nodes, scenes } = this.store.parts;
    const member = stage.scene.member[box] as number;
    const sort = mark(stage.scene.status[box] as number);
    const what = stage.scene.differs && sort ? ` — ${MARK_WORDS[sort]}` : "";
    if (member >= 0 && nodes) {
      const text = (at: number | undefined): string => nodes.strings[at ?? -1] ?? "";
      return [
        `${text(nodes.type[member])}${what}`,
        short(text(nodes.name[member])),
        text(nodes.detail[member]),
        `${UNITS[nodes.unit[member] as number]?.label ?? ""}${Number.isNaN(nodes.bytes[member]) ? "" : ` · ${bytes(nodes.bytes[member])}`}`,
      ];
    }
    const container = scenes?.containers[-1 - member];
    if (!container) return [];
    const alike = container.count > 1 ? `${count(container.count)} alike` : "";
    return [
      `${short(scenes?.strings[container.label] ?? "")}${what}`,
      [alike, `${count(container.nodes)} nodes inside`].filter(Boolean).join(" · "),
      stage.scene.open[box] ? "press ▾ or double-click to close" : "press ▸ or double-click to open",
    ];
  }

  #edge(stage: Stage, edge: number): string[] {
    const { values } = this.store.parts;
    const value = stage.scene.edge_value[edge] as number;
    if (!values || value < 0) return [];
    const text = (at: number | undefined): string => values.strings[at ?? -1] ?? "";
    return [short(text(values.name[value])), `${text(values.dtype[value])} ${text(values.shape[value])}`, bytes(values.bytes[value])];
  }
}

function short(text: string): string {
  return text.length > 160 ? `${text.slice(0, 100)}…${text.slice(-40)}` : text;
}
