/** What near misses could save of memory traffic: by rule, each with what stands in the way. */

import type { NodesPart, StepRow, StepsPart } from "./document.ts";
import { bytes } from "./units.ts";

type Rejects = StepRow["rejects"];

/** Bytes through L2 or HBM that fusing there could save at most. */
export interface Saving {
  bytes: number;
  /** HBM's part of it; NaN where that is not known of all of them. */
  hbm: number;
}

/** What rows of a step's near misses could save together: a blocker in the way of several counts once. */
export function savingOf(rejects: Rejects, rows: Iterable<number> = rejects.node.keys()): Saving {
  const once = new Map<string, number>();
  for (const row of rows) {
    if (!(rejects.traffic_bytes[row] > 0)) continue;
    const key = rejects.blocker[row] >= 0 ? `n${rejects.blocker[row]}` : rejects.blocker_value[row] >= 0 ? `v${rejects.blocker_value[row]}` : `r${row}`;
    const old = once.get(key);
    if (old === undefined || rejects.traffic_bytes[row] > rejects.traffic_bytes[old]) once.set(key, row);
  }
  let [bytes, hbm] = [0, 0];
  for (const row of once.values()) {
    bytes += rejects.traffic_bytes[row];
    hbm += rejects.saved_bytes[row];
  }
  return { bytes, hbm };
}

export interface Blocked extends Saving {
  /** Name of the rule, and its step. */
  rule: string;
  step: number;
  blockers: number;
  /** Operator type of the blockers; "" where they are of several, or a value stands in the way. */
  type: string;
  /** Places for which the rule names an edit of the model that helps: that a residual needs its tensor in memory is so. */
  curable: number;
  /** Near misses that could save something, largest first. */
  places: number[];
}

/** A row a rule whose near misses could save something; those with a cure first, then the largest. */
export function blocked(steps: StepsPart, nodes: NodesPart): Blocked[] {
  return steps.steps
    .map(({ index, name, rejects }) => {
      const places = [...rejects.node.keys()].filter((row) => rejects.traffic_bytes[row] > 0).sort((a, b) => Number(rejects.hint[b] >= 0) - Number(rejects.hint[a] >= 0) || rejects.traffic_bytes[b] - rejects.traffic_bytes[a]);
      const types = new Set(places.map((row) => (rejects.blocker[row] < 0 ? "" : (nodes.strings[nodes.type[rejects.blocker[row]]] ?? ""))));
      const blockers = new Set(places.map((row) => (rejects.blocker[row] < 0 ? `v${rejects.blocker_value[row]}` : `n${rejects.blocker[row]}`)));
      const curable = places.filter((row) => rejects.hint[row] >= 0).length;
      return { rule: name, step: index, ...savingOf(rejects, places), blockers: blockers.size, type: types.size === 1 ? [...types][0] : "", curable, places };
    })
    .filter(({ places }) => places.length)
    .sort((a, b) => Number(b.curable > 0) - Number(a.curable > 0) || b.bytes - a.bytes);
}

/** "up to 96.0 MiB of memory traffic, 12.0 MiB of it HBM's", the one way to say it. */
export function savingText({ bytes: traffic, hbm }: Saving): string {
  const part = Number.isNaN(hbm) ? "" : hbm > 0 ? `, ${bytes(hbm)} of it HBM’s` : ", none of it HBM’s (L2 holds it)";
  return `up to ${bytes(traffic)} of memory traffic${part}`;
}
