/**
 * What stands in the way, all in all: the bytes that near misses would save, by the type of what blocks them.
 *
 * Only those count whose rule names a cure: that a residual needs its tensor in memory is so, and no edit of the model
 * changes it.
 */

import type { NodesPart, StepsPart } from "./document.ts";

export interface Blocked {
  /** Operator type of the blockers; "value" where a value stands in the way. */
  type: string;
  blockers: number;
  bytes: number;
  /** Near misses, largest first. */
  places: { step: number; row: number; bytes: number }[];
}

/** Largest first. A place at which several rules looked counts once, with the most that any of them would save. */
export function blocked(steps: StepsPart, nodes: NodesPart): Blocked[] {
  const places = new Map<string, { step: number; row: number; bytes: number; blocker: number; value: number }>();
  for (const { index, rejects } of steps.steps) {
    for (let row = 0; row < rejects.node.length; row++) {
      const bytes = rejects.saved_bytes[row] as number;
      const blocker = rejects.blocker[row] as number;
      const value = rejects.blocker_value[row] ?? -1;
      if (!(bytes > 0) || (blocker < 0 && value < 0) || (rejects.hint[row] as number) < 0) continue;
      const key = steps.strings[rejects.place[row] as number] ?? String(rejects.node[row]);
      const old = places.get(key);
      if (!old || bytes > old.bytes) places.set(key, { step: index, row, bytes, blocker, value });
    }
  }
  const types = new Map<string, { blockers: Set<number>; places: { step: number; row: number; bytes: number }[] }>();
  for (const place of places.values()) {
    const type = place.blocker < 0 ? "value" : (nodes.strings[nodes.type[place.blocker] as number] ?? "");
    let group = types.get(type);
    if (!group) types.set(type, (group = { blockers: new Set(), places: [] }));
    group.blockers.add(place.blocker < 0 ? place.value : (nodes.name[place.blocker] as number));
    group.places.push(place);
  }
  return [...types]
    .map(([type, { blockers, places: found }]) => ({
      type,
      blockers: blockers.size,
      bytes: found.reduce((sum, place) => sum + place.bytes, 0),
      places: found.sort((a, b) => b.bytes - a.bytes),
    }))
    .sort((a, b) => b.bytes - a.bytes);
}
