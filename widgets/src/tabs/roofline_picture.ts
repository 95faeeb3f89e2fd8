/** The roofline drawn: log against log, a roof of memory that slants and peaks of compute that lie flat. */

import type { CostPart } from "../core/document.ts";
import { Unit } from "../core/document.ts";
import type { Palette } from "../core/palette.ts";
import { bottomAxis, clipped, haloed, leftAxis, line, type Plot } from "./axis.ts";
import { Grid, type Boxes } from "./boxes.ts";
import { edgeOf, fillOf } from "./brush.ts";
import { listen } from "./gestures.ts";
import { roofOf, shapeOf, type Point, type Shape } from "./kernels.ts";
import { apart, logarithmic, logTicks, type Range, type Scale } from "./scale.ts";
import { fitted, Surface, type Drawing } from "./surface.ts";
import { walk } from "./walk.ts";
import { isWhole, panned, zoomed } from "./window.ts";

const LEFT = 90;
const RIGHT = 172; // the peaks' names stand there
const NARROW = 480;
const FOOT = 22;

export interface RooflineEvents {
  hover(point: number, x: number, y: number): void;
  choose(point: number): void;
}

export class RooflinePicture {
  readonly surface: Surface;
  #cost: CostPart | null = null;
  #points: readonly Point[] = [];
  #units: Uint8Array = new Uint8Array();
  #level: "hbm" | "l2" = "hbm";
  // Views and wholes in powers of ten.
  #x: Range = { low: 0, high: 1 };
  #y: Range = { low: 0, high: 1 };
  #wholeX: Range = { low: 0, high: 1 };
  #wholeY: Range = { low: 0, high: 1 };
  #grid: Grid | null = null;
  #circles: Boxes = { x0: [], x1: [], y0: [], y1: [], length: 0 };
  #chosen = new Set<number>();
  #hovered = -1;
  readonly #stop: () => void;

  constructor(private readonly told: RooflineEvents) {
    this.surface = new Surface("Roofline", (drawing) => this.#picture(drawing), (drawing) => this.#marks(drawing));
    this.#stop = listen(this.surface.canvas, {
      zoom: (px, py, factor) => this.#zoom(px, py, factor),
      pan: (dx, dy) => this.#pan(dx, dy),
      fit: () => this.#show(this.#wholeX, this.#wholeY),
      hover: (px, py) => this.#hover(px, py),
      leave: () => this.#hover(-1, -1),
      click: (px, py) => {
        const point = this.#at(px, py);
        if (point >= 0) this.told.choose(point);
      },
      step: (dx, dy) => this.#step(dx, dy),
      enter: () => this.#hovered >= 0 && this.told.choose(this.#hovered),
    });
  }

  set(cost: CostPart, points: readonly Point[], units: Uint8Array, level: "hbm" | "l2"): void {
    const stays = this.#cost !== null && level === this.#level;
    this.#cost = cost;
    this.#points = points;
    this.#units = units;
    this.#level = level;
    const peak = Math.max(1, ...cost.peaks.map((one) => one.flops_per_s));
    const roof = this.#roof();
    const ridge = roof ? peak / roof : 100;
    const xs = points.map((point) => point.intensity);
    const ys = points.map((point) => point.speed);
    const least = (values: number[], other: number): number => values.reduce((a, b) => Math.min(a, b), other);
    const most = (values: number[], other: number): number => values.reduce((a, b) => Math.max(a, b), other);
    const around = (low: number, high: number): Range => ({ low: Math.log10(low) - 0.15, high: Math.log10(high) + 0.15 });
    const [beforeX, beforeY] = [this.#wholeX, this.#wholeY];
    this.#wholeX = around(least(xs, ridge), most(xs, ridge));
    this.#wholeY = around(least(ys, peak / 100), most(ys, peak));
    // The axes mean the same: where one has come nearer, one stays.
    const view = (now: Range, before: Range, whole: Range): Range => (stays && !isWhole(now, before) ? panned(now, 0, whole) : whole);
    this.#show(view(this.#x, beforeX, this.#wholeX), view(this.#y, beforeY, this.#wholeY));
  }

  light(points: readonly number[]): void {
    this.#chosen = new Set(points);
    this.surface.remark();
  }

  point(point: number): void {
    this.#hovered = point;
    this.surface.remark();
  }

  destroy(): void {
    this.#stop();
    this.surface.destroy();
  }

  #roof(): number | undefined {
    const rates = this.#roofsOf(this.#level).map((one) => one.bytes_per_s);
    return rates.length ? Math.max(...rates) : undefined;
  }

  /** The roofs of a level; of L2 also that of kernels which read through both of its paths, where there are such. */
  #roofsOf(level: "hbm" | "l2"): CostPart["bandwidths"] {
    const cost = this.#cost;
    if (!cost) return [];
    const own = cost.bandwidths.filter((one) => one.label.toLowerCase().startsWith(level));
    if (level !== "l2" || own.length < 2 || !this.#units.includes(Unit.Mixed)) return own;
    return [...own, { label: "L2 to both", bytes_per_s: roofOf(cost, "l2", Unit.Mixed).bytes_per_s }];
  }

  #show(x: Range, y: Range): void {
    this.#x = x;
    this.#y = y;
    this.#grid = null;
    this.surface.redraw();
  }

  #zoom(px: number, py: number, factor: number): void {
    const { x, y } = this.#scales();
    this.#show(zoomed(this.#x, Math.log10(x.from(px)), factor, this.#wholeX, 0.02), zoomed(this.#y, Math.log10(y.from(py)), factor, this.#wholeY, 0.02));
  }

  #pan(dx: number, dy: number): void {
    const plot = this.#plot();
    const by = (view: Range, px: number, size: number): number => ((view.high - view.low) * px) / size;
    this.#show(panned(this.#x, -by(this.#x, dx, plot.right - plot.left), this.#wholeX), panned(this.#y, by(this.#y, dy, plot.bottom - plot.top), this.#wholeY));
  }

  /** Room at the right for the peaks' names; where it is narrow, for their speeds alone. */
  #margin(): number {
    return this.surface.width < NARROW ? 100 : RIGHT;
  }

  #plot(): Plot {
    return { left: LEFT, right: this.surface.width - this.#margin(), top: 8, bottom: this.surface.height - FOOT };
  }

  #scales(): { plot: Plot; x: Scale; y: Scale } {
    const plot = this.#plot();
    const of = (view: Range): Range => ({ low: 10 ** view.low, high: 10 ** view.high });
    // Marks have a size: so much room is left around the view that the outermost do not touch the axes.
    const pad = this.#largest() * 1.25;
    return { plot, x: logarithmic(of(this.#x), plot.left + pad, plot.right - pad), y: logarithmic(of(this.#y), plot.bottom - pad, plot.top + pad / 2) };
  }

  /** Radius of the largest mark: less in a low pane. */
  #largest(): number {
    return Math.max(6, Math.min(20, this.surface.height / 10));
  }

  #radius(point: Point): number {
    const most = this.#points[0]?.us || 1;
    return Math.max(3.5, this.#largest() * Math.sqrt(point.us / most));
  }

  #at(px: number, py: number): number {
    if (!this.#grid) {
      const { x, y } = this.#scales();
      const points = this.#points;
      const of = (at: (point: Point) => number): Float64Array => Float64Array.from(points, at);
      this.#circles = {
        x0: of((one) => x.to(one.intensity) - this.#radius(one)),
        x1: of((one) => x.to(one.intensity) + this.#radius(one)),
        y0: of((one) => y.to(one.speed) - this.#radius(one)),
        y1: of((one) => y.to(one.speed) + this.#radius(one)),
        length: points.length,
      };
      this.#grid = new Grid(this.#circles);
    }
    return this.#grid.hit(px, py, 2, 2);
  }

  #hover(px: number, py: number): void {
    const point = this.#at(px, py);
    this.surface.canvas.style.cursor = point >= 0 ? "pointer" : "default";
    if (point !== this.#hovered) {
      this.#hovered = point;
      this.surface.remark();
    }
    this.told.hover(point, px, py);
  }

  /** An arrow key: to the next point that way, from the one that is lit, or else to the one that takes most time. */
  #step(dx: number, dy: number): void {
    const now = this.#hovered >= 0 ? this.#hovered : ([...this.#chosen][0] ?? -1);
    this.#at(0, 0); // measures where the points are
    const next = now < 0 ? 0 : walk(this.#circles, now, dx, -dy); // pixels grow downwards
    if (next < 0 || next >= this.#points.length) return;
    this.point(next);
    const { x, y } = this.#scales();
    this.told.hover(next, x.to(this.#points[next].intensity), y.to(this.#points[next].speed));
  }

  #picture({ context: c, palette: p }: Drawing): void {
    const cost = this.#cost;
    if (!cost) return;
    const { plot, x, y } = this.#scales();
    leftAxis(c, p, plot, y, logTicks({ low: y.from(plot.bottom), high: y.from(plot.top) }), speedText);
    bottomAxis(c, p, plot, x, logTicks({ low: x.from(plot.left), high: x.from(plot.right) }), plainText, `FLOP a byte of ${this.#level === "hbm" ? "HBM" : "L2"} →`, true);
    clipped(c, plot, () => this.#roofs(c, p, plot, x, y, cost));
    this.#peakNames(c, p, plot, y, cost);
    clipped(c, plot, () => {
      c.globalAlpha = 0.82;
      for (const point of this.#points) this.#mark(c, p, point, x, y);
      c.globalAlpha = 1;
    });
  }

  #roofs(c: CanvasRenderingContext2D, p: Palette, plot: Plot, x: Scale, y: Scale, cost: CostPart): void {
    const peak = Math.max(0, ...cost.peaks.map((one) => one.flops_per_s));
    const main = this.#roof();
    c.strokeStyle = p.soft;
    c.lineWidth = 1.25;
    for (const { flops_per_s } of cost.peaks) {
      const level = y.to(flops_per_s);
      line(c, main ? Math.max(plot.left, x.to(flops_per_s / main)) : plot.left, level, plot.right, level);
    }
    const roofs = merged([...this.#roofsOf("hbm"), ...(this.#level === "l2" ? this.#roofsOf("l2") : cost.bandwidths.filter((one) => !one.label.startsWith("HBM")))]);
    roofs.forEach(({ label, bytes_per_s }, i) => {
      const own = label.toLowerCase().startsWith(this.#level);
      const [low, high] = [x.from(plot.left), peak / bytes_per_s];
      c.strokeStyle = own ? p.accent : p.muted;
      c.lineWidth = own ? 2 : 1.25;
      c.setLineDash(own ? [] : [5, 4]);
      line(c, plot.left, y.to(low * bytes_per_s), x.to(high), y.to(peak));
      c.setLineDash([]);
      // Its name stands along the line, those of two lines not side by side.
      const [from, to] = [Math.max(low, y.from(plot.bottom) / bytes_per_s), Math.min(high, x.from(plot.right))];
      const middle = this.#freest(c.measureText(label).width, from, to, (at) => [x.to(at), y.to(at * bytes_per_s)], i);
      const slope = Math.atan2(y.to(middle * 10 * bytes_per_s) - y.to(middle * bytes_per_s), x.to(middle * 10) - x.to(middle));
      // In a low pane there may be no room for all of it.
      const size = Math.hypot(x.to(to) - x.to(from), y.to(to * bytes_per_s) - y.to(from * bytes_per_s));
      if (size < c.measureText(label).width + 12) return;
      if (y.to(middle * bytes_per_s) + (Math.sin(slope) * c.measureText(label).width) / 2 < plot.top + 12) return;
      c.save();
      c.translate(x.to(middle), y.to(middle * bytes_per_s));
      c.rotate(slope);
      // Points lie below their roof, so its name stands above it, unless another roof is near.
      const room = i ? (y.to(bytes_per_s) - y.to(roofs[i - 1].bytes_per_s)) * Math.cos(slope) : Infinity;
      haloed(c, p.surface, { x: 0, y: room > 24 ? -9 : 10, text: label, colour: own ? p.accent : p.muted, align: "center" });
      c.restore();
    });
  }

  /** Where along a roof its name covers the fewest points: of some places, in an order that differs by roof. */
  #freest(width: number, from: number, to: number, at: (intensity: number) => readonly [number, number], roof: number): number {
    const { plot, x, y } = this.#scales();
    const marks = this.#points.map((point) => [x.to(point.intensity), y.to(point.speed), this.#radius(point)] as const);
    const [start, end] = [at(from), at(to)];
    const half = Math.min(0.5, (width / 2 + 6) / (Math.hypot(end[0] - start[0], end[1] - start[1]) || 1)); // as a share of the line
    let [best, fewest] = [0.5, Infinity];
    for (const share of [[0.55, 0.7, 0.4, 0.25, 0.85, 0.1], [0.7, 0.4, 0.55, 0.85, 0.25, 0.1], [0.4, 0.55, 0.25, 0.7, 0.1, 0.85]][roof % 3]) {
      const middle = Math.max(half, Math.min(1 - half, share));
      let covered = 0;
      for (let step = -2; step <= 2; step++) {
        const along = middle + (step / 2) * half;
        const [px, py] = [start[0] + along * (end[0] - start[0]), start[1] + along * (end[1] - start[1])];
        if (py < plot.top + 20 || px > plot.right - 8) covered++;
        for (const [mx, my, radius] of marks) if (Math.hypot(mx - px, my - py) < radius + 12) covered++;
      }
      if (covered < fewest) [best, fewest] = [middle, covered];
    }
    return from * (to / from) ** best;
  }

  /** The peaks' names at the right end of their lines, moved apart where the lines are close. */
  #peakNames(c: CanvasRenderingContext2D, p: Palette, plot: Plot, y: Scale, cost: CostPart): void {
    const names = cost.peaks
      .map(({ label, flops_per_s }) => ({ text: (this.surface.width < NARROW ? "" : `${label} `) + speedText(flops_per_s), level: y.to(flops_per_s) }))
      .filter(({ level }) => level >= plot.top - 1 && level <= plot.bottom)
      .sort((a, b) => a.level - b.level);
    const places = apart(names.map(({ level }) => level), 13, plot.top + 5, plot.bottom - 5);
    c.textAlign = "left";
    names.forEach(({ text, level }, i) => {
      c.strokeStyle = p["line-strong"];
      c.lineWidth = 1;
      line(c, plot.right, level, plot.right + 10, places[i]);
      c.fillStyle = p.soft;
      c.fillText(fitted(c, text, this.#margin() - 16), plot.right + 13, places[i]);
    });
  }

  #mark(c: CanvasRenderingContext2D, p: Palette, point: Point, x: Scale, y: Scale): void {
    const [kernel] = point.kernels;
    const cost = this.#cost as CostPart;
    trace(c, shapeOf(cost.strings[cost.bound[kernel]]), x.to(point.intensity), y.to(point.speed), this.#radius(point));
    c.fillStyle = fillOf(p, this.#units[kernel]);
    c.fill();
    c.strokeStyle = edgeOf(p, this.#units[kernel]);
    c.lineWidth = 1.25;
    c.stroke();
  }

  #marks({ context: c, palette: p }: Drawing): void {
    const cost = this.#cost;
    if (!cost) return;
    const { plot, x, y } = this.#scales();
    const around = (at: number, colour: string, width: number): void => {
      const point = this.#points[at];
      const shape = shapeOf(cost.strings[cost.bound[point.kernels[0]]]);
      for (const [stroke, wide] of [[p.surface, width + 2.5], [colour, width]] as const) {
        trace(c, shape, x.to(point.intensity), y.to(point.speed), this.#radius(point) + 2);
        c.strokeStyle = stroke;
        c.lineWidth = wide;
        c.stroke();
      }
    };
    clipped(c, plot, () => {
      for (const at of this.#chosen) if (at < this.#points.length) around(at, p.accent, 3);
      if (this.#hovered >= 0 && this.#hovered < this.#points.length) {
        around(this.#hovered, p.ink, 2);
        this.#distance(c, p, plot, this.#points[this.#hovered], x, y);
      }
    });
  }

  /** A dotted line up to the roof that holds the kernel back. */
  #distance(c: CanvasRenderingContext2D, p: Palette, plot: Plot, point: Point, x: Scale, y: Scale): void {
    const roof = roofOf(this.#cost as CostPart, this.#level, this.#units[point.kernels[0]], point.kernels[0]);
    const at = x.to(point.intensity);
    c.strokeStyle = p.ink;
    c.setLineDash([2, 3]);
    c.lineWidth = 1;
    line(c, at, y.to(point.speed), at, Math.max(plot.top, y.to(Math.min(roof.flops_per_s, point.intensity * roof.bytes_per_s))));
    c.setLineDash([]);
  }
}

/** Roofs that no eye could tell apart, as one line with both names. */
function merged(roofs: CostPart["bandwidths"]): CostPart["bandwidths"] {
  const found: { label: string; bytes_per_s: number }[] = [];
  for (const { label, bytes_per_s } of [...roofs].sort((a, b) => b.bytes_per_s - a.bytes_per_s)) {
    const text = `${label} ${rateText(bytes_per_s)}`;
    const near = found.find((one) => one.bytes_per_s / bytes_per_s < 1.1);
    // What both names begin with is said once: "HBM 1.60 TB/s, as reached 1.55 TB/s".
    const [start] = label.split(/[ ,]/);
    if (near) near.label += `, ${near.label.startsWith(start) ? text.slice(start.length).replace(/^[ ,]+/, "") : text}`;
    else found.push({ label: text, bytes_per_s });
  }
  return found;
}

/** The outline of a mark, all of about the same area. */
function trace(c: CanvasRenderingContext2D, shape: Shape, x: number, y: number, r: number): void {
  c.beginPath();
  if (shape === "circle") c.arc(x, y, r, 0, Math.PI * 2);
  else if (shape === "square") c.rect(x - r * 0.886, y - r * 0.886, r * 1.772, r * 1.772);
  else {
    const corners: readonly (readonly [number, number])[] =
      shape === "triangle"
        ? [[0, -1.25], [1.17, 0.85], [-1.17, 0.85]]
        : shape === "diamond"
          ? [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]]
          : [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]];
    for (const [dx, dy] of corners) c.lineTo(x + dx * r, y + dy * r);
    c.closePath();
  }
}

const SCALES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as const;

function scaled(value: number, unit: string): string {
  const [size, prefix] = SCALES.find(([from]) => value >= from * 0.9995) ?? [1, ""];
  const digits = value / size;
  return `${digits >= 99.95 ? digits.toFixed(0) : digits >= 9.995 ? digits.toFixed(1) : digits.toFixed(2).replace(/\.00$/, "")} ${prefix}${unit}`;
}

/** 312 TFLOP/s. */
export const speedText = (flops: number): string => scaled(flops, "FLOP/s");
/** 1.60 TB/s. */
export const rateText = (bytes: number): string => scaled(bytes, "B/s");

export function plainText(value: number): string {
  if (value >= 1e4) return scaled(value, "").trim();
  return value >= 1 ? String(Math.round(value * 100) / 100) : value.toPrecision(1);
}
