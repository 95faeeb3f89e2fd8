/** From one scene to the next: what is in both glides, and one box stays where it is on the screen. */

import type { Camera } from "../core/camera.ts";
import type { Picture } from "./paint.ts";

export const GLIDE = 260;
const MOST = 30_000;

export interface Anchor {
  key: string;
  /** Its upper border stays, not its middle. */
  top: boolean;
}

/** By name, so that it holds from one document to the next too; what is no node's name begins with a slash and a space. */
export function keyOf({ scene, nodes }: Picture, box: number): string {
  const member = scene.member[box];
  if (member < 0) return `/ ${scene.path[box] || `value ${scene.end[box]} ${scene.result[box]}`}`;
  const name = nodes.strings[nodes.name[member]] ?? "";
  const around = scene.parent[box];
  // An operator in an open kernel may have the kernel's name.
  return around >= 0 && scene.member[around] >= 0 ? `/ in ${name}` : name;
}

export class Glide {
  #before: { x: Float32Array; y: Float32Array } | null = null;
  #from = 0;

  /** Begins at once. Without an anchor, the box nearest to the middle stays where it is. */
  begin(old: Picture, picture: Picture, camera: Camera, still: boolean, anchor?: Anchor): void {
    const { scene } = picture;
    this.#before = null;
    if (!old.scene.count || old.scene.count + scene.count > MOST) return;
    const rows = new Map<string, number>();
    for (let i = 0; i < old.scene.count; i++) rows.set(keyOf(old, i), i);
    const [cx, cy] = camera.world(camera.width / 2, camera.height / 2);
    let nearest = Infinity;
    let [dx, dy] = [0, 0];
    const pairs: number[] = [];
    for (let i = 0; i < scene.count; i++) {
      const name = keyOf(picture, i);
      const was = rows.get(name);
      if (was === undefined) continue;
      pairs.push(i, was);
      const seen = scene.status[i] && old.scene.status[was]; // what is not seen anchors nothing
      const far = anchor ? (name === anchor.key ? -1 : Infinity) : seen ? (old.x[was] - cx) ** 2 + (old.y[was] - cy) ** 2 : Infinity;
      if (far >= nearest) continue;
      nearest = far;
      dx = scene.x[i] - old.x[was];
      dy = scene.y[i] - old.y[was];
      if (anchor?.top) dy -= (scene.h[i] - old.scene.h[was]) / 2;
    }
    if (nearest === Infinity) return;
    camera.jump({ k: camera.k, x: camera.x - dx * camera.k, y: camera.y - dy * camera.k });
    if (still) return;
    const before = { x: scene.x.slice(), y: scene.y.slice() };
    let moves = false;
    for (let n = 0; n < pairs.length; n += 2) {
      const i = pairs[n];
      const was = pairs[n + 1];
      before.x[i] = old.x[was] + dx;
      before.y[i] = old.y[was] + dy;
      if (Math.abs(before.x[i] - scene.x[i]) + Math.abs(before.y[i] - scene.y[i]) > 1) moves = true;
    }
    if (!moves) return;
    this.#before = before;
    this.#from = performance.now();
    picture.x = before.x.slice();
    picture.y = before.y.slice();
    picture.glide = 0;
  }

  /** Where boxes are now; says whether there is more to come. */
  advance(picture: Picture, now: number): boolean {
    const before = this.#before;
    if (!before) return false;
    const t = Math.min(1, Math.max(0, (now - this.#from) / GLIDE));
    const ease = 1 - (1 - t) ** 3;
    const { x, y } = picture.scene;
    picture.glide = t;
    if (t >= 1) {
      this.#before = null;
      picture.x = x;
      picture.y = y;
      return false;
    }
    for (let i = 0; i < x.length; i++) {
      picture.x[i] = before.x[i] + (x[i] - before.x[i]) * ease;
      picture.y[i] = before.y[i] + (y[i] - before.y[i]) * ease;
    }
    return true;
  }
}
