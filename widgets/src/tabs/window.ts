/** The part of an axis that is in view: zoomed around a point, panned, never outside of the whole. */

import type { Range } from "./scale.ts";

/** Zooms: the point `at` stays where it is; `factor` below 1 comes nearer. No view is shorter than `least`. */
export function zoomed(view: Range, at: number, factor: number, whole: Range, least: number): Range {
  const size = Math.max(Math.min((view.high - view.low) * factor, whole.high - whole.low), least);
  const share = view.high > view.low ? (at - view.low) / (view.high - view.low) : 0.5;
  return inside({ low: at - share * size, high: at + (1 - share) * size }, whole);
}

/** Moves by a distance, up to the ends. */
export function panned(view: Range, by: number, whole: Range): Range {
  return inside({ low: view.low + by, high: view.high + by }, whole);
}

/** The same view, moved no more than needed so that the stretch from `low` to `high` is in it. */
export function showing(view: Range, low: number, high: number, whole: Range): Range {
  if (low >= view.low && high <= view.high) return view;
  const size = view.high - view.low;
  const middle = high - low > size ? low + size / 2 : (low + high) / 2;
  return inside({ low: middle - size / 2, high: middle + size / 2 }, whole);
}

function inside(view: Range, whole: Range): Range {
  const size = Math.min(view.high - view.low, whole.high - whole.low);
  const low = Math.min(Math.max(view.low, whole.low), whole.high - size);
  return { low, high: low + size };
}

/** A view of what has another length now: the same share of it, as far as that goes. */
export function rescaled(view: Range, before: Range, whole: Range): Range {
  const factor = (whole.high - whole.low) / (before.high - before.low || 1);
  if (isWhole(view, before) || !Number.isFinite(factor)) return whole;
  return inside({ low: whole.low + (view.low - before.low) * factor, high: whole.low + (view.high - before.low) * factor }, whole);
}

export const isWhole = (view: Range, whole: Range): boolean => view.low <= whole.low && view.high >= whole.high;
