/** Reads a tiling search: tiles as cells of a grid, and which of them stand for what. */

import type { TilingPart } from "../core/document.ts";

export type TiledKernel = TilingPart["kernels"][number];

export interface Landscape {
  /** Sizes that occur, ascending. */
  readonly ms: readonly number[];
  readonly ns: readonly number[];
  /** By row x column (m, then n): the tile, -1 where there is none. */
  readonly cells: Int32Array;
  readonly fastest: number; // µs, NaN where no tile has a time
  /** Buffers that keep tiles out, the one that keeps out most first. */
  readonly blockers: readonly number[]; // Text
  readonly looked: number; // tiles that have a time
  readonly fitting: number; // tiles that no buffer keeps out
}

/**
 * Where the cells of an axis begin and end, 0 to 1: equal ratios of sizes are about as wide, since what fits a buffer is
 * bound by a product of sizes. n + 1 edges; sizes ascend.
 */
export function edgesOf(sizes: readonly number[]): Float64Array {
  const n = sizes.length;
  if (n < 2) return Float64Array.from(n ? [0, 1] : [0]);
  const between = (a: number, b: number): number => Math.log(Math.sqrt(a * b));
  const inner = sizes.slice(1).map((size, i) => between(sizes[i], size));
  // The first and last cells are no wider than their neighbours.
  const first = inner[0] - Math.min(Math.log(sizes[1] / sizes[0]), n > 2 ? inner[1] - inner[0] : Infinity);
  const last = inner[n - 2] + Math.log(sizes[n - 1] / sizes[n - 2]);
  return Float64Array.from([first, ...inner, last], (at) => (at - first) / (last - first));
}

/** The cell that a place on the axis lies in, -1 outside. */
export function cellAt(edges: Float64Array, place: number): number {
  if (place < 0 || place > 1) return -1;
  for (let i = 1; i < edges.length; i++) if (place <= edges[i]) return i - 1;
  return -1;
}

/** Of several tiles of one block the fastest stands for it, or else one that fits, or else any. */
export function landscapeOf(kernel: TiledKernel): Landscape {
  const ms = upToFitting(kernel, kernel.m);
  const ns = upToFitting(kernel, kernel.n);
  const row = new Map(ms.map((m, i) => [m, i]));
  const column = new Map(ns.map((n, i) => [n, i]));
  const cells = new Int32Array(ms.length * ns.length).fill(-1);
  const counts = new Map<number, number>();
  let [fastest, looked, fitting] = [Infinity, 0, 0];
  for (let i = 0; i < kernel.m.length; i++) {
    const [r, k] = [row.get(kernel.m[i]), column.get(kernel.n[i])];
    if (r !== undefined && k !== undefined && better(kernel, i, cells[r * ns.length + k])) cells[r * ns.length + k] = i;
    const us = kernel.time_us[i];
    if (Number.isFinite(us)) {
      looked++;
      fastest = Math.min(fastest, us);
    }
    if (kernel.blocker[i] < 0) fitting++;
    else counts.set(kernel.blocker[i], (counts.get(kernel.blocker[i]) ?? 0) + 1);
  }
  const blockers = [...counts].sort((a, b) => b[1] - a[1]).map(([text]) => text);
  return { ms, ns, cells, fastest: looked ? fastest : NaN, blockers, looked, fitting };
}

/** The sizes of an axis, up to twice the largest that any tile that fits has: beyond it there is nothing to see. */
function upToFitting(kernel: TiledKernel, sizes: Int32Array): number[] {
  let most = 0;
  sizes.forEach((size, i) => kernel.blocker[i] < 0 && (most = Math.max(most, size)));
  const found = [...new Set(sizes)].sort((a, b) => a - b);
  return most ? found.filter((size) => size <= 2 * most) : found;
}

function better(kernel: TiledKernel, a: number, b: number): boolean {
  if (b < 0) return true;
  const [x, y] = [kernel.time_us[a], kernel.time_us[b]];
  if (Number.isFinite(x) !== Number.isFinite(y)) return Number.isFinite(x);
  if (Number.isFinite(x)) return x < y;
  return kernel.blocker[a] < 0 && kernel.blocker[b] >= 0;
}

/** 1 for the fastest, 0 for `worst` times as long or more; equal ratios are equal steps. */
export function quickness(us: number, fastest: number, worst = 4): number {
  return Math.max(0, 1 - Math.log(us / fastest) / Math.log(worst));
}

/** The cell of a tile. */
export function cellOf(landscape: Landscape, kernel: TiledKernel, tile: number): { row: number; column: number } | null {
  if (tile < 0 || tile >= kernel.m.length) return null;
  const [row, column] = [landscape.ms.indexOf(kernel.m[tile]), landscape.ns.indexOf(kernel.n[tile])];
  return row < 0 || column < 0 ? null : { row, column };
}
