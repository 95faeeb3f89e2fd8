/** Why, and why not: what every rule said of a place, the blocker, and the cure. */

import type { NodeId, StepRow } from "../core/document.ts";
import type { Store } from "../core/panel.ts";
import { Events, type Event } from "../core/events.ts";
import { savingOf, savingText } from "../core/blocked.ts";
import { bytes, count } from "../core/units.ts";
import { toggle } from "../shell/glyph.ts";
import { h } from "../shell/dom.ts";
import { reasonsOf } from "../tabs/misses.ts";
import { breaking, nodeLink, section, some } from "./pieces.ts";

const cache = new WeakMap<object, Events>();

function events(store: Store): Events | null {
  const { steps, nodes } = store.parts;
  if (!steps || !nodes) return null;
  let found = cache.get(steps);
  if (!found) cache.set(steps, (found = new Events(steps, nodes)));
  return found;
}

const ROLE: Record<Event["role"], string> = { about: "fired", removed: "removed it", added: "made it", changed: "changed it", blocker: "it stood in the way" };

/** One near miss in full: the sentence, what stands in the way, the cure, what it could save. */
export function nearMiss(store: Store, step: StepRow, row: number): HTMLElement {
  const { steps } = store.parts;
  const { rejects } = step;
  const text = (at: number | undefined): string => steps?.strings[at ?? -1] ?? "";
  const blocker = rejects.blocker[row] as number;
  const value = rejects.blocker_value[row] ?? -1;
  const name = text(rejects.blocker_name[row]);
  const saving = savingOf(rejects, [row]);
  const hint = text(rejects.hint[row]);
  return h(
    "div",
    { class: "gx-why-body" },
    h("p", { class: "gx-sentence" }, ...breaking(text(rejects.reason[row]))),
    blocker >= 0
      ? h("p", { class: "gx-blocker" }, h("span", { class: "gx-muted", text: "stands in the way " }), nodeLink(store, blocker, name || undefined))
      : value >= 0
        ? h(
            "p",
            { class: "gx-blocker" },
            h("span", { class: "gx-muted", text: "stands in the way " }),
            h("button", { class: "gx-link", type: "button", onclick: () => store.move({ value }) }, ...breaking(name || "a value")),
          )
        : null,
    hint ? h("p", { class: "gx-cure" }, h("b", { text: "Cure " }), hint) : null,
    saving.bytes ? h("p", { class: "gx-saved", text: `could save ${savingText(saving)}` }) : null,
  );
}

function line(store: Store, event: Event): HTMLElement {
  const { steps, nodes } = store.parts;
  const step = steps?.steps[event.step] as StepRow;
  const fired = event.kind === "rewrite";
  const { cursor } = store;
  const chosen = cursor.step === event.step && (fired ? cursor.rewrite === event.row : cursor.reject === event.row);
  const press = (): void => store.move({ step: event.step, [fired ? "rewrite" : "reject"]: event.row });
  const about = fired ? (step.rewrites.node[event.row] as number) : (step.rejects.node[event.row] as number);
  const place = about >= 0 ? (nodes?.strings[nodes.name[about] as number] ?? "") : "";
  const single = `${step.name}:${place}`;
  const on = store.enabled(step.name, place);
  // A match that was turned off is a near miss from then on: it can be turned on again here.
  const canToggle = step.kind === "rule" && place && (fired || (!on && store.enabled(step.name)));
  return h(
    "div",
    { class: `gx-why ${fired ? "gx-fired" : "gx-missed"}${chosen ? " gx-chosen" : ""}` },
    h(
      "div",
      { class: "gx-why-head" },
      h("span", { class: "gx-why-sign", "aria-hidden": "true", text: fired ? "✓" : event.role === "blocker" ? "▣" : "◇" }),
      h("button", { class: "gx-link gx-grow", type: "button", onclick: press }, ...breaking(step.name)),
      h("span", { class: "gx-muted", text: fired ? ROLE[event.role] : event.role === "blocker" ? ROLE.blocker : step.kind === "stage" ? "says" : "did not fire" }),
      canToggle ? toggle(`${step.name} at this place`, on, store.refusal({ fusion: { [single]: !on } }), (to) => store.change({ fusion: { [single]: to } })) : null,
    ),
    fired ? h("p", { class: "gx-sentence" }, ...breaking(steps?.strings[step.rewrites.reason[event.row] ?? -1] ?? "")) : nearMiss(store, step, event.row),
  );
}

/** Every step that looked at a node, in order. */
export function whyNot(store: Store, node: NodeId): HTMLElement | null {
  const found = events(store)?.of(node) ?? [];
  const missed = found.filter((event) => event.kind === "reject").length;
  if (!found.length) return section("Why not", h("p", { class: "gx-empty", text: "No rule found a place here, and none came near." }));
  return section(
    missed ? `Why not · ${count(missed)}` : "What happened to it",
    h("div", { class: "gx-why-list" }, ...some(found, 24, (event) => line(store, event))),
  );
}

/** The near misses of a step, by reason, with what each group could save; most first. */
export function byReason(store: Store, step: StepRow, title = "Why not"): HTMLElement | null {
  const { steps } = store.parts;
  const { rejects } = step;
  if (!rejects.node.length) return null;
  const sorted = reasonsOf(rejects);
  return section(
    title === "Why not" ? `Why not · ${count(rejects.node.length)} near ${rejects.node.length === 1 ? "miss" : "misses"}` : `${title} · ${count(rejects.node.length)}`,
    ...sorted.map(({ code, places: rows, saving }) =>
      h(
        "details",
        { class: "gx-reason", open: sorted.length === 1 || (store.cursor.reject !== undefined && rows.includes(store.cursor.reject)) },
        h(
          "summary",
          {},
          h("b", { text: count(rows.length) }),
          h("span", { class: "gx-grow", text: rows.length === 1 ? (steps?.strings[rejects.reason[rows[0] as number] ?? -1] ?? "") : (steps?.strings[code] ?? "").replaceAll("_", " ") }),
          saving.bytes ? h("span", { class: "gx-saved", title: `could save ${savingText(saving)}`, text: `≤ ${bytes(saving.bytes)}` }) : null,
        ),
        ...some(
          rows,
          8,
          (row) =>
            h(
              "div",
              { class: `gx-why gx-missed${store.cursor.reject === row ? " gx-chosen" : ""}` },
              h(
                "div",
                { class: "gx-why-head" },
                h("span", { class: "gx-why-sign", "aria-hidden": "true", text: "◇" }),
                h("button", {
                  class: "gx-link gx-grow",
                  type: "button",
                  onclick: () => store.move({ step: step.index, reject: row, node: undefined, value: undefined }),
                  text: steps?.strings[rejects.place[row] ?? -1] ?? "",
                }),
              ),
              nearMiss(store, step, row),
            ),
        ),
      ),
    ),
  );
}
