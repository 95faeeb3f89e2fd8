/** Reads a schedule: tasks as bars in lanes, by stream or by core type, and what waits for what. */

import type { NodesPart, SchedulePart } from "../core/document.ts";
import { Unit } from "../core/document.ts";
import type { Boxes } from "./boxes.ts";
import { unitNamed } from "./colour.ts";

/** By task: the unit that it is drawn as; where its node is not known, by its core type. */
export function unitsOfTasks(schedule: SchedulePart, nodes: NodesPart | undefined): Uint8Array {
  return Uint8Array.from(schedule.core, (core, i) => {
    const known = schedule.node[i] >= 0 ? nodes?.unit[schedule.node[i]] : undefined;
    return known !== undefined && known <= Unit.Control ? known : unitNamed(schedule.strings[core]);
  });
}

export interface Lane {
  readonly label: string;
  /** Rows that it takes: more than one where tasks of a core type run at the same time. */
  readonly rows: number;
  readonly first: number; // row, from the top
  readonly tasks: number;
  readonly busy_us: number;
}

export interface Lanes {
  readonly lanes: readonly Lane[];
  readonly rows: number;
  /** By task: its row from the top. */
  readonly row: Int32Array;
}

/** A lane for each stream or core type; tasks that overlap in one lane get rows of their own. O(n log n). */
export function lanesOf(schedule: SchedulePart, by: "stream" | "core"): Lanes {
  const { length } = schedule.start_us;
  const groups = new Map<number, number[]>();
  if (by === "stream") schedule.streams.forEach((_, i) => groups.set(i, []));
  const key = by === "stream" ? schedule.stream : schedule.core;
  for (let i = 0; i < length; i++) {
    const found = groups.get(key[i]);
    if (found) found.push(i);
    else groups.set(key[i], [i]);
  }
  const row = new Int32Array(length);
  const lanes: Lane[] = [];
  let first = 0;
  for (const [which, tasks] of groups) {
    tasks.sort((a, b) => schedule.start_us[a] - schedule.start_us[b] || a - b);
    const ends: number[] = [];
    let busy = 0;
    let until = -Infinity;
    for (const task of tasks) {
      const [start, end] = [schedule.start_us[task], schedule.start_us[task] + schedule.duration_us[task]];
      busy += Math.max(0, end - Math.max(start, until));
      until = Math.max(until, end);
      let free = ends.findIndex((at) => at <= start + 1e-9);
      if (free < 0) free = ends.push(0) - 1;
      ends[free] = end;
      row[task] = first + free;
    }
    const label = by === "stream" ? (schedule.streams[which]?.label ?? `stream ${which}`) : schedule.strings[which];
    const rows = Math.max(1, ends.length);
    lanes.push({ label, rows, first, tasks: tasks.length, busy_us: busy });
    first += rows;
  }
  return { lanes, rows: first, row };
}

const PAD = 0.12; // of a row, above and below a bar

/** Bars: x in µs, y in rows counted from the bottom; `above` rows are left free on top. */
export function barsOf(schedule: SchedulePart, lanes: Lanes): Boxes {
  const { length } = schedule.start_us;
  const x1 = new Float64Array(length);
  const y0 = new Float64Array(length);
  const y1 = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    x1[i] = schedule.start_us[i] + schedule.duration_us[i];
    y0[i] = lanes.rows - lanes.row[i] - 1 + PAD;
    y1[i] = lanes.rows - lanes.row[i] - PAD;
  }
  return { x0: schedule.start_us, x1, y0, y1, length };
}

/** Events by task: those that it waits for and those that it sends, as indices of events. */
export function eventsOf(schedule: SchedulePart): { waits: Map<number, number[]>; sends: Map<number, number[]> } {
  const waits = new Map<number, number[]>();
  const sends = new Map<number, number[]>();
  const add = (to: Map<number, number[]>, task: number, event: number): void => {
    const found = to.get(task);
    if (found) found.push(event);
    else to.set(task, [event]);
  };
  for (let i = 0; i < schedule.event_from.length; i++) {
    add(sends, schedule.event_from[i], i);
    add(waits, schedule.event_to[i], i);
  }
  return { waits, sends };
}

/** Tasks of the critical path in the order of time. */
export function criticalTasks(schedule: SchedulePart): Int32Array {
  const found: number[] = [];
  schedule.critical.forEach((is, i) => is && found.push(i));
  return Int32Array.from(found).sort((a, b) => schedule.start_us[a] - schedule.start_us[b] || a - b);
}

/** Busy time of all lanes in each of `columns` slices of the makespan, in lanes: how much runs side by side. O(n + columns). */
export function occupancy(schedule: SchedulePart, columns: number): Float64Array {
  const change = new Float64Array(columns + 2); // slope of the sum, by column
  const inside = new Float64Array(columns + 1);
  const scale = columns / (schedule.makespan_us || 1);
  for (let i = 0; i < schedule.start_us.length; i++) {
    const a = Math.max(0, schedule.start_us[i] * scale);
    const b = Math.min(columns, (schedule.start_us[i] + schedule.duration_us[i]) * scale);
    if (!(b > a)) continue;
    const [first, last] = [Math.floor(a), Math.floor(b)];
    if (first === last) inside[first] += b - a;
    else {
      inside[first] += first + 1 - a;
      inside[last] += b - last;
      change[first + 1] += 1;
      change[last] -= 1;
    }
  }
  const found = new Float64Array(columns);
  for (let i = 0, whole = 0; i < columns; i++) {
    whole += change[i];
    found[i] = whole + inside[i];
  }
  return found;
}

/** Why a kernel starts no earlier, in a word. */
export const WHY: Readonly<Record<string, string>> = { data: "data", reuse: "bytes", stream: "its stream" };

/** How long streams stand idle before their kernels, by what they wait for, in µs. */
export function idleBy(schedule: SchedulePart): { data: number; reuse: number } {
  const idle = { data: 0, reuse: 0 };
  for (let i = 0; i < schedule.wait_us.length; i++) {
    const why = schedule.strings[schedule.held_why[i]];
    if (why === "data" || why === "reuse") idle[why] += schedule.wait_us[i];
  }
  return idle;
}
