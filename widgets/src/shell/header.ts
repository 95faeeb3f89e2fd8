/** The top: what is compiled and how, what it costs, what changed. */

import type { Changes, Panel, Store, Topic } from "../core/panel.ts";
import type { Figure } from "../core/document.ts";
import { blocked, savingText } from "../core/blocked.ts";
import { bytes, change, count, measure } from "../core/units.ts";
import { sparkline } from "./glyph.ts";
import { fill, h } from "./dom.ts";
import { copyMenu } from "./menu.ts";

export interface HeaderDoes {
  search(): void;
  help(): void;
  /** Opens a view below. */
  open(view: string): void;
  /** Narrow windows: shows or hides a side. */
  drawer(side: "steps" | "inspector"): void;
}

/** The view that a figure comes from. */
const VIEWS: Record<string, string> = {
  kernels: "rules",
  hbm_bytes: "traffic",
  pool_bytes: "memory",
  latency_us: "schedule",
  launch_share: "schedule",
  compile_seconds: "time",
  weight_bytes: "memory",
};

/** Whether there is anything to see of a course. */
const moves = (series: Float64Array | null): series is Float64Array => new Set(series?.filter((x) => !Number.isNaN(x))).size > 1;

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
    private readonly does: HeaderDoes,
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
    const sides = head.difference?.sides.map((side) => side.replace(/ \(.*\)$/, ""));
    const name = sides?.length && new Set(sides).size === 1 ? `${sides[0]}, two ways` : head.model.name;
    const opset = Object.entries(head.model.opset)
      .map(([domain, version]) => `${domain || "ai.onnx"} ${version}`)
      .join(", ");
    fill(
      this.#title,
      h("h1", { title: `${head.model.name}\nsha256 ${head.model.sha256}\n${opset}\ngexplorer ${head.version}`, text: name }),
      head.difference ? null : h("span", { class: "gx-muted", text: `${count(head.model.nodes)} nodes · ${bytes(head.model.weight_bytes)} weights` }),
    );
  }

  /** Modes beside what they change; grey with a reason where they cannot be. */
  #setOptions(): void {
    const { head } = this.store.parts;
    if (!head) return;
    const { choices, options, difference } = head;
    this.element.classList.toggle("gx-two", !!difference);
    if (difference) {
      const told = new Set(difference.options.map(({ name }) => name));
      const pairs = [...difference.options, ...difference.inputs.map((input) => ({ ...input, name: `input ${input.name}` }))];
      const same = (["soc", "memory"] as const).filter((name) => !told.has(name) && options[name] !== undefined);
      return fill(
        this.#options,
        ...pairs.slice(0, 6).map(({ name, before, after }) => h("span", { class: "gx-option gx-differs", title: `${name}\nfirst: ${before || "–"}\nsecond: ${after || "–"}` }, h("span", { class: "gx-muted", text: name }), h("span", { text: `${before || "–"} →` }), h("b", { text: after || "–" }))),
        ...same.map((name) => h("span", { class: "gx-option", title: "the same in both" }, h("span", { class: "gx-muted", text: name === "soc" ? "chip" : name }), h("b", { text: String(options[name]) }))),
      );
    }
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
      const way = `${count(top.blockers)} ${top.type || "node"}${top.blockers > 1 ? "s" : ""}`;
      tiles.push(
        h(
          "button",
          {
            class: "gx-figure gx-figure-blocked",
            type: "button",
            title: `${top.rule} could save ${savingText(top)} (modelled), if it could fuse at ${count(top.places.length)} more ${top.places.length === 1 ? "place" : "places"}; ${way} ${top.blockers === 1 ? "stands" : "stand"} in the way, and the rule ${top.curable ? `names a cure for ${count(top.curable)}` : "knows no cure"}\nPress for the largest.`,
            onclick: () => this.store.move({ step: top.step, reject: top.places[0], rewrite: undefined, node: undefined, value: undefined, rule: undefined }),
          },
          h("span", { class: "gx-figure-label", text: `${top.rule} could save` }),
          h("span", { class: "gx-figure-value" }, h("span", { class: "gx-figure-error", text: "≤ " }), h("span", { class: "gx-figure-now", text: bytes(top.bytes) })),
          h("span", { class: "gx-figure-note", text: `traffic, ${count(top.places.length)} near ${top.places.length === 1 ? "miss" : "misses"} ▸` }),
        ),
      );
    }
    fill(this.#figures, ...tiles);
  }
  /** Where the step is on the courses; all else of the figures stays. */
  #markStep(): void {
    const { step } = this.store.cursor;
    const courses = this.store.parts.head?.figures.flatMap(({ series }) => (moves(series) ? [series] : [])) ?? [];
    this.#figures.querySelectorAll(".gx-spark").forEach((spark, i) => spark.replaceWith(sparkline(courses[i] as Float64Array, step)));
  }
  #blockedOf: unknown = null;
  #blocked: ReturnType<typeof blocked> = [];

  #figure(figure: Figure): HTMLElement {
    const { baseline, cursor } = this.store;
    const before = baseline?.find((one) => one.key === figure.key);
    // Sums over other kernels are not compared: how many have no price on each side.
    const [left, now] = [baseline ? before?.unpriced : figure.first_unpriced, figure.unpriced];
    const apart = left != null && (left || now) && (baseline ? left !== now : figure.first === null) ? `${count(left)} → ${count(now)} unpriced` : "";
    // Two runs of the same compilation take different times: no change of the options.
    const then = apart || figure.unit === "s" ? null : baseline ? (before?.value ?? null) : figure.first;
    const delta = change(figure.value, then);
    const better = !delta || delta === "±0 %" || then === null || figure.value === null || measure(figure.value, figure.unit) === measure(then, figure.unit) ? "" : figure.lower_is_better === null ? "gx-neither" : figure.value < then === figure.lower_is_better ? "gx-better" : "gx-worse";
    const up = figure.value !== null && then !== null && figure.value > then;
    const arrow = better ? (up ? "▲ " : "▼ ") : "";
    const notes = [apart, figure.bound !== null ? `bound ${measure(figure.bound, figure.unit)}` : ""].filter(Boolean);
    // A simulated figure says how far off it may be; one whose error nobody knows says that it is simulated.
    const error = figure.value === null ? "" : figure.error !== null ? `±${(figure.error * 100).toFixed(0)} %` : figure.modelled ? "≈" : "";
    const word = this.store.parts.head?.difference ? "in the first" : baseline ? "before the change" : "before all passes";
    const view = VIEWS[figure.key];
    const title = [
      `${figure.label}: ${measure(figure.value, figure.unit)}${figure.error !== null ? ` ${error}` : figure.modelled ? ", modelled, its error is not known" : ""}`,
      figure.note,
      then !== null ? `${word}: ${measure(then, figure.unit)}` : "",
      apart && baseline ? `not compared with the baseline: ${count(left)} kernels have no price there, ${count(now)} here` : "",
      figure.bound !== null ? `cannot be below ${measure(figure.bound, figure.unit)}` : "",
    ];
    return h(
      view ? "button" : "div",
      { class: "gx-figure", type: view ? "button" : null, "data-figure": figure.key, title: [...title, view ? "Press to see where it comes from." : ""].filter(Boolean).join("\n"), onclick: view ? () => this.does.open(view) : null },
      h("span", { class: "gx-figure-label", text: figure.label }),
      h(
        "span",
        { class: "gx-figure-value" },
        then !== null && better ? h("span", { class: "gx-figure-then", text: `${measure(then, figure.unit)} → ` }) : null,
        h("span", { class: "gx-figure-now" }, error === "≈" ? h("span", { class: "gx-figure-error", text: "≈ " }) : null, measure(figure.value, figure.unit)),
        error && error !== "≈" ? h("span", { class: "gx-figure-error", text: error }) : null,
      ),
      h(
        "span",
        { class: "gx-figure-note" },
        delta && better ? h("span", { class: better, text: `${arrow}${delta}` }) : null,
        ...(notes.length || figure.value !== null ? notes.map((text) => h("span", { text })) : [h("span", { class: "gx-cut", text: figure.note })]),
      ),
      moves(figure.series) ? sparkline(figure.series, cursor.step) : null,
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
    const ended = this.store.parts.head?.failure;
    if (ended) {
      parts.push(h("span", { class: "gx-failure", text: `The pass ${ended.name} failed` }), h("span", { class: "gx-muted gx-cut", title: ended.why, text: ended.why }));
      parts.push(button("What can still be seen", () => this.store.move({ step: undefined, rewrite: undefined, reject: undefined, node: undefined, value: undefined, rule: undefined }), "The failure, and the steps before it"));
    }
    if (failure) parts.push(h("span", { class: "gx-failure", text: failure }), h("span", { class: "gx-muted", text: "The last good picture stays." }));
    if (words.length) parts.push(h("span", { class: "gx-changes", text: words.join(" · ") }));
    if (baseline) parts.push(h("span", { class: "gx-muted", text: words.length ? "old figures stand beside the new ones" : "figures are compared with the baseline" }));
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
