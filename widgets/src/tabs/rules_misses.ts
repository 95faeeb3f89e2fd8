/** Beside the rules: the chosen one in words, and its near misses by reason, each with its places. */

import type { RulesPart, StepsPart } from "../core/document.ts";
import type { Store } from "../core/panel.ts";
import { bytes, count, time } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { reasonsOf, type Reason } from "./misses.ts";
import { storyOf, type Gain } from "./rules_gains.ts";
import { Table, those } from "./table.ts";
import { plural } from "./words.ts";

const SHORT = 12; // places of several reasons that are listed unfolded

interface Line {
  readonly reason: Reason;
  /** Row of the step's rejects, -1 for the reason itself. */
  readonly place: number;
}

export class Misses {
  readonly element: HTMLElement;
  readonly #heading = h("div", { class: "gxt-heading", tabindex: "0" });
  readonly #table = new Table("Near misses", { choose: (at) => this.#visit(at) }, "No near miss: wherever this rule nearly matched, it matched.");
  #reasons: Reason[] = [];
  #open = new Set<number>();
  #lines: Line[] = [];
  #rules: RulesPart | undefined;
  #row = -1;

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
    this.#reasons = steps && rules.step[row] >= 0 ? reasonsOf(steps, rules.step[row]) : [];
    if (!again) {
      const few = this.#reasons.length < 2 || rules.near[row] <= SHORT;
      this.#open = new Set(few ? this.#reasons.map(({ code }) => code) : []);
    }
    this.#head(rules, row, gain);
    this.#list();
    this.follow();
  }

  /** Lights the near miss that is chosen elsewhere. */
  follow(): void {
    const { step, reject } = this.store.cursor;
    if (!this.#rules || reject === undefined || step !== this.#rules.step[this.#row]) return this.#table.select(-1);
    const reason = this.#reasons.find(({ places }) => places.includes(reject));
    if (reason && !this.#open.has(reason.code)) {
      this.#open.add(reason.code);
      this.#list();
    }
    this.#table.select(this.#lines.findIndex(({ place }) => place === reject));
  }

  #head(rules: RulesPart, row: number, gain: Gain | null): void {
    const brought = gain && rules.effective[row] ? gainText(gain) : "";
    const [near, freed, saved] = [rules.near[row], rules.freed_bytes[row], rules.blocked_bytes[row]];
    const line = (text: string, kind = ""): HTMLElement => h("div", { class: kind, text, title: text });
    fill(
      this.#heading,
      h("div", {}, h("b", { text: rules.name[row] }), h("span", { class: "gxt-soft", text: rules.ge_name[row] ? ` · in GE ${rules.ge_name[row]}` : "" })),
      line(rules.summary[row], "gxt-soft"),
      line(storyOf(rules, row, this.store.enabled(rules.name[row]))),
      rules.effective[row] > 0 && !gain && this.store.parts.course && line("What it brought cannot be told: other kernels have no price after it than before."),
      brought && line(`Brought ${brought} (simulated)`),
      near > 0 && line(plural(near, "near miss", "near misses") + (freed > 0 ? ` would keep at least ${bytes(freed)} out of memory${saved > 0 ? `, ${bytes(saved)} of it HBM's` : ", which L2 holds"}` : "")),
      rules.source[row] && line(rules.source[row], "gxt-soft gx-mono"),
    );
  }

  #list(): void {
    const { steps } = this.store.parts;
    const rejects = steps && this.#rules ? steps.steps[this.#rules.step[this.#row]]?.rejects : undefined;
    if (!steps || !rejects) {
      this.#lines = [];
      return this.#table.set([], new Int32Array());
    }
    this.#lines = this.#reasons.flatMap((reason) => [{ reason, place: -1 }, ...(this.#open.has(reason.code) ? reason.places.map((place) => ({ reason, place })) : [])]);
    const size = (at: number): number => (this.#lines[at].place < 0 ? this.#lines[at].reason.freed : rejects.freed_bytes[this.#lines[at].place]);
    this.#table.set(
      [
        {
          title: "reason and place",
          width: "minmax(6.6em, 1.7fr)",
          text: (at) => this.#name(steps, rejects, this.#lines[at]),
          draw: (at, cell) => this.#draw(steps, rejects, this.#lines[at], cell),
        },
        { title: "why, and what cures it", width: "minmax(5em, 2fr)", text: (at) => why(steps, rejects, this.#lines[at]) },
        { title: "keeps", hint: "What fusing there would keep out of memory, L2 or HBM, at least: one write and one read of the value in between", number: true, width: "4.9em", text: (at) => (size(at) > 0 ? bytes(size(at)) : "") },
      ],
      those(this.#lines.length, () => true),
    );
  }

  #name(steps: StepsPart, rejects: Rejects, { reason, place }: Line): string {
    return place < 0 ? `${steps.strings[reason.code].replaceAll("_", " ")} · ${count(reason.places.length)}` : steps.strings[rejects.place[place]];
  }

  #draw(steps: StepsPart, rejects: Rejects, line: Line, cell: HTMLElement): void {
    const name = this.#name(steps, rejects, line);
    cell.title = name.slice(0, 2000);
    if (line.place >= 0) return cell.append(h("span", { class: "gxt-inset", text: short(name), dir: "auto" }));
    const { code } = line.reason;
    const open = this.#open.has(code);
    const press = (event: Event): void => {
      event.stopPropagation();
      if (!this.#open.delete(code)) this.#open.add(code);
      this.#list();
    };
    cell.append(h("button", { type: "button", class: "gxt-fold", "aria-expanded": String(open), onclick: press, text: `${open ? "▾" : "▸"} ${name}` }));
  }

  #visit(at: number): void {
    const { steps } = this.store.parts;
    if (!this.#rules || !steps) return;
    const { place, reason } = this.#lines[at];
    const reject = place < 0 ? reason.places[0] : place;
    const step = this.#rules.step[this.#row];
    const node = steps.steps[step]?.rejects.node[reject] ?? -1;
    this.store.move({ rule: this.#rules.name[this.#row], step, ...(place < 0 ? {} : { reject, node: node < 0 ? undefined : node, value: undefined, position: undefined }) });
  }
}

type Rejects = StepsPart["steps"][number]["rejects"];

function why(steps: StepsPart, rejects: Rejects, { reason, place }: Line): string {
  const hint = rejects.hint[place < 0 ? reason.places[0] : place];
  if (place >= 0) return `${steps.strings[rejects.reason[place]]}${hint >= 0 ? ` · cure: ${steps.strings[hint]}` : ""}`;
  return hint >= 0 ? `cure: ${steps.strings[hint]}` : "no edit of the model is known that cures it";
}

const short = (text: string): string => (text.length > 400 ? `${text.slice(0, 200)}…${text.slice(-200)}` : text);

/** "−353 µs, 144 kernels fewer, L2 −113 MiB, HBM ±0". */
function gainText(gain: Gain): string {
  const kernels = Math.abs(gain.kernels);
  return [
    signed(gain.latency_us, time),
    gain.kernels ? `${plural(kernels, "kernel")} ${gain.kernels < 0 ? "fewer" : "more"}` : "as many kernels",
    `L2 ${signed(gain.l2_bytes, bytes)}`,
    `HBM ${signed(gain.hbm_bytes, bytes)}`,
  ].join(", ");
}

/** A difference with its sign; "±0" for none. */
export function signed(x: number, text: (x: number) => string): string {
  if (!Number.isFinite(x)) return "–";
  return x ? `${x < 0 ? "−" : "+"}${text(Math.abs(x))}` : "±0";
}
