/** Parts that every page of the inspector is made of. */

import type { NodeId, ValueId } from "../core/document.ts";
import type { Store } from "../core/panel.ts";
import { bytes } from "../core/units.ts";
import { unitGlyph } from "../shell/glyph.ts";
import { h } from "../shell/dom.ts";

type Child = Parameters<typeof h>[2];

export function section(title: string, ...children: Child[]): HTMLElement | null {
  return children.some(Boolean) ? h("section", { class: "gx-part" }, h("h3", {}, ...heading(title)), ...children) : null;
}

/** Headings are in capitals; what stands behind the dot, a number with its unit, is not: µs would read MS. */
function heading(title: string): Child[] {
  const at = title.indexOf(" · ");
  return at < 0 ? [title] : [title.slice(0, at), h("span", { class: "gx-as-is", text: title.slice(at) })];
}

/** Name and value, in two columns; without a value left out. */
export function facts(rows: [string, Child][]): HTMLElement | null {
  const known = rows.filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false);
  if (!known.length) return null;
  return h("dl", { class: "gx-facts" }, ...known.flatMap(([name, value]) => [h("dt", { text: name }), h("dd", {}, value)]));
}

export function nodeLink(store: Store, node: NodeId, label?: string): HTMLElement {
  const { nodes } = store.parts;
  const name = nodes?.strings[nodes.name[node] ?? -1] ?? "";
  return h(
    "button",
    { class: "gx-link gx-node-link", type: "button", title: name, onclick: () => store.move({ node, value: undefined }) },
    nodes ? unitGlyph(nodes.unit[node] as number) : null,
    h("span", {}, ...breaking(label ?? name)),
  );
}

/** A value by name, with type and size. */
export function valueLine(store: Store, value: ValueId): HTMLElement {
  const { values } = store.parts;
  if (value < 0 || !values) return h("div", { class: "gx-value gx-muted", text: "absent" });
  const text = (at: number | undefined): string => values.strings[at ?? -1] ?? "";
  const kind = ["", "input", "output", "constant", "state"][values.kind[value] as number] ?? "";
  const chosen = store.cursor.value === value;
  return h(
    "div",
    { class: `gx-value${chosen ? " gx-chosen" : ""}` },
    h("button", { class: "gx-link", type: "button", title: text(values.name[value]), onclick: () => store.move({ value: chosen ? undefined : value }), text: text(values.name[value]) || "unnamed" }),
    h("span", { class: "gx-value-type", text: `${text(values.dtype[value])} ${text(values.shape[value])}` }),
    h("span", { class: "gx-value-size", text: [kind, Number.isNaN(values.bytes[value]) ? "" : bytes(values.bytes[value])].filter(Boolean).join(" · ") }),
  );
}

/** The first few, and how many more; pressed, all of them. */
export function some<T>(items: readonly T[], most: number, make: (item: T) => HTMLElement): HTMLElement[] {
  const made = items.slice(0, most).map(make);
  if (items.length > most) {
    const more = h("button", { class: "gx-link gx-more", type: "button", text: `${items.length - most} more ▾` });
    more.addEventListener("click", () => more.replaceWith(...items.slice(most, most + 500).map(make)));
    made.push(more);
  }
  return made;
}

/** Stays as it was left when one goes to the next rule. */
let codeOpen = false;

/** Where a rule is written, and the code itself, unfolded on demand. */
export function sourcePart(store: Store, rule: string, place: string | null): HTMLElement | null {
  const { sources } = store.parts;
  const at = sources?.name.indexOf(rule) ?? -1;
  // Not asked for yet: it may be there.
  const hope = !sources && !!store.host.ask;
  if (at < 0 && !hope) return place ? section("Source", h("p", {}, sourceLine(place))) : null;
  const code = at >= 0 ? h("pre", { class: "gx-code", tabindex: "0", "aria-label": `Code of ${rule}`, text: sources?.text[at] }) : h("p", { class: "gx-muted", text: "asking for the code …" });
  const fold = h("details", { class: "gx-source", open: codeOpen }, h("summary", {}, place ? sourceLine(place) : h("span", { text: "its code" })), code);
  fold.addEventListener("toggle", () => {
    codeOpen = fold.open;
    if (fold.open && at < 0) store.ask("sources");
  });
  return section("Source", fold);
}

const LONG = 24; // letters of a name that has to break within a line

/** A name or sentence whose long names may break: after a dot, a slash or an underscore. */
export function breaking(text: string): (string | HTMLElement)[] {
  return text.split(/(?<=\s)/).flatMap((word) => (word.length < LONG ? [word] : word.split(/(?<=[./_:])(?=\w)/).flatMap((part, i) => (i ? [h("wbr"), part] : [part]))));
}

/** A place in a file. */
export function sourceLine(source: string): HTMLElement {
  return h("span", { class: "gx-mono" }, ...breaking(source));
}
