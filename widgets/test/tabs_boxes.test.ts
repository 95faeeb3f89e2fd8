import assert from "node:assert/strict";
import { test } from "node:test";
import { Grid, paint, peaks, tintGaps, type Boxes, type Ink } from "../src/tabs/boxes.ts";

const ink = (n: number): Ink => ({
  colour: Uint8Array.from({ length: n }, (_, i) => i),
  fills: Uint32Array.from({ length: n }, (_, i) => i + 1),
  edges: Uint32Array.from({ length: n }, (_, i) => i + 1),
  hatched: new Uint8Array(n),
  clash: 999,
});

const boxes = (rows: [x0: number, x1: number, y0: number, y1: number][]): Boxes => ({
  x0: rows.map((row) => row[0]),
  x1: rows.map((row) => row[1]),
  y0: rows.map((row) => row[2]),
  y1: rows.map((row) => row[3]),
  length: rows.length,
});

const random = (seed: number) => () => (seed = (seed * 16807) % 2147483647) / 2147483647;

test("rectangles fill the pixels that they cover; y grows upwards", () => {
  const pixels = new Uint32Array(16);
  paint(boxes([[0, 2, 0, 1], [2, 4, 3, 4]]), { left: 0, right: 4, bottom: 0, top: 4, width: 4, height: 4 }, ink(2), pixels);
  assert.deepEqual([...pixels], [0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0]);
});

test("what is smaller than a pixel still shows", () => {
  const pixels = new Uint32Array(100);
  paint(boxes([[0.1, 0.2, 5.1, 5.2]]), { left: 0, right: 10, bottom: 0, top: 10, width: 10, height: 10 }, ink(1), pixels);
  assert.equal(pixels.filter((pixel) => pixel).length, 1);
});

test("what lies outside of the view is not drawn, what reaches into it is", () => {
  const pixels = new Uint32Array(16);
  const frame = { left: 10, right: 14, bottom: 0, top: 4, width: 4, height: 4 };
  paint(boxes([[0, 10, 0, 4], [14, 20, 0, 4], [13, 99, 0, 4]]), frame, ink(3), pixels);
  assert.deepEqual([...pixels.subarray(0, 4)], [0, 0, 0, 3]);
});

test("a true overlap clashes; neighbours that share an edge or a pixel do not", () => {
  const frame = { left: 0, right: 8, bottom: 0, top: 8, width: 8, height: 8 };
  assert.equal(paint(boxes([[0, 4, 0, 4], [4, 8, 0, 4], [0, 8, 4, 8]]), frame, ink(3), new Uint32Array(64)), 0);
  assert.equal(paint(boxes([[0, 3.5, 0, 4], [3.5, 8, 0, 4]]), frame, ink(2), new Uint32Array(64)), 0);
  assert.equal(paint(boxes([[0, 4, 0, 4], [2, 6, 2, 6]]), frame, ink(2), new Uint32Array(64)), 4);
});

test("a thousand rectangles side by side never clash, whatever the size of the picture", () => {
  const next = random(7);
  const rows: [number, number, number, number][] = [];
  for (let lane = 0; lane < 20; lane++) for (let x = 0; x < 1000; ) {
    const end = x + 1 + Math.floor(next() * 40);
    rows.push([x, end, lane * 512, lane * 512 + 512]);
    x = end;
  }
  for (const [width, height] of [[97, 31], [640, 480], [1000, 200], [1333, 77]]) {
    const frame = { left: 0, right: 1000, bottom: 0, top: 20 * 512, width, height };
    assert.equal(paint(boxes(rows), frame, { ...ink(rows.length), colour: new Uint8Array(rows.length) }, new Uint32Array(width * height)), 0);
  }
});

test("free bytes are tinted only below something", () => {
  // one column: empty, filled, empty, empty
  const pixels = Uint32Array.from([0, 5, 0, 0]);
  tintGaps(pixels, 1, 4, 7);
  assert.deepEqual([...pixels], [0, 5, 7, 7]);
});

test("the grid finds what a search through all finds", () => {
  const next = random(42);
  const rows = Array.from({ length: 2000 }, (): [number, number, number, number] => {
    const [x, y] = [next() * 1000, next() * 500];
    return [x, x + next() ** 4 * 800, y, y + next() ** 4 * 300];
  });
  const all = boxes(rows);
  const grid = new Grid(all);
  for (let k = 0; k < 2000; k++) {
    const [x, y] = [next() * 1100 - 50, next() * 600 - 50];
    let expected = -1;
    rows.forEach(([x0, x1, y0, y1], i) => x >= x0 && x <= x1 && y >= y0 && y <= y1 && (expected = i));
    assert.equal(grid.hit(x, y), expected);
  }
});

test("the grid takes the nearest within reach, and copes with nothing and with one", () => {
  const grid = new Grid(boxes([[0, 1, 0, 1], [5, 6, 0, 1]]));
  assert.equal(grid.hit(4.5, 0.5, 1, 1), 1);
  assert.equal(grid.hit(3, 0.5, 1, 1), -1);
  assert.equal(new Grid(boxes([])).hit(0, 0), -1);
  assert.equal(new Grid(boxes([[2, 2, 3, 3]])).hit(2, 3), 0);
});

test("100,000 long thin rectangles do not make the grid explode", () => {
  const n = 100_000;
  const many: Boxes = { x0: new Float64Array(n), x1: new Float64Array(n).fill(n), y0: Float64Array.from({ length: n }, (_, i) => i), y1: Float64Array.from({ length: n }, (_, i) => i + 1), length: n };
  const grid = new Grid(many);
  assert.equal(grid.hit(5000, 70_000.5), 70_000);
  assert.ok(grid.weight <= 10 * n, `${grid.weight}`);
});

test("peaks of columns keep the highest value, whether there are more or fewer columns", () => {
  const values = [1, 9, 2, 3, 4, 8, 1, 1];
  assert.deepEqual([...peaks(values, 0, 8, 4)], [9, 3, 8, 1]);
  assert.deepEqual([...peaks(values, 0, 4, 8)], [1, 1, 9, 9, 2, 2, 3, 3]);
});
