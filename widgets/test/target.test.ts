import assert from "node:assert/strict";
import { test } from "node:test";
import { around, presentAround } from "../src/core/flow.ts";
import { HEADER } from "../src/core/scene.ts";
import { MOST_STUBS, STUB_LENGTH, stubAt, stubOffset, stubsShown } from "../src/core/stubs.ts";
import { jumpOf, ofValue } from "../src/graph/jumps.ts";
import type { Stage } from "../src/graph/stage.ts";
import { targetAt, type Target } from "../src/graph/target.ts";
import { nextBox } from "../src/graph/walk.ts";
import { ExplorerStore } from "../src/core/store.ts";
import { boxOf, BOXES, FAR, graphOf, HEAD, KERNEL, LATER, MASK, staged, SUM, TAIL, X, Y } from "./graph.ts";

const KERNEL_PATH = "/\tFusedMatMulBias#1";

const hit = (stage: Stage, x: number, y: number, zoom = 1): Target => targetAt(stage.scene, stage.index, x, y, zoom, "both", (box) => (stage.scene.path[box] === "/block" ? 2 : 1));
/** At a part of a box: -1 its left or upper border, 1 its right or lower; then some px more. */
function at(stage: Stage, box: number, sx: number, sy: number, dx = 0, dy = 0): Target {
  const { x, y, w, h } = stage.scene;
  return hit(stage, x[box] + (sx * w[box]) / 2 + dx, y[box] + (sy * h[box]) / 2 + dy);
}

test("a press finds nodes, inputs, closed containers, and their chevrons", () => {
  const stage = staged();
  const [input, kernel, block, tail] = [BOXES.input, KERNEL, BOXES.block, TAIL].map((member) => boxOf(stage, member)) as [number, number, number, number];
  assert.deepEqual(at(stage, tail, 0, 0), { kind: "node", box: tail, node: TAIL });
  assert.deepEqual(at(stage, tail, -1, 0, 5), { kind: "node", box: tail, node: TAIL });
  assert.deepEqual(at(stage, input, 0, 0), { kind: "end", box: input, value: X });
  assert.deepEqual(at(stage, block, 0, 0), { kind: "container", box: block });
  assert.deepEqual(at(stage, block, -1, 0, 10), { kind: "chevron", box: block });
  assert.deepEqual(at(stage, block, 1, 0, -10), { kind: "container", box: block });
  // A kernel is a node that can be opened: its chevron is at the other side, beside its unit's sign.
  assert.deepEqual(at(stage, kernel, 0, 0), { kind: "node", box: kernel, node: KERNEL });
  assert.deepEqual(at(stage, kernel, 1, 0, -10), { kind: "chevron", box: kernel });
  assert.deepEqual(at(stage, kernel, -1, 0, 10), { kind: "node", box: kernel, node: KERNEL });
  assert.deepEqual(hit(stage, -40, -40), { kind: "ground", box: -1 });
});

test("an open container is pressed in its header; what is in it by itself", () => {
  const stage = staged("/block", KERNEL_PATH);
  const block = boxOf(stage, BOXES.block);
  const kernel = boxOf(stage, KERNEL);
  assert.deepEqual(at(stage, block, 0, -1, -20, HEADER / 2), { kind: "container", box: block });
  assert.deepEqual(at(stage, block, -1, -1, 10, HEADER / 2), { kind: "chevron", box: block });
  assert.deepEqual(at(stage, block, 1, -1, -10, HEADER / 2), { kind: "leaf", box: block, by: 1 });
  assert.deepEqual(at(stage, block, 1, -1, -100, HEADER / 2), { kind: "leaf", box: block, by: -1 });
  assert.deepEqual(at(stage, block, -1, 1, 5, -5), { kind: "ground", box: block });
  // One cannot leaf through a kernel.
  assert.deepEqual(at(stage, kernel, 1, -1, -10, HEADER / 2), { kind: "node", box: kernel, node: KERNEL });
  assert.deepEqual(at(stage, kernel, -1, -1, 10, HEADER / 2), { kind: "chevron", box: kernel });
});

test("lines are pressed where they are near, and not from far away", () => {
  const stage = staged();
  const [kernel, block] = [boxOf(stage, KERNEL), boxOf(stage, BOXES.block)];
  const edge = stage.scene.edge_value.indexOf(SUM);
  const [x, y] = [(stage.scene.x[kernel] + stage.scene.x[block]) / 2, (stage.scene.y[kernel] + stage.scene.y[block]) / 2];
  const [low, high] = [0.5 * (stage.scene.h[kernel] / 2), 0.5 * (stage.scene.h[block] / 2)];
  assert.ok(low > 0 && high > 0);
  assert.deepEqual(hit(stage, x, y), { kind: "line", box: -1, edge, value: SUM });
  assert.deepEqual(hit(stage, x, y, 0.2), { kind: "ground", box: -1 });
  assert.equal(hit(stage, x + 40, y).kind, "ground");
});

test("a stub is hit at its dot, on its own side of its box, and only where it is drawn", () => {
  const stage = staged();
  const { scene } = stage;
  for (let stub = 0; stub < scene.stubs; stub++) {
    const box = scene.stub_box[stub];
    const [dx, dy] = stubOffset(scene, stub);
    const [x, y] = [scene.x[box] + dx, scene.y[box] + dy + Math.sign(dy) * STUB_LENGTH];
    assert.deepEqual(hit(stage, x, y), { kind: "stub", stub, box: -1 });
    assert.equal(stubAt(scene, x, y - Math.sign(dy) * 30, 5, 1, "both"), -1);
    assert.equal(stubAt(scene, x, y, 5, 0.4, "both"), -1, "too far away to be drawn");
  }
  assert.equal(stubsShown({ ...scene, stubs: 6001 }, 1), false);
});

test("stubs at one side of a box stand side by side, whatever their order; very many are not all drawn", () => {
  const stage = staged();
  const { scene } = stage;
  const kernel = boxOf(stage, KERNEL);
  const own = [...scene.stub_box.keys()].filter((stub) => scene.stub_box[stub] === kernel);
  assert.equal(own.length, 2);
  assert.deepEqual(own.map((stub) => scene.stub_nth[stub]), [0, 1]);
  assert.notDeepEqual(stubOffset(scene, own[0] as number), stubOffset(scene, own[1] as number));
  const last = own[1] as number;
  const [dx, dy] = stubOffset(scene, last);
  const [x, y] = [scene.x[kernel] + dx, scene.y[kernel] + dy - STUB_LENGTH];
  assert.equal(stubAt(scene, x, y, 3, 1, "both"), last);
  scene.stub_nth[last] = MOST_STUBS;
  assert.equal(stubAt(scene, x, y, 3, 1, "both"), -1);
});

test("a stub of what a mode does not show is not hit", () => {
  const { scene } = staged();
  scene.status.fill(1);
  const [dx, dy] = stubOffset(scene, 0);
  const [x, y] = [scene.x[scene.stub_box[0]] + dx, scene.y[scene.stub_box[0]] + dy];
  assert.deepEqual([stubAt(scene, x, y, 5, 1, "before"), stubAt(scene, x, y, 5, 1, "after")], [0, -1]);
});

test("who writes and reads a value: of all versions, then of those there are", () => {
  const { nodes } = graphOf();
  assert.deepEqual([...around(nodes, MASK, true)], [HEAD]);
  assert.deepEqual([...around(nodes, MASK, false)], [1, KERNEL, TAIL, LATER]);
  assert.deepEqual(presentAround(nodes, MASK, false, 0), [1, KERNEL, TAIL]);
  assert.deepEqual(presentAround(nodes, MASK, false, 2), [KERNEL, TAIL]);
  assert.deepEqual([...around(nodes, -1, true), ...around(nodes, 99, true)], []);
});

function jumps(stage: Stage, step = 2): Record<string, ReturnType<typeof jumpOf>> {
  const store = new ExplorerStore();
  store.receive(graphOf());
  const { scene } = stage;
  return Object.fromEntries(Array.from({ length: scene.stubs }, (_, stub) => [`${scene.member[scene.stub_box[stub]]} ${scene.stub_value[stub]}`, jumpOf(stage, store, step, stub)]));
}

test("a stub leads to the other end of its value: to what writes it, or to all that read it", () => {
  const stage = staged();
  const box = (member: number): number => boxOf(stage, member);
  const found = jumps(stage);
  assert.deepEqual(found[`${HEAD} ${MASK}`], { value: MASK, back: false, own: box(HEAD), nodes: [KERNEL, TAIL], boxes: [box(KERNEL), box(TAIL)] });
  assert.deepEqual(found[`${TAIL} ${MASK}`], { value: MASK, back: true, own: box(TAIL), nodes: [HEAD], boxes: [box(HEAD)] });
  // What is in a closed container is found there.
  assert.deepEqual(found[`${KERNEL} ${FAR}`]?.boxes, [box(BOXES.block)]);
});

test("from a value that is chosen one goes to all that read it, the writer's box among none", () => {
  const stage = staged();
  const store = new ExplorerStore();
  store.receive(graphOf());
  const box = (member: number): number => boxOf(stage, member);
  assert.deepEqual(ofValue(stage, store, 2, MASK), { value: MASK, back: false, own: -1, nodes: [KERNEL, TAIL], boxes: [box(KERNEL), box(TAIL)] });
  assert.deepEqual(ofValue(stage, store, 2, 99).boxes, []);
});

test("a stub inside an open kernel leads out of it, to an input of the graph too, never to what is around it", () => {
  const stage = staged(KERNEL_PATH);
  const found = jumps(stage);
  assert.deepEqual(found[`0 ${X}`]?.boxes, [boxOf(stage, BOXES.input)]);
  assert.deepEqual(found[`1 ${MASK}`]?.boxes, [boxOf(stage, HEAD)]);
  const around = boxOf(stage, KERNEL);
  for (const jump of Object.values(found)) if (jump.back) assert.ok(!jump.boxes.includes(around));
});

test("by key one goes down and up along the lines that are shown", () => {
  const { scene, ...stage } = staged() as Stage;
  const box = (member: number): number => scene.member.indexOf(member);
  assert.ok(stage);
  assert.equal(nextBox(scene, box(BOXES.input), true, "both"), box(KERNEL));
  assert.equal(nextBox(scene, box(KERNEL), false, "both"), box(BOXES.input));
  assert.equal(nextBox(scene, box(BOXES.output), true, "both"), -1);
  assert.equal(scene.end[nextBox(scene, box(TAIL), true, "both")], Y);
  assert.equal(nextBox(scene, -1, true, "both"), 0);
  scene.edge_status.fill(1);
  scene.status[0] = 1;
  assert.equal(nextBox(scene, box(BOXES.input), true, "after"), -1);
  assert.equal(nextBox(scene, -1, true, "after"), 1);
});
