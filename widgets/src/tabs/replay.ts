/** What the buffers of a core hold after so many instructions of a tile program. */

import type { KernelPart } from "../core/document.ts";

export type Stepped = KernelPart["programs"][number];

/** One copy of a buffer. */
export interface Held {
  buffer: number;
  copy: number;
  /** Text of what is there, -1 where nothing is yet. */
  content: number;
  held_bytes: number;
  /** The instruction that wrote it, -1 for none. */
  step: number;
}

export interface Machine {
  /** Every copy of every buffer of the core, and of memory, in the program's order. */
  held: Held[];
  /** Bytes by path so far. */
  moved: number[];
}

/** The machine after instruction `step` (-1: before the first). */
export function replay(program: Stepped, step: number): Machine {
  const held: Held[] = [];
  const first: number[] = [];
  program.buffers.forEach(({ copies }, buffer) => {
    first.push(held.length);
    for (let copy = 0; copy < copies; copy++) held.push({ buffer, copy, content: -1, held_bytes: 0, step: -1 });
  });
  const moved = program.paths.map(() => 0);
  const { steps } = program;
  for (let i = 0; i <= step; i++) {
    const at = held[first[steps.buffer[i]] + steps.copy[i]];
    at.content = steps.content[i];
    at.held_bytes = steps.held_bytes[i];
    at.step = i;
    if (steps.path[i] >= 0) moved[steps.path[i]] += steps.moved_bytes[i];
  }
  return { held, moved };
}

/** The last instruction of the next tile, or of the one before; within the program. */
export function byTile(program: Stepped, step: number, by: 1 | -1): number {
  const { turn } = program.steps;
  const last = turn.length - 1;
  if (by > 0) {
    let i = Math.min(step + 1, last);
    while (i < last && turn[i + 1] === turn[i]) i++;
    return i;
  }
  let i = step;
  while (i >= 0 && turn[i] === turn[step]) i--;
  return i;
}
