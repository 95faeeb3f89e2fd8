/** From one rectangle to the next by arrow keys. */

import type { Boxes } from "./boxes.ts";

/**
 * The nearest rectangle in a direction (`dy` -1 is up, where y grows upwards): along the arrow the distance of the
 * middles counts; what lies beside the way comes after all that is on it. -1 where there is none that way. O(n).
 */
export function walk(boxes: Boxes, from: number, dx: number, dy: number): number {
  const { x0, x1, y0, y1, length } = boxes;
  if (from < 0 || from >= length) return -1;
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < length; i++) {
    left = Math.min(left, x0[i]);
    right = Math.max(right, x1[i]);
    bottom = Math.min(bottom, y0[i]);
    top = Math.max(top, y1[i]);
  }
  const [wide, tall] = [right - left || 1, top - bottom || 1];
  const middle = (low: ArrayLike<number>, high: ArrayLike<number>, i: number): number => (low[i] + high[i]) / 2;
  const between = (low: ArrayLike<number>, high: ArrayLike<number>, i: number): number => Math.max(0, low[i] - high[from], low[from] - high[i]);
  let [best, nearest] = [-1, Infinity];
  for (let i = 0; i < length; i++) {
    if (i === from) continue;
    const ahead = dx ? ((middle(x0, x1, i) - middle(x0, x1, from)) * dx) / wide : ((middle(y0, y1, from) - middle(y0, y1, i)) * dy) / tall;
    // What lies at the very same place is gone through in the order of its numbers.
    if (ahead < 0 || (ahead === 0 && (i - from) * (dx || dy) < 0)) continue;
    const aside = dx ? between(y0, y1, i) / tall : between(x0, x1, i) / wide;
    if (ahead === 0 && aside > 0) continue;
    const cost = ahead + (aside > 0 ? 1 + 4 * aside : 0);
    if (cost < nearest || (cost === nearest && dx + dy < 0)) [best, nearest] = [i, cost];
  }
  return best;
}
