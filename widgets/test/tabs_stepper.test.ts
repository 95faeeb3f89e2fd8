import assert from "node:assert/strict";
import { test } from "node:test";
import type { Stepped } from "../src/tabs/replay.ts";
import { slotsOf, wordsOf } from "../src/tabs/stepper_words.ts";

const ints = (...values: number[]): Int32Array => Int32Array.from(values);
const floats = (...values: number[]): Float64Array => Float64Array.from(values);
const STRINGS = ["left", "left_l1", "sums", "mte2", "cube", "left[0:64]", "a @ b", "+ a @ b", "exp t0", "vector", "t1", "reduce_max t0", "copy"];

/** Two copies of a panel in L1: loads, and products that read them. */
const program = (steps: [pipe: number, buffer: number, copy: number, content: number, path: number, ...reads: [number, number][]][]): Stepped =>
  ({
    buffers: [
      { name: 0, level: "gm", copies: 1, copy_bytes: 999, role: "input" },
      { name: 1, level: "l1", copies: 2, copy_bytes: 64, role: "local" },
      { name: 2, level: "l0c", copies: 1, copy_bytes: 64, role: "local" },
      { name: 10, level: "ub", copies: 1, copy_bytes: 64, role: "local" },
    ],
    paths: [{ name: "gm->l1", total_bytes: 500 }],
    steps: {
      line: ints(...steps.map(() => 0)),
      pipe: ints(...steps.map((row) => row[0])),
      buffer: ints(...steps.map((row) => row[1])),
      copy: ints(...steps.map((row) => row[2])),
      content: ints(...steps.map((row) => row[3])),
      path: ints(...steps.map((row) => row[4])),
      moved_bytes: floats(...steps.map((row) => (row[4] < 0 ? 0 : 2048))),
      reads_at: ints(0, ...steps.map((_, i) => steps.slice(0, i + 1).reduce((sum, row) => sum + row.length - 5, 0))),
      reads: ints(...steps.flatMap((row) => row.slice(5).map((read) => (read as [number, number])[0]))),
      reads_copy: ints(...steps.flatMap((row) => row.slice(5).map((read) => (read as [number, number])[1]))),
    },
  }) as unknown as Stepped;

const load = (copy: number) => [3, 1, copy, 5, 0, [0, 0]] as [number, number, number, number, number, [number, number]];
const product = (copy: number, content = 7) => [4, 2, 0, content, -1, [1, copy], [2, 0]] as [number, number, number, number, number, [number, number], [number, number]];

test("an instruction is told in words", () => {
  const one = program([load(1), product(1, 6), product(1), [9, 3, 0, 8, -1], [9, 3, 0, 11, -1], [9, 3, 0, 12, -1]]);
  assert.equal(wordsOf(one, STRINGS, 0), "MTE2 moves 2.00 KiB from memory to L1: left[0:64] into left_l1 (copy 2 of 2).");
  assert.equal(wordsOf(one, STRINGS, 1), "The cube multiplies a by b and puts the product into sums in L0C.");
  assert.equal(wordsOf(one, STRINGS, 2), "The cube multiplies a by b and adds the product to sums in L0C.");
  assert.equal(wordsOf(one, STRINGS, 3), "The vector unit computes exp of t0 into t1 in UB.");
  assert.equal(wordsOf(one, STRINGS, 4), "The vector unit takes the max of each row of t0 into t1 in UB.");
  assert.equal(wordsOf(one, STRINGS, 5), "The vector unit copies a number into t1 in UB.");
  assert.match(wordsOf(one, STRINGS, -1), /Before/);
});

test("with two copies the next load runs beside the product; with one it waits until nobody reads any more", () => {
  const double = slotsOf(program([load(0), product(0), load(1), product(1), load(0), product(0)]), STRINGS);
  assert.deepEqual([...double.slot], [0, 1, 1, 2, 2, 3]);
  assert.deepEqual([double.pipes.map((pipe) => STRINGS[pipe]), [...double.lane]], [["mte2", "cube"], [0, 1, 0, 1, 0, 1]]);
  const single = slotsOf(program([load(0), product(0), load(0), product(0), load(0), product(0)]), STRINGS);
  assert.deepEqual([...single.slot], [0, 1, 2, 3, 4, 5]);
  assert.equal(single.slots, 6);
  assert.deepEqual(slotsOf(program([]), STRINGS).pipes, []);
});
