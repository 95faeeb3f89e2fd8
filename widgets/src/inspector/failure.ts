/** A compilation that a pass ended: which pass, what came before it, what can still be looked at. */

import type { Store } from "../core/panel.ts";
import { count } from "../core/units.ts";
import { h } from "../shell/dom.ts";
import { section, some } from "./pieces.ts";

export function failurePage(store: Store): (HTMLElement | null)[] {
  const { head, steps } = store.parts;
  const failure = head?.failure;
  if (!failure) return [];
  const ran = steps?.steps ?? [];
  const last = ran[ran.length - 1];
  const absent = head.stages.filter((stage) => stage.status === "absent").map((stage) => stage.name);
  const rewrote = ran.filter((step) => step.rewrites.node.length);
  const link = (step: (typeof ran)[number], text: string): HTMLElement => h("button", { class: "gx-link", type: "button", onclick: () => store.move({ step: step.index }), text });
  return [
    h("div", { class: "gx-failure-card", role: "alert" }, h("b", { text: `The pass ${failure.name} failed` }), h("p", { text: failure.why }), absent.length ? h("p", { class: "gx-muted", text: `Not reached: ${absent.join(", ")}.` }) : null),
    last
      ? section(
          "What can still be looked at",
          h("p", { class: "gx-sentence" }, "The graph as it came to the pass: after ", link(last, last.name), "."),
          h("p", { class: "gx-sentence", text: `All ${count(ran.length)} steps before it, with what they rewrote and nearly rewrote.` }),
        )
      : section("What can still be looked at", h("p", { class: "gx-sentence", text: "No step came to its end: there is no graph to show." })),
    rewrote.length ? section("Last steps that changed the graph", ...some(rewrote.slice(-6).reverse(), 6, (step) => h("div", {}, link(step, `${step.name}, ${count(step.rewrites.node.length)} ${step.rewrites.node.length === 1 ? "rewrite" : "rewrites"}`)))) : null,
  ];
}
