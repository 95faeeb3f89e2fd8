/** What a step did to a box, and the same node in another document. */

import type { NodeId, NodesPart, Parts, StepsPart } from "./document.ts";
import type { Cursor, GraphMode } from "./panel.ts";

export enum Mark {
  Same = 0,
  Removed = 1,
  Added = 2,
  Changed = 3,
}

const BEFORE = 1;
const AFTER = 2;
const CHANGED = 4;
/** Inside a kernel: there where the kernel is. The scene's own bit. */
export const INNER = 8;

/** Status bits of the document: 1 before, 2 after, 4 changed or holds a change. */
export function mark(status: number): Mark {
  if (status & INNER) return Mark.Same;
  const sides = status & (BEFORE | AFTER);
  if (sides === BEFORE) return Mark.Removed;
  if (sides === AFTER) return Mark.Added;
  return status & CHANGED ? Mark.Changed : Mark.Same;
}

/** Is something with this status to be seen? */
export function shown(status: number, mode: GraphMode): boolean {
  if (mode === "both") return (status & (BEFORE | AFTER)) !== 0;
  return (status & (mode === "before" ? BEFORE : AFTER)) !== 0;
}

/** A node's row by its name; of several versions the last. */
export function byName(nodes: NodesPart): Map<string, NodeId> {
  const rows = new Map<string, NodeId>();
  for (let node = 0; node < nodes.name.length; node++) rows.set(nodes.strings[nodes.name[node]], node);
  return rows;
}

/** Where each step is in another document, by stage and name; of several with one name the first is the first. */
export function sameSteps(before: StepsPart | undefined, after: StepsPart | undefined): Map<number, number> {
  const keys = (part: StepsPart | undefined): string[] => {
    const seen = new Map<string, number>();
    return (part?.steps ?? []).map(({ stage, name }) => {
      const key = `${stage} ${name}`;
      seen.set(key, (seen.get(key) ?? 0) + 1);
      return `${key} ${seen.get(key)}`;
    });
  };
  const there = new Map(keys(after).map((key, step) => [key, step]));
  return new Map(keys(before).flatMap((key, step) => (there.has(key) ? [[step, there.get(key) as number] as const] : [])));
}

/** A rewrite or near miss of a step by the node that it is about, a near miss also by what stood in the way; -1 where it is gone. */
function sameRecord(before: Partial<Parts>, after: Partial<Parts>, from: number, to: number, which: "rewrites" | "rejects", at: number): number {
  const names = ({ steps, nodes }: Partial<Parts>, step: number): string[] => {
    const row = steps?.steps[step];
    if (!row || !nodes || !steps) return [];
    if (which === "rejects") return Array.from(row.rejects.place, (place, i) => `${steps.strings[place]}\n${steps.strings[row.rejects.code[i] ?? -1]}`);
    return Array.from(row.rewrites.node, (node) => nodes.strings[nodes.name[node] ?? -1] ?? "");
  };
  const name = names(before, from)[at];
  return name ? names(after, to).indexOf(name) : -1;
}

/** The cursor in another document: step by stage and name, all else by the names of nodes and values; what is gone is released. */
export function carry(before: Partial<Parts>, after: Partial<Parts>, cursor: Cursor): Cursor {
  const to: Cursor = {};
  if (cursor.rule !== undefined) to.rule = cursor.rule;
  if (cursor.step !== undefined) {
    const found = sameSteps(before.steps, after.steps).get(cursor.step);
    if (found !== undefined) {
      to.step = found;
      for (const [key, which] of [["rewrite", "rewrites"], ["reject", "rejects"]] as const) {
        const at = cursor[key];
        const record = at === undefined ? -1 : sameRecord(before, after, cursor.step, found, which, at);
        if (record >= 0) to[key] = record;
      }
    }
  }
  if (cursor.position !== undefined && before.nodes && after.nodes) {
    const nameAt = ({ memory, nodes }: Partial<Parts>, at: number): string | undefined => nodes?.strings[nodes.name[memory?.order[at] ?? -1] ?? -1];
    const name = nameAt(before, cursor.position);
    const found = name === undefined ? -1 : (after.memory?.order.findIndex((_, at) => nameAt(after, at) === name) ?? -1);
    if (found >= 0) to.position = found;
  }
  if (cursor.node !== undefined && before.nodes && after.nodes) {
    const name = before.nodes.strings[before.nodes.name[cursor.node]];
    const found = name === undefined ? undefined : byName(after.nodes).get(name);
    if (found !== undefined) to.node = found;
  }
  if (cursor.value !== undefined && before.values && after.values) {
    const { values } = after;
    const name = before.values.strings[before.values.name[cursor.value]];
    for (let i = 0; i < values.name.length; i++) {
      if (values.strings[values.name[i]] === name) to.value = i;
    }
  }
  return to;
}
