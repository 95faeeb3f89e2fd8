import assert from "node:assert/strict";
import { test } from "node:test";
import type { CostPart, MemoryPart, NodesPart, SchedulePart } from "../src/core/document.ts";
import { boundsOf, hits, wastedOf } from "../src/tabs/kernels.ts";
import { idleBy } from "../src/tabs/lanes.ts";
import { idleOf, nextUse, usesOf } from "../src/tabs/lives.ts";
import { amount } from "../src/tabs/table.ts";
import { placed } from "../src/tabs/tooltip.ts";
import { meant } from "../src/tabs/versions.ts";
import { walk } from "../src/tabs/walk.ts";
import { onlyMoves } from "../src/tabs/roofline.ts";
import { bindingOf, shortened, sizeMissed } from "../src/tabs/words.ts";

const ints = (...values: number[]): Int32Array => Int32Array.from(values);
const floats = (...values: number[]): Float64Array => Float64Array.from(values);

// Node 10 + p runs at position p. Value 5 is written at 0, read at 1 and, as its view 6, at 4; value 7 lives on after its use.
const nodes = {
  strings: ["a"], name: new Int32Array(15), gone: new Int32Array(15).fill(3),
  inputs_at: ints(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 3), inputs: ints(5, -1, 6),
  outputs_at: ints(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2), outputs: ints(5, 7),
  origin_at: new Int32Array(16), origin: ints(),
} as unknown as NodesPart; // prettier-ignore
const memory = {
  order: ints(10, 11, 12, 13, 14), first: ints(0, 1, 2), last: ints(4, 3, 2), value: ints(5, 7, -1),
  member_at: ints(0, 2, 3, 4), member: ints(5, 6, 7, -1),
} as unknown as MemoryPart; // prettier-ignore

test("who is used when follows from what the nodes read and write, through views too", () => {
  const uses = usesOf(memory, nodes);
  assert.deepEqual([...uses.at], [0, 3, 4, 4]);
  assert.deepEqual([...uses.positions], [0, 1, 4, 1]);
  assert.deepEqual([nextUse(uses, 0, 1), nextUse(uses, 0, 2), nextUse(uses, 1, 2), nextUse(uses, 2, 2)], [1, 4, -1, undefined]);
  assert.deepEqual(idleOf(memory, uses, 0), { from: 2, steps: 2 });
  assert.deepEqual(idleOf(memory, uses, 1), { from: 2, steps: 2 }, "held after its last use");
  assert.deepEqual(idleOf(memory, uses, 2), { from: -1, steps: 0 }, "nothing is known of a workspace");
  assert.deepEqual([...usesOf(memory, undefined).positions], []);
});

test("streams stand idle for data or for bytes; waiting for their own turn is no idleness", () => {
  const schedule = { strings: ["", "data", "reuse", "stream"], wait_us: floats(0, 2, 3, 4, 9), held_why: ints(0, 1, 2, 1, 3) } as unknown as SchedulePart;
  assert.deepEqual(idleBy(schedule), { data: 6, reuse: 3 });
});

const cost = {
  strings: ["launch", "mte2"], name: ints(0, 0, 0), bound: ints(0, 1, 0), latency_us: floats(1, 5, 2),
  hbm_bytes: floats(30, 5, NaN), compulsory_bytes: floats(10, 10, 10),
} as unknown as CostPart; // prettier-ignore

test("what is wasted is what goes beyond compulsory, and never less than nothing", () => {
  assert.deepEqual([0, 1, 2].map((i) => wastedOf(cost, i)), [20, 0, 0]);
  assert.deepEqual([hits(100, 25), hits(100, 130)], [0.75, 0]);
  assert.ok(Number.isNaN(hits(0, 0)));
  assert.deepEqual(boundsOf(cost), [{ bound: "mte2", us: 5, kernels: 1 }, { bound: "launch", us: 3, kernels: 2 }]);
});

test("a bar fills its cell at the largest number, also where all are nothing", () => {
  const column = (values: number[]) => amount({ title: "n", width: "1em", of: (row) => values[row], text: String, colour: () => "red", rows: values.length });
  assert.deepEqual([0, 1, 2].map((row) => column([2, NaN, 8]).bar?.(row)), [0.25, NaN, 1]);
  assert.equal(column([0, 0]).bar?.(0), 0);
  assert.equal(column([3]).key?.(0), 3);
});

test("arrows go to the nearest ahead, rather in the same row; boxes at one place are gone through by number", () => {
  // Two rows: 0 1 2 above, 3 below and between 0 and 1; 4 lies upon 2.
  const boxes = { x0: [0, 10, 20, 6, 20], x1: [5, 15, 25, 9, 25], y0: [1, 1, 1, 0, 1], y1: [2, 2, 2, 0.9, 2], length: 5 };
  assert.equal(walk(boxes, 0, 1, 0), 1);
  assert.equal(walk(boxes, 1, -1, 0), 0);
  assert.equal(walk(boxes, 0, -1, 0), -1);
  assert.equal(walk(boxes, 1, 0, 1), 3, "down");
  assert.equal(walk(boxes, 3, 0, -1), 1, "up");
  assert.equal(walk(boxes, 2, 1, 0), 4);
  assert.equal(walk(boxes, 4, -1, 0), 2);
  assert.equal(walk(boxes, 4, 1, 0), -1);
  assert.equal(walk(boxes, -1, 1, 0), -1);
  assert.equal(walk({ x0: [], x1: [], y0: [], y1: [], length: 0 }, 0, 1, 0), -1);
});

test("a tip lies in the window and not over what it tells of", () => {
  for (const room of [[1280, 860], [400, 300], [320, 900]] as const) {
    for (const size of [[200, 120], [300, 130]] as const) {
      for (let x = 0; x <= room[0]; x += 20) {
        for (let y = 0; y <= room[1]; y += 20) {
          const at = placed(x, y, size[0], size[1], room[0], room[1]);
          assert.ok(at.x >= 0 && at.y >= 0 && at.x + size[0] <= room[0] && at.y + size[1] <= room[1], `outside at ${x}, ${y}`);
          assert.ok(x < at.x || x > at.x + size[0] || y < at.y || y > at.y + size[1], `over ${x}, ${y} of ${room}`);
        }
      }
    }
  }
});

test("the cursor on a tensor means the kernel that writes it", () => {
  assert.equal(meant({ nodes }, {}), null);
  assert.deepEqual([10, 11].map((node) => meant({ nodes }, { value: 7 })?.(node)), [false, true]);
  assert.equal(meant({ nodes }, { value: 99 }), null);
  assert.equal(shortened("abcdef", 4), "ab…ef");
  assert.equal(shortened("abcd", 4), "abcd");
});

test("where nothing computes there is nothing to place under a roof, and it is said", () => {
  const moves = { name: ints(0, 1), type: ints(0, 0), bound: ints(0, 0), flops: floats(0, NaN), latency_us: floats(3, 5), hbm_bytes: floats(1024, 0), l2_bytes: floats(1024, 2048) } as unknown as CostPart;
  assert.match(onlyMoves(moves) ?? "", /^The 2 kernels with a price only move data \(8\.00 µs, 1\.00 KiB of HBM\)/);
  // What computes without HBM has a place under L2's roof.
  assert.equal(onlyMoves({ ...moves, flops: floats(0, 7) }), null);
});

test("what binds open sizes is told where somebody misses them, and where there are such", () => {
  const head = { binding: "shapes={'x': (1, 3)}" } as never;
  assert.deepEqual([bindingOf({ head }, true), bindingOf({ head }, false), bindingOf({}, true)], ["shapes={'x': (1, 3)}", "", ""]);
});

test("sizes are asked for only where a kernel has no price for want of one", () => {
  const cost = (...reasons: string[]) => ({ strings: reasons, unpriced: reasons.map((_, at) => at), unpriced_reason: reasons.map((_, at) => at) }) as unknown as CostPart;
  assert.equal(sizeMissed(cost("how often the graphs inside it run is not known")), false);
  assert.equal(sizeMissed(cost("how often the graphs inside it run is not known", "the size of x is not known before run time")), true);
  assert.equal(sizeMissed(cost("a shape is not known before run time")), true);
  assert.equal(sizeMissed(cost()), false);
  assert.equal(sizeMissed(undefined), false);
});
