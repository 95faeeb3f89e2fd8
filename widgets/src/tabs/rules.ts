/** The tab "Rules": what each rule did and brought, or why it did nothing, a switch for each, and its near misses. */

import type { RulesPart } from "../core/document.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { savingOf, type Saving } from "../core/blocked.ts";
import { bytes, count, time } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { toggle } from "../shell/glyph.ts";
import { Choice, Frame, searchBox, soft, strong } from "./frame.ts";
import { sum } from "./kernels.ts";
import { gainOf, outcomeOf, signed, wholeGain, type Gain } from "./rules_gains.ts";
import { Misses } from "./rules_misses.ts";
import { Table, those, type Column } from "./table.ts";
import { plural } from "./words.ts";

type Show = "all" | "fired" | "missed" | "none" | "off";

class RulesPanel implements Panel {
  readonly #frame: Frame;
  readonly #table = new Table("Rules", { choose: (row) => this.#choose(row) }, "No rule matches the filter.");
  readonly #misses: Misses;
  readonly #show: Choice<Show>;
  #words = "";
  #rules: RulesPart | undefined;
  #gains: (Gain | null)[] = [];
  #savings: Saving[] = [];
  /** The rule that is explained, and that of the cursor: with nothing chosen one is explained, none is lit. */
  #row = -1;
  #lit = -1;
  /** The document whose costs were asked for. */
  #asked: unknown;

  constructor(element: HTMLElement, private readonly store: Store) {
    this.#misses = new Misses(store);
    this.#frame = new Frame(element, "rules", h("div", { class: "gxt-split" }, this.#table.element, this.#misses.element));
    this.#show = new Choice<Show>(
      "Show",
      [
        ["all", "all"],
        ["fired", "fired", "Rules that rewrote something"],
        ["missed", "near misses", "Rules that nearly rewrote something"],
        ["none", "found nothing", "Rules that ran and had nothing to rewrite, not even nearly"],
        ["off", "off", "Rules that are switched off or not run"],
      ],
      "all",
      () => this.#list(),
    );
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
    if (changed.has("parts") || changed.has("cursor")) this.#follow(changed.has("parts"));
  }

  resize(): void {}

  destroy(): void {
    this.#frame.destroy();
    this.#table.destroy();
    this.#misses.destroy();
  }

  #load(): void {
    const { rules, course, cost, head } = this.store.parts;
    const explained = this.#rules?.name[this.#row];
    if (explained !== undefined && rules && rules !== this.#rules) this.#row = rules.name.indexOf(explained);
    this.#rules = rules;
    if (!this.#frame.empty(rules?.name.length ? null : "This compilation has no rules of its own to show: its steps were read from somewhere else.") || !rules) return;
    if (!course && cost && this.#asked !== head && this.store.host.ask) {
      this.#asked = head;
      this.store.ask("course");
    }
    this.#gains = Array.from(rules.step, (step) => gainOf(course, step));
    this.#savings = Array.from(rules.step, (step) => {
      const rejects = this.store.parts.steps?.steps[step]?.rejects;
      return rejects ? savingOf(rejects) : { bytes: 0, hbm: 0 };
    });
    this.#say(rules);
    this.#list();
  }

  #say(rules: RulesPart): void {
    const { course, steps, cost } = this.store.parts;
    const whole = wholeGain(course, steps);
    const near = sum(rules.near);
    const off = rules.name.filter((name) => !this.store.enabled(name)).length;
    const change = (key: "l2_bytes" | "hbm_bytes"): string => (course && whole?.comparable ? signed(course[key][whole.last] - course[key][whole.first], bytes) : "");
    const fired = count(rules.effective.filter((n) => n > 0).length);
    // A sum that leaves kernels out is a lower bound; two that leave out others are not compared.
    const latency = (step: number): string => (course ? `${course.unpriced[step] > 0 ? "≥ " : ""}${time(course.latency_us[step])}` : "");
    const before = whole?.comparable ? `latency ${latency(whole.first)} → ${latency(whole.last)}` : "";
    // The headline is of the end: what the memory plan lays in place launches nothing.
    const end = course && whole?.comparable && course.comparable.subarray(whole.last + 1).every((same) => same === 1) ? course.kernels.length - 1 : -1;
    const planned = course && whole && end > whole.last && latency(end) !== latency(whole.last) ? `, ${latency(end)} and ${plural(course.kernels[end], "kernel")} once memory is planned` : "";
    this.#frame.say(
      strong(`${fired} of ${plural(rules.name.length, "rule")} fired`),
      before ? strong(`: ${before}`) : soft(`: ${plural(sum(rules.effective), "rewrite")}`),
      course && whole && soft(`${before ? ` (simulated) · ${plural(sum(rules.effective), "rewrite")}` : ""} · kernels ${count(course.kernels[whole.first])} → ${count(course.kernels[whole.last])}${planned}${whole.comparable ? ` · L2 traffic ${change("l2_bytes")}, HBM traffic ${change("hbm_bytes")}` : ""}`),
      course && whole && !whole.comparable && soft(` · times not compared: ${count(course.unpriced[whole.first])} kernels had no price before, ${count(course.unpriced[whole.last])} after`),
      !course && cost && soft(this.store.host.ask ? " · pricing the graph after each step…" : " · this page does not carry what each step brought"),
      soft(` · ${plural(near, "near miss", "near misses")}`),
      off > 0 && soft(` · ${count(off)} off`),
    );
  }

  #list(): void {
    const rules = this.#rules;
    if (!rules) return;
    const fits = (i: number): boolean => {
      const quiet = rules.step[i] >= 0 && !rules.effective[i] && !rules.near[i];
      const wanted = { all: true, fired: rules.effective[i] > 0, missed: rules.near[i] > 0, none: quiet, off: rules.step[i] < 0 || !this.store.enabled(rules.name[i]) }[this.#show.value];
      return wanted && (!this.#words || `${rules.name[i]} ${rules.ge_name[i] ?? ""} ${rules.summary[i]} ${rules.ends_in[i]}`.toLowerCase().includes(this.#words));
    };
    this.#table.set(this.#columns(rules), those(rules.name.length, fits), { column: 3, descending: true });
    // The rows are in another order now than when the row was chosen.
    this.#table.select(-1);
    this.#table.select(this.#lit);
  }

  #columns(rules: RulesPart): Column[] {
    const number = (title: string, hint: string, width: string, values: Int32Array): Column => ({ title, hint, number: true, width, text: (i) => (values[i] ? count(values[i]) : "·"), key: (i) => values[i] });
    const most = this.#gains.reduce((all, gain) => Math.max(all, Math.abs(gain?.latency_us ?? 0)), 1e-9);
    const gain = (title: string, hint: string, width: string, key: keyof Gain, text: (x: number) => string): Column => ({
      title,
      hint,
      number: true,
      width,
      text: (i) => this.#gainText(rules, i, key, text),
      // What saves most comes first, what costs something after it, then what nearly did, the rest last.
      key: (i) => (rules.effective[i] ? -(this.#gains[i]?.[key] ?? 1e14) : rules.near[i] ? -1e15 : NaN),
      tone: (i) => toneOf(rules.effective[i] ? (this.#gains[i]?.[key] ?? 0) : 0),
    });
    const latency: Column = {
      // No tone: its bar has the colour, and the text must be read on it.
      ...{ ...gain("latency", "How the step changed the sum of all kernels' times, simulated: less is better", "minmax(6.2em, 1fr)", "latency_us", time), tone: undefined },
      bar: (i) => (rules.effective[i] ? Math.abs(this.#gains[i]?.latency_us ?? 0) / most : 0),
      colour: (i) => ((this.#gains[i]?.latency_us ?? 0) > 0 ? "var(--gx-bad)" : "var(--gx-good)"),
    };
    const traffic = [
      gain("L2", "How the step changed the bytes between L2 and the cores, simulated: most of what fusion saves, where L2 holds what lies between kernels", "5.8em", "l2_bytes", bytes),
      gain("HBM", "How the step changed the bytes to and from HBM, simulated: nothing where L2 holds what lies between kernels", "5.8em", "hbm_bytes", bytes),
    ];
    const wouldSave: Column = {
      title: "could save",
      hint: "Memory traffic, through L2 or HBM, that its near misses could save at most: a read of each value in between, and its write unless others read it too, each blocker counted once",
      number: true,
      width: "5.8em",
      text: (i) => (this.#savings[i].bytes ? bytes(this.#savings[i].bytes) : "·"),
      key: (i) => this.#savings[i].bytes || NaN,
    };
    return [
      { title: "on", hint: "Switched on; a change compiles again", width: "2.3em", text: (i) => (this.store.enabled(rules.name[i]) ? "on" : "off"), key: (i) => (this.store.enabled(rules.name[i]) ? 1 : 0), draw: (i, cell) => this.#toggle(rules, i, cell) },
      { title: "rule", hint: "Its name here, and in GE", width: "minmax(11em, 1.6fr)", text: (i) => rules.name[i], key: (i) => rules.name[i], draw: (i, cell) => nameCell(rules, i, cell) },
      number("rewrites", "Places that it rewrote", "4.4em", rules.effective),
      latency,
      gain("kernels", "How the step changed the number of kernels that are launched", "4.4em", "kernels", count),
      ...traffic.map((column) => ({ ...column, spare: 1 })),
      number("near", "Near misses: the pattern is nearly there, or there and not allowed", "3.2em", rules.near),
      { ...wouldSave, spare: 2 },
      { title: "what came of it", hint: "Of the places that it looked at, how many it rewrote; or why it looked at none. A place is a node with an operator that its pattern ends in", width: "minmax(9em, 1.3fr)", text: (i) => outcomeOf(rules, i, this.store.enabled(rules.name[i])), key: (i) => outcomeOf(rules, i, this.store.enabled(rules.name[i])) },
    ];
  }

  #gainText(rules: RulesPart, i: number, key: keyof Gain, text: (x: number) => string): string {
    if (!rules.effective[i]) return "·";
    const gain = this.#gains[i];
    if (!gain) return this.store.parts.course || !this.store.host.ask ? "–" : "…";
    return signed(gain[key], text);
  }

  #toggle(rules: RulesPart, i: number, cell: HTMLElement): void {
    const name = rules.name[i];
    const on = this.store.enabled(name);
    cell.append(toggle(name, on, this.store.refusal({ fusion: { [name]: !on } }), (to) => this.store.change({ fusion: { [name]: to } })));
  }

  #follow(afresh: boolean): void {
    const rules = this.#rules;
    if (!rules?.name.length) return;
    const { rule, step } = this.store.cursor;
    let row = rule === undefined ? -1 : rules.name.indexOf(rule);
    if (row < 0 && step !== undefined) row = rules.step.indexOf(step);
    const chosen = row;
    if (row < 0) row = this.#row < 0 || this.#row >= rules.name.length ? worth(rules, this.#savings) : this.#row;
    const same = row === this.#row && !afresh;
    this.#row = row;
    this.#lit = chosen;
    this.#table.select(chosen);
    if (same) this.#misses.follow();
    else this.#misses.show(rules, row, this.#gains[row]);
  }

  #choose(row: number): void {
    const rules = this.#rules;
    if (!rules) return;
    const step = rules.step[row];
    this.store.move({ rule: rules.name[row], step: step >= 0 ? step : undefined, rewrite: undefined, reject: undefined });
  }
}

/** With nothing chosen: the rule whose near misses would pay most, or of which there are most. */
function worth(rules: RulesPart, savings: readonly Saving[]): number {
  const value = (i: number): number => savings[i].bytes + rules.near[i] * 1e-6;
  let best = 0;
  for (let i = 1; i < rules.name.length; i++) if (value(i) > value(best)) best = i;
  return best;
}

const toneOf = (change: number): "good" | "bad" | undefined => (change < 0 ? "good" : change > 0 ? "bad" : undefined);

function nameCell(rules: RulesPart, i: number, cell: HTMLElement): void {
  const ge = rules.ge_name[i];
  cell.title = `${rules.name[i]}${ge ? `, in GE ${ge}` : ", which GE has not under a name of its own"}: ${rules.summary[i]}`;
  cell.append(rules.name[i], h("span", { class: "gxt-soft", text: ge ? ` ${ge}` : "" }));
}

export const rules: PanelKind = {
  name: "rules",
  title: "Rules",
  needs: ["rules", "steps"],
  mount: (element, store) => new RulesPanel(element, store),
};
