/** A schedule drawn: a lane for each stream or core type, a bar for each kernel, the critical path in full colour. */

import type { SchedulePart } from "../core/document.ts";
import type { Palette } from "../core/palette.ts";
import { percent } from "../core/units.ts";
import { bottomAxis, clipped, line, type Plot } from "./axis.ts";
import { Grid, type Boxes } from "./boxes.ts";
import { Brush, fillOf, inkIndex, inkOf, type Shades } from "./brush.ts";
import { inkOn } from "./colour.ts";
import { listen } from "./gestures.ts";
import { barsOf, eventsOf, lanesOf, occupancy, type Lanes } from "./lanes.ts";
import { Minimap } from "./minimap.ts";
import { linear, timeTicks, type Range, type Scale } from "./scale.ts";
import { fitted, Surface, type Drawing } from "./surface.ts";
import { walk } from "./walk.ts";
import { isWhole, panned, rescaled, showing, zoomed } from "./window.ts";

const LEFT = 104;
const RIGHT = 14;
const FOOT = 22;
const TALLEST = 150; // px a row
const LEAST = 15; // px a row, below which the lanes have to be panned
const LABELS = 800;
const ARROWS = 1500; // events drawn at most, when all are wanted
const CHAIN = 500; // links of a chain drawn at most
const SHADES: Shades = [0.05, 0.6]; // critical, not critical

export interface ScheduleEvents {
  hover(task: number, x: number, y: number): void;
  choose(task: number): void;
}

export class SchedulePicture {
  readonly surface: Surface;
  readonly minimap: Minimap;
  #schedule: SchedulePart | null = null;
  #lanes: Lanes = { lanes: [], rows: 0, row: new Int32Array() };
  #bars: Boxes = { x0: [], x1: [], y0: [], y1: [], length: 0 };
  #colour: Uint8Array = new Uint8Array();
  #grid: Grid | null = null;
  #events: ReturnType<typeof eventsOf> = { waits: new Map(), sends: new Map() };
  readonly #brush = new Brush();
  #x: Range = { low: 0, high: 1 };
  #whole: Range = { low: 0, high: 1 };
  #by: "stream" | "core" = "stream";
  #scrolled = 0; // px that the lanes are panned up
  #chosen: readonly number[] = [];
  #hovered = -1;
  #allEvents = false;
  readonly #stop: () => void;

  constructor(private readonly told: ScheduleEvents) {
    this.surface = new Surface("Schedule", (drawing) => this.#picture(drawing), (drawing) => this.#marks(drawing));
    this.minimap = new Minimap(
      { left: LEFT, right: RIGHT },
      1e-3,
      (columns) => (this.#schedule ? occupancy(this.#schedule, columns) : []),
      (view) => this.#show(view),
    );
    this.#stop = listen(this.surface.canvas, {
      zoom: (px, _py, factor) => this.#zoom(px, factor),
      pan: (dx, dy) => this.#pan(dx, dy),
      fit: () => this.fit(),
      hover: (px, py) => this.#hover(px, py),
      leave: () => this.#hover(-1, -1),
      click: (px, py) => {
        const task = this.#at(px, py);
        if (task >= 0) this.told.choose(task);
      },
      step: (dx, dy) => this.#step(dx, dy),
      enter: () => this.#hovered >= 0 && this.told.choose(this.#hovered),
    });
  }

  set(schedule: SchedulePart, units: Uint8Array, by: "stream" | "core"): void {
    const first = this.#schedule === null;
    if (by !== this.#by) this.#scrolled = 0;
    this.#by = by;
    this.#schedule = schedule;
    this.#lanes = lanesOf(schedule, by);
    this.#bars = barsOf(schedule, this.#lanes);
    this.#events = eventsOf(schedule);
    this.#grid = null;
    this.#scroll(0);
    this.#colour = units.map((unit, i) => inkIndex(unit, schedule.critical[i] ? 0 : 1, false));
    const before = this.#whole;
    this.#whole = { low: 0, high: schedule.makespan_us || 1 };
    this.#x = first ? this.#whole : rescaled(this.#x, before, this.#whole);
    this.surface.redraw();
    this.minimap.set(this.#x, this.#whole, true);
  }

  showEvents(all: boolean): void {
    this.#allEvents = all;
    this.surface.remark();
  }

  light(tasks: readonly number[], reveal: boolean): void {
    this.#chosen = tasks;
    const [task] = tasks;
    if (reveal && task !== undefined && !isWhole(this.#x, this.#whole)) this.#show(showing(this.#x, this.#bars.x0[task], this.#bars.x1[task], this.#whole));
    this.surface.remark();
  }

  point(task: number): void {
    this.#hovered = task;
    this.surface.remark();
  }

  fit(): void {
    this.#show(this.#whole);
  }

  zoomBy(factor: number): void {
    this.#zoom((LEFT + this.surface.width) / 2, factor);
  }

  redraw(): void {
    this.surface.redraw();
    this.minimap.set(this.#x, this.#whole, true);
  }

  /** Events that a task waits for, or that wait for it. */
  eventsAt(task: number): { waits: readonly number[]; sends: readonly number[] } {
    return { waits: this.#events.waits.get(task) ?? [], sends: this.#events.sends.get(task) ?? [] };
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

  #zoom(px: number, factor: number): void {
    this.#show(zoomed(this.#x, this.#scales().x.from(px), factor, this.#whole, this.#whole.high / 1e5));
  }

  #pan(dx: number, dy: number): void {
    const { x } = this.#scales();
    this.#scroll(dy);
    this.#show(panned(this.#x, x.from(0) - x.from(dx), this.#whole));
  }

  #scroll(dy: number): void {
    const { rowHeight, plot } = this.#scales();
    const most = Math.max(0, this.#lanes.rows * rowHeight - (plot.bottom - plot.top));
    this.#scrolled = Math.max(0, Math.min(most, this.#scrolled - dy));
  }

  #scales(): { plot: Plot; x: Scale; y: Scale; rowHeight: number } {
    const { width, height } = this.surface;
    const room = height - FOOT - 6;
    const rowHeight = Math.max(LEAST, Math.min(TALLEST, room / Math.max(1, this.#lanes.rows)));
    const tall = Math.min(room, rowHeight * this.#lanes.rows);
    const plot = { left: LEFT, right: width - RIGHT, top: 6, bottom: 6 + tall };
    const { rows } = this.#lanes;
    const top = plot.top - this.#scrolled;
    return { plot, x: linear(this.#x, plot.left, plot.right), y: linear({ low: 0, high: rows }, top + rows * rowHeight, top), rowHeight };
  }

  #at(px: number, py: number): number {
    const { plot, x, y } = this.#scales();
    if (px < plot.left || px > plot.right || py < plot.top || py > plot.bottom) return -1;
    this.#grid ??= new Grid(this.#bars);
    return this.#grid.hit(x.from(px), y.from(py), Math.abs(x.from(2) - x.from(0)), 0.1);
  }

  #hover(px: number, py: number): void {
    const task = this.#at(px, py);
    this.surface.canvas.style.cursor = task >= 0 ? "pointer" : "default";
    if (task !== this.#hovered) {
      this.#hovered = task;
      this.surface.remark();
    }
    this.told.hover(task, px, py);
  }

  /** An arrow key: to the next kernel that way, from the one that is lit, or else to the first in view. */
  #step(dx: number, dy: number): void {
    const now = this.#hovered >= 0 ? this.#hovered : (this.#chosen[0] ?? -1);
    const seen = (i: number): boolean => this.#bars.x1[i] >= this.#x.low && this.#bars.x0[i] <= this.#x.high;
    let next = now < 0 ? -1 : walk(this.#bars, now, dx, dy);
    for (let i = 0; now < 0 && next < 0 && i < this.#bars.length; i++) if (seen(i)) next = i;
    if (next < 0) return;
    if (!seen(next)) this.#show(showing(this.#x, this.#bars.x0[next], this.#bars.x1[next], this.#whole));
    this.point(next);
    const { x, y } = this.#scales();
    const middle = (x.to(Math.max(this.#bars.x0[next], this.#x.low)) + x.to(Math.min(this.#bars.x1[next], this.#x.high))) / 2;
    this.told.hover(next, middle, y.to((this.#bars.y0[next] + this.#bars.y1[next]) / 2));
  }

  #picture({ context: c, ratio, palette: p }: Drawing): void {
    const schedule = this.#schedule;
    if (!schedule) return;
    const { plot, x, y, rowHeight } = this.#scales();
    const marks = timeTicks(this.#x, (plot.right - plot.left) / 100);
    c.fillStyle = p.sunken;
    c.fillRect(plot.left, plot.top, plot.right - plot.left, plot.bottom - plot.top);
    bottomAxis(c, p, plot, x, marks.values, marks.text, "time (simulated) →", true);
    const shown = { left: this.#x.low, right: this.#x.high, bottom: y.from(plot.bottom), top: y.from(plot.top) };
    const place = { x: plot.left, y: plot.top, width: plot.right - plot.left, height: plot.bottom - plot.top };
    this.#brush.draw(c, ratio, place, this.#bars, shown, inkOf(p, this.#colour, SHADES), null);
    clipped(c, plot, () => this.#names(c, p, x, y, rowHeight));
    clipped(c, { ...plot, left: 0 }, () => this.#laneNames(c, p, plot, rowHeight));
  }

  #laneNames(c: CanvasRenderingContext2D, p: Palette, plot: Plot, rowHeight: number): void {
    const schedule = this.#schedule as SchedulePart;
    c.textAlign = "left";
    for (const lane of this.#lanes.lanes) {
      const top = plot.top - this.#scrolled + lane.first * rowHeight;
      const middle = top + (lane.rows * rowHeight) / 2;
      c.strokeStyle = p.line;
      c.lineWidth = 1;
      if (lane.first) line(c, 4, Math.round(top) + 0.5, plot.right, Math.round(top) + 0.5);
      const two = lane.rows * rowHeight >= 30;
      c.fillStyle = p.ink;
      c.fillText(fitted(c, lane.label, LEFT - 14), 6, two ? middle - 7 : middle);
      if (!two) continue;
      c.fillStyle = p.muted;
      c.fillText(`busy ${percent(lane.busy_us / (schedule.makespan_us || 1))}`, 6, middle + 7);
    }
  }

  #names(c: CanvasRenderingContext2D, p: Palette, x: Scale, y: Scale, rowHeight: number): void {
    const schedule = this.#schedule as SchedulePart;
    if (rowHeight < 15) return;
    c.textAlign = "left";
    const { left, right } = this.#scales().plot;
    for (let i = 0, drawn = 0; i < this.#bars.length && drawn < LABELS; i++) {
      const x0 = Math.max(left, x.to(this.#bars.x0[i]));
      const x1 = Math.min(right, x.to(this.#bars.x1[i]));
      if (x1 - x0 < 44) continue;
      const text = fitted(c, schedule.strings[schedule.name[i]], x1 - x0 - 8);
      if (!text) continue;
      drawn++;
      c.fillStyle = inkOn(fillOf(p, this.#colour[i] >> 2, (this.#colour[i] >> 1) & 1, SHADES));
      c.fillText(text, x0 + 4, (y.to(this.#bars.y0[i]) + y.to(this.#bars.y1[i])) / 2);
    }
  }

  #marks({ context: c, palette: p }: Drawing): void {
    const schedule = this.#schedule;
    if (!schedule) return;
    const { plot, x, y } = this.#scales();
    clipped(c, plot, () => {
      this.#criticalLine(c, p, schedule, x, y);
      if (this.#allEvents) {
        const some = Math.min(ARROWS, schedule.event_from.length);
        c.globalAlpha = 0.55;
        for (let i = 0; i < some; i++) this.#arrow(c, p, schedule, i, x, y);
        c.globalAlpha = 1;
      }
      const lit = [...this.#chosen.slice(0, 50), ...(this.#hovered >= 0 ? [this.#hovered] : [])];
      for (const task of lit) {
        const { waits, sends } = this.eventsAt(task);
        for (const event of [...waits, ...sends]) this.#arrow(c, p, schedule, event, x, y);
      }
      const [why] = lit.slice(-1); // what is under the mouse, or else chosen
      if (why !== undefined) this.#holders(c, p, schedule, why, x, y);
      for (const task of this.#chosen) this.#outline(c, p, schedule, task, x, y, true);
      if (this.#hovered >= 0 && this.#hovered < this.#bars.length) this.#outline(c, p, schedule, this.#hovered, x, y, false);
    });
  }

  /** A line along the bars of the critical path, so that it is seen without colour too. */
  #criticalLine(c: CanvasRenderingContext2D, p: Palette, schedule: SchedulePart, x: Scale, y: Scale): void {
    c.fillStyle = p.bad;
    const drawn = new Float64Array(this.#lanes.rows).fill(-Infinity); // up to which px each row has its line
    for (let i = 0; i < schedule.critical.length; i++) {
      if (!schedule.critical[i] || this.#bars.x1[i] < this.#x.low || this.#bars.x0[i] > this.#x.high) continue;
      const row = this.#lanes.row[i];
      const x0 = x.to(this.#bars.x0[i]);
      const x1 = Math.max(x0 + 1, x.to(this.#bars.x1[i]));
      if (x1 - drawn[row] < 0.5) continue;
      drawn[row] = x1;
      c.fillRect(x0, y.to(this.#bars.y0[i]) - 1, x1 - x0, 3);
    }
  }

  #arrow(c: CanvasRenderingContext2D, p: Palette, schedule: SchedulePart, event: number, x: Scale, y: Scale): void {
    const reuse = schedule.strings[schedule.event_reason[event]] === "reuse";
    this.#bow(c, p, schedule.event_from[event], schedule.event_to[event], reuse, x, y);
  }

  /** Arrows along the chain of who holds whom back, as far as the start: why a kernel comes so late. */
  #holders(c: CanvasRenderingContext2D, p: Palette, schedule: SchedulePart, task: number, x: Scale, y: Scale): void {
    for (let to = task, links = 0; links < CHAIN && schedule.held_by[to] >= 0; links++, to = schedule.held_by[to]) {
      // Along a row the bars say it themselves.
      const from = schedule.held_by[to];
      if (this.#lanes.row[from] !== this.#lanes.row[to]) this.#bow(c, p, from, to, schedule.strings[schedule.held_why[to]] === "reuse", x, y);
    }
  }

  #bow(c: CanvasRenderingContext2D, p: Palette, from: number, to: number, reuse: boolean, x: Scale, y: Scale): void {
    const [x0, y0] = [x.to(this.#bars.x1[from]), y.to((this.#bars.y0[from] + this.#bars.y1[from]) / 2)];
    const [x1, y1] = [x.to(this.#bars.x0[to]), y.to((this.#bars.y0[to] + this.#bars.y1[to]) / 2)];
    const { left, right } = this.#scales().plot;
    if (Math.max(x0, x1) < left || Math.min(x0, x1) > right) return;
    c.strokeStyle = reuse ? p.warn : p.ink;
    c.fillStyle = c.strokeStyle;
    c.lineWidth = 1.5;
    c.setLineDash(reuse ? [4, 3] : []);
    const bend = Math.max(10, Math.min(40, Math.abs(x1 - x0) / 2));
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    c.stroke();
    c.setLineDash([]);
    c.beginPath();
    c.moveTo(x1 + 1, y1);
    c.lineTo(x1 - 6, y1 - 3.5);
    c.lineTo(x1 - 6, y1 + 3.5);
    c.fill();
  }

  #outline(c: CanvasRenderingContext2D, p: Palette, schedule: SchedulePart, i: number, x: Scale, y: Scale, strongly: boolean): void {
    const [x0, x1, y0, y1] = [x.to(this.#bars.x0[i]), x.to(this.#bars.x1[i]), y.to(this.#bars.y1[i]), y.to(this.#bars.y0[i])];
    const slack = x.to(this.#bars.x1[i] + schedule.slack_us[i]);
    if (slack - x1 > 2) {
      c.strokeStyle = p.soft;
      c.lineWidth = 1;
      c.setLineDash([3, 3]);
      c.strokeRect(x1, y0 + 2, slack - x1, y1 - y0 - 4);
      c.setLineDash([]);
    }
    const w = Math.max(3, x1 - x0);
    c.strokeStyle = p.surface;
    c.lineWidth = strongly ? 5 : 3.5;
    c.strokeRect(x0, y0, w, y1 - y0);
    c.strokeStyle = strongly ? p.accent : p.ink;
    c.lineWidth = strongly ? 2.5 : 1.5;
    c.strokeRect(x0, y0, w, y1 - y0);
  }
}
