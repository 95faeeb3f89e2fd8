import assert from "node:assert/strict";
import { test } from "node:test";
import { Camera } from "../src/core/camera.ts";
import { Detail, detail } from "../src/core/lod.ts";
import { Grid } from "../src/core/grid.ts";

function camera(): Camera {
  const made = new Camera();
  made.resize(800, 600);
  made.limit({ width: 4000, height: 3000 });
  return made;
}

test("zooming leaves the point under the cursor where it is", () => {
  const one = camera();
  one.jump({ x: 13, y: -7, k: 0.8 });
  const before = one.world(300, 200);
  one.zoom(1.7, 300, 200);
  const after = one.world(300, 200);
  assert.ok(Math.abs(before[0] - after[0]) < 1e-9 && Math.abs(before[1] - after[1]) < 1e-9);
});

test("framing shows all of a rectangle, in the middle", () => {
  const one = camera();
  one.jump(one.framing({ left: 1000, top: 500, right: 3000, bottom: 900 }, 20));
  const [left, top] = one.world(0, 0);
  const [right, bottom] = one.world(800, 600);
  assert.ok(left <= 1000 && right >= 3000 && top <= 500 && bottom >= 900);
  assert.ok(Math.abs((left + right) / 2 - 2000) < 1e-6 && Math.abs((top + bottom) / 2 - 700) < 1e-6);
});

test("a glide begins where one is and ends where one wants to be, without leaving the way", () => {
  const one = camera();
  one.jump({ x: 0, y: 0, k: 1 });
  const to = one.framing({ left: 2000, top: 2000, right: 3000, bottom: 2800 });
  one.glide(to, 0, 200);
  let last = -Infinity;
  for (let now = 0; now < 200; now += 10) {
    assert.ok(one.advance(now));
    const middle = one.world(400, 300)[0];
    assert.ok(middle >= last - 1e-6, `${now}: ${middle} after ${last}`);
    last = middle;
  }
  assert.equal(one.advance(200), false);
  assert.deepEqual(one.view, to);
});

test("with less motion a glide is a jump", () => {
  const one = camera();
  one.glide({ x: 1, y: 2, k: 0.5 }, 0, 0);
  assert.deepEqual(one.view, { x: 1, y: 2, k: 0.5 });
  assert.equal(one.moving, false);
});

test("detail grows with zoom", () => {
  assert.deepEqual([0.1, 0.5, 1].map(detail), [Detail.Block, Detail.Type, Detail.All]);
});

test("a grid finds what looking at all finds", () => {
  let seed = 7;
  const random = (): number => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const n = 800;
  const make = (): Float32Array => new Float32Array(n);
  const [left, top, right, bottom] = [make(), make(), make(), make()];
  for (let i = 0; i < n; i++) {
    left[i] = random() * 5000;
    top[i] = random() * 5000;
    right[i] = (left[i] as number) + random() ** 4 * 4000;
    bottom[i] = (top[i] as number) + random() ** 4 * 4000;
  }
  const grid = new Grid(n, left, top, right, bottom, 5000, 5000);
  for (let k = 0; k < 60; k++) {
    const [x0, y0] = [random() * 5200 - 100, random() * 5200 - 100];
    const [x1, y1] = [x0 + random() * 1500, y0 + random() * 1500];
    const wanted: number[] = [];
    for (let i = 0; i < n; i++) if ((left[i] as number) <= x1 && (right[i] as number) >= x0 && (top[i] as number) <= y1 && (bottom[i] as number) >= y0) wanted.push(i);
    grid.query(x0, y0, x1, y1);
    assert.deepEqual([...grid.hits.subarray(0, grid.found)].sort((a, b) => a - b), wanted);
  }
});
