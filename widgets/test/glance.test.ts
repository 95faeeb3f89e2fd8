import assert from "node:assert/strict";
import { test } from "node:test";
import type { CostPart } from "../src/core/document.ts";
import { fallbacks, timeByType } from "../src/core/glance.ts";
import { nodesOf } from "./document.ts";

const nodes = nodesOf([{ name: "a", unit: 0 }, { name: "b", unit: 0 }, { name: "c", unit: 1 }, { name: "d", unit: 4 }, { name: "e", unit: 4 }]);

test("time is told by type, the dearest first, and what has no price is in none", () => {
  const cost = { strings: ["MatMul", "Gelu", "Unique"], node: Int32Array.of(0, 1, 2, 3), type: Int32Array.of(0, 0, 1, 2), latency_us: Float64Array.of(1, 5, 2, NaN) } as unknown as CostPart;
  assert.deepEqual(timeByType(cost, nodes), [
    { type: "MatMul", unit: 0, kernels: 2, us: 6, share: 0.75, dearest: 1 },
    { type: "Gelu", unit: 1, kernels: 1, us: 2, share: 0.25, dearest: 2 },
  ]);
  assert.deepEqual(timeByType({ ...cost, latency_us: new Float64Array(4).fill(NaN) }, nodes), []);
});

test("what falls back is looked for in the result alone", () => {
  assert.deepEqual(fallbacks({ ...nodes, gone: Int32Array.of(9, 9, 9, 9, 3) }, 9), [3]);
});
