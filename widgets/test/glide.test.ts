import assert from "node:assert/strict";
import { test } from "node:test";
import { Camera } from "../src/core/camera.ts";
import { ExplorerStore } from "../src/core/store.ts";
import { Glide, GLIDE, keyOf } from "../src/graph/glide.ts";
import { pictureOf } from "../src/graph/picture.ts";
import { ADD, boxOf, BOXES, graphOf, KERNEL, staged, TAIL } from "./graph.ts";

const PATH = "/\tFusedMatMulBias#1";
const store = new ExplorerStore();
store.receive(graphOf());

function window(): Camera {
  const camera = new Camera();
  camera.resize(800, 600);
  camera.jump({ k: 1, x: 0, y: 0 });
  return camera;
}

test("every box has a key of its own, also an operator with its kernel's name", () => {
  const picture = pictureOf(staged(PATH, "/block"), store);
  const keys = Array.from({ length: picture.scene.count }, (_, box) => keyOf(picture, box));
  assert.equal(new Set(keys).size, keys.length);
});

test("what is opened stays under the pointer by its upper border, and what is below glides down", () => {
  const stage = staged();
  const old = pictureOf(stage, store);
  const kernel = boxOf(stage, KERNEL);
  const camera = window();
  const top = (of: typeof old, box: number): number => (of.scene.y[box] - of.scene.h[box] / 2) * camera.k + camera.y;
  const [before, key] = [top(old, kernel), keyOf(old, kernel)];
  stage.toggle(kernel);
  const picture = pictureOf(stage, store);
  const glide = new Glide();
  glide.begin(old, picture, camera, false, { key, top: true });
  assert.ok(Math.abs(top(picture, boxOf(stage, KERNEL)) - before) < 0.01);
  const tail = boxOf(stage, TAIL);
  const began = performance.now();
  assert.ok(glide.advance(picture, began));
  const start = picture.y[tail];
  assert.ok(glide.advance(picture, began + GLIDE / 2));
  assert.ok(picture.y[tail] > start && picture.y[tail] < picture.scene.y[tail]);
  assert.equal(glide.advance(picture, began + 2 * GLIDE), false);
  assert.deepEqual([picture.y[tail], picture.glide], [picture.scene.y[tail], 1]);
  // What was not there before is where it will be: nothing flies in from elsewhere.
  assert.equal(picture.x[boxOf(stage, ADD)], picture.scene.x[boxOf(stage, ADD)]);
});

test("where less motion is wanted nothing glides, and what is in the middle stays there all the same", () => {
  const stage = staged();
  const old = pictureOf(stage, store);
  const camera = window();
  const block = boxOf(stage, BOXES.block);
  camera.jump({ k: 1, x: 400 - old.scene.x[block], y: 300 - old.scene.y[block] });
  stage.toggle(boxOf(stage, KERNEL));
  const picture = pictureOf(stage, store);
  new Glide().begin(old, picture, camera, true);
  const now = boxOf(stage, BOXES.block);
  assert.deepEqual(camera.world(400, 300).map(Math.round), [picture.scene.x[now], picture.scene.y[now]].map(Math.round));
  assert.equal(picture.glide, 1);
});
