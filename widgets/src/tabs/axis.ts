/** Axes on a canvas: thin lines, round numbers, no box around. */

import type { Palette } from "../core/palette.ts";
import type { Scale } from "./scale.ts";

export interface Plot {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

type Canvas = CanvasRenderingContext2D;

/** Lines across the plot and their numbers at its left. */
export function leftAxis(c: Canvas, p: Palette, plot: Plot, scale: Scale, values: readonly number[], text: (value: number) => string): void {
  c.save();
  c.textAlign = "right";
  c.textBaseline = "middle";
  c.strokeStyle = p.line;
  c.fillStyle = p.muted;
  c.lineWidth = 1;
  let last = Infinity;
  for (const value of values) {
    const y = Math.round(scale.to(value)) + 0.5;
    if (y < plot.top - 1 || y > plot.bottom + 1) continue;
    line(c, plot.left, y, plot.right, y);
    const at = Math.max(plot.top + 5, Math.min(plot.bottom - 3, y));
    if (Math.abs(at - last) < 12) continue;
    last = at;
    c.fillText(text(value), plot.left - 6, at);
  }
  c.restore();
}

/** Short strokes below the plot and their numbers, then what the axis shows; numbers that would touch are left out. */
export function bottomAxis(
  c: Canvas,
  p: Palette,
  plot: Plot,
  scale: Scale,
  values: readonly number[],
  text: (value: number) => string,
  title = "",
  lines = false,
): void {
  c.save();
  c.textAlign = "center";
  c.textBaseline = "top";
  c.fillStyle = p.muted;
  c.strokeStyle = p.line;
  c.lineWidth = 1;
  line(c, plot.left, plot.bottom + 0.5, plot.right, plot.bottom + 0.5);
  const reserved = title ? plot.right - c.measureText(title).width - 12 : plot.right + 24;
  if (title) axisTitle(c, p, title, plot.right, plot.bottom + 12, "right");
  let free = plot.left - 20;
  for (const value of values) {
    const x = Math.round(scale.to(value)) + 0.5;
    if (x < plot.left - 1 || x > plot.right + 1) continue;
    line(c, x, lines ? plot.top : plot.bottom, x, plot.bottom + 4);
    const label = text(value);
    const half = c.measureText(label).width / 2;
    if (x - half < free || x + half > reserved) continue;
    free = x + half + 10;
    c.fillText(label, x, plot.bottom + 6);
  }
  c.restore();
}

/** Quiet words beside a plot. */
export function axisTitle(c: Canvas, p: Palette, text: string, x: number, y: number, align: CanvasTextAlign): void {
  c.save();
  c.textAlign = align;
  c.textBaseline = "middle";
  c.fillStyle = p.muted;
  c.fillText(text, x, y);
  c.restore();
}

export interface Label {
  readonly x: number;
  readonly y: number;
  readonly text: string;
  readonly colour: string;
  readonly align?: CanvasTextAlign;
}

/** Text with a halo of the ground, so that it can be read over anything. */
export function haloed(c: Canvas, ground: string, { x, y, text, colour, align = "left" }: Label): void {
  c.save();
  c.textAlign = align;
  c.textBaseline = "middle";
  c.lineJoin = "round";
  c.lineWidth = 4;
  c.strokeStyle = ground;
  c.strokeText(text, x, y);
  c.fillStyle = colour;
  c.fillText(text, x, y);
  c.restore();
}

export function line(c: Canvas, x0: number, y0: number, x1: number, y1: number): void {
  c.beginPath();
  c.moveTo(x0, y0);
  c.lineTo(x1, y1);
  c.stroke();
}

export function clipped(c: Canvas, plot: Plot, draw: () => void): void {
  c.save();
  c.beginPath();
  c.rect(plot.left, plot.top, plot.right - plot.left, plot.bottom - plot.top);
  c.clip();
  draw();
  c.restore();
}
