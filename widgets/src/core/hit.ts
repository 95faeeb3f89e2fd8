/** What lies under the pointer, and what lies in the window: the scene's boxes and edges in grids. */

import { Grid } from "./grid.ts";
import { HEADER, type Scene } from "./scene.ts";
import { shown } from "./diff.ts";
import type { GraphMode } from "./panel.ts";

export class SceneIndex {
  readonly boxes: Grid;
  readonly edges: Grid;

  constructor(readonly scene: Scene) {
    const { count, x, y, w, h } = scene;
    const side = (centre: Float32Array, size: Float32Array, sign: number): Float32Array => {
      const made = new Float32Array(count);
      for (let i = 0; i < count; i++) made[i] = centre[i] + (sign * size[i]) / 2;
      return made;
    };
    this.boxes = new Grid(count, side(x, w, -1), side(y, h, -1), side(x, w, 1), side(y, h, 1), scene.width, scene.height);
    const { edges, route_at, route } = scene;
    const left = new Float32Array(edges).fill(Infinity);
    const top = new Float32Array(edges).fill(Infinity);
    const right = new Float32Array(edges).fill(-Infinity);
    const bottom = new Float32Array(edges).fill(-Infinity);
    for (let e = 0; e < edges; e++) {
      for (let i = route_at[e]; i < route_at[e + 1]; i++) {
        const px = route[2 * i];
        const py = route[2 * i + 1];
        if (px < left[e]) left[e] = px;
        if (px > right[e]) right[e] = px;
        if (py < top[e]) top[e] = py;
        if (py > bottom[e]) bottom[e] = py;
      }
    }
    this.edges = new Grid(edges, left, top, right, bottom, scene.width, scene.height);
  }

  /** The innermost box at a point, -1. */
  box(x: number, y: number, mode: GraphMode): number {
    const { scene, boxes } = this;
    boxes.query(x, y, x, y);
    let best = -1;
    for (let k = 0; k < boxes.found; k++) {
      const i = boxes.hits[k];
      if (!shown(scene.status[i], mode)) continue;
      if (best < 0 || scene.depth[i] >= scene.depth[best]) best = i;
    }
    return best;
  }

  /** The edge nearest to a point, no farther than `reach` px, -1. */
  edge(x: number, y: number, reach: number, mode: GraphMode): number {
    const { scene, edges } = this;
    edges.query(x - reach, y - reach, x + reach, y + reach);
    let best = -1;
    let least = reach * reach;
    for (let k = 0; k < edges.found; k++) {
      const e = edges.hits[k];
      if (!shown(scene.edge_status[e], mode)) continue;
      for (let i = scene.route_at[e]; i + 1 < scene.route_at[e + 1]; i++) {
        const d = distance(scene.route, i, x, y);
        if (d < least) {
          least = d;
          best = e;
        }
      }
    }
    return best;
  }
}

/** Is a point of an open box in its header? */
export function inHeader(scene: Scene, box: number, y: number): boolean {
  return y < scene.y[box] - scene.h[box] / 2 + HEADER;
}

/** Squared distance of a point from a piece of a route. */
function distance(route: Float32Array, i: number, x: number, y: number): number {
  const ax = route[2 * i];
  const ay = route[2 * i + 1];
  const bx = route[2 * i + 2] - ax;
  const by = route[2 * i + 3] - ay;
  const length = bx * bx + by * by;
  const t = length ? Math.max(0, Math.min(1, ((x - ax) * bx + (y - ay) * by) / length)) : 0;
  return (x - ax - t * bx) ** 2 + (y - ay - t * by) ** 2;
}
