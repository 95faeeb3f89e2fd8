import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf, holders, kernelPaths, UNKNOWN } from "../src/core/bodies.ts";
import { INNER } from "../src/core/diff.ts";
import { HEADER } from "../src/core/scene.ts";
import { ADD, boxOf, BOXES, FAR, graphOf, HEAD, KERNEL, MASK, MATMUL, PRODUCT, RELU, staged, SUM, X } from "./graph.ts";

const PATH = "/\tFusedMatMulBias#1";

test("a kernel's body is a container of the operators that it was", () => {
  const { scenes, nodes } = graphOf();
  const body = bodyOf(scenes, KERNEL, nodes);
  assert.ok(body);
  assert.deepEqual([...body.members.subarray(0, 2)], [MATMUL, ADD]);
  assert.equal(scenes.strings[UNKNOWN - (body.members[2] as number)], "Softsign");
  // From the Add to what nobody knows flows what the Add makes.
  assert.deepEqual([...body.edge_values], [PRODUCT, SUM]);
  assert.deepEqual([...body.stub_values], [X, MASK]);
  assert.equal(bodyOf(scenes, KERNEL, nodes), body);
  assert.equal(bodyOf(scenes, RELU, nodes), null);
});

test("what is in a kernel knows its kernel", () => {
  const { scenes } = graphOf();
  assert.deepEqual([holders(scenes, MATMUL), holders(scenes, ADD), holders(scenes, RELU)], [[KERNEL], [KERNEL], []]);
});

test("kernels have paths by operator and number, so that they hold in the next layer", () => {
  const { scenes, nodes } = graphOf();
  const members = Int32Array.of(RELU, KERNEL, -2, KERNEL);
  assert.deepEqual([...kernelPaths(scenes, members, "/block", nodes)], [[1, "/block/\tFusedMatMulBias#1"], [3, "/block/\tFusedMatMulBias#2"]]);
});

test("closed, a kernel is one box; opened, its operators stand inside it and nothing lies on anything", () => {
  const shut = staged();
  assert.equal(boxOf(shut, MATMUL), -1);
  assert.equal(shut.scene.path[boxOf(shut, KERNEL)], PATH);
  const stage = staged(PATH);
  const { scene } = stage;
  const around = boxOf(stage, KERNEL);
  assert.equal(scene.open[around], 1);
  for (const member of [MATMUL, ADD]) {
    const box = boxOf(stage, member);
    assert.equal(scene.parent[box], around);
    assert.ok(Math.abs(scene.x[box] - scene.x[around]) <= (scene.w[around] - scene.w[box]) / 2);
    assert.ok(scene.y[box] - scene.h[box] / 2 >= scene.y[around] - scene.h[around] / 2 + HEADER);
    assert.ok(scene.y[box] + scene.h[box] / 2 <= scene.y[around] + scene.h[around] / 2);
    assert.equal(scene.status[box], 3 | INNER);
  }
  assert.ok(scene.y[boxOf(stage, BOXES.block)] - 25 >= scene.y[around] + scene.h[around] / 2);
});

test("a node is found where it is: by itself, in its open kernel, or as the kernel that it went into", () => {
  const shut = staged();
  assert.deepEqual([shut.box(KERNEL), shut.box(MATMUL), shut.box(HEAD)], [KERNEL, KERNEL, HEAD].map((node) => boxOf(shut, node)));
  const stage = staged(PATH);
  assert.deepEqual([stage.box(KERNEL), stage.box(MATMUL)], [boxOf(stage, KERNEL), boxOf(stage, MATMUL)]);
  // The Add has the name of the kernel that it became: chosen in it, it is itself.
  assert.equal(stage.inside(ADD), boxOf(stage, ADD));
});

test("an operator that no graph has cannot be opened, and is nobody's node", () => {
  const stage = staged(PATH);
  const box = stage.scene.member.findIndex((member) => member <= UNKNOWN);
  assert.ok(box >= 0);
  assert.deepEqual([stage.scene.path[box], stage.scene.end[box]], ["", -1]);
});

test("inputs and outputs are boxes by their value, and no containers to be opened", () => {
  const stage = staged();
  const input = boxOf(stage, BOXES.input);
  assert.deepEqual([stage.scene.end[input], stage.scene.path[input], stage.isInput(input)], [X, "", true]);
  assert.deepEqual(stage.ends(X), [input]);
  assert.equal(stage.isInput(boxOf(stage, BOXES.output)), false);
  assert.deepEqual(stage.ends(FAR), []);
});
