/** Near misses of one step, by the reason: which reason keeps most from being fused, and where. */

import { savingOf, type Saving } from "../core/blocked.ts";
import type { StepRow } from "../core/document.ts";

export interface Reason {
  readonly code: number; // Text
  /** Rows of the step's rejects, those that could save most first. */
  readonly places: readonly number[];
  readonly saving: Saving;
}

/** The reasons that could save most come first, then the most frequent. */
export function reasonsOf(rejects: StepRow["rejects"]): Reason[] {
  const groups = new Map<number, number[]>();
  rejects.code.forEach((code, i) => {
    const found = groups.get(code);
    if (found) found.push(i);
    else groups.set(code, [i]);
  });
  const worth = (i: number): number => rejects.traffic_bytes[i] || 0;
  return [...groups]
    .map(([code, places]) => ({ code, places: places.sort((a, b) => worth(b) - worth(a) || a - b), saving: savingOf(rejects, places) }))
    .sort((a, b) => b.saving.bytes - a.saving.bytes || b.places.length - a.places.length);
}
