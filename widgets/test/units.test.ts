import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, change, count, measure, percent, seconds, time } from "../src/core/units.ts";

test("sizes have three digits and a binary unit", () => {
  assert.deepEqual([0, 999, 1023, 1024, 100_663_296, 1536, 10 * 1024, 1e12].map(bytes), ["0 B", "999 B", "1.00 KiB", "1.00 KiB", "96.0 MiB", "1.50 KiB", "10.0 KiB", "931 GiB"]);
});

test("times go from ns to s", () => {
  assert.deepEqual([0, 0.25, 1, 999, 1000, 3100, 2.5e6].map(time), ["0 µs", "250 ns", "1.00 µs", "999 µs", "1.00 ms", "3.10 ms", "2.50 s"]);
  assert.equal(seconds(0.9), "900 ms");
});

test("rounding never shows four digits", () => {
  for (let x = 1; x < 1e9; x *= 1.0171) {
    for (const text of [bytes(x), time(x)]) assert.ok((text.match(/\d/g) ?? []).length <= 3, `${x}: ${text}`);
  }
});

test("counts have thousands separated", () => {
  assert.deepEqual([0, 999, 1336, 1234567, -1234].map(count), ["0", "999", "1,336", "1,234,567", "-1,234"]);
});

test("what is not known is a dash", () => {
  for (const text of [bytes(NaN), time(null), count(undefined), measure(null, "ratio"), percent(Infinity)]) assert.equal(text, "–");
});

test("a change has its sign", () => {
  assert.equal(change(84, 1336), "−94 %");
  assert.equal(change(102.3, 100), "+2.3 %");
  assert.equal(change(5, 5), "±0 %");
  assert.equal(change(100.01, 100), "±0 %");
  assert.equal(change(2000, 100), "×20.0");
  assert.equal(change(5, null), "");
});
