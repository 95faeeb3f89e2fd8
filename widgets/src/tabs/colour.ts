/** Colours made of the palette's: mixtures, pixels, what can be read on what; and a ramp for heat maps. */

import { Unit } from "../core/document.ts";

const OWNERS: Record<string, Unit> = {
  cube: Unit.Cube,
  vector: Unit.Vector,
  mixed: Unit.Mixed,
  mte: Unit.Move,
  move: Unit.Move,
  scalar: Unit.Move,
  aicpu: Unit.Fallback,
  host: Unit.Fallback,
  control: Unit.Control,
  none: Unit.Boundary,
};

/** The unit that a core type, a pipe's owner or an engine is drawn as. */
export const unitNamed = (name: string): Unit => OWNERS[name] ?? Unit.Mixed;

type Channels = readonly [number, number, number];

/** #rgb, #rrggbb or rgb(r, g, b). */
export function channels(colour: string): Channels {
  if (colour.startsWith("#")) {
    const wide = colour.length < 7;
    const at = (i: number): number => {
      const text = wide ? colour[1 + i] + colour[1 + i] : colour.slice(1 + 2 * i, 3 + 2 * i);
      return parseInt(text, 16);
    };
    return [at(0), at(1), at(2)];
  }
  const [r, g, b] = (colour.match(/[\d.]+/g) ?? ["128", "128", "128"]).map(Number);
  return [r, g, b];
}

/** As much of `b` as `share` says in `a`. */
export function mixed(a: string, b: string, share: number): string {
  const [x, y] = [channels(a), channels(b)];
  const at = (i: number): number => Math.round(x[i] + (y[i] - x[i]) * share);
  return `rgb(${at(0)}, ${at(1)}, ${at(2)})`;
}

/** For the pixels of an ImageData, opaque. */
export function pixel(colour: string): number {
  const [r, g, b] = channels(colour);
  return ((255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;
}

/** Black or white, whichever is read better on a colour. */
export function inkOn(colour: string): string {
  return lightness(channels(colour)) > 0.179 ? "#000000" : "#ffffff"; // there both have 4.58 : 1
}

/** Relative luminance, 0 to 1. Source: WCAG 2.2, relative luminance. */
export function lightness([r, g, b]: Channels): number {
  const linear = (c: number): number => (c <= 10.31475 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** Contrast of two colours, 1 to 21. Source: WCAG 2.2, contrast ratio. */
export function contrast(a: string, b: string): number {
  const [x, y] = [lightness(channels(a)), lightness(channels(b))];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

// From cividis (Nuñez, Anderton, Renslow 2018): read alike with any colour vision, dark to light.
const STOPS = ["#00204d", "#31446b", "#666970", "#958f78", "#cab969", "#ffea46"];

/** A colour for 0 (dark) to 1 (light). */
export function ramp(share: number): string {
  const at = Math.max(0, Math.min(1, share)) * (STOPS.length - 1);
  const i = Math.min(STOPS.length - 2, Math.floor(at));
  return mixed(STOPS[i], STOPS[i + 1], at - i);
}
