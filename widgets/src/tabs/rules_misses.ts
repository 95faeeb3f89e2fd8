/** Beside the rules: the chosen one in words, and its near misses by reason, each with its places. */

import type { FarPart, RulesPart, StepsPart } from "../core/document.ts";
import type { Store } from "../core/panel.ts";
import { savingOf, savingText } from "../core/blocked.ts";
import { bytes, count } from "../core/units.ts";
import { ended, fill, h } from "../shell/dom.ts";
import { copy } from "../shell/menu.ts";
import { reasonsOf, type Reason } from "./misses.ts";
import { farOf, gainText, storyOf, type Gain } from "./rules_gains.ts";
import { Table, those } from "./table.ts";
import { plural } from "./words.ts";

const SHORT = 12; // places of several reasons that are listed unfolded

type Line =
  /** `place`: row of the step's rejects, -1 for the reason itself. */
  | { readonly reason: Reason; readonly place: number }
  /** A kind of far miss, or (-1) all of them: pressed it unfolds. */
  | { readonly far: number };

const FAR = -2; // in place of a reason's text, among those that are open

export class Misses {
  readonly element: HTMLElement;
  readonly #heading = h("div", { class: "gxt-heading", tabindex: "0" });
  readonly #table = new Table("Near misses", { choose: (at) => this.#visit(at) }, "No near miss: wherever this rule nearly matched, it matched.");
  #reasons: Reason[] = [];
  #open = new Set<number>();
  #lines: Line[] = [];
  #rules: RulesPart | undefined;
  #row = -1;
  #far: FarPart | undefined;

  constructor(private readonly store: Store) {
    this.element = h("aside", { class: "gxt-side gxt-wide", "aria-label": "The chosen rule and its near misses" }, this.#heading, this.#table.element);
  }

  destroy(): void {
    this.#table.destroy();
  }

  show(rules: RulesPart, row: number, gain: Gain | null): void {
    const { steps } = this.store.parts;
    const again = this.#rules?.name[this.#row] === rules.name[row];
    this.#rules = rules;
    this.#row = row;
    const rejects = steps?.steps[rules.step[row]]?.rejects;
    this.#reasons = rejects ? reasonsOf(rejects) : [];
    if (!again) {
      const few = this.#reasons.length < 2 || rules.near[row] <= SHORT;
      this.#open = new Set(few ? this.#reasons.map(({ code }) => code) : []);
    }
    this.#head(rules, row, gain);
    // What did not run missed nothing.
    this.#table.element.hidden = rules.step[row] < 0;
    this.#list();
    this.follow();
  }

  /** Lights the near miss that is chosen elsewhere. */
  follow(): void {
    if (this.#rules && this.#far !== this.store.parts.far) this.#list();
    const { step, reject } = this.store.cursor;
    if (!this.#rules || reject === undefined || step !== this.#rules.step[this.#row]) return this.#table.select(-1);
    const reason = this.#reasons.find(({ places }) => places.includes(reject));
    if (reason && !this.#open.has(reason.code)) {
      this.#open.add(reason.code);
      this.#list();
    }
    this.#table.select(this.#lines.findIndex((line) => "place" in line && line.place === reject));
  }

  #head(rules: RulesPart, row: number, gain: Gain | null): void {
    const brought = gain && rules.effective[row] ? gainText(gain) : "";
    const near = rules.near[row];
    const rejects = this.store.parts.steps?.steps[rules.step[row]]?.rejects;
    const saving = rejects ? savingOf(rejects) : undefined;
    const line = (text: string, kind = ""): HTMLElement => h("div", { class: kind, text, title: text });
    fill(
      this.#heading,
      h("div", {}, h("b", { text: rules.name[row] }), h("span", { class: "gxt-soft", text: rules.ge_name[row] ? ` · in GE ${rules.ge_name[row]}` : "" })),
      line(storyOf(rules, row, this.store.enabled(rules.name[row]))),
      rules.effective[row] > 0 && !gain && this.store.parts.course && line("What it brought cannot be told: other kernels have no price after it than before."),
      near > 0 && line(plural(near, "near miss", "near misses") + (saving?.bytes ? ` could save ${savingText(saving)}` : rejects?.traffic_bytes.some((x) => x === 0) ? ": nothing is left to be saved there, a later rule has done it" : "")),
      brought && line(`Brought ${brought} (simulated)`),
      line(rules.summary[row], "gxt-soft"),
      farOf(rules, row) > 0 && this.#command(rules.name[row]),
      rules.source[row] && line(rules.source[row], "gxt-soft gx-mono"),
    );
  }

  /** Where the page is not enough: every far place with its own reason. */
  #command(rule: string): HTMLElement | null {
    const said = this.store.parts.head?.copy.cli;
    if (!said) return null;
    const text = `${said.replace("gexplorer report", "gexplorer why")} --rule ${rule} --all`;
    const button = h("button", { class: "gx-link", type: "button", title: "Copy the command", text: "copy" });
    button.addEventListener("click", () => void copy(text, button).then((done) => (button.textContent = done ? "copied" : "could not")));
    return h("div", { class: "gxt-soft", title: text }, button, "each far place: ", h("span", { class: "gx-mono", text }));
  }

  #list(): void {
    const { steps, far } = this.store.parts;
    const rejects = steps && this.#rules ? steps.steps[this.#rules.step[this.#row]]?.rejects : undefined;
    if (!steps || !rejects || !this.#rules) {
      this.#lines = [];
      return this.#table.set([], new Int32Array());
    }
    this.#far = far;
    const kinds = far ? [...far.step.keys()].filter((row) => far.step[row] === this.#rules?.step[this.#row]) : [];
    this.#lines = [
      ...this.#reasons.flatMap((reason) => [{ reason, place: -1 }, ...(this.#open.has(reason.code) ? reason.places.map((place) => ({ reason, place })) : [])]),
      ...(farOf(this.#rules, this.#row) ? [{ far: -1 }, ...(this.#open.has(FAR) ? kinds.map((row) => ({ far: row })) : [])] : []),
    ];
    const size = (at: number): number => {
      const line = this.#lines[at];
      return "far" in line ? 0 : line.place < 0 ? line.reason.saving.bytes : rejects.traffic_bytes[line.place];
    };
    this.#table.set(
      [
        {
          title: "reason and place",
          width: "minmax(9em, 1.7fr)",
          text: (at) => this.#name(steps, rejects, this.#lines[at]),
          draw: (at, cell) => this.#draw(steps, rejects, this.#lines[at], cell),
        },
        { title: "why, and the cure", spare: 1, width: "minmax(7em, 2fr)", text: (at) => this.#why(steps, rejects, this.#lines[at]) },
        ...(savingOf(rejects).bytes ? [{ title: "could save", hint: "Memory traffic, through L2 or HBM, that fusing there could save at most: one read of the value in between, and its write unless others read it too", number: true, width: "6.4em", text: (at: number) => (size(at) > 0 ? bytes(size(at)) : "") }] : []),
      ],
      those(this.#lines.length, () => true),
    );
  }

  #why(steps: StepsPart, rejects: Rejects, line: Line): string {
    const { far } = this.store.parts;
    if (!("far" in line)) return why(steps, rejects, line.reason, line.place);
    if (line.far >= 0 && far) return `such as: ${far.strings[far.reason[line.far]]}`;
    return far ? "by the kind of what they lack" : this.store.host.ask ? "press to list them" : "this page does not carry them";
  }

  #name(steps: StepsPart, rejects: Rejects, line: Line): string {
    const { far } = this.store.parts;
    if ("far" in line) return line.far >= 0 && far ? `${count(far.count[line.far])} × ${far.strings[far.kind[line.far]]}` : `${count(this.#rules ? farOf(this.#rules, this.#row) : 0)} × far from its pattern`;
    const { reason, place } = line;
    return place < 0 ? `${count(reason.places.length)} × ${steps.strings[reason.code].replaceAll("_", " ")}` : steps.strings[rejects.place[place]];
  }

  #draw(steps: StepsPart, rejects: Rejects, line: Line, cell: HTMLElement): void {
    const name = this.#name(steps, rejects, line);
    cell.title = name.slice(0, 2000);
    if ("far" in line ? line.far >= 0 : line.place >= 0) return cell.append(h("span", { class: "gxt-inset", dir: "auto" }, ...ended(short(name))));
    const code = "far" in line ? FAR : line.reason.code;
    const open = this.#open.has(code);
    const press = (event: Event): void => {
      event.stopPropagation();
      if (!this.#open.delete(code)) this.#open.add(code);
      if (code === FAR && !this.store.parts.far) this.store.ask("far");
      this.#list();
    };
    cell.append(h("button", { type: "button", class: "gxt-fold", "aria-expanded": String(open), onclick: press, text: `${open ? "▾" : "▸"} ${name}` }));
  }

  #visit(at: number): void {
    const { steps } = this.store.parts;
    if (!this.#rules || !steps) return;
    const line = this.#lines[at];
    const step = this.#rules.step[this.#row];
    if ("far" in line) {
      const { far } = this.store.parts;
      const node = far && line.far >= 0 ? far.node[far.node_at[line.far]] : -1;
      return this.store.move({ rule: this.#rules.name[this.#row], step, rewrite: undefined, reject: undefined, node: node < 0 ? undefined : node, value: undefined, position: undefined });
    }
    const { place, reason } = line;
    const reject = place < 0 ? reason.places[0] : place;
    const node = steps.steps[step]?.rejects.node[reject] ?? -1;
    this.store.move({ rule: this.#rules.name[this.#row], step, ...(place < 0 ? {} : { reject, node: node < 0 ? undefined : node, value: undefined, position: undefined }) });
  }
}

type Rejects = StepsPart["steps"][number]["rejects"];

function why(steps: StepsPart, rejects: Rejects, reason: Reason, place: number): string {
  const hint = rejects.hint[place < 0 ? reason.places[0] : place];
  if (place >= 0) return `${steps.strings[rejects.reason[place]]}${hint >= 0 ? ` · cure: ${steps.strings[hint]}` : ""}`;
  return hint >= 0 ? `cure: ${steps.strings[hint]}` : "no edit of the model is known that cures it";
}

const short = (text: string): string => (text.length > 400 ? `${text.slice(0, 200)}…${text.slice(-200)}` : text);
