/** Reads where the time of a compilation went: stages, what they consist of, and the steps that changed nothing. */

import type { Head, StepRow } from "../core/document.ts";

export const KINDS: Record<StepRow["kind"], string> = { stage: "its steps", pass: "passes", rule: "fusion rules" };

/** A bar: a stage, the passes or rules in it, or one step. */
export interface Lap {
  readonly level: 0 | 1 | 2;
  readonly name: string;
  readonly stage: string;
  readonly start: number; // seconds, laid end to end
  readonly seconds: number;
  /** Index of the step, -1 for a sum of several. */
  readonly step: number;
}

/** Stages side by side, below each its kinds of steps, below each of those its steps, the longest first. */
export function lapsOf(stages: Head["stages"], steps: readonly StepRow[]): { laps: Lap[]; seconds: number } {
  const laps: Lap[] = [];
  let start = 0;
  for (const stage of stages) {
    const own = steps.filter((step) => step.stage === stage.name);
    const sum = own.reduce((all, step) => all + step.seconds, 0);
    const seconds = Math.max(stage.seconds, sum);
    if (!(seconds > 0)) continue;
    laps.push({ level: 0, name: stage.name, stage: stage.name, start, seconds, step: -1 });
    let at = start;
    for (const kind of ["pass", "rule", "stage"] as const) {
      const some = own.filter((step) => step.kind === kind && step.seconds > 0).sort((a, b) => b.seconds - a.seconds);
      const size = some.reduce((all, step) => all + step.seconds, 0);
      if (!size) continue;
      laps.push({ level: 1, name: KINDS[kind], stage: stage.name, start: at, seconds: size, step: -1 });
      for (const step of some) {
        laps.push({ level: 2, name: step.name, stage: stage.name, start: at, seconds: step.seconds, step: step.index });
        at += step.seconds;
      }
    }
    start += seconds;
  }
  return { laps, seconds: start };
}

/** Does a step deserve a line of its own? Those that changed nothing are summed into one. */
export const isQuiet = (step: StepRow): boolean => !step.changed && step.kind !== "stage";
