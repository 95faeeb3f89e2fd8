/** What lies under a point of the picture, and so what a press there does. */

import type { NodeId, ValueId } from "../core/document.ts";
import { inHeader, type SceneIndex } from "../core/hit.ts";
import { CHEVRON, LEAFING, type Scene } from "../core/scene.ts";
import { stubAt } from "../core/stubs.ts";
import type { GraphMode } from "../core/panel.ts";

/** px of the screen around a line that belong to it, and around a stub. */
const LINE_REACH = 6;
const STUB_REACH = 5;
/** Farther away than this, lines are too close to each other to be pressed. */
const LINES_FROM = 0.3;

export type Target =
  | { kind: "stub"; stub: number; box: -1 }
  | { kind: "end"; box: number; value: ValueId }
  | { kind: "node"; box: number; node: NodeId }
  /** A closed container, or the header of an open one. */
  | { kind: "container"; box: number }
  /** The chevron of a container or a kernel. */
  | { kind: "chevron"; box: number }
  /** An arrow in the header of a container that stands for many. */
  | { kind: "leaf"; box: number; by: 1 | -1 }
  /** A line; `box` is the open container that it is seen in. */
  | { kind: "line"; box: number; edge: number; value: ValueId }
  /** The ground, or what nothing more is known of; `box` is the open container that it is seen in. */
  | { kind: "ground"; box: number };

/** `alike` says among how many containers one can leaf through at a box. */
export function targetAt(scene: Scene, index: SceneIndex, x: number, y: number, zoom: number, mode: GraphMode, alike: (box: number) => number): Target {
  const stub = stubAt(scene, x, y, STUB_REACH, zoom, mode);
  if (stub >= 0) return { kind: "stub", stub, box: -1 };
  const box = index.box(x, y, mode);
  if (box >= 0) {
    const member = scene.member[box];
    const header = scene.open[box] === 1 && inHeader(scene, box, y);
    if (scene.end[box] >= 0) return { kind: "end", box, value: scene.end[box] };
    if (scene.path[box]) {
      const fromLeft = x - scene.x[box] + scene.w[box] / 2;
      const fromRight = scene.w[box] - fromLeft;
      if (header && alike(box) > 1 && fromRight < LEAFING) return { kind: "leaf", box, by: fromRight < LEAFING / 2 ? 1 : -1 };
      // Kernels have theirs at the right, beside the sign of their unit.
      const chevron = scene.open[box] ? header && fromLeft < CHEVRON : (member < 0 ? fromLeft : fromRight) < CHEVRON;
      if (chevron) return { kind: "chevron", box };
    }
    if (header || !scene.open[box]) {
      if (member >= 0) return { kind: "node", box, node: member };
      if (scene.path[box]) return { kind: "container", box };
    }
  }
  const edge = zoom < LINES_FROM ? -1 : index.edge(x, y, LINE_REACH / zoom, mode);
  return edge >= 0 ? { kind: "line", box, edge, value: scene.edge_value[edge] } : { kind: "ground", box };
}
