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
