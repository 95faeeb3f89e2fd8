/** A small graph with all that a picture can have, and a stage that shows it. */

import type { NodesPart, Parts, ScenesPart } from "../src/core/document.ts";
import { Stage } from "../src/graph/stage.ts";
import { containerOf, nodesOf, scenesOf, stepsOf, templateOf, valuesOf } from "./document.ts";

/** Nodes by number. */
export const [MATMUL, ADD, RELU, KERNEL, HEAD, TAIL, LATER] = [0, 1, 2, 3, 4, 5, 6];
/** Values by number. */
export const [X, PRODUCT, SUM, MASK, Y, FAR] = [0, 1, 2, 3, 4, 5];
/** Members of the root: its boxes in this order. Containers are -1 - their number. */
export const BOXES = { input: -3, kernel: KERNEL, block: -2, head: HEAD, tail: TAIL, output: -4 };

/**
 * x -> kernel (MatMul and Add inside, and one that nobody knows) -> block of two alike -> tail -> y. The head makes the
 * mask, which the kernel and the tail read through stubs.
 */
export function graphOf(): Partial<Parts> & { nodes: NodesPart; scenes: ScenesPart } {
  const nodes = nodesOf([
    { name: "matmul", type: "MatMul", inputs: [X], outputs: [PRODUCT], gone: 0 },
    { name: "kernel", type: "Add", inputs: [PRODUCT, MASK], outputs: [SUM], gone: 0 },
    { name: "relu", type: "Relu", inputs: [SUM], outputs: [FAR] },
    { name: "kernel", type: "FusedMatMulBias", inputs: [X, MASK], outputs: [SUM], born: 0 },
    { name: "head", type: "Cast", outputs: [MASK] },
    { name: "tail", type: "Mul", inputs: [FAR, MASK], outputs: [Y] },
    { name: "later", type: "Sub", inputs: [MASK], born: 4 },
  ]);
  const root = templateOf([[200], [100, 300], [200], [200], [200]], [[0, 2], [2, 3], [3, 4], [4, 5]]);
  // The head's stub goes out; the kernel's and the tail's come in; the first of the tail's is one of the block's.
  Object.assign(root, { stub_box: Int32Array.of(1, 2, 4, 2), stub_side: Uint8Array.of(1, 0, 0, 0) });
  const inside = templateOf([[150], [150], [150]], [[0, 1], [1, 2]], 300);
  Object.assign(inside, { stub_box: Int32Array.of(0, 1), stub_side: Uint8Array.of(0, 0) });
  const one = templateOf([[80]], [], 160);
  const scenes = scenesOf(
    [
      containerOf([BOXES.input, BOXES.head, BOXES.kernel, BOXES.block, BOXES.tail, BOXES.output], 0, {
        kind: "graph",
        edge_values: Int32Array.of(X, SUM, FAR, Y),
        stub_values: Int32Array.of(MASK, MASK, MASK, FAR),
      }),
      containerOf([RELU], 2, { kind: "repeat", count: 2, instances: Int32Array.of(4, 5), label: 0 }),
      containerOf([], 3, { kind: "input", label: 1, nodes: 0 }),
      containerOf([], 3, { kind: "output", label: 2, nodes: 0 }),
      containerOf([RELU], 2),
      containerOf([LATER], 2),
    ],
    [root, inside, one, templateOf([], [])],
    ["block", "x", "y", "Softsign"],
  );
  scenes.ends = { container: Int32Array.of(2, 3), value: Int32Array.of(X, Y) };
  scenes.bodies = {
    node: Int32Array.of(KERNEL),
    template: Int32Array.of(1),
    members_at: Int32Array.of(0, 3),
    members: Int32Array.of(MATMUL, ADD, -1 - 3),
    stubs_at: Int32Array.of(0, 2),
    stubs: Int32Array.of(X, MASK),
  };
  return { nodes, scenes, values: valuesOf(["x", "product", "sum", "mask", "y", "far"]), steps: stepsOf([{}]) };
}

export function staged(...open: string[]): Stage {
  const stage = new Stage();
  for (const path of open) stage.openness.open.set(path, true);
  stage.show(graphOf(), 0);
  return stage;
}

export const boxOf = (stage: Stage, member: number): number => stage.scene.member.indexOf(member);
