/** What an instruction of a tile program does, in words; and which instructions could run at the same time. */

import { bytes } from "../core/units.ts";
import type { Stepped } from "./replay.ts";

/** Pipes in the order in which data goes through them. */
export const PIPES: Record<string, string> = {
  mte2: "MTE2",
  mte1: "MTE1",
  cube: "cube",
  fixpipe: "fixpipe",
  mte2v: "MTE2 of vector",
  vector: "vector",
  mte3: "MTE3",
  scalar: "scalar",
};

const PLACES: Record<string, string> = { gm: "memory", bt: "the bias table", fb: "the fixpipe's buffer" };
const placeOf = (level: string): string => PLACES[level] ?? level.toUpperCase();

/** The instruction at a step as a sentence. */
export function wordsOf(program: Stepped, strings: readonly string[], step: number): string {
  const { steps, buffers, paths } = program;
  if (step < 0 || step >= steps.line.length) return "Before the first instruction: every buffer is empty.";
  const { name, level, copies } = buffers[steps.buffer[step]];
  const content = strings[steps.content[step]];
  const pipe = strings[steps.pipe[step]];
  const target = `${strings[name]}${copies > 1 && level !== "gm" ? ` (copy ${steps.copy[step] + 1} of ${copies})` : ""}`;
  if (steps.path[step] >= 0) {
    const [from, to] = paths[steps.path[step]].name.split("->");
    return `${sentence(PIPES[pipe] ?? pipe)} moves ${bytes(steps.moved_bytes[step])} from ${placeOf(from)} to ${placeOf(to)}: ${content} into ${target}.`;
  }
  if (pipe === "cube") {
    const [left, right] = content.replace(/^\+ /, "").split(" @ ");
    return `The cube multiplies ${left} by ${right} and ${content.startsWith("+ ") ? "adds the product to" : "puts the product into"} ${target} in ${placeOf(level)}.`;
  }
  const [op, ...inputs] = content.split(" ");
  const of = inputs.join(" ");
  const doing = op === "copy" ? `copies ${of || "a number"}` : op.startsWith("reduce_") ? `takes the ${op.slice(7)} of each row of ${of}` : `computes ${op} of ${of || "a number"}`;
  return `The vector unit ${doing} into ${target} in ${placeOf(level)}.`;
}

const sentence = (text: string): string => text[0].toUpperCase() + text.slice(1);

export interface Slots {
  /** Pipes that the program uses, in the order of PIPES. Text. */
  readonly pipes: readonly number[];
  /** By step: row of `pipes`. */
  readonly lane: Int32Array;
  /** By step: the first slot in which it could run; one slot an instruction. */
  readonly slot: Int32Array;
  readonly slots: number;
}

/**
 * The earliest slot of each instruction if each took one: a pipe does one at a time and in order, an instruction waits
 * for what it reads, and until nobody reads any more what it overwrites. Not to scale of time.
 */
export function slotsOf(program: Stepped, strings: readonly string[]): Slots {
  const { steps, buffers } = program;
  const order = Object.keys(PIPES);
  const rank = (pipe: number): number => (order.indexOf(strings[pipe]) + order.length + 1) % (order.length + 1);
  const pipes = [...new Set(steps.pipe)].sort((a, b) => rank(a) - rank(b));
  const lane = steps.pipe.map((pipe) => pipes.indexOf(pipe));
  const first: number[] = [];
  let copies = 0;
  for (const buffer of buffers) {
    first.push(copies);
    copies += buffer.copies;
  }
  const free = pipes.map(() => 0);
  const written = new Int32Array(copies);
  const read = new Int32Array(copies);
  const slot = new Int32Array(steps.line.length);
  let slots = 0;
  for (let i = 0; i < slot.length; i++) {
    const target = first[steps.buffer[i]] + steps.copy[i];
    // Tiles of a result in memory lie apart: only what is handed over through memory waits.
    const apart = buffers[steps.buffer[i]].role === "output";
    let at = Math.max(free[lane[i]], apart ? 0 : Math.max(read[target], written[target]));
    for (let k = steps.reads_at[i]; k < steps.reads_at[i + 1]; k++) at = Math.max(at, written[first[steps.reads[k]] + steps.reads_copy[k]]);
    slot[i] = at;
    free[lane[i]] = written[target] = at + 1;
    for (let k = steps.reads_at[i]; k < steps.reads_at[i + 1]; k++) {
      const source = first[steps.reads[k]] + steps.reads_copy[k];
      read[source] = Math.max(read[source], at + 1);
    }
    slots = Math.max(slots, at + 1);
  }
  return { pipes, lane, slot, slots };
}
