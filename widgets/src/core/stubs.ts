/** Stubs: short lines where a value comes in or goes out that is not drawn through. */

import { shown } from "./diff.ts";
import type { GraphMode } from "./panel.ts";
import type { Scene } from "./scene.ts";

/** So many are drawn side by side at one side of a box. */
export const MOST_STUBS = 5;
export const STUB_LENGTH = 8;
/** Nearer than this they are drawn, unless there are too many of them. */
const FROM = 0.45;
const MOST_IN_ALL = 6000;
const APART = 8;
const INSET = 10;

/** Where a stub leaves its box: from the box's centre. What comes in is at the left of the top, what goes out at the right of the bottom. */
export function stubOffset(scene: Scene, stub: number): [dx: number, dy: number] {
  const box = scene.stub_box[stub];
  const out = scene.stub_side[stub] === 1 ? 1 : -1;
  // The ends of an input or output are round: its only stub is in the middle.
  const along = scene.end[box] >= 0 ? 0 : scene.w[box] / 2 - INSET - scene.stub_nth[stub] * APART;
  return [out * along, (out * scene.h[box]) / 2];
}

/** Are the stubs of a scene drawn at this zoom? */
export function stubsShown(scene: Scene, zoom: number): boolean {
  return zoom >= FROM && scene.stubs <= MOST_IN_ALL;
}

/** The stub under a point, -1. */
export function stubAt(scene: Scene, x: number, y: number, reach: number, zoom: number, mode: GraphMode): number {
  if (!stubsShown(scene, zoom)) return -1;
  let best = -1;
  let least = reach;
  for (let i = 0; i < scene.stubs; i++) {
    const box = scene.stub_box[i];
    const out = scene.stub_side[i] === 1 ? 1 : -1;
    const border = scene.y[box] + (out * scene.h[box]) / 2;
    const away = (y - border) * out;
    if (away < -1 || away > STUB_LENGTH + reach || scene.stub_nth[i] >= MOST_STUBS) continue;
    const off = Math.abs(scene.x[box] + stubOffset(scene, i)[0] - x);
    if (off >= least || !shown(scene.status[box], mode)) continue;
    least = off;
    best = i;
  }
  return best;
}
