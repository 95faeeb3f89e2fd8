/** The top: what is compiled and how, what it costs, what changed. */

import type { Changes, Panel, Store, Topic } from "../core/panel.ts";
import type { Figure } from "../core/document.ts";
import { blocked } from "../core/blocked.ts";
import { bytes, change, count, measure } from "../core/units.ts";
import { sparkline } from "./glyph.ts";
import { fill, h } from "./dom.ts";
import { copyMenu } from "./menu.ts";

export interface HeaderDoes {
  search(): void;
  help(): void;
  /** Narrow windows: shows or hides a side. */
  drawer(side: "steps" | "inspector"): void;
}

export class Header implements Panel {
  readonly element: HTMLElement;
  #title = h("div", { class: "gx-title" });
  #options = h("div", { class: "gx-options" });
  #figures = h("div", { class: "gx-figures", role: "group", "aria-label": "Headline figures" });
  #notice = h("div", { class: "gx-notice", role: "status", "aria-live": "polite" });
  #bar = h("div", { class: "gx-work", role: "progressbar", "aria-label": "Work in progress", hidden: true });
  #theme: HTMLButtonElement;

  constructor(
    parent: HTMLElement,
    private readonly store: Store,
    does: HeaderDoes,
  ) {
    this.#theme = h("button", { class: "gx-button gx-icon", type: "button", onclick: () => store.setTheme(store.theme === "dark" ? "light" : "dark") });
    const tools = h(
      "div",
      { class: "gx-tools" },
      h("button", { class: "gx-button gx-drawer-button", type: "button", onclick: () => does.drawer("steps"), text: "☰ Steps" }),
      h("button", { class: "gx-button gx-search-button", type: "button", "aria-keyshortcuts": "/", onclick: does.search }, h("span", { text: "Search" }), h("kbd", { text: "/" })),
      copyMenu(store),
      this.#theme,
      h("button", { class: "gx-button gx-icon", type: "button", title: "Keys (?)", "aria-label": "Keys", "aria-keyshortcuts": "?", onclick: does.help, text: "?" }),
      h("button", { class: "gx-button gx-drawer-button", type: "button", onclick: () => does.drawer("inspector"), text: "Inspector" }),
    );
    this.element = h("header", { class: "gx-header" }, h("div", { class: "gx-top" }, this.#title, this.#options, tools), this.#figures, this.#notice, this.#bar);
    parent.append(this.element);
    this.update(new Set<Topic>(["parts", "theme", "changes", "work"]));
  }

  resize(): void {}
  destroy(): void {
    this.element.remove();
  }

  update(changed: ReadonlySet<Topic>): void {
    if (changed.has("theme")) {
      const dark = this.store.theme === "dark";
      this.#theme.textContent = dark ? "☀" : "☾";
      this.#theme.setAttribute("aria-label", dark ? "Light theme" : "Dark theme");
      this.#theme.title = dark ? "Light theme" : "Dark theme";
    }
    if (changed.has("parts") || changed.has("changes")) {
      this.#head();
      this.#setOptions();
    }
    if (changed.has("parts") || changed.has("changes")) this.#setFigures();
    else if (changed.has("cursor")) this.#markStep();
    if (changed.has("work") || changed.has("changes") || changed.has("parts")) this.#setNotice();
    if (changed.has("work")) this.#setWork();
  }

  #head(): void {
    const { head } = this.store.parts;
    if (!head) return fill(this.#title, h("span", { class: "gx-muted", text: "reading the document …" }));
    const opset = Object.entries(head.model.opset)
      .map(([domain, version]) => `${domain || "ai.onnx"} ${version}`)
      .join(", ");
    fill(
      this.#title,
      h("h1", { title: `${head.model.name}\nsha256 ${head.model.sha256}\n${opset}\ngexplorer ${head.version}`, text: head.model.name }),
      h("span", { class: "gx-muted", text: `${count(head.model.nodes)} nodes · ${bytes(head.model.weight_bytes)} weights` }),
    );
  }

  /** Modes beside what they change; grey with a reason where they cannot be. */
  #setOptions(): void {
    const { head } = this.store.parts;
    if (!head) return;
    const { choices, options } = head;
    const selects: [string, string, string[]][] = [
      ["soc", "chip", choices.soc],
      ["memory", "memory", choices.memory],
      ["tiling_mode", "tiling", choices.tiling],
      ["preset", "preset", choices.preset],
    ];
    fill(
      this.#options,
      ...selects.map(([option, label, values]) => {
        const now = String(this.store.changes[option] ?? options[option] ?? options[option.replace("_mode", "")] ?? "");
        if (!values?.length && !now) return null;
        const all = values.includes(now) || !now ? values : [now, ...values];
        const refusals = all.map((value) => (value === now ? null : this.store.refusal({ [option]: value } as Changes)));
        const stuck = all.length < 2 || refusals.every((refusal, i) => all[i] === now || refusal !== null);
        if (stuck) return h("span", { class: "gx-option", title: refusals.find(Boolean) ?? label }, h("span", { class: "gx-muted", text: label }), h("b", { text: now || "–" }));
        const select = h(
          "select",
          { "aria-label": label, onchange: (event: Event) => this.store.change({ [option]: (event.target as HTMLSelectElement).value } as Changes) },
          ...all.map((value, i) => h("option", { value, disabled: refusals[i] !== null, title: refusals[i], text: value })),
        );
        select.value = now;
        return h("label", { class: `gx-option${this.store.changes[option] !== undefined ? " gx-touched" : ""}` }, h("span", { class: "gx-muted", text: label }), select);
      }),
    );
  }

  #setFigures(): void {
    const { head, steps, nodes } = this.store.parts;
    if (!head) return;
    const tiles = head.figures.map((figure) => this.#figure(figure));
    if (steps && nodes && this.#blockedOf !== steps) {
      this.#blockedOf = steps;
      this.#blocked = blocked(steps, nodes);
    }
    const top = this.#blocked[0];
    if (top && steps) {
      const place = top.places[0] as { step: number; row: number };
      tiles.push(
        h(
          "button",
          {
            class: "gx-figure gx-figure-blocked",
            type: "button",
            title: "HBM traffic that near misses would save, of those alone for which the rule knows a cure; press for the largest",
            onclick: () => this.store.move({ step: place.step, reject: place.row, rewrite: undefined, node: undefined, rule: undefined }),
          },
          h("span", { class: "gx-figure-label", text: "blocked traffic" }),
          h("span", { class: "gx-figure-value", text: bytes(top.bytes) }),
          h("span", { class: "gx-figure-note", text: `by ${count(top.blockers)} ${top.type}${top.type === "value" && top.blockers > 1 ? "s" : ""}, curable ▸` }),
        ),
      );
    }
    fill(this.#figures, ...tiles);
  }
  /** Where the step is on the courses; all else of the figures stays. */
  #markStep(): void {
    const { step } = this.store.cursor;
    const courses = this.store.parts.head?.figures.flatMap(({ series }) => (series && series.length > 1 ? [series] : [])) ?? [];
    this.#figures.querySelectorAll(".gx-spark").forEach((spark, i) => spark.replaceWith(sparkline(courses[i] as Float64Array, step)));
  }
  #blockedOf: unknown = null;
  #blocked: ReturnType<typeof blocked> = [];

  #figure(figure: Figure): HTMLElement {
    const { baseline, cursor } = this.store;
    const before = baseline?.find((one) => one.key === figure.key)?.value ?? null;
    const then = baseline ? before : figure.first;
    const delta = change(figure.value, then);
    const better = delta === "±0 %" || !delta || then === null || figure.value === null ? "" : figure.value < then === figure.lower_is_better ? "gx-better" : "gx-worse";
    const up = figure.value !== null && then !== null && figure.value > then;
    const arrow = better ? (up ? "▲ " : "▼ ") : "";
    const notes = [
      figure.error !== null ? `±${(figure.error * 100).toFixed(0)} %` : "",
      figure.bound !== null ? `${figure.error === null ? "bound" : "≥"} ${measure(figure.bound, figure.unit)}` : "",
    ].filter(Boolean);
    const word = baseline ? "was" : "first";
    return h(
      "div",
      { class: "gx-figure", title: [figure.label, figure.note, then !== null ? `${word} ${measure(then, figure.unit)}` : "", figure.bound !== null ? `cannot be below ${measure(figure.bound, figure.unit)}` : ""].filter(Boolean).join("\n") },
      h("span", { class: "gx-figure-label", text: figure.label }),
      h(
        "span",
        { class: "gx-figure-value" },
        then !== null && better ? h("span", { class: "gx-figure-then", text: `${measure(then, figure.unit)} → ` }) : null,
        h("span", { text: measure(figure.value, figure.unit) }),
      ),
      h(
        "span",
        { class: "gx-figure-note" },
        delta && better ? h("span", { class: better, text: `${arrow}${delta}` }) : null,
        ...(notes.length || figure.value !== null ? notes : [figure.note]).map((text) => h("span", { text })),
      ),
      figure.series && figure.series.length > 1 ? sparkline(figure.series, cursor.step) : null,
    );
  }

  /** What differs from how the document was opened, and what can be done about it; or what failed. */
  #setNotice(): void {
    const { changes, failure, baseline, host, work } = this.store;
    const { fusion, ...rest } = changes;
    const words = [
      ...Object.entries(fusion ?? {}).map(([rule, on]) => `${rule} ${on ? "on" : "off"}`),
      ...Object.entries(rest).map(([option, value]) => `${option} ${typeof value === "string" ? value : JSON.stringify(value)}`),
    ];
    const button = (text: string, press: () => void, title: string): HTMLElement => h("button", { class: "gx-button", type: "button", title, onclick: press, text });
    const parts: (HTMLElement | null)[] = [];
    if (failure) parts.push(h("span", { class: "gx-failure", text: failure }), h("span", { class: "gx-muted", text: "The last good picture stays." }));
    if (words.length) parts.push(h("span", { class: "gx-changes", text: words.join(" · ") }));
    if (baseline && words.length) parts.push(h("span", { class: "gx-muted", text: "figures are compared with those before" }));
    if (work && !failure) parts.push(h("span", { class: "gx-muted", text: `${work.text}${work.total ? ` ${count(work.done)} of ${count(work.total)}` : ""} …` }));
    if (words.length || baseline) {
      if (host.change || host.pin) parts.push(button("Pin as baseline", () => this.store.pin(), "Compare everything that follows with the figures of now"));
      if (baseline) parts.push(button("Dismiss", () => this.store.dismiss(), "Stop comparing"));
      if (words.length) parts.push(button("Reset", () => this.store.reset(), "Back to the options it was opened with"));
    }
    fill(this.#notice, ...parts);
    this.#notice.hidden = !parts.length;
  }

  #setWork(): void {
    const { work } = this.store;
    this.#bar.hidden = !work;
    if (!work) return;
    this.#bar.classList.toggle("gx-work-unknown", !work.total);
    this.#bar.style.setProperty("--done", work.total ? String(work.done / work.total) : "0.3");
    this.#bar.setAttribute("aria-valuetext", work.text);
  }
}
