/** Reads what a rule brought: what the graph cost before its step, less what it cost after. */

import type { CoursePart, RulesPart, StepsPart } from "../core/document.ts";
import { bytes, count, time } from "../core/units.ts";
import { plural } from "./words.ts";

/** After less before: negative is less. */
export interface Gain {
  readonly latency_us: number;
  readonly launch_us: number; // of it
  readonly kernels: number;
  readonly hbm_bytes: number;
  readonly l2_bytes: number;
}

const KEYS = ["latency_us", "launch_us", "kernels", "hbm_bytes", "l2_bytes"] as const;

/** What a step changed; null where the two graphs were not both costed, or cannot be compared. */
export function gainOf(course: CoursePart | undefined, step: number): Gain | null {
  if (!course || !(step > 0) || step >= course.kernels.length || !course.comparable[step]) return null;
  return Object.fromEntries(KEYS.map((key) => [key, course[key][step] - course[key][step - 1]])) as unknown as Gain;
}

/** The steps before all passes and after the last of them; null where either was not costed. */
export interface Whole {
  readonly first: number;
  readonly last: number;
  /** Whether the same kernels have no price all the way; else sums before and after are of different kernels. */
  readonly comparable: boolean;
}

export function wholeGain(course: CoursePart | undefined, steps: StepsPart | undefined): Whole | null {
  const passes = steps?.steps.flatMap((step, i) => (step.stage === "passes" ? [i] : [])) ?? [];
  if (!course || !passes.length) return null;
  const [first, last] = [passes[0] - 1, passes[passes.length - 1]];
  if (first < 0 || !Number.isFinite(course.latency_us[first]) || !Number.isFinite(course.latency_us[last])) return null;
  return { first, last, comparable: course.comparable.subarray(first + 1, last + 1).every((same) => same === 1) };
}

/** What came of a rule, in a few words: what it did, or why it did nothing. */
export function outcomeOf(rules: RulesPart, row: number, on: boolean): string {
  const [tried, done, near] = [rules.tried[row], rules.effective[row], rules.near[row]];
  const places = (n: number): string => plural(n, "place");
  if (rules.step[row] < 0) return on ? "not run" : "switched off";
  if (done && tried) return `${count(done)} of ${places(tried)}`;
  if (done) return "swept the graph";
  if (near && tried) return `0 of ${places(tried)}, ${count(near)} nearly`;
  if (near) return `${count(near)} nearly`;
  if (tried) return `0 of ${places(tried)}`;
  const wanted = rules.ends_in[row].replaceAll("com.microsoft::", "").split(", ").filter(Boolean);
  if (!rules.is_fusion[row] || !wanted.length) return "nothing to do";
  return `no ${wanted.length > 3 ? `${wanted.slice(0, 2).join(", ")} or ${wanted.length - 2} more` : wanted.join(" or ")}`;
}

/** Places that it looked at and that are neither matches nor near: part of another match, or far from its pattern. */
export const farOf = (rules: RulesPart, row: number): number => (rules.tried[row] ? Math.max(0, rules.tried[row] - rules.effective[row] - rules.near[row]) : 0);

/** The same as a sentence, for one who asks about this rule. */
export function storyOf(rules: RulesPart, row: number, on: boolean): string {
  const [tried, done, near] = [rules.tried[row], rules.effective[row], rules.near[row]];
  const wanted = rules.ends_in[row].split(", ").filter(Boolean);
  const kinds = wanted.length > 4 ? `${wanted.slice(0, 3).join(", ")} or ${wanted.length - 3} more kinds of operator` : wanted.join(" or ");
  if (rules.step[row] < 0) return on ? "It did not run: the preset leaves it out." : "It did not run: it is switched off.";
  if (tried) {
    const far = farOf(rules, row);
    const parts = [done && `${count(done)} rewritten`, near && `${count(near)} nearly`, far > 0 && `${count(far)} far from its pattern, or part of another match`].filter(Boolean);
    return `It looked at ${plural(tried, "place")}${kinds ? `, each ${kinds}` : ""}: ${parts.join(", ") || "none fits"}.`;
  }
  if (done) return `It swept the graph and made ${plural(done, "rewrite")}.`;
  if (near) return `It swept the graph; ${plural(near, "place")} nearly.`;
  if (rules.is_fusion[row] && kinds) return `It was never tried: when its turn came there was no ${kinds}.`;
  return "It swept the graph and found nothing to do.";
}

/** "−353 µs, 144 kernels fewer, L2 −113 MiB, HBM ±0". */
export function gainText(gain: Gain): string {
  const kernels = Math.abs(gain.kernels);
  return [
    signed(gain.latency_us, time),
    gain.kernels ? `${plural(kernels, "kernel")} ${gain.kernels < 0 ? "fewer" : "more"}` : "as many kernels",
    `L2\u00a0${signed(gain.l2_bytes, bytes)}`,
    `HBM\u00a0${signed(gain.hbm_bytes, bytes)}`,
  ].join(", ");
}

/** A difference with its sign; "±0" for none. */
export function signed(x: number, text: (x: number) => string): string {
  if (!Number.isFinite(x)) return "–";
  return x ? `${x < 0 ? "−" : "+"}${text(Math.abs(x))}` : "±0";
}
