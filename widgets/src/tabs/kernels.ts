/** Reads the cost of kernels: sums by group, levels of memory, and the places of kernels on the roofline. */

import type { CostPart, NodesPart } from "../core/document.ts";
import { Unit } from "../core/document.ts";

export const LEVELS = ["hbm", "l2", "l1", "ub"] as const;
export type Level = (typeof LEVELS)[number];
export const LEVEL_NAMES: Record<Level, string> = { hbm: "HBM", l2: "L2", l1: "L1", ub: "UB" };

export const bytesOf = (cost: CostPart, level: Level): Float64Array => cost[`${level}_bytes`];

export const sum = (values: ArrayLike<number>): number => {
  let all = 0;
  for (let i = 0; i < values.length; i++) if (Number.isFinite(values[i])) all += values[i];
  return all;
};

/** By kernel: the unit that it is drawn as. Where its node is not known, what its pipes say. */
export function unitsOf(cost: CostPart, nodes: NodesPart | undefined): Uint8Array {
  return Uint8Array.from(cost.node, (node, i) => {
    const known = node >= 0 ? nodes?.unit[node] : undefined;
    if (known !== undefined && known <= Unit.Fallback) return known;
    const bound = cost.strings[cost.bound[i]];
    return bound === "cube" ? Unit.Cube : bound === "vector" ? Unit.Vector : bound === "host" ? Unit.Fallback : Unit.Move;
  });
}

/** A row of a table: one kernel, or all of a type or family. */
export interface Group {
  readonly name: string;
  readonly kernels: readonly number[];
  readonly us: number;
  readonly compulsory: number;
  readonly wasted: number;
  readonly bytes: Record<Level, number>;
  readonly flops: number;
}

/** Kernels one by one, or summed by what they have in common; in the order in which each first runs. */
export function groupsOf(cost: CostPart, by: "kernel" | "type" | "family"): Group[] {
  type Sum = { name: string; kernels: number[]; us: number; compulsory: number; wasted: number; bytes: Record<Level, number>; flops: number };
  const groups = new Map<number, Sum>();
  const known = (x: number): number => (Number.isFinite(x) ? x : 0);
  for (let i = 0; i < cost.name.length; i++) {
    const key = by === "kernel" ? i : cost[by][i];
    let group = groups.get(key);
    if (!group) {
      const name = cost.strings[by === "kernel" ? cost.name[i] : key];
      groups.set(key, (group = { name, kernels: [], us: 0, compulsory: 0, wasted: 0, bytes: { hbm: 0, l2: 0, l1: 0, ub: 0 }, flops: 0 }));
    }
    group.kernels.push(i);
    group.us += known(cost.latency_us[i]);
    group.compulsory += known(cost.compulsory_bytes[i]);
    group.wasted += wastedOf(cost, i);
    group.flops += known(cost.flops[i]);
    for (const level of LEVELS) group.bytes[level] += known(bytesOf(cost, level)[i]);
  }
  return [...groups.values()];
}

/** The error of a sum of kernels: their errors, weighted by time; null where none is known. Kernels without count as none. */
export function errorOf(cost: CostPart, kernels: readonly number[]): number | null {
  let [weighted, known] = [0, 0];
  for (const i of kernels) {
    if (!Number.isFinite(cost.error[i])) continue;
    weighted += cost.error[i] * cost.latency_us[i];
    known += cost.latency_us[i];
  }
  return known > 0 ? weighted / known : null;
}

/** A point of the roofline: kernels that are the same in all that is drawn. */
export interface Point {
  readonly kernels: readonly number[];
  readonly intensity: number; // flops a byte
  readonly speed: number; // flops a second
  readonly us: number; // of all of them
}

/** Points under the roof of one level, the largest first, so that small ones are drawn above; and who has no place. */
export function pointsOf(cost: CostPart, level: "hbm" | "l2"): { points: Point[]; moves: number[]; cached: number[] } {
  const found = new Map<string, number[]>();
  const moves: number[] = [];
  const cached: number[] = [];
  const bytes = bytesOf(cost, level);
  for (let i = 0; i < cost.name.length; i++) {
    if (!(cost.flops[i] > 0)) moves.push(i);
    else if (!(bytes[i] > 0) || !(cost.latency_us[i] > 0)) cached.push(i);
    else {
      const key = `${cost.type[i]} ${cost.flops[i]} ${bytes[i]} ${cost.latency_us[i]} ${cost.bound[i]}`;
      const same = found.get(key);
      if (same) same.push(i);
      else found.set(key, [i]);
    }
  }
  const points = [...found.values()].map((kernels) => {
    const [i] = kernels;
    return {
      kernels,
      intensity: cost.flops[i] / bytes[i],
      speed: cost.flops[i] / (cost.latency_us[i] * 1e-6),
      us: cost.latency_us[i] * kernels.length,
    };
  });
  return { points: points.sort((a, b) => b.us - a.us), moves, cached };
}

export type Shape = "circle" | "square" | "triangle" | "diamond" | "cross";

/** The mark of what bounds a kernel. */
export function shapeOf(bound: string): Shape {
  if (bound === "cube" || bound === "vector") return "circle";
  if (bound === "launch") return "triangle";
  if (bound === "host") return "cross";
  return bound === "hbm" || bound === "mte2" || bound === "mte3" ? "square" : "diamond";
}

/**
 * What allows a kernel's speed: bytes a second of the paths that its unit reads through, and the unit's peak at its types.
 * A kernel of both units reads through both of L2's paths at once.
 */
export function roofOf(cost: CostPart, level: "hbm" | "l2", unit: number, kernel = -1): { bytes_per_s: number; flops_per_s: number } {
  const paths = cost.bandwidths.filter((one) => one.label.toLowerCase().startsWith(level));
  const rate = (end: string): number => paths.find((one) => one.label.endsWith(end))?.bytes_per_s ?? NaN;
  const widest = Math.max(0, ...paths.map((one) => one.bytes_per_s));
  const [l1, ub] = [rate("L1"), rate("UB")];
  const bytes = level === "hbm" ? widest : unit === Unit.Mixed ? l1 + ub : unit === Unit.Cube ? l1 : ub;
  const peaks = cost.peaks.filter((one) => one.label.startsWith("vector") === (unit === Unit.Vector || unit === Unit.Move));
  const highest = Math.max(0, ...(peaks.length ? peaks : cost.peaks).map((one) => one.flops_per_s));
  const own = cost.peak_flops_per_s[kernel];
  return { bytes_per_s: Number.isFinite(bytes) ? bytes : widest, flops_per_s: own > 0 ? own : highest };
}

/** Bytes to and from HBM beyond every input and output once: something is read again, or spilled. */
export const wastedOf = (cost: CostPart, kernel: number): number => Math.max(0, cost.hbm_bytes[kernel] - cost.compulsory_bytes[kernel] || 0);

/** The share of what is asked of L2 that it serves by itself, NaN where nothing is asked. */
export const hits = (l2: number, hbm: number): number => (l2 > 0 ? Math.max(0, 1 - hbm / l2) : NaN);

/** Time by what bounds the kernels, the longest first. */
export function boundsOf(cost: CostPart): { bound: string; us: number; kernels: number }[] {
  const found = new Map<number, { bound: string; us: number; kernels: number }>();
  for (let i = 0; i < cost.name.length; i++) {
    const one = found.get(cost.bound[i]) ?? { bound: cost.strings[cost.bound[i]], us: 0, kernels: 0 };
    found.set(cost.bound[i], one);
    one.us += Number.isFinite(cost.latency_us[i]) ? cost.latency_us[i] : 0;
    one.kernels++;
  }
  return [...found.values()].sort((a, b) => b.us - a.us);
}

/** The share of its roof that a point reaches. */
export function ofRoof(cost: CostPart, level: "hbm" | "l2", unit: number, point: Point): number {
  const roof = roofOf(cost, level, unit, point.kernels[0]);
  return point.speed / Math.min(roof.flops_per_s, point.intensity * roof.bytes_per_s);
}
