import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { applied, isDifference } from "../src/core/delta.ts";

// Written by Python: tests/unit/views/test_delta.py holds that they are what it writes today.
const cases = JSON.parse(readFileSync("test/deltas.json", "utf8")) as Record<"name" | "source" | "target" | "delta", string>[];
const bytes = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"));

for (const { name, source, target, delta } of cases) {
  test(`a difference is applied: ${name}`, () => {
    assert.equal(isDifference(bytes(delta)), true);
    assert.deepEqual(applied(bytes(source), bytes(delta)), bytes(target));
  });
}

test("a damaged difference is refused, wherever the damage is, or makes bytes of the promised length", () => {
  const { source, target, delta } = cases.find(({ name }) => name.startsWith("pieces")) as (typeof cases)[number];
  for (let at = 0; at < bytes(delta).length; at++) {
    const spoilt = bytes(delta);
    spoilt[at] = (spoilt[at] as number) ^ 0xff;
    try {
      assert.equal(applied(bytes(source), spoilt).length, bytes(target).length);
    } catch (error) {
      assert.equal((error as Error).message, "this variant's data is damaged");
    }
  }
});

test("a difference to something else, and what is cut off, are refused", () => {
  const { source, delta } = cases.find(({ name }) => name.startsWith("something")) as (typeof cases)[number];
  assert.throws(() => applied(bytes(source).subarray(1), bytes(delta)), /damaged/);
  for (const length of [0, 3, 19, 24]) assert.throws(() => applied(bytes(source), bytes(delta).subarray(0, length)), /damaged/);
  assert.equal(isDifference(new Uint8Array([1, 2, 3])), false);
});
