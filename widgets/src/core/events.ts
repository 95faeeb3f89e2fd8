/** Who looked at a node: every rewrite and near miss of every step, by the node's name. */

import type { NodeId, NodesPart, StepsPart } from "./document.ts";

export interface Event {
  step: number;
  kind: "rewrite" | "reject";
  /** Row among the step's rewrites or rejects. */
  row: number;
  /** What the node is in it. */
  role: "about" | "removed" | "added" | "blocker" | "changed";
}

const ROLES = ["about", "removed", "added", "blocker", "changed"] as const;

export class Events {
  #by = new Map<number, number[]>();

  constructor(
    steps: StepsPart,
    private readonly nodes: NodesPart,
  ) {
    const note = (node: number, step: number, kind: number, row: number, role: number): void => {
      if (node < 0) return;
      const name = nodes.name[node];
      let list = this.#by.get(name);
      if (!list) this.#by.set(name, (list = []));
      const last = list.length - 4;
      // Removed and about the same: told once, as what it is about.
      if (last >= 0 && list[last] === step && list[last + 1] === kind && list[last + 2] === row) return;
      list.push(step, kind, row, role);
    };
    for (const { index, rewrites, rejects } of steps.steps) {
      for (let row = 0; row < rewrites.node.length; row++) {
        for (let i = rewrites.removed_at[row]; i < rewrites.removed_at[row + 1]; i++) note(rewrites.removed[i], index, 0, row, 1);
        for (let i = rewrites.added_at[row]; i < rewrites.added_at[row + 1]; i++) note(rewrites.added[i], index, 0, row, 2);
        for (let i = rewrites.changed_at[row]; i < rewrites.changed_at[row + 1]; i++) note(rewrites.changed[i], index, 0, row, 4);
        note(rewrites.node[row], index, 0, row, 0);
      }
      for (let row = 0; row < rejects.node.length; row++) {
        note(rejects.node[row], index, 1, row, 0);
        note(rejects.blocker[row], index, 1, row, 3);
      }
    }
  }

  /** In the order of the steps. */
  of(node: NodeId): Event[] {
    const list = this.#by.get(this.nodes.name[node]) ?? [];
    const events: Event[] = [];
    for (let i = 0; i < list.length; i += 4) {
      events.push({
        step: list[i],
        kind: list[i + 1] ? "reject" : "rewrite",
        row: list[i + 2],
        role: ROLES[list[i + 3]] as Event["role"],
      });
    }
    return events;
  }
}

const NONE = new Int32Array(0);

export interface RewriteNodes {
  about: NodeId;
  removed: Int32Array;
  added: Int32Array;
  changed: Int32Array;
}

/** Nodes of a rewrite: what it is about, what went, what came. */
export function rewriteNodes(steps: StepsPart, step: number, row: number): RewriteNodes {
  const rewrites = steps.steps[step]?.rewrites;
  if (!rewrites || row >= rewrites.node.length) return { about: -1, removed: NONE, added: NONE, changed: NONE };
  return {
    about: rewrites.node[row],
    removed: rewrites.removed.subarray(rewrites.removed_at[row], rewrites.removed_at[row + 1]),
    added: rewrites.added.subarray(rewrites.added_at[row], rewrites.added_at[row + 1]),
    changed: rewrites.changed.subarray(rewrites.changed_at[row], rewrites.changed_at[row + 1]),
  };
}
