/** Near misses of one step, by the reason: which reason keeps most from being fused, and where. */

import type { StepsPart } from "../core/document.ts";

export interface Reason {
  readonly code: number; // Text
  /** Rows of the step's rejects, those that would save most first. */
  readonly places: readonly number[];
  /** Bytes that they would keep out of memory, and HBM bytes of these; NaN where no place says. */
  readonly freed: number;
  readonly saved: number;
}

/** The reasons that would keep most out of memory come first, then the most frequent. */
export function reasonsOf(steps: StepsPart, step: number): Reason[] {
  const rejects = steps.steps[step]?.rejects;
  if (!rejects) return [];
  const groups = new Map<number, number[]>();
  rejects.code.forEach((code, i) => {
    const found = groups.get(code);
    if (found) found.push(i);
    else groups.set(code, [i]);
  });
  const worth = (of: Float64Array, i: number): number => (Number.isFinite(of[i]) ? of[i] : 0);
  const total = (of: Float64Array, places: readonly number[]): number => (places.some((i) => Number.isFinite(of[i])) ? places.reduce((all, i) => all + worth(of, i), 0) : NaN);
  const { freed_bytes: freed, saved_bytes: saved } = rejects;
  return [...groups]
    .map(([code, places]) => ({
      code,
      places: places.sort((a, b) => worth(freed, b) - worth(freed, a) || worth(saved, b) - worth(saved, a) || a - b),
      freed: total(freed, places),
      saved: total(saved, places),
    }))
    .sort((a, b) => (b.freed || 0) - (a.freed || 0) || (b.saved || 0) - (a.saved || 0) || b.places.length - a.places.length);
}
