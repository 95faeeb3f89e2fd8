/** From box to box along the lines, without a pointer. */

import { shown } from "../core/diff.ts";
import type { GraphMode } from "../core/panel.ts";
import type { Scene } from "../core/scene.ts";

/** The first box that reads from one (down), or that it reads from; the first of all where one is nowhere. -1 for none. */
export function nextBox(scene: Scene, here: number, down: boolean, mode: GraphMode): number {
  if (here < 0) return scene.status.findIndex((status) => shown(status, mode));
  const [near, far] = down ? [scene.edge_from, scene.edge_to] : [scene.edge_to, scene.edge_from];
  for (let edge = 0; edge < scene.edges; edge++) if (near[edge] === here && shown(scene.edge_status[edge], mode)) return far[edge];
  return -1;
}
