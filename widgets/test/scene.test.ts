import assert from "node:assert/strict";
import { test } from "node:test";
import { build, HEADER, PADDING, type Openness, type Scene } from "../src/core/scene.ts";
import { Places } from "../src/core/places.ts";
import { SceneIndex } from "../src/core/hit.ts";
import { push } from "../src/core/push.ts";
import { containerOf, nodesOf, scenesOf, templateOf } from "./document.ts";

const closed = (): Openness => ({ open: new Map(), instance: new Map() });
const opened = (...paths: string[]): Openness => ({ open: new Map(paths.map((path) => [path, true])), instance: new Map() });

/** Root: node 0, then node 1 | block (nodes 4, 5) | node 2 side by side, then node 3. */
const root = templateOf([[200], [80, 200, 320], [200]], [[0, 2], [2, 4], [0, 4, 200, 150]]);
const inner = templateOf([[250], [250], [250]], [], 500);
const scenes = scenesOf([containerOf([0, 1, -2, 2, 3], 0, { edge_values: Int32Array.of(7, 8, 9) }), containerOf([4, 5, 6], 1)], [root, inner]);

const boxOf = (scene: Scene, member: number): number => scene.member.indexOf(member);
const side = (scene: Scene, box: number, sign: number): number => (scene.x[box] as number) + (sign * (scene.w[box] as number)) / 2;
const edge = (scene: Scene, box: number, sign: number): number => (scene.y[box] as number) + (sign * (scene.h[box] as number)) / 2;

function overlaps(scene: Scene): string[] {
  const found: string[] = [];
  for (let a = 0; a < scene.count; a++) {
    for (let b = a + 1; b < scene.count; b++) {
      if (scene.parent[a] !== scene.parent[b]) continue;
      if (side(scene, a, 1) > side(scene, b, -1) && side(scene, b, 1) > side(scene, a, -1) && edge(scene, a, 1) > edge(scene, b, -1) && edge(scene, b, 1) > edge(scene, a, -1)) found.push(`${a} ${b}`);
    }
  }
  return found;
}

test("closed, a scene is the template", () => {
  const scene = build(scenes, 0, closed());
  assert.deepEqual([...scene.x], [...root.x]);
  assert.deepEqual([...scene.y], [...root.y]);
  assert.deepEqual([scene.width, scene.height, scene.count, scene.edges], [400, 300, 5, 3]);
});

test("an opened box pushes: below down, beside away, above not at all", () => {
  const shut = build(scenes, 0, closed());
  const scene = build(scenes, 0, opened("/block"));
  const grown = 300 + HEADER + PADDING - 50;
  const wider = 500 + 2 * PADDING - 100;
  const at = (of: Scene, node: number): [number, number] => [of.x[boxOf(of, node)] as number, of.y[boxOf(of, node)] as number];
  const dx = at(scene, 0)[0] - at(shut, 0)[0]; // all of it is moved so that the left edge is at 0
  assert.equal(at(scene, 0)[1], at(shut, 0)[1]);
  assert.equal(at(scene, 3)[1], at(shut, 3)[1] + grown);
  assert.equal(at(scene, 3)[0] - dx, at(shut, 3)[0]);
  assert.equal(at(scene, 1)[0] - dx, at(shut, 1)[0] - wider / 2);
  assert.equal(at(scene, 2)[0] - dx, at(shut, 2)[0] + wider / 2);
  assert.equal(at(scene, -2)[0] - dx, at(shut, -2)[0]);
  assert.deepEqual(overlaps(scene), []);
  assert.ok(side(scene, boxOf(scene, 1), -1) >= 0);
  assert.ok(side(scene, boxOf(scene, 2), 1) <= scene.width);
});

test("what is in an opened box lies inside it", () => {
  const scene = build(scenes, 0, opened("/block"));
  const around = boxOf(scene, -2);
  for (const node of [4, 5, 6]) {
    const box = boxOf(scene, node);
    assert.equal(scene.parent[box], around);
    assert.ok(side(scene, box, -1) >= side(scene, around, -1) && side(scene, box, 1) <= side(scene, around, 1));
    assert.ok(edge(scene, box, -1) >= edge(scene, around, -1) + HEADER && edge(scene, box, 1) <= edge(scene, around, 1));
  }
});

test("edges begin and end at their boxes, opened or not", () => {
  for (const openness of [closed(), opened("/block")]) {
    const scene = build(scenes, 0, openness);
    for (let e = 0; e < scene.edges; e++) {
      const from = scene.edge_from[e] as number;
      const to = scene.edge_to[e] as number;
      const first = 2 * (scene.route_at[e] as number);
      const last = 2 * (scene.route_at[e + 1] as number) - 2;
      assert.equal(scene.route[first + 1], edge(scene, from, 1));
      assert.equal(scene.route[last + 1], edge(scene, to, -1));
      assert.ok((scene.route[first] as number) >= side(scene, from, -1) && (scene.route[first] as number) <= side(scene, from, 1));
    }
  }
});

test("the same twice, to the last bit", () => {
  assert.deepEqual(build(scenes, 0, opened("/block")), build(scenes, 0, opened("/block")));
});

test("many open boxes side by side do not overlap", () => {
  const row = templateOf([[60, 180, 300], [60, 180, 300]]);
  const blocks = [containerOf([-2, -3, -4, -5, -6, -7], 0), ...Array.from({ length: 6 }, (_, i) => containerOf([i], 1))];
  const labels = ["a", "b", "c", "d", "e", "f", "g"];
  blocks.forEach((block, i) => (block.label = i));
  const wide = scenesOf(blocks, [row, templateOf([[150]], [], 300)], labels);
  const scene = build(wide, 0, opened("/b", "/c", "/d", "/f"));
  assert.equal(scene.count, 10);
  assert.deepEqual(overlaps(scene), []);
});

test("points follow what they lie between, in order", () => {
  const moved = push(root, [{ box: 2, width: 700, height: 400 }]);
  let last = -Infinity;
  for (let y = 0; y <= 300; y += 3) {
    assert.ok(moved.py(y) >= last);
    last = moved.py(y);
  }
});

test("what a step left closes up where all of a rank is gone", () => {
  const status = Uint8Array.of(3, 1, 1, 1, 3);
  const left = scenesOf([containerOf([0, 1, 4, 2, 3], 0, { status })], [root]);
  const scene = build(left, 0, closed(), true);
  assert.deepEqual([...scene.status], [3, 0, 0, 0, 3]);
  assert.equal(scene.height, 300 - 100);
  assert.equal(scene.differs, false);
  assert.ok(scene.width < 400);
});

/** Root with one repeated block: alike are the containers 2 and 3. */
const repeated = scenesOf(
  [containerOf([-2], 1), containerOf([0], 0, { kind: "repeat", count: 2, instances: Int32Array.of(2, 3) }), containerOf([0], 0), containerOf([1], 0)],
  [templateOf([[50]]), templateOf([[50]])],
);

test("of those that are alike the chosen one is shown", () => {
  const openness = opened("/block");
  assert.deepEqual([...build(repeated, 0, openness).member], [-2, 0]);
  openness.instance.set("/block", 1);
  assert.deepEqual([...build(repeated, 0, openness).member], [-2, 1]);
});

test("a node inside is revealed, in the right one of those alike", () => {
  const nodes = nodesOf([{ name: "a" }, { name: "b" }, { name: "elsewhere" }]);
  const places = new Places(repeated, 0, nodes);
  const openness = closed();
  assert.ok(places.has(1) && !places.has(2));
  assert.ok(places.reveal(1, openness, () => false));
  assert.ok(build(repeated, 0, openness).member.includes(1));
  assert.ok(!places.reveal(1, openness, () => true));
});

test("the innermost box is hit, and an edge that is near", () => {
  const scene = build(scenes, 0, opened("/block"));
  const index = new SceneIndex(scene);
  const inside = boxOf(scene, 5);
  assert.equal(index.box(scene.x[inside] as number, scene.y[inside] as number, "both"), inside);
  const around = boxOf(scene, -2);
  assert.equal(index.box(side(scene, around, -1) + 3, scene.y[around] as number, "both"), around);
  assert.equal(index.box(-50, -50, "both"), -1);
  const first = scene.route_at[1] as number;
  assert.equal(index.edge((scene.route[2 * first] as number) + 2, (scene.route[2 * first + 1] as number) + 12, 4, "both"), 1);
});

test("what a mode does not show is not hit", () => {
  const status = Uint8Array.of(1, 2, 3, 3, 3);
  const scene = build(scenesOf([containerOf([0, 1, 4, 2, 3], 0, { status })], [root]), 0, closed());
  const index = new SceneIndex(scene);
  const hit = (box: number, mode: "before" | "after" | "both"): number => index.box(scene.x[box] as number, scene.y[box] as number, mode);
  assert.deepEqual([hit(0, "before"), hit(0, "after"), hit(1, "before"), hit(1, "after"), hit(0, "both")], [0, -1, -1, 1, 0]);
});

test("a container whose picture is still to come has its boxes in rows", () => {
  const scene = build(scenesOf([containerOf([0, 1, 2, 3, 4], -1)], []), 0, closed());
  assert.deepEqual(overlaps(scene), []);
  assert.equal(scene.count, 5);
});

test("edges of such a container are found by who writes and reads", () => {
  const nodes = nodesOf(["a", "b", "c", "d"].map((name, i) => ({ name, outputs: [i] })));
  nodes.inputs_at = Int32Array.of(0, 0, 1, 2, 4);
  nodes.inputs = Int32Array.of(0, 0, 1, 2); // b and c read a, d reads both
  const scene = build(scenesOf([containerOf([3, 1, -2, 0], -1), containerOf([2], -1)], []), 0, closed(), false, nodes);
  const pairs = Array.from({ length: scene.edges }, (_, e) => [scene.member[scene.edge_from[e] as number], scene.member[scene.edge_to[e] as number], scene.edge_value[e]]);
  assert.deepEqual(pairs.sort(), [[-2, 3, 2], [0, -2, 0], [0, 1, 0], [1, 3, 1]].sort());
  assert.deepEqual(overlaps(scene), []);
  for (let e = 0; e < scene.edges; e++) assert.ok((scene.y[scene.edge_from[e] as number] as number) < (scene.y[scene.edge_to[e] as number] as number));
});

test("nesting beyond all measure does not overflow the stack", () => {
  const deep = Array.from({ length: 3000 }, (_, i) => containerOf([i < 2999 ? -2 - i : 0], 0, { open: true }));
  const scene = build(scenesOf(deep, [templateOf([[50]])]), 0, closed());
  assert.ok(scene.count > 10 && scene.count < 100);
});
