import assert from "node:assert/strict";
import { test } from "node:test";
import type { CoursePart, RulesPart, StepsPart } from "../src/core/document.ts";
import { gainOf, outcomeOf, signed, storyOf, wholeGain } from "../src/tabs/rules_gains.ts";
import { turnOf } from "../src/tabs/figures.ts";

const course: CoursePart = {
  kernels: Float64Array.of(9, 9, 5, 4),
  latency_us: Float64Array.of(NaN, 90, 60, 70),
  launch_us: Float64Array.of(NaN, 18, 10, 8),
  hbm_bytes: Float64Array.of(NaN, 100, 100, 80),
  l2_bytes: Float64Array.of(NaN, 1000, 400, 400),
  unpriced: Int32Array.of(-1, 0, 0, 1),
  comparable: Uint8Array.of(0, 0, 1, 0),
};

test("what a step brought is what the graph costs after it less before, and nothing where they cannot be compared", () => {
  assert.deepEqual(gainOf(course, 2), { latency_us: -30, launch_us: -8, kernels: -4, hbm_bytes: 0, l2_bytes: -600 });
  for (const step of [-1, 0, 1, 3, 4]) assert.equal(gainOf(course, step), null, String(step));
  assert.equal(gainOf(undefined, 2), null);
});

test("the whole is from before the first pass to after the last", () => {
  const steps = { steps: ["parse", "parse", "passes", "memory"].map((stage) => ({ stage })) } as unknown as StepsPart;
  assert.deepEqual(wholeGain(course, steps), { first: 1, last: 2, comparable: true });
  assert.equal(wholeGain({ ...course, comparable: Uint8Array.of(0, 0, 0, 0) }, steps)?.comparable, false);
  const unknown = { steps: ["parse", "passes", "passes", "memory"].map((stage) => ({ stage })) } as unknown as StepsPart;
  assert.equal(wholeGain(course, unknown), null); // the graph before was not costed
  assert.equal(wholeGain(undefined, steps), null);
  assert.equal(wholeGain(course, { steps: [{ stage: "parse" }] } as unknown as StepsPart), null);
});

const rules = (row: Partial<Record<"step" | "tried" | "effective" | "near" | "is_fusion", number>> & { ends_in?: string }): RulesPart =>
  ({ step: [row.step ?? 4], tried: [row.tried ?? 0], effective: [row.effective ?? 0], near: [row.near ?? 0], is_fusion: [row.is_fusion ?? 1], ends_in: [row.ends_in ?? ""] }) as unknown as RulesPart;

test("a rule that found nothing says whether it ever tried", () => {
  const told = (row: Parameters<typeof rules>[0], on = true): string => outcomeOf(rules(row), 0, on);
  assert.equal(told({ step: -1 }, false), "switched off");
  assert.equal(told({ step: -1 }), "not run");
  assert.equal(told({ tried: 24, effective: 12, near: 12 }), "12 of 24 places");
  assert.equal(told({ tried: 24, near: 12 }), "0 of 24 places, 12 nearly");
  assert.equal(told({ tried: 1 }), "0 of 1 place");
  assert.equal(told({ ends_in: "Softmax, com.microsoft::Attention" }), "no Softmax or Attention");
  assert.equal(told({ ends_in: "A, B, C, D" }), "no A, B or 2 more");
  assert.equal(told({ is_fusion: 0 }), "nothing to do");
  assert.equal(told({ is_fusion: 0, effective: 3 }), "swept the graph");
  assert.match(storyOf(rules({ ends_in: "Softmax" }), 0, true), /never tried.*no Softmax/);
  assert.equal(storyOf(rules({ tried: 24, effective: 12, near: 7, ends_in: "MatMul" }), 0, true), "It looked at 24 places, each MatMul: 12 rewritten, 7 nearly, 5 far from its pattern, or part of another match.");
});

test("a difference has its sign", () => {
  assert.deepEqual([-3, 0, 4, NaN].map((x) => signed(x, String)), ["−3", "±0", "+4", "–"]);
});

test("a figure names the step that changed it most", () => {
  assert.deepEqual(turnOf(Float64Array.of(NaN, 90, 60, 100, 99)), { step: 3, change: 40 });
  // The costliest step made other kernels have a price: its change is none of its doing.
  assert.deepEqual(turnOf(Float64Array.of(NaN, 90, 60, 100, 99), Uint8Array.of(0, 0, 1, 0, 1)), { step: 2, change: -30 });
  for (const series of [null, Float64Array.of(), Float64Array.of(5), Float64Array.of(5, 5), Float64Array.of(NaN, 5)]) assert.equal(turnOf(series), null);
});
