/** What the window should show: at first, of a change, of what is chosen. */

import type { Camera, Rect, View } from "../core/camera.ts";
import { Mark, mark, shown } from "../core/diff.ts";
import type { GraphMode } from "../core/panel.ts";
import type { Stage } from "./stage.ts";

/** No label is too small at this zoom. */
export const READABLE = 0.8;

/** All of it where that is readable; else the repeated block, which is what the model is; else the first screenful. */
export function firstView(stage: Stage, camera: Camera): View {
  const { scene } = stage;
  const { width, height } = camera;
  const view = camera.framing({ left: 0, top: 0, right: scene.width, bottom: scene.height }, 24, 1, 0);
  if (view.k >= READABLE) return view;
  const block = repeated(stage);
  if (block) {
    const { left, top, right, bottom } = block;
    const k = Math.max(READABLE, Math.min(1, (width - 48) / (right - left), (height - 64) / (bottom - top)));
    // What is too large is seen from its top: there stands what it is and how often.
    const x = (right - left) * k > width - 16 ? 12 - left * k : (width - (left + right) * k) / 2;
    const y = (bottom - top) * k > height - 64 ? 40 - top * k : (height - (top + bottom) * k) / 2;
    return { k, x, y };
  }
  // From the top; sideways over what comes first.
  let first = 0;
  for (let i = 1; i < scene.count; i++) if (scene.y[i] < scene.y[first]) first = i;
  const k = Math.max(view.k, Math.min(0.9, Math.max(READABLE, (width - 48) / scene.width)));
  const wide = scene.width * k;
  const x = wide <= width ? (width - wide) / 2 : Math.min(24, Math.max(width - wide - 24, width / 2 - scene.x[first] * k));
  return { k, x, y: 20 };
}

/** Around the outermost open container that stands for many alike, the one with most in it. */
function repeated(stage: Stage): Rect | undefined {
  const { scene, scenes } = stage;
  let best = -1;
  let most = 0;
  for (let i = 0; i < scene.count; i++) {
    const container = scene.open[i] ? scenes?.containers[-1 - scene.member[i]] : undefined;
    const inside = container && container.count > 1 ? container.nodes : 0;
    if (inside <= most) continue;
    most = inside;
    best = i;
  }
  return best < 0 ? undefined : stage.around([best]);
}

/** Boxes that the step touched. */
export function changedBoxes(stage: Stage, mode: GraphMode): number[] {
  const { scene } = stage;
  const boxes: number[] = [];
  for (let i = 0; i < scene.count; i++) {
    if (!scene.open[i] && mark(scene.status[i]) !== Mark.Same && shown(scene.status[i], mode)) boxes.push(i);
  }
  return boxes;
}

/** Is part of a rectangle in the window, large enough to be recognised? */
export function sees(camera: Camera, rect: Rect): boolean {
  const [left, top] = camera.world(8, 8);
  const [right, bottom] = camera.world(camera.width - 8, camera.height - 8);
  return rect.left < right && rect.right > left && rect.top < bottom && rect.bottom > top && camera.k > 0.3;
}

/** Is the middle of one of the boxes in the window? */
export function seesAny(camera: Camera, stage: Stage, boxes: readonly number[]): boolean {
  const [left, top] = camera.world(0, 0);
  const [right, bottom] = camera.world(camera.width, camera.height);
  const { x, y } = stage.scene;
  return boxes.some((i) => x[i] > left && x[i] < right && y[i] > top && y[i] < bottom);
}
