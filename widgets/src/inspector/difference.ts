/** Two compilations side by side: what got worse, what got better, and which rule, option or shape did it. */

import type { Differing } from "../core/document.ts";
import type { Store } from "../core/panel.ts";
import { Mark } from "../core/diff.ts";
import { change, count, measure } from "../core/units.ts";
import { markSign } from "../shell/glyph.ts";
import { h } from "../shell/dom.ts";
import { plural } from "../tabs/words.ts";
import { section, some } from "./pieces.ts";
import { byReason } from "./why.ts";

type Pair = { name: string; before: string; after: string };
type Figure = Differing["figures"][number];

export function differencePage(store: Store, found: Differing): (HTMLElement | null)[] {
  const { steps } = store.parts;
  const step = steps?.steps[0];
  // What differs by less than one can see is no difference.
  const known = found.figures.filter((one) => one.before !== null && one.after !== null && shown(one.before, one.unit) !== shown(one.after, one.unit));
  const [worse, better, neither] = [true, false, null].map((verdict) => known.filter((one) => isWorse(one) === verdict).sort(byChange)) as [Figure[], Figure[], Figure[]];
  const unknown = found.figures.filter((one) => one.before === null || one.after === null);
  return [
    h("div", { class: "gx-subject" }, h("div", { class: "gx-grow" }, h("h2", { text: verdict(worse, better, neither) }), h("div", { class: "gx-muted gx-sides" }, h("span", { text: found.sides[0] }), h("span", { text: " → " }), h("span", { text: found.sides[1] })))),
    section(`Worse · ${count(worse.length)}`, ...worse.map((one) => figureLine(one, "gx-worse"))),
    section(`Better · ${count(better.length)}`, ...better.map((one) => figureLine(one, "gx-better"))),
    section(`Neither better nor worse · ${count(neither.length)}`, ...neither.map((one) => figureLine(one, "gx-muted"))),
    section("Known on one side only", ...unknown.map((one) => figureLine(one, ""))),
    section("Options", ...found.options.map(pairLine)),
    section("Inputs", ...some(found.inputs, 8, pairLine)),
    kernels(found),
    section(
      "Rules · rewrites",
      ...some(found.rules, 12, (rule) =>
        h(
          "div",
          { class: "gx-differs-rule" },
          h("div", { class: "gx-why-head" }, h("b", { class: "gx-grow", text: rule.name }), h("span", { text: `${count(rule.before)} → ${count(rule.after)}` }), rule.switched ? h("span", { class: "gx-pill gx-pill-near", text: `switched ${rule.switched}` }) : null),
          ...rule.reasons.slice(0, 3).map(({ text, count: times }) => h("p", { class: "gx-sentence", text: `${count(times)} × ${text}` })),
        ),
      ),
    ),
    step ? byReason(store, step, "New near misses") : null,
    section("Nodes", marks(store)),
  ];
}

/** Where the label has no room. */
const SHORT: Record<string, string> = {
  "memory.pool_bytes": "pool",
  "memory.lower_bound_bytes": "pool bound",
  "cost.hbm_bytes": "HBM ≈",
  "cost.l2_bytes": "L2 ≈",
  "memory.weight_bytes": "weights",
  "cost.launch_us": "launches ≈",
  "schedule.unpriced": "no time known",
};

/** `null` where neither way is good. */
export function isWorse({ before, after, less_is_better }: Figure): boolean | null {
  return less_is_better === null ? null : (after as number) > (before as number) === less_is_better;
}

function byChange(a: Figure, b: Figure): number {
  return size(b) - size(a);
}

/** How much a figure changed, as a ratio above 1; from or to nothing is the most. */
function size({ before, after }: Figure): number {
  const [low, high] = [Math.min(before as number, after as number), Math.max(before as number, after as number)];
  return low > 0 ? high / low : Infinity;
}

function verdict(worse: Figure[], better: Figure[], neither: Figure[]): string {
  if (!worse.length && !better.length) return neither.length ? `${plural(neither.length, "figure differs", "figures differ")}` : "No figure differs";
  const said = [worse.length ? `${count(worse.length)} worse` : "", better.length ? `${count(better.length)} better` : ""].filter(Boolean);
  return `${said.join(", ")}`;
}

function figureLine(one: Figure, className: string): HTMLElement {
  const delta = change(one.after, one.before);
  const up = (one.after ?? 0) > (one.before ?? 0);
  return h(
    "div",
    { class: "gx-differs-line", title: `${one.label}: ${measure(one.before, one.unit)} → ${measure(one.after, one.unit)}` },
    h("span", { text: SHORT[one.key] ?? one.label.replace(", modelled", " ≈") }),
    h("span", {}, h("span", { class: "gx-muted", text: `${shown(one.before, one.unit)} → ` }), h("b", { text: shown(one.after, one.unit) })),
    h("span", { class: `gx-delta ${className}`, text: className ? `${up ? "▲" : "▼"} ${delta || "new"}` : "" }),
  );
}

/** A measure in little room: thousands of millions as G. */
function shown(x: number | null, unit: Figure["unit"]): string {
  if (unit !== "count" || x === null || Math.abs(x) < 1e7) return measure(x, unit);
  const [by, sign] = Math.abs(x) < 1e9 ? [1e6, "M"] : Math.abs(x) < 1e12 ? [1e9, "G"] : [1e12, "T"];
  return `${(x / by).toPrecision(3)} ${sign}`;
}

function pairLine({ name, before, after }: Pair): HTMLElement {
  return h("div", { class: "gx-differs-pair" }, h("span", { class: "gx-muted", text: name }), h("div", {}, h("span", { text: `${before || "–"} → ` }), h("b", { text: after || "–" })));
}

/** What a change of shape, option or model costs in compiling: kernels are compiled for their shapes and attributes. */
function kernels({ kernels: found }: Differing): HTMLElement | null {
  if (!found) return null;
  return section(
    "Kernels to compile again",
    h("p", { class: "gx-sentence" }, h("b", { text: found.fresh ? `${count(found.fresh)} of ${count(found.distinct)}` : `None of ${count(found.distinct)}` }), found.fresh ? " kernel designs are not among the first’s: another shape, type or attribute." : " kernel designs: the first has them all."),
    found.types.length ? h("p", { class: "gx-muted", text: found.types.map(({ type, count: times }) => (times > 1 ? `${type} × ${count(times)}` : type)).join(", ") }) : null,
  );
}

/** How many nodes are on one side only, and how many on both but not alike. */
function marks(store: Store): HTMLElement | null {
  const rewrites = store.parts.steps?.steps[0]?.rewrites;
  if (!rewrites) return null;
  const [gone, come, other] = [rewrites.removed.length, rewrites.added.length, rewrites.changed.length];
  const line = (mark: Mark, n: number, text: string): HTMLElement | null => (n ? h("div", { class: "gx-marked" }, markSign(mark), h("span", { text: `${count(n)} ${text}` })) : null);
  if (!gone && !come && !other) return h("p", { class: "gx-sentence", text: "The graphs are the same." });
  return h("div", {}, line(Mark.Removed, gone, "in the first only"), line(Mark.Added, come, "in the second only"), line(Mark.Changed, other, "in both, and not the same"));
}
