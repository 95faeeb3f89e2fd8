/** Reads a memory plan: rectangles of its buffers, who is alive at a position, where two of them collide. */

import type { MemoryPart, NodesPart } from "../core/document.ts";
import { Unit } from "../core/document.ts";
import type { Boxes } from "./boxes.ts";

/** Buffers as rectangles: x = positions in program order, each one wide; y = addresses. Other offsets: another plan. */
export function boxesOf(memory: MemoryPart, offsets: Float64Array = memory.offset_bytes): Boxes {
  const { length } = memory.first;
  const x1 = new Float64Array(length);
  const y1 = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    x1[i] = memory.last[i] + 1;
    y1[i] = offsets[i] + memory.size_bytes[i];
  }
  return { x0: memory.first, x1, y0: offsets, y1, length };
}

export const topOf = (boxes: Boxes): number => {
  let top = 0;
  for (let i = 0; i < boxes.length; i++) if (boxes.y1[i] > top) top = boxes.y1[i];
  return top;
};

/** Buffers alive at a position, the largest first. */
export function aliveAt(memory: MemoryPart, position: number): Int32Array {
  const found: number[] = [];
  for (let i = 0; i < memory.first.length; i++) if (memory.first[i] <= position && position <= memory.last[i]) found.push(i);
  return Int32Array.from(found).sort((a, b) => memory.size_bytes[b] - memory.size_bytes[a] || a - b);
}

/** Bytes by kind of some buffers, the most first. */
export function bytesByKind(memory: MemoryPart, buffers: Int32Array): [kind: string, bytes: number][] {
  const sums = new Map<string, number>();
  for (const i of buffers) {
    const kind = memory.strings[memory.kind[i]];
    sums.set(kind, (sums.get(kind) ?? 0) + memory.size_bytes[i]);
  }
  return [...sums].sort((a, b) => b[1] - a[1]);
}

/** Buffers that hold a tensor, whether it is the one that they are named after or another in the same bytes. */
export function holding(memory: MemoryPart, value: number): number[] {
  const found: number[] = [];
  for (let i = 0; i < memory.value.length; i++) {
    if (memory.value[i] === value || memory.member.subarray(memory.member_at[i], memory.member_at[i + 1]).includes(value)) found.push(i);
  }
  return found;
}

/** Bytes between alive buffers at a position, which none of them uses: holes that only a smaller tensor can fill. */
export function holeBytes(memory: MemoryPart, position: number): number {
  let [top, live] = [0, 0];
  for (let i = 0; i < memory.first.length; i++) {
    if (memory.first[i] > position || memory.last[i] < position) continue;
    live += memory.size_bytes[i];
    top = Math.max(top, memory.offset_bytes[i] + memory.size_bytes[i]);
  }
  return Math.max(0, top - live);
}

/** By buffer: the unit that writes it, where the nodes are known. */
export function writers(memory: MemoryPart, nodes: NodesPart | undefined): Uint8Array {
  return Uint8Array.from(memory.first, (position) => {
    const node = memory.order[position];
    return nodes && node >= 0 ? (nodes.unit[node] ?? Unit.Boundary) : Unit.Boundary;
  });
}

export interface Clash {
  readonly a: number;
  readonly b: number;
  readonly x0: number;
  readonly x1: number;
  readonly y0: number;
  readonly y1: number;
}

/** What two buffers of a pair both claim. */
export function clashes(memory: MemoryPart): Clash[] {
  const boxes = boxesOf(memory);
  return Array.from(memory.conflict_a, (a, i) => {
    const b = memory.conflict_b[i];
    return {
      a,
      b,
      x0: Math.max(boxes.x0[a], boxes.x0[b]),
      x1: Math.min(boxes.x1[a], boxes.x1[b]),
      y0: Math.max(boxes.y0[a], boxes.y0[b]),
      y1: Math.min(boxes.y1[a], boxes.y1[b]),
    };
  });
}

/** By buffer: the positions at which some tensor in it is written or read, ascending; none where the nodes are not known. */
export interface Uses {
  readonly at: Int32Array; // buffers + 1
  readonly positions: Int32Array;
}

/** Who is used when, from what the nodes read and write. O(buffers + reads). */
export function usesOf(memory: MemoryPart, nodes: NodesPart | undefined): Uses {
  const buffers = memory.first.length;
  const holder = new Map<number, number>();
  for (let b = 0; b < buffers; b++) {
    for (let k = memory.member_at[b]; k < memory.member_at[b + 1]; k++) if (memory.member[k] >= 0) holder.set(memory.member[k], b);
  }
  const found: number[] = []; // buffer, position, buffer, ...
  const at = new Int32Array(buffers + 1);
  const latest = new Int32Array(buffers).fill(-1);
  for (let position = 0; nodes && position < memory.order.length; position++) {
    const node = memory.order[position];
    if (node < 0) continue;
    for (const [from, values] of [[nodes.inputs_at, nodes.inputs], [nodes.outputs_at, nodes.outputs]] as const) {
      for (let k = from[node]; k < from[node + 1]; k++) {
        const buffer = holder.get(values[k]);
        if (buffer === undefined || latest[buffer] === position || position < memory.first[buffer] || position > memory.last[buffer]) continue;
        latest[buffer] = position;
        found.push(buffer, position);
        at[buffer + 1]++;
      }
    }
  }
  for (let b = 0; b < buffers; b++) at[b + 1] += at[b];
  const free = at.slice();
  const positions = new Int32Array(found.length / 2);
  for (let k = 0; k < found.length; k += 2) positions[free[found[k]]++] = found[k + 1];
  return { at, positions };
}

/** The first use of a buffer at a position or after it: -1 where there is none any more, `undefined` where nothing is known of its uses. */
export function nextUse(uses: Uses, buffer: number, position: number): number | undefined {
  const own = uses.positions.subarray(uses.at[buffer], uses.at[buffer + 1]);
  return own.length ? (own.find((at) => at >= position) ?? -1) : undefined;
}

/** The longest stretch in which a buffer is held and nobody uses it: positions between two uses, or after the last. */
export function idleOf(memory: MemoryPart, uses: Uses, buffer: number): { from: number; steps: number } {
  const own = uses.positions.subarray(uses.at[buffer], uses.at[buffer + 1]);
  let [from, steps] = [-1, 0];
  for (let k = 0; k < own.length; k++) {
    const gap = (own[k + 1] ?? memory.last[buffer] + 1) - own[k] - 1;
    if (gap > steps) [from, steps] = [own[k] + 1, gap];
  }
  return { from, steps };
}
