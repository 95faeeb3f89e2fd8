/** What a step did to a box, and the same node in another document. */

import type { NodeId, NodesPart, Parts } from "./document.ts";
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

/** The cursor in another document: step by stage and name, node and value by name; what is gone is released. */
export function carry(before: Partial<Parts>, after: Partial<Parts>, cursor: Cursor): Cursor {
  const to: Cursor = {};
  if (cursor.rule !== undefined) to.rule = cursor.rule;
  if (cursor.step !== undefined) {
    const old = before.steps?.steps[cursor.step];
    const found = after.steps?.steps.findIndex((step) => step.stage === old?.stage && step.name === old?.name) ?? -1;
    if (found >= 0) to.step = found;
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
