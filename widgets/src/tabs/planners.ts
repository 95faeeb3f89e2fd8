/** Planners side by side: the same buffers placed by each, all on one scale of addresses. */

import type { MemoryPart, NodesPart, PlannersPart } from "../core/document.ts";
import type { Store } from "../core/panel.ts";
import { bytes, count, percent, seconds } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { haloed, line } from "./axis.ts";
import { Brush, inkIndex, inkOf } from "./brush.ts";
import { mixed } from "./colour.ts";
import { boxesOf, topOf, writers } from "./lives.ts";
import { linear } from "./scale.ts";
import { Surface, type Drawing } from "./surface.ts";

type Row = PlannersPart["planners"][number];

export class Planners {
  readonly element = h("div", { class: "gxt-planners", role: "list", "aria-label": "Planners compared" });
  #surfaces: Surface[] = [];
  readonly #brush = new Brush();

  constructor(private readonly store: Store) {}

  set(part: PlannersPart, memory: MemoryPart, nodes: NodesPart | undefined): void {
    this.clear();
    const placed = part.planners.filter((row) => row.offset_bytes);
    const tops = placed.map((row) => topOf(boxesOf(memory, row.offset_bytes as Float64Array)));
    // The plan without any reuse can be a hundred times as large as the others: it does not set the scale.
    const best = Math.min(memory.pool_bytes, ...placed.filter((row) => row.sound).map((row) => row.pool_bytes));
    const most = Math.max(1, memory.pool_bytes, ...tops.filter((top) => top <= 3 * best));
    const units = writers(memory, nodes);
    const colour = units.map((unit, i) => inkIndex(unit, i & 1, false));
    const rows = [...part.planners].sort((a, b) => rank(a) - rank(b) || a.pool_bytes - b.pool_bytes || a.seconds - b.seconds);
    fill(this.element, ...rows.map((row) => this.#card(row, memory, most, colour)));
  }

  /** Is there anything of them to be seen? */
  get any(): boolean {
    return this.#surfaces.length > 0;
  }

  /** Leaves the old ones where they are, greyed, while others are made. */
  wait(on: boolean): void {
    this.element.classList.toggle("gxt-waiting", on);
    this.element.inert = on;
  }

  redraw(): void {
    for (const surface of this.#surfaces) surface.redraw();
  }

  clear(): void {
    for (const surface of this.#surfaces) surface.destroy();
    this.#surfaces = [];
  }

  #card(row: Row, memory: MemoryPart, most: number, colour: Uint8Array): HTMLElement {
    const declined = row.offset_bytes === null;
    const unsound = !declined && !row.sound;
    const inUse = row.name === memory.planner;
    const above = memory.bound_bytes ? row.pool_bytes / memory.bound_bytes - 1 : 0;
    const verdict = declined ? "declined" : unsound ? "unsound" : row.proved ? "proved optimal" : above > 9 ? `${count(above + 1)} times the bound` : above > 0 ? `${percent(above)} above the bound` : "reaches the bound";
    const refusal = inUse ? "This plan is in use." : this.store.refusal({ memory: row.name });
    const card = h(
      "article",
      { class: "gxt-planner", role: "listitem", "data-unsound": unsound, "data-used": inUse },
      h("h3", {}, row.name, inUse && h("span", { class: "gxt-used", text: "in use" })),
      h(
        "p",
        {},
        h("b", { text: declined ? "no plan" : bytes(row.pool_bytes) }),
        ` ${unsound ? "⚠ " : ""}${verdict}`,
        h("span", { class: "gxt-soft", text: declined ? "" : ` · ${seconds(row.seconds)}` }),
      ),
    );
    if (row.offset_bytes) {
      const boxes = boxesOf(memory, row.offset_bytes);
      const words = `${row.name}: pool ${bytes(row.pool_bytes)}, ${verdict}, planned in ${seconds(row.seconds)}`;
      const surface = new Surface(words, (drawing) => this.#picture(drawing, boxes, row, memory, most, colour));
      surface.canvas.tabIndex = -1;
      this.#surfaces.push(surface);
      card.append(surface.element);
    }
    if (row.note) card.append(h("p", { class: "gxt-note", text: row.note }));
    if (!inUse && !unsound && !declined) {
      card.append(
        h("button", {
          type: "button",
          class: "gx-button gxt-button",
          text: "use this plan",
          disabled: refusal !== null,
          title: refusal ?? `Plan the memory with ${row.name}`,
          onclick: () => this.store.change({ memory: row.name }),
        }),
      );
    }
    return card;
  }

  #picture({ context: c, width, height, ratio, palette: p }: Drawing, boxes: ReturnType<typeof boxesOf>, row: Row, memory: MemoryPart, most: number, colour: Uint8Array): void {
    const place = { x: 0, y: 0, width, height };
    const view = { left: 0, right: Math.max(1, memory.order.length), bottom: 0, top: most * 1.03 };
    c.fillStyle = p.sunken;
    c.fillRect(0, 0, width, height);
    this.#brush.draw(c, ratio, place, boxes, view, inkOf(p, colour), mixed(p.warn, p.surface, 0.8));
    const y = linear({ low: 0, high: most * 1.03 }, height, 0);
    c.lineWidth = 1.5;
    c.strokeStyle = p.accent;
    c.setLineDash([5, 3]);
    line(c, 0, y.to(memory.bound_bytes), width, y.to(memory.bound_bytes));
    c.setLineDash([]);
    c.strokeStyle = p.ink;
    if (row.pool_bytes <= most) return line(c, 0, y.to(row.pool_bytes), width, y.to(row.pool_bytes));
    haloed(c, p.surface, { x: width / 2, y: 9, text: `goes on up to ${bytes(row.pool_bytes)} ↑`, colour: p.ink, align: "center" });
  }
}

/** Sound plans first, then those that are not, then those that were not made. */
function rank(row: Row): number {
  if (!row.offset_bytes) return 2;
  return row.sound ? 0 : 1;
}
