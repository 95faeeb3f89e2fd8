/** The tab "Rules": what each rule tried, fused and missed, a switch for each, and its near misses by reason. */

import type { RulesPart, StepsPart } from "../core/document.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { bytes, count, seconds } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { Choice, Frame, searchBox, soft, strong } from "./frame.ts";
import { sum } from "./kernels.ts";
import { reasonsOf, type Reason } from "./misses.ts";
import { Table, those, type Column } from "./table.ts";
import { plural } from "./words.ts";

type Show = "all" | "fired" | "missed" | "off";

class RulesPanel implements Panel {
  readonly #frame: Frame;
  readonly #table = new Table("Rules", { choose: (row) => this.#choose(row) }, "No rule matches the filter.");
  readonly #misses = new Table("Near misses", { choose: (row) => this.#visit(row) }, "No near miss: wherever this rule nearly matched, it matched.");
  readonly #heading = h("div", { class: "gxt-heading" });
  readonly #show: Choice<Show>;
  #words = "";
  #rules: RulesPart | undefined;
  #steps: StepsPart | undefined;
  #row = -1;
  /** What the rows of the near misses are: a reason, or a place of one. */
  #lines: { reason: Reason; place: number }[] = [];

  constructor(element: HTMLElement, private readonly store: Store) {
    const side = h("aside", { class: "gxt-side gxt-wide", "aria-label": "Near misses" }, this.#heading, this.#misses.element);
    this.#frame = new Frame(element, "rules", h("div", { class: "gxt-split" }, this.#table.element, side));
    this.#show = new Choice<Show>("Show", [["all", "all"], ["fired", "fused"], ["missed", "near misses"], ["off", "off"]], "all", () => this.#list());
    fill(
      this.#frame.tools,
      searchBox("filter rules", (words) => {
        this.#words = words;
        this.#list();
      }),
      this.#show.element,
    );
    this.update(new Set(["parts"]));
  }

  update(changed: ReadonlySet<Topic>): void {
    if (changed.has("parts")) this.#load();
    else if (changed.has("changes") || changed.has("work")) this.#table.refresh();
    if (changed.has("parts") || changed.has("cursor")) this.#follow();
  }

  resize(): void {}

  destroy(): void {
    this.#frame.destroy();
    this.#table.destroy();
    this.#misses.destroy();
  }

  #load(): void {
    const { rules, steps } = this.store.parts;
    const before = this.#rules;
    this.#rules = rules;
    this.#steps = steps;
    if (!this.#frame.empty(rules?.name.length ? null : "This compilation has no rules of its own to show: its steps were read from somewhere else.") || !rules) return;
    const fused = sum(rules.effective);
    const [saved, blocked] = [sum(rules.saved_bytes), sum(rules.blocked_bytes)];
    this.#frame.say(
      strong(`${plural(rules.name.length, "rule")}`),
      soft(` · ${plural(rules.effective.filter((n) => n > 0).length, "of them", "of them")} did something: ${plural(fused, "rewrite")}`),
      saved > 0 && soft(`, ${bytes(saved)} of HBM traffic saved (simulated)`),
      soft(` · ${plural(sum(rules.near), "near miss", "near misses")}`),
      blocked > 0 && soft(` would save another ${bytes(blocked)}`),
      soft(` · ${seconds(sum(rules.seconds))}`),
    );
    if (rules !== before) this.#list();
  }

  #list(): void {
    const rules = this.#rules;
    if (!rules) return;
    const fits = (i: number): boolean => {
      const wanted = { all: true, fired: rules.effective[i] > 0, missed: rules.near[i] > 0, off: !this.store.enabled(rules.name[i]) }[this.#show.value];
      return wanted && (!this.#words || `${rules.name[i]} ${rules.ge_name[i] ?? ""} ${rules.summary[i]}`.toLowerCase().includes(this.#words));
    };
    this.#table.set(this.#columns(rules), those(rules.name.length, fits));
  }

  #columns(rules: RulesPart): Column[] {
    const most = (values: ArrayLike<number>): number => Array.from(values).reduce((a, b) => (b > a ? b : a), 1);
    const number = (title: string, hint: string, values: Int32Array): Column => ({ title, hint, number: true, width: "5.2em", text: (i) => (values[i] ? count(values[i]) : "·"), key: (i) => values[i] });
    const size = (title: string, hint: string, values: Float64Array, colour: string): Column => {
      const top = most(values);
      return { title, hint, number: true, width: "minmax(5.6em, 0.8fr)", text: (i) => (values[i] ? (Number.isFinite(values[i]) ? bytes(values[i]) : "") : "·"), key: (i) => values[i], bar: (i) => values[i] / top, colour: () => colour };
    };
    return [
      { title: "on", width: "2.5em", text: (i) => (this.store.enabled(rules.name[i]) ? "on" : "off"), key: (i) => (this.store.enabled(rules.name[i]) ? 1 : 0), draw: (i, cell) => this.#toggle(rules, i, cell) },
      { title: "rule", width: "minmax(10.1em, 1.7fr)", text: (i) => rules.name[i], key: (i) => rules.name[i] },
      { title: "GE's name", width: "minmax(6.7em, 1.5fr)", text: (i) => rules.ge_name[i] ?? "–", key: (i) => rules.ge_name[i] ?? "~" },
      number("tried", "Places that it looked at", rules.tried),
      number("matched", "Places where the pattern is there", rules.matched),
      number("fused", "Rewrites that it made", rules.effective),
      number("near", "Near misses: the pattern nearly there, or there and not allowed", rules.near),
      size("saved", "HBM bytes that its rewrites save (simulated)", rules.saved_bytes, "var(--gx-good)"),
      size("blocked", "HBM bytes that its near misses would save (simulated)", rules.blocked_bytes, "var(--gx-near)"),
      { title: "time", number: true, width: "5.6em", text: (i) => (rules.seconds[i] ? seconds(rules.seconds[i]) : "·"), key: (i) => rules.seconds[i] },
    ];
  }

  #toggle(rules: RulesPart, i: number, cell: HTMLElement): void {
    const name = rules.name[i];
    const on = this.store.enabled(name);
    const change = { fusion: { [name]: !on } };
    const refusal = this.store.refusal(change);
    const button = h("button", {
      type: "button",
      class: "gxt-switch",
      role: "switch",
      "aria-checked": String(on),
      "aria-label": `Rule ${name}`,
      "aria-disabled": refusal !== null ? "true" : null,
      title: refusal ?? (on ? `Turn ${name} off and compile again` : `Turn ${name} on and compile again`),
    });
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      if (refusal === null) this.store.change(change);
    });
    cell.append(button);
  }

  #follow(): void {
    const rules = this.#rules;
    if (!rules) return;
    const { rule, step } = this.store.cursor;
    let row = rule === undefined ? -1 : rules.name.indexOf(rule);
    if (rule === undefined && step !== undefined) row = rules.step.indexOf(step);
    // With nothing chosen: the rule whose near misses would pay most, or of which there are most.
    if (row < 0) row = this.#row < 0 ? this.#worth(rules) : this.#row;
    else this.#table.select(row);
    if (row !== this.#row || this.#steps !== this.store.parts.steps || !this.#lines.length) this.#explain(rules, row);
  }

  #worth(rules: RulesPart): number {
    let best = 0;
    const value = (i: number): number => (Number.isFinite(rules.blocked_bytes[i]) ? rules.blocked_bytes[i] : 0) + rules.near[i] * 1e-6;
    for (let i = 1; i < rules.name.length; i++) if (value(i) > value(best)) best = i;
    return best;
  }

  #explain(rules: RulesPart, row: number): void {
    this.#row = row;
    const steps = this.#steps;
    const reasons = steps && rules.step[row] >= 0 ? reasonsOf(steps, rules.step[row]) : [];
    this.#lines = reasons.flatMap((reason) => [{ reason, place: -1 }, ...reason.places.map((place) => ({ reason, place }))]);
    const source = rules.source[row];
    fill(
      this.#heading,
      h("b", { text: rules.name[row] }),
      h("span", { class: "gxt-soft", text: rules.ge_name[row] ? ` ${rules.ge_name[row]}` : "" }),
      h("div", { class: "gxt-soft", text: rules.summary[row] }),
      source && h("div", { class: "gxt-soft gx-mono", text: source }),
      h("div", {}, h("b", { text: plural(rules.near[row], "near miss", "near misses") }), rules.blocked_bytes[row] > 0 ? ` would save ${bytes(rules.blocked_bytes[row])} of HBM traffic` : ""),
    );
    const rejects = steps?.steps[rules.step[row]]?.rejects;
    if (!rejects || !steps) return this.#misses.set([], new Int32Array());
    const text = (at: number): string => {
      const { reason, place } = this.#lines[at];
      return place < 0 ? plainCode(steps.strings[reason.code]) : steps.strings[rejects.place[place]];
    };
    const why = ({ reason, place }: { reason: Reason; place: number }): string => {
      const hint = rejects.hint[reason.places[0]];
      return place >= 0 ? steps.strings[rejects.reason[place]] : hint >= 0 ? `cure: ${steps.strings[hint]}` : "";
    };
    const saved = (at: number): number => (this.#lines[at].place < 0 ? this.#lines[at].reason.saved : rejects.saved_bytes[this.#lines[at].place]);
    this.#misses.set(
      [
        {
          title: "reason and place",
          width: "minmax(7em, 1.2fr)",
          text,
          draw: (at, cell) => {
            const { place, reason } = this.#lines[at];
            cell.title = place < 0 ? "" : steps.strings[rejects.reason[place]];
            cell.append(place < 0 ? h("b", { text: `${plainCode(steps.strings[reason.code])} · ${count(reason.places.length)}` }) : h("span", { class: "gxt-inset", text: steps.strings[rejects.place[place]], dir: "auto" }));
          },
        },
        { title: "why", width: "minmax(6em, 2fr)", text: (at) => why(this.#lines[at]) },
        { title: "would save", number: true, width: "5.8em", text: (at) => (saved(at) > 0 ? bytes(saved(at)) : "") },
      ],
      those(this.#lines.length, () => true),
    );
    this.#misses.select(-1);
  }

  #choose(row: number): void {
    const rules = this.#rules;
    if (!rules) return;
    const step = rules.step[row];
    this.store.move({ rule: rules.name[row], ...(step >= 0 ? { step, rewrite: undefined, reject: undefined } : {}) });
  }

  #visit(at: number): void {
    const rules = this.#rules;
    const steps = this.#steps;
    if (!rules || !steps) return;
    const { place, reason } = this.#lines[at];
    const reject = place < 0 ? reason.places[0] : place;
    const step = rules.step[this.#row];
    const node = steps.steps[step]?.rejects.node[reject] ?? -1;
    this.store.move({ rule: rules.name[this.#row], step, reject, node: node < 0 ? undefined : node, value: undefined, position: undefined });
  }
}

const plainCode = (code: string): string => code.replaceAll("_", " ");

export const rules: PanelKind = {
  name: "rules",
  title: "Rules",
  needs: ["rules", "steps"],
  mount: (element, store) => new RulesPanel(element, store),
};
