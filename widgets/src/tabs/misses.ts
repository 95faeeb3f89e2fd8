/** Near misses of one step, by the reason: which reason keeps most from being fused, and where. */

import type { StepsPart } from "../core/document.ts";

export interface Reason {
  readonly code: number; // Text
  /** Rows of the step's rejects, those that would save most first. */
  readonly places: readonly number[];
  /** HBM bytes that they would save; NaN where no place says. */
  readonly saved: number;
}

/** The reasons that would save most come first, then the most frequent. */
export function reasonsOf(steps: StepsPart, step: number): Reason[] {
  const rejects = steps.steps[step]?.rejects;
  if (!rejects) return [];
  const groups = new Map<number, number[]>();
  rejects.code.forEach((code, i) => {
    const found = groups.get(code);
    if (found) found.push(i);
    else groups.set(code, [i]);
  });
  const worth = (i: number): number => (Number.isFinite(rejects.saved_bytes[i]) ? rejects.saved_bytes[i] : 0);
  return [...groups]
    .map(([code, places]) => ({
      code,
      places: places.sort((a, b) => worth(b) - worth(a) || a - b),
      saved: places.some((i) => Number.isFinite(rejects.saved_bytes[i])) ? places.reduce((all, i) => all + worth(i), 0) : NaN,
    }))
    .sort((a, b) => (b.saved || 0) - (a.saved || 0) || b.places.length - a.places.length);
}
