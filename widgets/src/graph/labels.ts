/** Texts of boxes, cut to their room once; widths are measured once a text and font. */

import type { Parts } from "../core/document.ts";
import { UNKNOWN } from "../core/bodies.ts";
import type { Scene } from "../core/scene.ts";
import { instances } from "../core/scene.ts";
import { bytes, count, time } from "../core/units.ts";
import type { Palette } from "../core/palette.ts";

export type Metric = "bytes" | "us" | "none";

const CONTAINER_SIGNS = { graph: "", scope: "", repeat: "", nested: "nested graph", input: "input", output: "output" } as const;

export class Labels {
  #widths = new Map<string, Map<string, number>>();
  #measure: CanvasRenderingContext2D;
  readonly bold: string;
  readonly plain: string;
  readonly small: string;
  #title: (string | undefined)[] = [];
  #detail: (string | undefined)[] = [];
  #number: (string | undefined)[] = [];
  #scene: Scene | null = null;
  #parts: Partial<Parts> = {};
  #metric: Metric = "bytes";
  #latency: Float64Array | null = null;

  constructor(context: CanvasRenderingContext2D, palette: Palette) {
    this.#measure = context;
    this.bold = `600 12px ${palette.font}`;
    this.plain = `11px ${palette.font}`;
    this.small = `600 10.5px ${palette.font}`;
  }

  /** Texts of another scene; those of the old one are forgotten. */
  begin(scene: Scene, parts: Partial<Parts>, metric: Metric): void {
    if (parts.cost !== this.#parts.cost || parts.nodes !== this.#parts.nodes) this.#latency = latencies(parts);
    this.#scene = scene;
    this.#parts = parts;
    this.#metric = metric;
    this.#title = new Array<string | undefined>(scene.count);
    this.#detail = new Array<string | undefined>(scene.count);
    this.#number = new Array<string | undefined>(scene.count);
  }

  width(text: string, font: string): number {
    let widths = this.#widths.get(font);
    if (!widths) this.#widths.set(font, (widths = new Map()));
    let width = widths.get(text);
    if (width === undefined) {
      this.#measure.font = font;
      width = this.#measure.measureText(text).width;
      if (widths.size > 20000) widths.clear();
      widths.set(text, width);
    }
    return width;
  }

  /** The text, or its ends with the middle left out: they tell more. */
  cut(text: string, font: string, room: number): string {
    const line = text.length > 400 ? `${text.slice(0, 200)}…${text.slice(-200)}` : text;
    const flat = line.includes("\n") ? line.replaceAll("\n", " ") : line;
    if (this.width(flat, font) <= room) return flat;
    // Half a surrogate pair at the cut would be shown as a box.
    const head = (keep: number): string => flat.slice(0, keep).replace(/[\ud800-\udbff]$/, "").trimEnd();
    const tail = (keep: number): string => flat.slice(-keep).replace(/^[\udc00-\udfff]/, "").trimStart();
    const without = (keep: number): string => `${head((keep + 1) >> 1)}…${keep > 1 ? tail(keep >> 1) : ""}`;
    let low = 0;
    let high = Math.min(flat.length, 120);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.width(without(middle), font) <= room) low = middle;
      else high = middle - 1;
    }
    return low ? without(low) : "";
  }

  /** What a box is called: type of a node, label of a container. */
  full(box: number): string {
    const { nodes, scenes } = this.#parts;
    const member = this.#scene?.member[box] ?? 0;
    if (member >= 0) return nodes?.strings[nodes.type[member] ?? -1] ?? "";
    if (member <= UNKNOWN) return scenes?.strings[UNKNOWN - member] ?? "";
    const container = scenes?.containers[-1 - member];
    return scenes?.strings[container?.label ?? -1] || (container && container.count > 1 ? "block" : "");
  }

  title(box: number, room: number): string {
    return (this.#title[box] ??= this.cut(this.full(box), this.bold, room));
  }

  detail(box: number, room: number): string {
    return (this.#detail[box] ??= this.cut(this.says(box), this.plain, room));
  }

  /** The number on the card, "" for none. */
  number(box: number): string {
    return (this.#number[box] ??= this.#numberText(box));
  }

  /** "× 32" of a container that stands for many. */
  times(box: number): string {
    const member = this.#scene?.member[box] ?? 0;
    const container = member < 0 ? this.#parts.scenes?.containers[-1 - member] : undefined;
    return container && container.count > 1 ? `× ${count(container.count)}` : "";
  }

  alike(box: number): number {
    const member = this.#scene?.member[box] ?? 0;
    const container = member < 0 ? this.#parts.scenes?.containers[-1 - member] : undefined;
    return container ? instances(container, -1 - member).length : 1;
  }

  /** What stands under the title, whole. */
  says(box: number): string {
    const { nodes, scenes } = this.#parts;
    const member = this.#scene?.member[box] ?? 0;
    if (member >= 0) return nodes?.strings[nodes.detail[member] ?? -1] ?? "";
    const container = scenes?.containers[-1 - member];
    if (!container) return "";
    const end = this.#scene?.end[box] ?? -1;
    if (end >= 0) {
      const { values } = this.#parts;
      const text = (at: number | undefined): string => values?.strings[at ?? -1] ?? "";
      return values ? `${text(values.dtype[end])} ${text(values.shape[end])}`.trim() : "";
    }
    if (!container.nodes) return `${count(container.members.length)} ${this.full(box).replace(/^graph /, "")}`;
    const sign = CONTAINER_SIGNS[container.kind];
    return `${sign ? `${sign} · ` : ""}${count(container.nodes)} ${container.nodes === 1 ? "node" : "nodes"}`;
  }

  #numberText(box: number): string {
    const member = this.#scene?.member[box] ?? 0;
    if (member < 0) return this.times(box);
    const { nodes } = this.#parts;
    if (this.#metric === "bytes") {
      const size = nodes?.bytes[member] ?? NaN;
      return Number.isNaN(size) ? "" : bytes(size);
    }
    const us = this.#metric === "us" ? (this.#latency?.[member] ?? NaN) : NaN;
    return Number.isNaN(us) ? "" : time(us);
  }
}

function latencies(parts: Partial<Parts>): Float64Array | null {
  const { cost, nodes } = parts;
  if (!cost || !nodes) return null;
  const by = new Float64Array(nodes.name.length).fill(NaN);
  for (let i = 0; i < cost.node.length; i++) {
    const node = cost.node[i];
    if (node >= 0) by[node] = cost.latency_us[i];
  }
  return by;
}
