/** Nothing is chosen: where the time goes, what could save traffic, what falls back, and where to begin. */

import { blocked, savingText } from "../core/blocked.ts";
import type { Parts } from "../core/document.ts";
import { fallbacks, timeByType } from "../core/glance.ts";
import type { Store } from "../core/panel.ts";
import { bytes, count, percent, time } from "../core/units.ts";
import { unitGlyph } from "../shell/glyph.ts";
import { cure } from "../shell/cure.ts";
import { h } from "../shell/dom.ts";
import { bindingOf, noPrice, plural, priceGap, sizeMissed } from "../tabs/words.ts";
import { nodeLink, section, some } from "./pieces.ts";

const MOST = 4;

export function glancePage(store: Store): (HTMLElement | null)[] {
  const { parts } = store;
  if (!parts.steps) return [h("p", { class: "gx-empty", text: "Reading the document …" })];
  return [
    timePart(store, parts),
    blockedPart(store, parts),
    fallbackPart(store, parts),
    section("Where to begin", begin(store, parts), h("p", { class: "gx-empty", text: "Choose a node, an edge, a step or anything below: it is shown here, and lit everywhere." })),
  ];
}

function timePart(store: Store, parts: Partial<Parts>): HTMLElement | null {
  const { cost, nodes } = parts;
  if (!cost || !nodes) return null;
  const slices = timeByType(cost, nodes);
  const all = slices.reduce((sum, { us }) => sum + us, 0);
  const gap = noPrice(cost) ?? priceGap(cost);
  const help = bindingOf(parts, sizeMissed(cost));
  return section(
    slices.length ? `Where the time goes · ${gap ? "at least " : ""}${time(all)}` : "Where the time goes",
    gap ? h("p", { class: "gx-muted", text: gap }) : null,
    gap && help ? h("p", { class: "gx-muted" }, "Sizes are open. Compile with, for example, ", cure(help)) : null,
    ...some(slices, MOST, ({ type, unit, kernels, us, share, dearest }) =>
      h(
        "button",
        { class: "gx-slice", type: "button", title: `${type}: ${plural(kernels, "kernel")}, ${time(us)} of ${time(all)} (modelled)\nPress for the dearest.`, onclick: () => store.move({ node: dearest, value: undefined }) },
        unitGlyph(unit),
        h("span", { class: "gx-slice-name" }, h("span", { text: type }), kernels > 1 ? h("span", { class: "gx-muted", text: ` × ${count(kernels)}` }) : null),
        h("span", { class: "gx-slice-bar" }, h("i", { style: { "--share": share } })),
        h("span", { text: percent(share, 0) }),
      ),
    ),
  );
}

function blockedPart(store: Store, { steps, nodes }: Partial<Parts>): HTMLElement | null {
  const rows = steps && nodes ? blocked(steps, nodes) : [];
  return section(
    "What could save traffic",
    ...some(rows, MOST - 1, (row) =>
      h(
        "div",
        { class: "gx-slice-line", title: `${row.rule} could save ${savingText(row)} (modelled)` },
        h("button", { class: "gx-link", type: "button", onclick: () => store.move({ step: row.step, reject: row.places[0], rewrite: undefined, node: undefined, value: undefined, rule: undefined }), text: row.rule }),
        h("span", { class: "gx-muted", text: ` at ${plural(row.places.length, "place")}${row.curable ? "" : ", no cure"}` }),
        h("span", { class: "gx-slice-end", text: `≤ ${bytes(row.bytes)}` }),
      ),
    ),
  );
}

function fallbackPart(store: Store, { steps, nodes }: Partial<Parts>): HTMLElement | null {
  if (!steps || !nodes) return null;
  const found = fallbacks(nodes, steps.steps.length);
  if (!found.length) return section("Falls back", h("p", { class: "gx-muted", text: "Nothing: every operator has a kernel on the device." }));
  return section(`Falls back to AI CPU or host · ${count(found.length)}`, ...some(found, MOST, (node) => h("div", {}, nodeLink(store, node))));
}

/** The step that rewrote most, or, where none did, the one with most near misses. */
function begin(store: Store, { steps }: Partial<Parts>): HTMLElement {
  const passes = (steps?.steps ?? []).filter((step) => step.stage === "passes");
  const busiest = [...passes].sort((a, b) => b.rewrites.node.length - a.rewrites.node.length)[0];
  const link = (text: string, onclick: () => void): HTMLElement => h("button", { class: "gx-link", type: "button", onclick, text });
  if (busiest?.rewrites.node.length) {
    return h("p", { class: "gx-empty" }, "The step that did most: ", link(`${busiest.name}, ${plural(busiest.rewrites.node.length, "rewrite")}`, () => store.move({ step: busiest.index })));
  }
  const near = passes.reduce((sum, step) => sum + step.rejects.node.length, 0);
  const most = [...passes].sort((a, b) => b.rejects.node.length - a.rejects.node.length)[0];
  if (!near || !most) return h("p", { class: "gx-empty", text: passes.length ? "No rewrites, and no near misses: no pass found its pattern in this graph." : "No pass ran." });
  const go = (): void => store.move({ step: most.index, reject: 0, rewrite: undefined });
  return h("p", { class: "gx-empty" }, "No rewrites: every candidate was rejected, ", link(`${plural(near, "near miss", "near misses")} ▸`, go));
}
