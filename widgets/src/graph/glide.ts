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

/** By name, so that it holds from one document to the next too; a path begins with a slash and a space here. */
export function keyOf(of: Picture, box: number): string {
  const member = of.scene.member[box] as number;
  return member < 0 ? `/ ${of.scene.path[box] || `value ${of.scene.end[box]}`}` : (of.nodes.strings[of.nodes.name[member] as number] ?? "");
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
      const far = anchor ? (name === anchor.key ? -1 : Infinity) : (old.x[was] as number) === 0 ? Infinity : ((old.x[was] as number) - cx) ** 2 + ((old.y[was] as number) - cy) ** 2;
      if (far >= nearest) continue;
      nearest = far;
      dx = (scene.x[i] as number) - (old.x[was] as number);
      dy = (scene.y[i] as number) - (old.y[was] as number);
      if (anchor?.top) dy -= ((scene.h[i] as number) - (old.scene.h[was] as number)) / 2;
    }
    if (nearest === Infinity) return;
    camera.jump({ k: camera.k, x: camera.x - dx * camera.k, y: camera.y - dy * camera.k });
    if (still) return;
    const before = { x: scene.x.slice(), y: scene.y.slice() };
    let moves = false;
    for (let n = 0; n < pairs.length; n += 2) {
      const i = pairs[n] as number;
      const was = pairs[n + 1] as number;
      before.x[i] = (old.x[was] as number) + dx;
      before.y[i] = (old.y[was] as number) + dy;
      if (Math.abs((before.x[i] as number) - (scene.x[i] as number)) + Math.abs((before.y[i] as number) - (scene.y[i] as number)) > 1) moves = true;
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
      picture.x[i] = (before.x[i] as number) + ((x[i] as number) - (before.x[i] as number)) * ease;
      picture.y[i] = (before.y[i] as number) + ((y[i] as number) - (before.y[i] as number)) * ease;
    }
    return true;
  }
}
