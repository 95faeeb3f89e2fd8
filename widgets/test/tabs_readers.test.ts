import assert from "node:assert/strict";
import { test } from "node:test";
import type { CostPart, Head, MemoryPart, NodesPart, SchedulePart, StepRow } from "../src/core/document.ts";
import { Unit } from "../src/core/document.ts";
import { contrast, inkOn, mixed, pixel, ramp } from "../src/tabs/colour.ts";
import { isWorse } from "../src/inspector/difference.ts";
import { verdict } from "../src/tabs/figures.ts";
import { errorOf, groupsOf, ofRoof, pointsOf, roofOf, shapeOf, unitsOf } from "../src/tabs/kernels.ts";
import { cellAt, cellOf, edgesOf, landscapeOf, quickness, type TiledKernel } from "../src/tabs/landscape.ts";
import { barsOf, criticalTasks, eventsOf, lanesOf, occupancy } from "../src/tabs/lanes.ts";
import { isQuiet, lapsOf } from "../src/tabs/laps.ts";
import { aliveAt, boxesOf, bytesByKind, clashes, holding, holeBytes } from "../src/tabs/lives.ts";
import { reasonsOf } from "../src/tabs/misses.ts";
import { byTile, replay, type Stepped } from "../src/tabs/replay.ts";
import { becomes } from "../src/tabs/versions.ts";
import { noPrice, share, within } from "../src/tabs/words.ts";

const ints = (...values: number[]): Int32Array => Int32Array.from(values);
const floats = (...values: number[]): Float64Array => Float64Array.from(values);

// a: 0..2 at 0, b: 1..1 at 100 .. 150, c: 2..3 at 120; b and c never live together, a and b do.
const memory = {
  strings: ["a", "b", "c", "intermediate", "workspace"],
  pool_bytes: 170, bound_bytes: 150, peak: 1, unsized: 0,
  order: ints(10, 11, 12, 13),
  load_bytes: floats(100, 150, 150, 50),
  value: ints(5, -1, 7), name: ints(0, 1, 2),
  offset_bytes: floats(0, 100, 120), size_bytes: floats(100, 50, 50),
  first: ints(0, 1, 2), last: ints(2, 1, 3),
  tensors: ints(2, 1, 1), member_at: ints(0, 2, 3, 4), member: ints(5, 6, -1, 7),
  kind: ints(3, 4, 3), conflict_a: ints(), conflict_b: ints(),
} as unknown as MemoryPart; // prettier-ignore

test("buffers alive at a position come largest first, with their bytes by kind and the holes between", () => {
  assert.deepEqual([...aliveAt(memory, 1)], [0, 1]);
  assert.deepEqual(bytesByKind(memory, aliveAt(memory, 1)), [["intermediate", 100], ["workspace", 50]]);
  assert.equal(holeBytes(memory, 1), 0);
  assert.equal(holeBytes(memory, 2), 20);
  assert.deepEqual([...aliveAt(memory, 9)], []);
});

test("a tensor is found in the buffer of another", () => {
  assert.deepEqual(holding(memory, 6), [0]);
  assert.deepEqual(holding(memory, 7), [2]);
  assert.deepEqual(holding(memory, 99), []);
});

test("a conflict is what both buffers claim", () => {
  const bad = { ...memory, first: ints(0, 1, 1), conflict_a: ints(1), conflict_b: ints(2) };
  assert.deepEqual(clashes(bad), [{ a: 1, b: 2, x0: 1, x1: 2, y0: 120, y1: 150 }]);
  assert.deepEqual(Array.from(boxesOf(memory).x1), [3, 2, 4]);
});

const schedule = {
  strings: ["k0", "k1", "k2", "cube", "vector", "data", "reuse"],
  makespan_us: 10, streams: [{ label: "stream 0" }, { label: "stream 1" }],
  node: ints(0, 1, 2), name: ints(0, 1, 2), stream: ints(0, 1, 0), core: ints(3, 3, 4),
  start_us: floats(0, 2, 6), duration_us: floats(6, 2, 4), slack_us: floats(0, 2, 0), critical: Uint8Array.of(1, 0, 1),
  event_from: ints(0, 1), event_to: ints(1, 2), event_reason: ints(5, 6),
} as unknown as SchedulePart; // prettier-ignore

test("lanes by stream have one row; by core type, those that overlap get a row of their own", () => {
  const streams = lanesOf(schedule, "stream");
  assert.deepEqual(streams.lanes.map(({ label, rows, tasks, busy_us }) => [label, rows, tasks, busy_us]), [["stream 0", 1, 2, 10], ["stream 1", 1, 1, 2]]);
  const cores = lanesOf(schedule, "core");
  assert.deepEqual(cores.lanes.map(({ label, rows, busy_us }) => [label, rows, busy_us]), [["cube", 2, 6], ["vector", 1, 4]]);
  assert.equal(cores.rows, 3);
  const bars = barsOf(schedule, cores);
  assert.ok(bars.y0[0] > bars.y1[1] && bars.y0[1] > bars.y1[2], "the first lane is on top");
});

test("events are found from both sides, the critical path in order of time", () => {
  const { waits, sends } = eventsOf(schedule);
  assert.deepEqual(waits.get(2), [1]);
  assert.deepEqual(sends.get(0), [0]);
  assert.equal(waits.get(0), undefined);
  assert.deepEqual([...criticalTasks(schedule)], [0, 2]);
});

test("occupancy adds up to the time that all kernels take", () => {
  for (const columns of [1, 3, 10, 64]) {
    const sum = occupancy(schedule, columns).reduce((a, b) => a + b, 0) * (10 / columns);
    assert.ok(Math.abs(sum - 12) < 1e-9, `${columns}: ${sum}`);
  }
  assert.deepEqual([...occupancy(schedule, 10)], [1, 1, 2, 2, 1, 1, 1, 1, 1, 1]);
});

const cost = {
  strings: ["mm0", "mm1", "add", "copy", "MatMul", "Add", "Copy", "gemm", "vector", "cube", "launch", "mte2", "the size is not known"],
  node: ints(-1, -1, -1, -1), name: ints(0, 1, 2, 3), type: ints(4, 4, 5, 6), family: ints(7, 7, 8, 8),
  error: floats(0.1, 0.1, NaN, NaN), flops: floats(1e9, 1e9, 1e6, 0), peak_flops_per_s: floats(NaN, NaN, NaN, NaN),
  compulsory_bytes: floats(1e6, 1e6, 3e6, 2e6), hbm_bytes: floats(2e6, 2e6, 0, 2e6), l2_bytes: floats(4e6, 4e6, 3e6, 2e6), l1_bytes: floats(1, 1, 0, 0), ub_bytes: floats(0, 0, 3, 2),
  latency_us: floats(10, 10, 5, 4), bound: ints(9, 9, 10, 11), unpriced: ints(), unpriced_reason: ints(),
} as unknown as CostPart; // prettier-ignore

test("sums by type keep the order of running and lose no byte", () => {
  const groups = groupsOf(cost, "type");
  assert.deepEqual(groups.map(({ name, kernels, us }) => [name, kernels.length, us]), [["MatMul", 2, 20], ["Add", 1, 5], ["Copy", 1, 4]]);
  assert.equal(groups.reduce((all, group) => all + group.bytes.hbm, 0), 6e6);
  assert.equal(groupsOf(cost, "kernel").length, 4);
});

test("alike kernels are one point; movers and those that HBM never sees have none", () => {
  const { points, moves, cached } = pointsOf(cost, "hbm");
  assert.equal(points.length, 1);
  assert.deepEqual(points[0].kernels, [0, 1]);
  assert.equal(points[0].intensity, 500);
  assert.ok(Math.abs(points[0].speed - 1e14) < 1);
  assert.equal(points[0].us, 20);
  assert.deepEqual([moves, cached], [[3], [2]]);
  assert.equal(pointsOf(cost, "l2").points.length, 2);
});

test("errors are weighted by time, and nothing known is said as such", () => {
  assert.ok(Math.abs((errorOf(cost, [0, 1, 2]) as number) - 0.1) < 1e-12);
  assert.equal(errorOf(cost, [2, 3]), null);
  assert.equal(within(0.123), "(simulated, ±12 %)");
  assert.equal(within(0.034, true), "±3.4 %");
  assert.equal(within(null), "(simulated, error not known)");
});

test("units without a node follow from what bounds a kernel; bounds have shapes", () => {
  assert.deepEqual([...unitsOf(cost, undefined)], [Unit.Cube, Unit.Cube, Unit.Move, Unit.Move]);
  assert.deepEqual(["cube", "launch", "host", "mte2", "fixpipe"].map(shapeOf), ["circle", "triangle", "cross", "square", "diamond"]);
});

test("a graph without prices says why", () => {
  assert.equal(noPrice(cost), null);
  const none = { ...cost, name: ints(), unpriced: ints(0, 1), unpriced_reason: ints(12, 12) };
  assert.match(noPrice(none) ?? "", /No kernel has a price: 2 kernels \(mm0, mm1\): the size is not known/);
  assert.match(noPrice(undefined) ?? "", /No costs yet/);
});

const kernel = {
  m: ints(16, 16, 32, 32, 16, 512), n: ints(16, 32, 16, 32, 16, 16), k: ints(16, 16, 16, 16, 32, 16),
  time_us: floats(8, 4, NaN, NaN, 6, NaN), blocker: ints(-1, -1, -1, 3, -1, 3), chosen: 1, best: 1,
} as unknown as TiledKernel; // prettier-ignore

test("of several tiles of a block the fastest stands for it; what can never fit is cut off", () => {
  const found = landscapeOf(kernel);
  assert.deepEqual([found.ms, found.ns], [[16, 32], [16, 32]]);
  assert.deepEqual([...found.cells], [4, 1, 2, 3]);
  assert.deepEqual([found.fastest, found.looked, found.fitting], [4, 3, 4]);
  assert.deepEqual(found.blockers, [3]);
  assert.deepEqual(cellOf(found, kernel, 1), { row: 0, column: 1 });
  assert.equal(cellOf(found, kernel, -1), null);
  assert.equal(cellOf(found, kernel, 5), null);
});

test("cells of equal ratios are as wide, and a place finds its cell", () => {
  const edges = edgesOf([16, 32, 64, 128]);
  for (let i = 0; i < 4; i++) assert.ok(Math.abs(edges[i + 1] - edges[i] - 0.25) < 1e-9);
  assert.deepEqual([0, 0.3, 0.99, 1.01, -0.01].map((at) => cellAt(edges, at)), [0, 1, 3, -1, -1]);
  assert.deepEqual([...edgesOf([16])], [0, 1]);
  const uneven = edgesOf([16, 48, 64, 4096]);
  assert.ok(uneven.every((edge, i) => !i || edge > uneven[i - 1]) && uneven[0] === 0 && Math.abs(uneven[4] - 1) < 1e-12);
});

test("quickness falls by equal steps for equal ratios", () => {
  assert.equal(quickness(3, 3), 1);
  assert.ok(Math.abs(quickness(6, 3) - 0.5) < 1e-12);
  assert.equal(quickness(99, 3), 0);
});

const step = (index: number, stage: string, kind: StepRow["kind"], seconds: number, changed = true): StepRow => ({ index, stage, name: `s${index}`, kind, seconds, changed }) as StepRow;

test("laps fill the time of their stage, the longest first, and quiet steps are told from others", () => {
  const steps = [step(0, "parse", "stage", 2), step(1, "passes", "pass", 1), step(2, "passes", "rule", 3, false), step(3, "passes", "pass", 2)];
  const stages = [{ name: "parse", seconds: 2.5, steps: 1, status: "done" }, { name: "passes", seconds: 6, steps: 3, status: "done" }, { name: "memory", seconds: 0, steps: 0, status: "absent" }] as Head["stages"];
  const { laps, seconds } = lapsOf(stages, steps);
  assert.equal(seconds, 8.5);
  assert.deepEqual(laps.filter((lap) => lap.level === 0).map((lap) => [lap.name, lap.start, lap.seconds]), [["parse", 0, 2.5], ["passes", 2.5, 6]]);
  assert.deepEqual(laps.filter((lap) => lap.level === 2 && lap.stage === "passes").map((lap) => [lap.step, lap.start]), [[3, 2.5], [1, 4.5], [2, 5.5]]);
  assert.deepEqual(steps.map(isQuiet), [false, false, true, false]);
});

test("near misses are grouped by reason, the one that would save most first; a blocker of several counts once", () => {
  const rejects = { node: ints(0, 1, 2, 3, 4, 5), code: ints(1, 2, 1, 3, 3, 1), blocker: ints(7, -1, 8, -1, -1, 8), blocker_value: ints(-1, 3, -1, -1, -1, -1), saved_bytes: floats(0, 100, 0, NaN, NaN, 0), traffic_bytes: floats(5, 100, 7, NaN, NaN, 6) } as unknown as StepRow["rejects"];
  const reasons = reasonsOf(rejects);
  assert.deepEqual(reasons.map(({ code, places, saving }) => [code, places, saving.bytes, saving.hbm]), [[2, [1], 100, 100], [1, [2, 5, 0], 12, 0], [3, [3, 4], 0, 0]]);
});

test("a figure is better, worse, or as it was to what is shown", () => {
  const figure = { value: 90, lower_is_better: true } as Parameters<typeof verdict>[0];
  assert.deepEqual([100, 80, 90, 90.01, null].map((before) => verdict(figure, before)), [1, -1, 0, 0, 0]);
  assert.equal(verdict({ ...figure, lower_is_better: false }, 100), -1);
  assert.equal(verdict({ ...figure, lower_is_better: null }, 100), 0);
  const differs = { key: "", label: "", unit: "count", before: 87, after: 111 } as const;
  assert.deepEqual([true, false, null].map((less_is_better) => isWorse({ ...differs, less_is_better })), [true, false, null]);
});

test("text on every unit's colour and on the ramp can be read", () => {
  const units = ["#e69f00", "#56b4e9", "#cc79a7", "#b5a922", "#4b3b47", "#2f9e94", "#a9b4bf", "#7b8896", "#f0ab1b", "#b9a8b5"];
  for (const unit of units) for (const ground of ["#ffffff", "#151b23"]) for (const some of [0.05, 0.12, 0.34, 0.6]) {
    const colour = mixed(unit, ground, some);
    assert.ok(contrast(colour, inkOn(colour)) >= 4.5, `${unit} on ${ground} ${some}: ${contrast(colour, inkOn(colour))}`);
  }
  for (let i = 0; i <= 20; i++) assert.ok(contrast(ramp(i / 20), inkOn(ramp(i / 20))) >= 4.5, `ramp ${i / 20}`);
  assert.equal(pixel("#102030"), 0xff302010);
});

test("shares are never rounded to nothing or to all", () => {
  assert.deepEqual([0, 0.0001, 0.5, 0.9999, 1].map(share), ["0.0 %", "<0.1 %", "50.0 %", ">99.9 %", "100.0 %"]);
});

test("a kernel's roof is that of its unit; one of both units reads through both paths", () => {
  const chip = {
    ...cost,
    bandwidths: [{ label: "HBM", bytes_per_s: 2 }, { label: "L2 to L1", bytes_per_s: 5 }, { label: "L2 to UB", bytes_per_s: 4 }],
    peaks: [{ label: "cube, 16 bits", flops_per_s: 300 }, { label: "cube, 8 bits", flops_per_s: 600 }, { label: "vector, 16 bits", flops_per_s: 10 }],
  };
  assert.deepEqual(roofOf(chip, "l2", Unit.Mixed), { bytes_per_s: 9, flops_per_s: 600 });
  assert.deepEqual(roofOf(chip, "l2", Unit.Vector), { bytes_per_s: 4, flops_per_s: 10 });
  assert.deepEqual(roofOf(chip, "hbm", Unit.Cube), { bytes_per_s: 2, flops_per_s: 600 });
  const wide = { ...chip, peak_flops_per_s: Float64Array.of(75, NaN) };
  assert.deepEqual([0, 1].map((kernel) => roofOf(wide, "hbm", Unit.Cube, kernel).flops_per_s), [75, 600]);
  assert.equal(ofRoof(wide, "hbm", Unit.Cube, { kernels: [0], intensity: 1000, speed: 60, us: 1 }), 0.8);
  const point = { kernels: [0], intensity: 1, speed: 2, us: 1 };
  assert.equal(ofRoof(chip, "l2", Unit.Vector, point), 0.5);
  assert.equal(ofRoof(chip, "l2", Unit.Vector, { ...point, intensity: 100, speed: 10 }), 1);
});

test("a node of an early step lights what has become of it: its last version, or the kernel that it is in", () => {
  // 0: old version of 3; 1, 2: fused into 4 (sources 10 and 11); 3: last version; 5: something else.
  const nodes = {
    name: ints(7, 8, 9, 7, 20, 21), gone: ints(1, 2, 2, 5, 5, 5),
    origin_at: ints(0, 1, 2, 3, 4, 6, 7), origin: ints(1, 10, 11, 1, 10, 11, 12),
  } as unknown as NodesPart; // prettier-ignore
  const those = (chosen: number): number[] => [3, 4, 5].filter(becomes(nodes, chosen));
  assert.deepEqual([0, 1, 2, 3, 5].map(those), [[3], [4], [4], [3], [5]]);
  assert.ok(!becomes(nodes, 1)(-1));
  assert.deepEqual([1, 2].map(becomes(undefined, 2)), [false, true]);
});

test("a kernel is replayed: copies hold what was last put there, paths add up, tiles are steps", () => {
  const program = {
    buffers: [{ name: 0, level: "gm", copies: 1, copy_bytes: 999, role: "input" }, { name: 1, level: "l1", copies: 2, copy_bytes: 64, role: "local" }],
    paths: [{ name: "gm->l1", total_bytes: 500 }],
    steps: { turn: ints(0, 0, 1, 2), buffer: ints(1, 1, 1, 0), copy: ints(0, 1, 0, 0), content: ints(7, 8, 9, 5), path: ints(0, 0, 0, -1), moved_bytes: floats(64, 32, 16, 0), held_bytes: floats(64, 32, 16, 4) },
  } as unknown as Stepped;
  assert.deepEqual(replay(program, -1), { held: [[0, 0], [1, 0], [1, 1]].map(([buffer, copy]) => ({ buffer, copy, content: -1, held_bytes: 0, step: -1 })), moved: [0] });
  const { held, moved } = replay(program, 2);
  assert.deepEqual(held.map(({ content, held_bytes, step }) => [content, held_bytes, step]), [[-1, 0, -1], [9, 16, 2], [8, 32, 1]]);
  assert.deepEqual(moved, [112]);
  assert.deepEqual([-1, 0, 1, 2, 3].map((step) => byTile(program, step, 1)), [1, 1, 2, 3, 3]);
  assert.deepEqual([3, 2, 1, 0].map((step) => byTile(program, step, -1)), [2, 1, -1, -1]);
});
