/** Puts rectangles into a canvas: fills and edges by unit, lines over what is special, red where two collide. */

import type { Palette } from "../core/palette.ts";
import { paint, tintGaps, type Boxes, type Frame, type Ink } from "./boxes.ts";
import { mixed, pixel } from "./colour.ts";

/** How much of the ground is in each of two shades; and each of them again with lines over it. */
export const NEIGHBOURS: Shades = [0.12, 0.34];
export type Shades = readonly [number, number];

/** Index of an ink: by unit, shade, and whether lines are drawn over it. */
export const inkIndex = (unit: number, shade: number, lined: boolean): number => (unit * 2 + shade) * 2 + (lined ? 1 : 0);

export const fillOf = (palette: Palette, unit: number, shade = 0, shades: Shades = NEIGHBOURS): string =>
  mixed(palette.units[unit], palette.surface, shades[shade]);
export const edgeOf = (palette: Palette, unit: number): string => mixed(palette.units[unit], palette.ink, 0.45);

export function inkOf(palette: Palette, colour: Uint8Array, shades: Shades = NEIGHBOURS): Ink {
  const count = palette.units.length * 4;
  const fills = new Uint32Array(count);
  const edges = new Uint32Array(count);
  const hatched = new Uint8Array(count);
  palette.units.forEach((_, unit) => {
    for (let shade = 0; shade < 2; shade++) {
      for (const lined of [false, true]) {
        const i = inkIndex(unit, shade, lined);
        fills[i] = pixel(fillOf(palette, unit, shade, shades));
        edges[i] = pixel(edgeOf(palette, unit));
        hatched[i] = lined ? 1 : 0;
      }
    }
  });
  return { colour, fills, edges, hatched, clash: pixel(palette.bad) };
}

export interface Place {
  readonly x: number; // CSS px
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Draws rectangles at a place of a canvas; `gap` tints what is free below others. Returns the pixels that clash. */
export class Brush {
  #canvas: HTMLCanvasElement | null = null;

  draw(
    context: CanvasRenderingContext2D,
    ratio: number,
    place: Place,
    boxes: Boxes,
    view: Pick<Frame, "left" | "right" | "bottom" | "top">,
    ink: Ink,
    gap: string | null,
  ): number {
    const [width, height] = [Math.max(1, Math.round(place.width * ratio)), Math.max(1, Math.round(place.height * ratio))];
    this.#canvas ??= document.createElement("canvas");
    this.#canvas.width = width;
    this.#canvas.height = height;
    const inner = this.#canvas.getContext("2d");
    if (!inner) return 0;
    const image = inner.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const found = paint(boxes, { ...view, width, height }, ink, pixels);
    if (gap) tintGaps(pixels, width, height, pixel(gap));
    inner.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.#canvas, place.x, place.y, place.width, place.height);
    return found;
  }
}

/** Slanting lines over a rectangle. */
export function hatch(c: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, colour: string, gap = 5, lines = 1.5): void {
  c.save();
  c.beginPath();
  c.rect(x, y, width, height);
  c.clip();
  c.strokeStyle = colour;
  c.lineWidth = lines;
  c.beginPath();
  for (let at = x - height; at < x + width; at += gap) {
    c.moveTo(at, y + height);
    c.lineTo(at + height, y);
  }
  c.stroke();
  c.restore();
}
