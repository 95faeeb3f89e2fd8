/**
 * What stands in the way, all in all: the bytes that near misses would save, by the rule and by the type of what blocks
 * it. A place at which several rules looked counts once, with the most that any of them would save.
 */

import type { NodesPart, StepsPart } from "./document.ts";

export interface Blocked {
  /** Name of the rule, and its step. */
  rule: string;
  step: number;
  /** Operator type of the blockers; "value" where a value stands in the way. */
  type: string;
  blockers: number;
  bytes: number;
  /** The rule names an edit of the model that helps: that a residual needs its tensor in memory is so. */
  curable: boolean;
  /** Near misses, largest first. */
  places: { step: number; row: number; bytes: number }[];
}

interface Place {
  step: number;
  row: number;
  bytes: number;
  blocker: number;
  value: number;
  curable: boolean;
}

/** What has a cure first, then the largest. */
export function blocked(steps: StepsPart, nodes: NodesPart): Blocked[] {
  const places = new Map<string, Place>();
  for (const { index, rejects } of steps.steps) {
    for (let row = 0; row < rejects.node.length; row++) {
      const bytes = rejects.saved_bytes[row] as number;
      const blocker = rejects.blocker[row] as number;
      const value = rejects.blocker_value[row] ?? -1;
      if (!(bytes > 0) || (blocker < 0 && value < 0)) continue;
      const one = { step: index, row, bytes, blocker, value, curable: (rejects.hint[row] as number) >= 0 };
      const key = steps.strings[rejects.place[row] as number] ?? String(rejects.node[row]);
      const old = places.get(key);
      if (!old || Number(one.curable) - Number(old.curable) > 0 || (one.curable === old.curable && bytes > old.bytes)) places.set(key, one);
    }
  }
  const groups = new Map<string, { type: string; curable: boolean; blockers: Set<number>; places: Place[] }>();
  for (const place of places.values()) {
    const type = place.blocker < 0 ? "value" : (nodes.strings[nodes.type[place.blocker] as number] ?? "");
    const key = `${place.step} ${place.curable} ${type}`;
    let group = groups.get(key);
    if (!group) groups.set(key, (group = { type, curable: place.curable, blockers: new Set(), places: [] }));
    group.blockers.add(place.blocker < 0 ? place.value : (nodes.name[place.blocker] as number));
    group.places.push(place);
  }
  return [...groups.values()]
    .map(({ type, curable, blockers, places: found }) => {
      const { step } = found[0] as Place;
      const bytes = found.reduce((sum, place) => sum + place.bytes, 0);
      const sorted = found.sort((a, b) => b.bytes - a.bytes).map((place) => ({ step, row: place.row, bytes: place.bytes }));
      return { rule: steps.steps.find((one) => one.index === step)?.name ?? "", step, type, curable, blockers: blockers.size, bytes, places: sorted };
    })
    .sort((a, b) => Number(b.curable) - Number(a.curable) || b.bytes - a.bytes);
}
