/** Traffic drawn: one strip for each level of memory, one bar for each kernel in the order in which they run. */

import type { CostPart } from "../core/document.ts";
import type { Palette } from "../core/palette.ts";
import { bytes, count } from "../core/units.ts";
import { bottomAxis, clipped, haloed, leftAxis, type Plot } from "./axis.ts";
import { fillOf, hatch } from "./brush.ts";
import { listen } from "./gestures.ts";
import { bytesOf, LEVEL_NAMES, LEVELS, sum, type Level } from "./kernels.ts";
import { Minimap } from "./minimap.ts";
import { peaks } from "./boxes.ts";
import { linear, ticks, type Range, type Scale } from "./scale.ts";
import { Surface, type Drawing } from "./surface.ts";
import { isWhole, panned, rescaled, showing, zoomed } from "./window.ts";

const LEFT = 66;
const RIGHT = 14;
const FOOT = 22;
const FEW = 8; // px

export interface TrafficEvents {
  hover(kernel: number, x: number, y: number): void;
  choose(kernel: number): void;
}

export class TrafficPicture {
  readonly surface: Surface;
  readonly minimap: Minimap;
  #cost: CostPart | null = null;
  #units: Uint8Array = new Uint8Array();
  /** Kernels in the order in which they are drawn, and where each stands in it. */
  #order: Int32Array = new Int32Array();
  #rank: Int32Array = new Int32Array();
  #x: Range = { low: 0, high: 1 };
  #whole: Range = { low: 0, high: 1 };
  #chosen: readonly number[] = [];
  #hovered = -1;
  readonly #stop: () => void;

  constructor(private readonly told: TrafficEvents) {
    this.surface = new Surface("Traffic by kernel", (drawing) => this.#picture(drawing), (drawing) => this.#marks(drawing));
    this.minimap = new Minimap(
      { left: LEFT, right: RIGHT },
      1,
      (columns) => (this.#cost ? peaks(this.#ordered("hbm"), this.#whole.low, this.#whole.high, columns) : []),
      (view) => this.#show(view),
    );
    this.#stop = listen(this.surface.canvas, {
      zoom: (px, _py, factor) => this.#show(zoomed(this.#x, this.#scale().from(px), factor, this.#whole, Math.min(this.#whole.high, 4))),
      pan: (dx) => this.#show(panned(this.#x, this.#scale().from(0) - this.#scale().from(dx), this.#whole)),
      fit: () => this.#show(this.#whole),
      hover: (px, py) => this.#hover(px, py),
      leave: () => this.#hover(-1, -1),
      click: (px) => {
        const kernel = this.#at(px);
        if (kernel >= 0) this.told.choose(kernel);
      },
      step: (dx) => dx && this.#step(dx),
      enter: () => this.#hovered >= 0 && this.told.choose(this.#hovered),
    });
  }

  set(cost: CostPart, units: Uint8Array, order: Int32Array): void {
    const before = this.#whole;
    const first = this.#cost === null;
    this.#cost = cost;
    this.#units = units;
    this.#order = order;
    this.#rank = new Int32Array(order.length);
    order.forEach((kernel, at) => (this.#rank[kernel] = at));
    this.#whole = { low: 0, high: Math.max(1, order.length) };
    this.#x = first ? this.#whole : rescaled(this.#x, before, this.#whole);
    this.redraw();
  }

  light(kernels: readonly number[], reveal: boolean): void {
    this.#chosen = kernels;
    const [kernel] = kernels;
    if (reveal && kernel !== undefined && !isWhole(this.#x, this.#whole)) this.#show(showing(this.#x, this.#rank[kernel], this.#rank[kernel] + 1, this.#whole));
    this.surface.remark();
  }

  point(kernel: number): void {
    this.#hovered = kernel;
    this.surface.remark();
  }

  redraw(): void {
    this.surface.redraw();
    this.minimap.set(this.#x, this.#whole, true);
  }

  destroy(): void {
    this.#stop();
    this.surface.destroy();
    this.minimap.destroy();
  }

  #show(x: Range): void {
    this.#x = x;
    this.surface.redraw();
    this.minimap.set(x, this.#whole, false);
  }

  #scale(): Scale {
    return linear(this.#x, LEFT, this.surface.width - RIGHT);
  }

  #ordered(level: Level | "compulsory"): Float64Array {
    const values = level === "compulsory" ? (this.#cost as CostPart).compulsory_bytes : bytesOf(this.#cost as CostPart, level);
    return Float64Array.from(this.#order, (kernel) => values[kernel]);
  }

  #at(px: number): number {
    if (px < LEFT || px > this.surface.width - RIGHT) return -1;
    const place = Math.floor(this.#scale().from(px));
    return place >= 0 && place < this.#order.length ? this.#order[place] : -1;
  }

  #hover(px: number, py: number): void {
    const kernel = py < 0 ? -1 : this.#at(px);
    this.surface.canvas.style.cursor = kernel >= 0 ? "pointer" : "default";
    if (kernel !== this.#hovered) {
      this.#hovered = kernel;
      this.surface.remark();
    }
    this.told.hover(kernel, px, py);
  }

  /** An arrow key: to the kernel beside the one that is lit, or else to the first in view. */
  #step(by: number): void {
    const now = this.#hovered >= 0 ? this.#hovered : this.#chosen[0];
    const place = now === undefined ? Math.ceil(this.#x.low) : this.#rank[now] + by;
    if (place < 0 || place >= this.#order.length) return;
    if (!isWhole(this.#x, this.#whole)) this.#show(showing(this.#x, place, place + 1, this.#whole));
    this.point(this.#order[place]);
    this.told.hover(this.#order[place], this.#scale().to(place + 0.5), this.#plots()[0].top);
  }

  #plots(): Plot[] {
    const { width, height } = this.surface;
    // Four strips need some height; with less, the two levels outside of the cores are shown.
    const levels = LEVELS.slice(0, height < 150 ? 2 : LEVELS.length);
    const room = (height - FOOT - 4) / levels.length;
    return levels.map((_, i) => ({ left: LEFT, right: width - RIGHT, top: 4 + i * room + 15, bottom: 4 + (i + 1) * room - 3 }));
  }

  #picture({ context: c, palette: p }: Drawing): void {
    if (!this.#cost) return;
    const plots = this.#plots();
    const x = this.#scale();
    plots.forEach((plot, i) => this.#strip(c, p, plot, x, LEVELS[i]));
    bottomAxis(c, p, plots[plots.length - 1], x, ticks(this.#x, (this.surface.width - LEFT) / 90, true), count, "kernels →");
  }

  #strip(c: CanvasRenderingContext2D, p: Palette, plot: Plot, x: Scale, level: Level): void {
    const cost = this.#cost as CostPart;
    const values = this.#ordered(level);
    const least = level === "hbm" ? this.#ordered("compulsory") : null;
    let most = 1;
    for (let i = Math.floor(this.#x.low); i < this.#x.high && i < values.length; i++) most = Math.max(most, values[i] || 0, least ? least[i] || 0 : 0);
    const tallest = least ? values.slice(Math.max(0, Math.floor(this.#x.low)), Math.ceil(this.#x.high)).reduce((a, b) => Math.max(a, b || 0), 0) : most;
    // Where the line would leave the bars a few pixels it is cut at the edge, and says how high it is.
    const cut = tallest > 0 && (tallest / most) * (plot.bottom - plot.top) < FEW ? most : 0;
    if (cut) most = tallest * 1.2;
    const y = linear({ low: 0, high: most }, plot.bottom, plot.top);
    const atMost = (x: number): number => y.to(Math.min(x || 0, most));
    leftAxis(c, p, plot, y, [most], bytes);
    c.strokeStyle = p.line;
    c.strokeRect(plot.left, plot.bottom + 0.5, plot.right - plot.left, 0);
    const wide = x.to(1) - x.to(0);
    clipped(c, plot, () => {
      if (wide < 1.5) this.#curves(c, p, plot, y, values, least);
      else {
        const gap = wide > 4 ? 1 : wide > 2 ? 0.5 : 0;
        for (let i = Math.floor(this.#x.low); i < this.#x.high && i < values.length; i++) {
          const left = x.to(i) + gap / 2;
          c.fillStyle = fillOf(p, this.#units[this.#order[i]]);
          const top = y.to(values[i] || 0);
          c.fillRect(left, top, wide - gap, plot.bottom - top);
          if (!least) continue;
          const wasted = atMost(least[i]) - top;
          if (wasted > 1 && wide < 5) {
            c.fillStyle = p.bad;
            c.fillRect(left, top, wide - gap, wasted);
          } else if (wasted > 1) hatch(c, left, top, wide - gap, wasted, p.bad);
          c.fillStyle = p.ink;
          const line = atMost(least[i]);
          if (least[i] > most) arrowUp(c, left + (wide - gap) / 2, plot.top, Math.min(5, (wide - gap) / 2));
          else c.fillRect(left, line - 1, wide - gap, 2);
        }
      }
    });
    haloed(c, p.surface, { x: plot.left + 4, y: plot.top - 7, text: `${LEVEL_NAMES[level]}  ${bytes(sum(bytesOf(cost, level)))}`, colour: p.soft });
    if (cut) haloed(c, p.surface, { x: plot.right - 2, y: plot.top - 7, text: `▲ compulsory goes up to ${bytes(cut)}`, colour: p.soft, align: "right" });
  }

  /** More kernels than pixels: the most of each column, and of what is compulsory. */
  #curves(c: CanvasRenderingContext2D, p: Palette, plot: Plot, y: Scale, values: Float64Array, least: Float64Array | null): void {
    const columns = Math.max(1, Math.round(plot.right - plot.left));
    const draw = (from: Float64Array, colour: string, line: boolean): void => {
      const found = peaks(from, this.#x.low, this.#x.high, columns);
      c.fillStyle = colour;
      for (let i = 0; i < columns; i++) {
        const top = Math.max(plot.top, y.to(found[i]));
        c.fillRect(plot.left + i, top, 1, line ? 1.5 : plot.bottom - top);
      }
    };
    draw(values, p.accent, false);
    if (least) draw(least, p.ink, true);
  }

  #marks({ context: c, palette: p }: Drawing): void {
    if (!this.#cost) return;
    const plots = this.#plots();
    const x = this.#scale();
    const [top, bottom] = [plots[0].top - 4, plots[plots.length - 1].bottom];
    clipped(c, { ...plots[0], top, bottom }, () => {
      const mark = (kernel: number, colour: string): void => {
        const [x0, x1] = [x.to(this.#rank[kernel]), x.to(this.#rank[kernel] + 1)];
        c.fillStyle = colour;
        c.globalAlpha = 0.16;
        c.fillRect(x0, top, Math.max(1, x1 - x0), bottom - top);
        c.globalAlpha = 1;
        c.strokeStyle = colour;
        c.lineWidth = 1.5;
        c.strokeRect(x0, top, Math.max(2, x1 - x0), bottom - top);
      };
      for (const kernel of this.#chosen.slice(0, 100)) mark(kernel, p.accent);
      if (this.#hovered >= 0 && this.#hovered < this.#rank.length) mark(this.#hovered, p.ink);
    });
  }
}

function arrowUp(c: CanvasRenderingContext2D, x: number, top: number, half: number): void {
  c.beginPath();
  c.moveTo(x - half, top + 7);
  c.lineTo(x, top);
  c.lineTo(x + half, top + 7);
  c.fill();
}
