/** Small phrases that several tabs share. */

import type { CostPart, Parts } from "../core/document.ts";
import { count, percent } from "../core/units.ts";

/** What a simulated number is worth: "(simulated, ±12 %)"; `short` is for a column: "±12 %". */
export function within(error: number | null | undefined, short = false): string {
  const known = error != null && Number.isFinite(error);
  const size = known ? `±${percent(error, error < 0.1 ? 1 : 0)}` : "error not known";
  if (short) return known ? size : "–";
  return `(simulated, ${size})`;
}

/** A share that is neither nothing nor all does not read as if it were. */
export function share(x: number): string {
  if (x > 0 && x < 0.0005) return "<0.1 %";
  return x < 1 && x >= 0.9995 ? ">99.9 %" : percent(x);
}

/** "3 kernels", "1 kernel". */
export const plural = (n: number, noun: string, several = `${noun}s`): string => `${count(n)} ${n === 1 ? noun : several}`;

/** Why there is nothing to show of the costs; null where there is. */
export function noPrice(cost: CostPart | undefined): string | null {
  if (!cost) return "No costs yet: the kernels have not been priced, or the compilation stopped before that (see the log).";
  if (cost.name.length) return null;
  if (!cost.unpriced.length) return "No kernel is launched: the whole graph was folded away or is only views.";
  const names = Array.from(cost.unpriced.slice(0, 3), (name) => cost.strings[name]).join(", ");
  return `No kernel has a price: ${plural(cost.unpriced.length, "kernel")} (${names}${cost.unpriced.length > 3 ? ", …" : ""})${because(cost)}`;
}

/** How many kernels are in no sum, and why; null where all have a price, or none has. */
export function priceGap(cost: CostPart): string | null {
  const lacking = cost.unpriced.length;
  if (!lacking || !cost.name.length) return null;
  return `${count(lacking)} of ${count(lacking + cost.name.length)} kernels have no price${because(cost)}`;
}

/** "≥ " before a sum that leaves kernels out, as they have no price. */
export const atLeast = (cost: CostPart | undefined): string => (cost?.unpriced.length ? "≥ " : "");

/** How many kernels are in no sum; null where all are. */
export function leftOut(cost: CostPart | undefined): string | null {
  const lacking = cost?.unpriced.length ?? 0;
  return lacking ? `${count(lacking)} of ${plural(lacking + (cost?.name.length ?? 0), "kernel")} ${lacking === 1 ? "is" : "are"} left out: no price` : null;
}

/** The first reason. */
function because(cost: CostPart): string {
  return cost.unpriced_reason?.length ? `: ${cost.strings[cost.unpriced_reason[0]]}.` : ".";
}

/** Whether a kernel has no price as a size is open; a loop that turns nobody knows how often is no such reason. */
export function sizeMissed(cost: CostPart | undefined): boolean {
  if (!cost?.unpriced.length) return false;
  return !cost.unpriced_reason?.length || cost.unpriced_reason.some((reason) => /before run time|\bthe (size|shape) of /.test(cost.strings[reason] ?? ""));
}

/** What binds the open sizes of the inputs, where there are such and somebody misses them. */
export function bindingOf({ head }: Partial<Parts>, missed: boolean): string {
  return (missed && head?.binding) || "";
}

/** A text of any length with its middle left out, so that both ends can be read. */
export function shortened(text: string, most = 160): string {
  return text.length > most ? `${text.slice(0, most >> 1)}…${text.slice(-(most >> 1))}` : text;
}
