/** A step, one of its rewrites, one of its near misses; a rule; nothing chosen. */

import type { StepRow } from "../core/document.ts";
import type { Store } from "../core/panel.ts";
import { rewriteNodes } from "../core/events.ts";
import { Mark } from "../core/diff.ts";
import { gainOf, gainText } from "../tabs/rules_gains.ts";
import { plural } from "../tabs/words.ts";
import { count, seconds } from "../core/units.ts";
import { markSign, toggle } from "../shell/glyph.ts";
import { h } from "../shell/dom.ts";
import { facts, nodeLink, section, some, sourceLine, sourcePart } from "./pieces.ts";
import { byReason, nearMiss } from "./why.ts";

/** The step's name, and its switch where it is a rule or pass that can be turned off. */
function head(store: Store, step: StepRow, sub: string): HTMLElement {
  const rules = store.parts.rules;
  const isRule = step.kind !== "stage" && !!rules?.name.includes(step.name);
  const on = store.enabled(step.name);
  const difference = store.parts.head?.difference;
  return h(
    "div",
    { class: "gx-subject" },
    h("div", { class: "gx-grow" }, h("h2", { text: difference ? "Difference" : step.name }), h("div", { class: "gx-muted", text: sub })),
    isRule && !difference ? toggle(step.name, on, store.refusal({ fusion: { [step.name]: !on } }), (to) => store.change({ fusion: { [step.name]: to } })) : null,
  );
}

export function stepPage(store: Store, index: number): (HTMLElement | null)[] {
  const { steps, nodes, rules, course } = store.parts;
  const step = steps?.steps[index];
  if (!step) return [];
  const rewrites = step.rewrites.node.length;
  const rejects = step.rejects.node.length;
  const rule = rules?.name.indexOf(step.name) ?? -1;
  const gain = rewrites ? gainOf(course, index) : null;
  const refused = step.kind !== "stage" ? store.refusal({ fusion: { [step.name]: !store.enabled(step.name) } }) : null;
  return [
    head(store, step, [step.kind, step.ge_name ? `GE: ${step.ge_name}` : "", step.stage].filter(Boolean).join(" · ")),
    step.summary ? h("p", { class: "gx-sentence", text: step.summary }) : null,
    facts([
      ["took", seconds(step.seconds)],
      ["nodes", step.nodes_before === step.nodes_after ? count(step.nodes_after) : `${count(step.nodes_before)} → ${count(step.nodes_after)}`],
      ["looked at", step.tried ? plural(step.tried, "place") : ""],
      ["rewrites", rewrites ? count(rewrites) : ""],
      ["brought", gain ? `${gainText(gain)} (simulated)` : rewrites && course && step.stage === "passes" ? "cannot be told: other kernels have no price after it than before" : ""],
      ["switch", rule >= 0 && refused ? h("span", { class: "gx-muted", text: refused }) : ""],
    ]),
    sourcePart(store, step.name, step.source),
    byReason(store, step),
    rewrites
      ? section(
          `Rewrites · ${count(rewrites)}`,
          ...some([...step.rewrites.node.keys()], 12, (row) =>
            h("div", { class: "gx-why gx-fired" }, h("div", { class: "gx-why-head" }, h("span", { class: "gx-why-sign", text: "✓" }), h("button", { class: "gx-link gx-grow", type: "button", onclick: () => store.move({ step: index, rewrite: row, node: undefined, value: undefined }), text: steps.strings[step.rewrites.reason[row] ?? -1] || (nodes?.strings[nodes.name[step.rewrites.node[row] ?? -1] ?? -1] ?? `#${row + 1}`) }))),
          ),
        )
      : h("p", { class: "gx-empty", text: nothing(step, rejects) }),
  ];
}

function nothing(step: StepRow, rejects: number): string {
  if (step.kind === "stage") return "This stage rewrites nothing; its result is in the views below.";
  if (rejects) return `No rewrites: every candidate was rejected, ${count(rejects)} near ${rejects === 1 ? "miss" : "misses"} above.`;
  return step.tried ? `No rewrites: none of ${count(step.tried)} places had the pattern.` : "No rewrites: the graph has nothing that it looks for.";
}

export function rewritePage(store: Store, index: number, row: number): (HTMLElement | null)[] {
  const { steps } = store.parts;
  const step = steps?.steps[index];
  if (!step || row >= step.rewrites.node.length) return [];
  const { about, removed, added, changed } = rewriteNodes(steps, index, row);
  const list = (mark: Mark, title: string, nodes: Int32Array): HTMLElement | null =>
    nodes.length ? section(`${title} · ${count(nodes.length)}`, ...some([...nodes], 10, (node) => h("div", { class: "gx-marked" }, markSign(mark), nodeLink(store, node)))) : null;
  return [
    head(store, step, `${store.parts.head?.difference ? "node" : "rewrite"} ${count(row + 1)} of ${count(step.rewrites.node.length)}`),
    h("p", { class: "gx-sentence", text: steps.strings[step.rewrites.reason[row] ?? -1] ?? "" }),
    about >= 0 ? facts([["at", nodeLink(store, about)]]) : null,
    list(Mark.Removed, "Removed", removed),
    list(Mark.Added, "Added", added),
    list(Mark.Changed, "Changed", changed),
    sourcePart(store, step.name, step.source),
  ];
}

export function rejectPage(store: Store, index: number, row: number): (HTMLElement | null)[] {
  const { steps } = store.parts;
  const step = steps?.steps[index];
  if (!step || row >= step.rejects.node.length) return [];
  const node = step.rejects.node[row] as number;
  return [
    head(store, step, `near miss ${count(row + 1)} of ${count(step.rejects.node.length)}`),
    facts([["at", node >= 0 ? nodeLink(store, node) : (steps.strings[step.rejects.place[row] ?? -1] ?? "")]]),
    section("Why not", h("div", { class: "gx-why gx-missed gx-why-large" }, nearMiss(store, step, row))),
    sourcePart(store, step.name, step.source),
  ];
}

export function rulePage(store: Store, name: string): (HTMLElement | null)[] {
  const { rules, steps } = store.parts;
  const at = rules?.name.indexOf(name) ?? -1;
  if (!rules || at < 0) return [];
  const index = rules.step[at] as number;
  if (index >= 0 && steps?.steps[index]) return stepPage(store, index);
  const on = store.enabled(name);
  return [
    h("div", { class: "gx-subject" }, h("div", { class: "gx-grow" }, h("h2", { text: name }), h("div", { class: "gx-muted", text: rules.ge_name[at] ?? "rule" })), toggle(name, on, store.refusal({ fusion: { [name]: !on } }), (to) => store.change({ fusion: { [name]: to } }))),
    h("p", { class: "gx-sentence", text: rules.summary[at] ?? "" }),
    facts([["source", sourceLine(rules.source[at] ?? "")]]),
    h("p", { class: "gx-empty", text: on ? "It did not run: it has no step in this compilation." : "It is off." }),
  ];
}
