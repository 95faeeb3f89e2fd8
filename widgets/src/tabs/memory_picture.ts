/** A memory plan drawn: the bytes alive above, every buffer by life and address below, on one axis of program order. */

import type { MemoryPart, NodesPart } from "../core/document.ts";
import { bytes, count } from "../core/units.ts";
import { axisTitle, bottomAxis, clipped, haloed, leftAxis, line, type Plot } from "./axis.ts";
import { Grid, peaks, type Boxes } from "./boxes.ts";
import { Brush, fillOf, hatch, inkIndex, inkOf } from "./brush.ts";
import { inkOn, mixed } from "./colour.ts";
import { listen } from "./gestures.ts";
import { aliveAt, boxesOf, clashes, topOf, writers, type Clash } from "./lives.ts";
import { Minimap } from "./minimap.ts";
import { byteTicks, linear, ticks, type Range, type Scale } from "./scale.ts";
import { fitted, Surface, type Drawing } from "./surface.ts";
import { walk } from "./walk.ts";
import { isWhole, panned, rescaled, showing, zoomed } from "./window.ts";

const LEFT = 66;
const RIGHT = 14;
const FOOT = 22;
const LABELS = 600; // names drawn at most

/** What is told of where the mouse is. */
export type Spot = { readonly buffer: number } | { readonly position: number } | null;

export interface MemoryEvents {
  hover(spot: Spot, x: number, y: number): void;
  choose(spot: Spot): void;
}

export class MemoryPicture {
  readonly surface: Surface;
  readonly minimap: Minimap;
  #memory: MemoryPart | null = null;
  #boxes: Boxes = { x0: [], x1: [], y0: [], y1: [], length: 0 };
  #colour = new Uint8Array();
  #grid: Grid | null = null;
  #conflicts: Clash[] = [];
  #brush = new Brush();
  #x: Range = { low: 0, high: 1 };
  #y: Range = { low: 0, high: 1 };
  #wholeX: Range = { low: 0, high: 1 };
  #wholeY: Range = { low: 0, high: 1 };
  #chosen: readonly number[] = [];
  #position = -1;
  #hovered = -1;
  readonly #stop: () => void;

  constructor(private readonly events: MemoryEvents) {
    this.surface = new Surface("Memory pool", (drawing) => this.#picture(drawing), (drawing) => this.#marks(drawing));
    this.minimap = new Minimap(
      { left: LEFT, right: RIGHT },
      1,
      (columns) => peaks(this.#memory?.load_bytes ?? [], this.#wholeX.low, this.#wholeX.high, columns),
      (view) => this.#show(view, this.#y),
    );
    this.#stop = listen(this.surface.canvas, {
      zoom: (x, y, factor, vertical) => this.#zoom(x, y, factor, vertical),
      pan: (dx, dy) => this.#pan(dx, dy),
      fit: () => this.fit(),
      hover: (x, y) => this.#hover(x, y),
      leave: () => this.#hover(-1, -1),
      click: (x, y) => this.events.choose(this.#spot(x, y)),
      step: (dx, dy) => this.#step(dx, dy),
      enter: () => this.#hovered >= 0 && this.events.choose({ buffer: this.#hovered }),
    });
  }

  set(memory: MemoryPart, nodes: NodesPart | undefined): void {
    const first = this.#memory === null;
    this.#memory = memory;
    this.#boxes = boxesOf(memory);
    this.#grid = null;
    this.#conflicts = clashes(memory);
    const units = writers(memory, nodes);
    const workspace = memory.strings.indexOf("workspace");
    this.#colour = units.map((unit, i) => inkIndex(unit, i & 1, memory.kind[i] === workspace));
    const [beforeX, beforeY] = [this.#wholeX, this.#wholeY];
    this.#wholeX = { low: 0, high: Math.max(1, memory.order.length) };
    this.#wholeY = { low: 0, high: Math.max(1, memory.pool_bytes, topOf(this.#boxes)) * 1.1 };
    // After a recompilation the view stays where it was.
    this.#x = first ? this.#wholeX : rescaled(this.#x, beforeX, this.#wholeX);
    this.#y = first ? this.#wholeY : rescaled(this.#y, beforeY, this.#wholeY);
    this.surface.redraw();
    this.minimap.set(this.#x, this.#wholeX, true);
  }

  /** Lights up buffers and a position; brings the first buffer into view. */
  light(buffers: readonly number[], position: number, reveal: boolean): void {
    this.#chosen = buffers;
    this.#position = position;
    const [buffer] = buffers;
    if (reveal && buffer !== undefined && !isWhole(this.#x, this.#wholeX)) {
      this.#show(showing(this.#x, this.#boxes.x0[buffer], this.#boxes.x1[buffer], this.#wholeX), this.#y);
    } else if (reveal && position >= 0 && !isWhole(this.#x, this.#wholeX)) {
      this.#show(showing(this.#x, position, position + 1, this.#wholeX), this.#y);
    }
    this.surface.remark();
  }

  /** Lights up a buffer that is under the mouse elsewhere; -1 none. */
  point(buffer: number): void {
    this.#hovered = buffer;
    this.surface.remark();
  }

  /** The buffers that claim some of another's bytes while both live. */
  against(buffer: number): number[] {
    return this.#conflicts.flatMap(({ a, b }) => (a === buffer ? [b] : b === buffer ? [a] : []));
  }

  fit(): void {
    this.#show(this.#wholeX, this.#wholeY);
  }

  zoomBy(factor: number): void {
    this.#zoom(this.surface.width / 2, this.surface.height / 2, factor, false);
  }

  redraw(): void {
    this.surface.redraw();
    this.minimap.set(this.#x, this.#wholeX, true);
  }

  destroy(): void {
    this.#stop();
    this.surface.destroy();
    this.minimap.destroy();
  }

  #show(x: Range, y: Range): void {
    this.#x = x;
    this.#y = y;
    this.surface.redraw();
    this.minimap.set(x, this.#wholeX, false);
  }

  #zoom(px: number, py: number, factor: number, vertical: boolean): void {
    const { x, y } = this.#scales();
    const nearest = Math.min(this.#wholeX.high, 8);
    if (vertical) this.#show(this.#x, zoomed(this.#y, y.from(py), factor, this.#wholeY, this.#wholeY.high / 2000));
    else this.#show(zoomed(this.#x, x.from(px), factor, this.#wholeX, nearest), this.#y);
  }

  #pan(dx: number, dy: number): void {
    const { x, y } = this.#scales();
    this.#show(panned(this.#x, x.from(0) - x.from(dx), this.#wholeX), panned(this.#y, y.from(0) - y.from(dy), this.#wholeY));
  }

  #plots(): { load: Plot; pool: Plot } {
    const { width, height } = this.surface;
    const tall = Math.max(height < 130 ? 28 : 38, Math.min(110, Math.round(height * 0.24)));
    return {
      load: { left: LEFT, right: width - RIGHT, top: 12, bottom: tall },
      pool: { left: LEFT, right: width - RIGHT, top: tall + 12, bottom: height - FOOT },
    };
  }

  #scales(): { x: Scale; y: Scale; load: Scale } {
    const { load, pool } = this.#plots();
    const most = this.#memory ? Math.max(this.#memory.load_bytes[this.#memory.peak] ?? 0, 1) : 1;
    return {
      x: linear(this.#x, pool.left, pool.right),
      y: linear(this.#y, pool.bottom, pool.top),
      load: linear({ low: 0, high: most * 1.08 }, load.bottom, load.top),
    };
  }

  #spot(px: number, py: number): Spot {
    const { load, pool } = this.#plots();
    if (!this.#memory || px < pool.left || px > pool.right || py > pool.bottom) return null;
    const { x, y } = this.#scales();
    const position = Math.floor(x.from(px));
    if (py <= load.bottom + 4) return position >= 0 && position < this.#memory.order.length ? { position } : null;
    this.#grid ??= new Grid(this.#boxes);
    const reach = (scale: Scale): number => Math.abs(scale.from(2) - scale.from(0));
    const buffer = this.#grid.hit(x.from(px), y.from(py), reach(x), reach(y));
    return buffer < 0 ? null : { buffer };
  }

  #hover(px: number, py: number): void {
    const spot = this.#spot(px, py);
    const buffer = spot && "buffer" in spot ? spot.buffer : -1;
    this.surface.canvas.style.cursor = spot ? "pointer" : "default";
    if (buffer !== this.#hovered) {
      this.#hovered = buffer;
      this.surface.remark();
    }
    this.events.hover(spot, px, py);
  }

  /** An arrow key: to the next buffer that way, from the one that is lit, or else from one of the peak. */
  #step(dx: number, dy: number): void {
    const now = this.#hovered >= 0 ? this.#hovered : (this.#chosen[0] ?? -1);
    const memory = this.#memory;
    if (!memory) return;
    const next = now < 0 ? (aliveAt(memory, memory.peak)[0] ?? -1) : walk(this.#boxes, now, dx, dy);
    if (next < 0) return;
    const [left, right] = [this.#boxes.x0[next], this.#boxes.x1[next]];
    if (right < this.#x.low || left > this.#x.high) this.#show(showing(this.#x, left, right, this.#wholeX), this.#y);
    this.point(next);
    const { pool } = this.#plots();
    const { x, y } = this.#scales();
    const middle = (x.to(Math.max(left, this.#x.low)) + x.to(Math.min(right, this.#x.high))) / 2;
    const level = y.to((this.#boxes.y0[next] + this.#boxes.y1[next]) / 2);
    this.events.hover({ buffer: next }, middle, Math.max(pool.top, Math.min(pool.bottom, level)));
  }

  #picture({ context: c, width, ratio, palette: p }: Drawing): void {
    const memory = this.#memory;
    if (!memory) return;
    const { load, pool } = this.#plots();
    const { x, y, load: loads } = this.#scales();
    leftAxis(c, p, pool, y, byteTicks(this.#y, (pool.bottom - pool.top) / 38), bytes);
    bottomAxis(c, p, pool, x, ticks(this.#x, width / 90, true), count, "program order →");
    const view = { left: this.#x.low, right: this.#x.high, bottom: this.#y.low, top: this.#y.high };
    const place = { x: pool.left, y: pool.top, width: pool.right - pool.left, height: pool.bottom - pool.top };
    this.#brush.draw(c, ratio, place, this.#boxes, view, inkOf(p, this.#colour), mixed(p.warn, p.surface, 0.8));
    clipped(c, pool, () => {
      this.#names(c, drawingScale(x, y), p);
      for (const clash of this.#conflicts) {
        const [left, top] = [x.to(clash.x0), y.to(clash.y1)];
        const [w, h] = [Math.max(2, x.to(clash.x1) - left), Math.max(2, y.to(clash.y0) - top)];
        c.fillStyle = p.surface;
        c.fillRect(left, top, w, h);
        hatch(c, left, top, w, h, p.bad);
        c.strokeStyle = p.bad;
        c.lineWidth = 2;
        c.strokeRect(left, top, w, h);
      }
    });
    this.#levels(c, p, pool, y);
    this.#curve(c, p, load, x, loads);
  }

  #names(c: CanvasRenderingContext2D, at: (i: number, boxes: Boxes) => readonly [number, number, number, number], p: Drawing["palette"]): void {
    const memory = this.#memory as MemoryPart;
    c.textAlign = "left";
    let drawn = 0;
    const { low, high } = this.#x;
    const wide = (this.surface.width - LEFT - RIGHT) / (high - low);
    for (let i = 0; i < this.#boxes.length && drawn < LABELS; i++) {
      if ((this.#boxes.x1[i] - this.#boxes.x0[i]) * wide < 46 || this.#boxes.x1[i] < low || this.#boxes.x0[i] > high) continue;
      const [x0, x1, y0, y1] = at(i, this.#boxes);
      if (y1 - y0 < 13) continue;
      const left = Math.max(x0, LEFT);
      const room = Math.min(x1, this.surface.width - RIGHT) - left - 8;
      if (room < 38) continue;
      const text = fitted(c, memory.strings[memory.name[i]], room);
      if (!text) continue;
      drawn++;
      c.fillStyle = inkOn(fillOf(p, this.#colour[i] >> 2, (this.#colour[i] >> 1) & 1));
      c.fillText(text, left + 4, y1 - y0 < 30 ? (y0 + y1) / 2 : y0 + 9);
    }
  }

  /** Pool and bound as lines with their names; one line where they are the same. */
  #levels(c: CanvasRenderingContext2D, p: Drawing["palette"], plot: Plot, y: Scale): void {
    const memory = this.#memory as MemoryPart;
    const [pool, bound] = [y.to(memory.pool_bytes), y.to(memory.bound_bytes)];
    const same = Math.abs(pool - bound) < 1;
    const inside = (at: number): boolean => at >= plot.top - 1 && at <= plot.bottom + 1;
    c.lineWidth = 1.5;
    c.strokeStyle = p.ink;
    if (inside(pool)) line(c, plot.left, pool, plot.right, pool);
    if (!same && inside(bound)) {
      c.strokeStyle = p.accent;
      c.setLineDash([6, 4]);
      line(c, plot.left, bound, plot.right, bound);
      c.setLineDash([]);
    }
    const above = Math.max(plot.top - 6, pool - 8); // where there is no room above the line: between the two pictures
    const text = same ? `pool ${bytes(memory.pool_bytes)} = bound` : `pool ${bytes(memory.pool_bytes)}`;
    if (inside(pool)) haloed(c, p.surface, { x: plot.right - 4, y: above, text, colour: p.ink, align: "right" });
    if (!same && inside(bound)) {
      const where = Math.min(plot.bottom - 8, Math.max(bound + 9, above + 14));
      haloed(c, p.surface, { x: plot.right - 4, y: where, text: `bound ${bytes(memory.bound_bytes)}`, colour: p.accent, align: "right" });
    }
  }

  #curve(c: CanvasRenderingContext2D, p: Drawing["palette"], plot: Plot, x: Scale, y: Scale): void {
    const memory = this.#memory as MemoryPart;
    const most = memory.load_bytes[memory.peak] ?? 0;
    leftAxis(c, p, plot, y, [most, 0], bytes);
    const columns = Math.max(1, Math.round(plot.right - plot.left));
    const found = peaks(memory.load_bytes, this.#x.low, this.#x.high, columns);
    c.beginPath();
    c.moveTo(plot.left, plot.bottom);
    for (let i = 0; i < columns; i++) {
      const level = y.to(found[i]);
      c.lineTo(plot.left + i, level);
      c.lineTo(plot.left + i + 1, level);
    }
    c.lineTo(plot.left + columns, plot.bottom);
    c.fillStyle = mixed(p.accent, p.surface, 0.78);
    c.fill();
    c.strokeStyle = p.accent;
    c.lineWidth = 1.25;
    c.stroke();
    const at = x.to(memory.peak + 0.5);
    const atLeft = at > (plot.left + plot.right) / 2;
    axisTitle(c, p, "bytes alive", atLeft ? plot.left + 4 : plot.right - 4, plot.top - 5, atLeft ? "left" : "right");
    if (at < plot.left || at > plot.right) return;
    c.fillStyle = p.bad;
    c.beginPath();
    c.moveTo(at - 5, y.to(most) - 9);
    c.lineTo(at + 5, y.to(most) - 9);
    c.lineTo(at, y.to(most) - 1);
    c.fill();
    const text = `peak ${bytes(most)}`;
    const right = at + 10 + c.measureText(text).width < plot.right;
    haloed(c, p.surface, { x: at + (right ? 9 : -9), y: y.to(most) - 5, text, colour: p.bad, align: right ? "left" : "right" });
    c.strokeStyle = p.bad;
    c.setLineDash([2, 3]);
    c.lineWidth = 1;
    line(c, at, y.to(most), at, this.#plots().pool.bottom);
    c.setLineDash([]);
  }

  #marks({ context: c, palette: p }: Drawing): void {
    const memory = this.#memory;
    if (!memory) return;
    const { load, pool } = this.#plots();
    const { x, y } = this.#scales();
    const at = drawingScale(x, y);
    const whole = { ...pool, top: load.top };
    clipped(c, whole, () => {
      if (this.#position >= 0 && this.#position < memory.order.length) {
        const [x0, x1] = [x.to(this.#position), x.to(this.#position + 1)];
        c.fillStyle = p.accent;
        c.globalAlpha = 0.22;
        c.fillRect(x0, load.top, Math.max(1, x1 - x0), pool.bottom - load.top);
        c.globalAlpha = 1;
        c.strokeStyle = p.accent;
        c.lineWidth = 1;
        const middle = Math.round((x0 + x1) / 2) + 0.5;
        if (x1 - x0 < 4) line(c, middle, load.top, middle, pool.bottom);
      }
      for (const i of this.#chosen) this.#outline(c, p, at(i, this.#boxes), load, true);
      if (this.#hovered >= 0 && this.#hovered < this.#boxes.length) this.#outline(c, p, at(this.#hovered, this.#boxes), load, false);
    });
  }

  #outline(
    c: CanvasRenderingContext2D,
    p: Drawing["palette"],
    [x0, x1, y0, y1]: readonly [number, number, number, number],
    load: Plot,
    strongly: boolean,
  ): void {
    const [w, h] = [Math.max(3, x1 - x0), Math.max(3, y1 - y0)];
    c.strokeStyle = p.surface;
    c.lineWidth = strongly ? 5 : 3.5;
    c.strokeRect(x0, y0, w, h);
    c.strokeStyle = strongly ? p.accent : p.ink;
    c.lineWidth = strongly ? 2.5 : 1.5;
    c.strokeRect(x0, y0, w, h);
    // Its life again under the curve of what is alive.
    c.fillStyle = c.strokeStyle;
    c.fillRect(x0, load.bottom + 2, w, 3);
  }
}

const drawingScale =
  (x: Scale, y: Scale) =>
  (i: number, boxes: Boxes): readonly [number, number, number, number] => [x.to(boxes.x0[i]), x.to(boxes.x1[i]), y.to(boxes.y1[i]), y.to(boxes.y0[i])];
