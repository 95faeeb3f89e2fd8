/** The cursor in words, for the address bar and for Python: nodes and values by name, steps by number or name. */

import type { Parts } from "./document.ts";
import type { Cursor } from "./panel.ts";
import { byName } from "./diff.ts";

export interface Selection {
  step?: number | string;
  rewrite?: number;
  reject?: number;
  node?: string;
  value?: string;
  rule?: string;
  position?: number;
}

export function toSelection(cursor: Cursor, parts: Partial<Parts>): Selection {
  const { nodes, values } = parts;
  const selection: Selection = {};
  for (const key of ["step", "rewrite", "reject", "rule", "position"] as const) {
    if (cursor[key] !== undefined) Object.assign(selection, { [key]: cursor[key] });
  }
  const node = cursor.node === undefined ? undefined : nodes?.strings[nodes.name[cursor.node] ?? -1];
  if (node !== undefined) selection.node = node;
  const value = cursor.value === undefined ? undefined : values?.strings[values.name[cursor.value] ?? -1];
  if (value !== undefined) selection.value = value;
  return selection;
}

/** What is not in the document is left out. */
export function fromSelection(selection: Selection, parts: Partial<Parts>): Cursor {
  const { nodes, values, steps } = parts;
  const cursor: Cursor = {};
  const number = (x: unknown): number | undefined => (typeof x === "number" && Number.isInteger(x) && x >= 0 ? x : undefined);
  if (selection.step !== undefined && steps) {
    const named = steps.steps.findIndex((step) => step.name === String(selection.step));
    const step = named >= 0 ? named : Number(selection.step);
    if (steps.steps[step]) cursor.step = step;
  }
  const row = cursor.step === undefined ? undefined : steps?.steps[cursor.step];
  const rewrite = number(selection.rewrite);
  if (rewrite !== undefined && row && rewrite < row.rewrites.node.length) cursor.rewrite = rewrite;
  const reject = number(selection.reject);
  if (reject !== undefined && row && reject < row.rejects.node.length) cursor.reject = reject;
  if (typeof selection.node === "string" && nodes) {
    const node = byName(nodes).get(selection.node);
    if (node !== undefined) cursor.node = node;
  }
  if (typeof selection.value === "string" && values) {
    for (let i = 0; i < values.name.length; i++) if (values.strings[values.name[i]] === selection.value) cursor.value = i;
  }
  if (typeof selection.rule === "string") cursor.rule = selection.rule;
  const position = number(selection.position);
  if (position !== undefined) cursor.position = position;
  return cursor;
}

/** `step=3&node=MatMul_7`, without the #. */
export function toHash(selection: Selection): string {
  return Object.entries(selection)
    .map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`)
    .join("&");
}

export function fromHash(hash: string): Selection {
  const selection: Record<string, unknown> = {};
  for (const pair of hash.replace(/^#/, "").split("&")) {
    const at = pair.indexOf("=");
    if (at < 1) continue;
    const key = pair.slice(0, at);
    let text = pair.slice(at + 1);
    try {
      text = decodeURIComponent(text);
    } catch {
      continue; // cut off in the middle of an escape
    }
    if (["rewrite", "reject", "position"].includes(key)) selection[key] = Number(text);
    else if (["step", "node", "value", "rule"].includes(key)) selection[key] = text;
  }
  return selection;
}
