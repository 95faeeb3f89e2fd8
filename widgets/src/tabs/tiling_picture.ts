/** A tiling landscape drawn: a cell for each block of m x n, light where it is fast, hatched where a buffer is too small. */

import type { Palette } from "../core/palette.ts";
import { time } from "../core/units.ts";
import { axisTitle, haloed, type Plot } from "./axis.ts";
import { inkOn, mixed, ramp } from "./colour.ts";
import { listen } from "./gestures.ts";
import { cellAt, cellOf, edgesOf, landscapeOf, quickness, type Landscape, type TiledKernel } from "./landscape.ts";
import { Surface, type Drawing } from "./surface.ts";

const LEFT = 58;
const RIGHT = 12;
const TOP = 8;
const FOOT = 34;
/** px that a number must leave in its cell for the star beside it. */
const STAR = 48;
/** Directions of the lines of the first, second, ... buffer that keeps tiles out. */
export const HATCHES = ["/", "\\", "|", "–", "x"] as const;

export class TilingPicture {
  readonly surface: Surface;
  #kernel: TiledKernel | null = null;
  #landscape: Landscape | null = null;
  #xs: Float64Array = new Float64Array();
  #ys: Float64Array = new Float64Array();
  #ks: number[] = [];
  #shows: "time" | "k" = "time";
  #hovered = -1;
  #picked = -1;
  readonly #stop: () => void;

  constructor(
    private readonly told: (tile: number, x: number, y: number) => void,
    private readonly picked: (tile: number) => void,
  ) {
    this.surface = new Surface("Tiling landscape", (drawing) => this.#picture(drawing), (drawing) => this.#marks(drawing));
    this.#stop = listen(this.surface.canvas, {
      hover: (px, py) => this.#hover(px, py),
      leave: () => this.#hover(-1, -1),
      click: (px, py) => this.picked(this.#tileAt(px, py)),
    });
    this.surface.canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Marks a tile that is looked at; -1 for none. */
  pick(tile: number): void {
    this.#picked = tile;
    this.surface.remark();
  }

  set(kernel: TiledKernel, shows: "time" | "k"): Landscape {
    this.#kernel = kernel;
    this.#landscape = landscapeOf(kernel);
    this.#xs = edgesOf(this.#landscape.ns);
    this.#ys = edgesOf(this.#landscape.ms);
    this.#ks = [...new Set(kernel.k.filter((_, i) => Number.isFinite(kernel.time_us[i])))].sort((a, b) => a - b);
    this.#shows = shows;
    this.#hovered = -1;
    this.surface.redraw();
    return this.#landscape;
  }

  destroy(): void {
    this.#stop();
    this.surface.destroy();
  }

  #plot(): Plot {
    const { width, height } = this.surface;
    const { ms, ns } = this.#landscape as Landscape;
    // Cells no larger than is useful, so that a small landscape does not become a wall.
    const right = Math.min(width - RIGHT, LEFT + ns.length * 90);
    const bottom = Math.min(height - FOOT, TOP + ms.length * 60);
    return { left: LEFT, right, top: TOP, bottom };
  }

  #cell(plot: Plot, row: number, column: number): [x: number, y: number, w: number, h: number] {
    const [w, h] = [plot.right - plot.left, plot.bottom - plot.top];
    const [x0, x1] = [plot.left + this.#xs[column] * w, plot.left + this.#xs[column + 1] * w];
    const [y0, y1] = [plot.bottom - this.#ys[row + 1] * h, plot.bottom - this.#ys[row] * h];
    return [x0, y0, x1 - x0, y1 - y0];
  }

  #tileAt(px: number, py: number): number {
    const landscape = this.#landscape;
    if (!landscape?.ms.length) return -1;
    const plot = this.#plot();
    const column = cellAt(this.#xs, (px - plot.left) / (plot.right - plot.left));
    const row = cellAt(this.#ys, (plot.bottom - py) / (plot.bottom - plot.top));
    return row >= 0 && column >= 0 ? landscape.cells[row * landscape.ns.length + column] : -1;
  }

  #hover(px: number, py: number): void {
    const tile = this.#tileAt(px, py);
    if (tile !== this.#hovered) {
      this.#hovered = tile;
      this.surface.remark();
    }
    this.told(tile, px, py);
  }

  /** Arrows go from block to block, from the one that is taken; Escape releases. */
  #key(event: KeyboardEvent): void {
    const by: Record<string, readonly [row: number, column: number]> = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const way = by[event.key];
    const [kernel, landscape] = [this.#kernel, this.#landscape];
    if (!kernel || !landscape?.ms.length || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.#picked >= 0) this.picked(-1);
    else if (way) {
      const cell = cellOf(landscape, kernel, this.#picked) ?? cellOf(landscape, kernel, kernel.chosen) ?? { row: 0, column: 0 };
      const moved = this.#picked < 0 ? [0, 0] : way;
      const row = Math.max(0, Math.min(landscape.ms.length - 1, cell.row + moved[0]));
      const column = Math.max(0, Math.min(landscape.ns.length - 1, cell.column + moved[1]));
      const tile = landscape.cells[row * landscape.ns.length + column];
      if (tile >= 0) this.picked(tile);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #picture({ context: c, palette: p }: Drawing): void {
    const kernel = this.#kernel;
    const landscape = this.#landscape;
    if (!kernel || !landscape?.ms.length) return;
    const plot = this.#plot();
    landscape.cells.forEach((tile, at) => {
      const [x, y, w, h] = this.#cell(plot, Math.floor(at / landscape.ns.length), at % landscape.ns.length);
      this.#fill(c, p, kernel, landscape, tile, x, y, w, h);
    });
    this.#axes(c, p, plot, landscape);
    this.#regions(c, p, plot, kernel, landscape);
  }

  #fill(c: CanvasRenderingContext2D, p: Palette, kernel: TiledKernel, landscape: Landscape, tile: number, x: number, y: number, w: number, h: number): void {
    const gap = Math.min(w, h) > 5 ? 1 : 0;
    const us = tile < 0 ? NaN : kernel.time_us[tile];
    const blocker = tile < 0 ? -1 : kernel.blocker[tile];
    if (Number.isFinite(us)) {
      const colour = this.#shows === "time" ? ramp(quickness(us, landscape.fastest)) : ramp(this.#ks.length > 1 ? this.#ks.indexOf(kernel.k[tile]) / (this.#ks.length - 1) : 1);
      c.fillStyle = colour;
      c.fillRect(x, y, w - gap, h - gap);
      const text = this.#text(kernel, tile);
      if (h < 14 || w < c.measureText(text).width + (tile === kernel.best ? STAR : 6)) return;
      c.fillStyle = inkOn(colour);
      c.textAlign = "center";
      c.fillText(text, x + w / 2, y + h / 2);
    } else if (blocker >= 0) {
      c.fillStyle = mixed(p.bad, p.surface, 0.86);
      c.fillRect(x, y, w, h);
      lines(c, HATCHES[landscape.blockers.indexOf(blocker) % HATCHES.length], x, y, w, h, mixed(p.bad, p.surface, 0.45));
    } else {
      c.fillStyle = p.sunken;
      c.fillRect(x, y, w - gap, h - gap);
      c.fillStyle = p["line-strong"];
      c.fillRect(x + w / 2 - 1, y + h / 2 - 1, 2, 2);
    }
  }

  #text(kernel: TiledKernel, tile: number): string {
    return this.#shows === "time" ? time(kernel.time_us[tile]) : String(kernel.k[tile]);
  }

  /** The name of the buffer in the midst of what it keeps out. */
  #regions(c: CanvasRenderingContext2D, p: Palette, plot: Plot, kernel: TiledKernel, landscape: Landscape): void {
    for (const blocker of landscape.blockers) {
      const cells: [row: number, column: number][] = [];
      landscape.cells.forEach((tile, at) => {
        if (tile >= 0 && kernel.blocker[tile] === blocker) cells.push([Math.floor(at / landscape.ns.length), at % landscape.ns.length]);
      });
      if (cells.length < 4) continue;
      const [row, column] = cells.reduce(([r, k], cell) => [r + cell[0] / cells.length, k + cell[1] / cells.length], [0, 0]);
      // The cell nearest to the middle: the middle itself may lie outside of the region.
      const near = cells.reduce((a, b) => (Math.hypot(a[0] - row, a[1] - column) <= Math.hypot(b[0] - row, b[1] - column) ? a : b));
      const [x, y, w, h] = this.#cell(plot, near[0], near[1]);
      const text = `${(this.strings[blocker] ?? "buffer").toUpperCase()} too small`;
      const half = c.measureText(text).width / 2 + 3;
      const at = Math.max(plot.left + half, Math.min(plot.right - half, x + w / 2));
      haloed(c, p.surface, { x: at, y: y + h / 2, text, colour: p.bad, align: "center" });
    }
  }

  strings: readonly string[] = [];

  #axes(c: CanvasRenderingContext2D, p: Palette, plot: Plot, landscape: Landscape): void {
    c.fillStyle = p.muted;
    c.textAlign = "right";
    let last = Infinity;
    landscape.ms.forEach((m, row) => {
      const [, y, , h] = this.#cell(plot, row, 0);
      if (last - (y + h / 2) < 14) return;
      last = y + h / 2;
      c.fillText(String(m), plot.left - 6, last);
    });
    c.textAlign = "center";
    let free = -Infinity;
    landscape.ns.forEach((n, column) => {
      const [x, , w] = this.#cell(plot, 0, column);
      const half = c.measureText(String(n)).width / 2;
      if (x + w / 2 - half < free) return;
      free = x + w / 2 + half + 8;
      c.fillText(String(n), x + w / 2, plot.bottom + 9);
    });
    axisTitle(c, p, "columns of a tile (n) →", plot.right, plot.bottom + 24, "right");
    c.save();
    c.translate(10, plot.top);
    c.rotate(-Math.PI / 2);
    const title = "rows of a tile (m) →";
    axisTitle(c, p, c.measureText(title).width < this.surface.height - plot.top ? title : "m →", 0, 0, "right");
    c.restore();
  }

  #marks({ context: c, palette: p }: Drawing): void {
    const kernel = this.#kernel;
    const landscape = this.#landscape;
    if (!kernel || !landscape?.ms.length) return;
    const plot = this.#plot();
    const around = (tile: number, how: (x: number, y: number, w: number, h: number) => void): void => {
      const cell = cellOf(landscape, kernel, tile);
      if (cell) how(...this.#cell(plot, cell.row, cell.column));
    };
    const boxed = (x: number, y: number, w: number, h: number): void => {
      for (const [colour, width] of [[p.surface, 5], [p.bad, 2.5]] as const) {
        c.strokeStyle = colour;
        c.lineWidth = width;
        c.strokeRect(x - 1, y - 1, Math.max(6, w + 1), Math.max(6, h + 1));
      }
    };
    around(kernel.chosen, boxed);
    around(kernel.best, (x, y, w, h) => {
      // Beside the number of a cell that has room for one.
      const beside = w >= c.measureText(this.#text(kernel, kernel.best)).width + STAR;
      star(c, beside ? x + 14 : x + w / 2, y + h / 2, Math.max(6, Math.min(9, Math.min(w, h) / 2)));
      c.fillStyle = p.surface;
      c.fill();
      c.strokeStyle = p.ink;
      c.lineWidth = 1.5;
      c.stroke();
    });
    around(this.#picked, (x, y, w, h) => {
      for (const [colour, dash] of [[p.surface, []], [p.ink, [4, 3]]] as const) {
        c.setLineDash(dash);
        c.strokeStyle = colour;
        c.lineWidth = 2.5;
        c.strokeRect(x, y, Math.max(5, w), Math.max(5, h));
      }
      c.setLineDash([]);
    });
    around(this.#hovered, (x, y, w, h) => {
      c.strokeStyle = p.ink;
      c.lineWidth = 1.5;
      c.strokeRect(x, y, w, h);
    });
  }
}

function star(c: CanvasRenderingContext2D, x: number, y: number, r: number): void {
  c.beginPath();
  for (let i = 0; i < 10; i++) {
    const [angle, size] = [(i * Math.PI) / 5 - Math.PI / 2, i % 2 ? r * 0.45 : r];
    c.lineTo(x + Math.cos(angle) * size, y + Math.sin(angle) * size);
  }
  c.closePath();
}

function lines(c: CanvasRenderingContext2D, how: (typeof HATCHES)[number], x: number, y: number, w: number, h: number, colour: string): void {
  c.save();
  c.beginPath();
  c.rect(x, y, w, h);
  c.clip();
  c.strokeStyle = colour;
  c.lineWidth = 1;
  c.beginPath();
  const step = 7;
  // Lines go on from cell to cell, so that a region reads as one.
  const first = (from: number): number => Math.ceil(from / step) * step;
  if (how === "/" || how === "x") for (let at = first(x + y); at < x + y + w + h; at += step) slant(c, at - y, y, at - y - h, y + h);
  if (how === "\\" || how === "x") for (let at = first(x - y - h); at < x - y + w; at += step) slant(c, at + y, y, at + y + h, y + h);
  if (how === "|") for (let at = first(x); at < x + w; at += step) slant(c, at, y, at, y + h);
  if (how === "–") for (let at = first(y); at < y + h; at += step) slant(c, x, at, x + w, at);
  c.stroke();
  c.restore();
}

function slant(c: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  c.moveTo(x0, y0);
  c.lineTo(x1, y1);
}
