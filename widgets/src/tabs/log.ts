/** The tab "Log": every line of the compilation, by word, level and stage; what a line tells of is a press away. */

import type { LogPart } from "../core/document.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { count } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { copy } from "../shell/menu.ts";
import { button, Choice, Frame, searchBox, soft, strong } from "./frame.ts";
import { Table, those } from "./table.ts";
import { plural } from "./words.ts";

type Level = "all" | "warnings";

const LONG = 600; // letters of a line that are listed
const WHOLE = 20000; // and that are shown of the chosen one

class LogPanel implements Panel {
  readonly #frame: Frame;
  readonly #table = new Table("Log", { choose: (row) => this.#choose(row) }, "No line matches the filter.");
  readonly #whole = h("pre", { class: "gxt-line" });
  readonly #below = h("div", { class: "gxt-below", hidden: true, "aria-label": "The chosen line" });
  readonly #level: Choice<Level>;
  readonly #stage = h("select", { "aria-label": "Stage", onchange: () => this.#list() });
  readonly #copy = button("copy", "Copy the lines that are shown", () => void this.#copyShown());
  #log: LogPart | undefined;
  #words: string[] = [];
  #rows: Int32Array = new Int32Array();
  #row = -1;

  constructor(element: HTMLElement, private readonly store: Store) {
    this.#below.append(this.#whole, h("div", { class: "gxt-tools" }, button("copy line", "Copy this line", () => void this.#put([this.#row], "line"))));
    this.#frame = new Frame(element, "log", h("div", { class: "gxt-stack gxt-mono" }, this.#table.element, this.#below));
    this.#level = new Choice<Level>("Level", [["all", "all"], ["warnings", "warnings", "Warnings and errors only"]], "all", () => this.#list());
    fill(
      this.#frame.tools,
      searchBox("filter lines", (words) => {
        this.#words = words.split(/\s+/).filter(Boolean);
        this.#list();
      }),
      h("label", { class: "gxt-field" }, "stage", this.#stage),
      this.#level.element,
      this.#copy,
    );
    this.update(new Set(["parts"]));
  }

  update(changed: ReadonlySet<Topic>): void {
    if (changed.has("parts")) this.#load();
    if (changed.has("parts") || changed.has("cursor")) this.#follow();
  }

  resize(): void {}

  destroy(): void {
    this.#frame.destroy();
    this.#table.destroy();
  }

  #load(): void {
    const { log } = this.store.parts;
    if (!log && this.store.coming.has("log")) return this.#frame.wait();
    if (!this.#frame.empty(log?.lines.length ? null : "The log is empty: no step has been taken.") || !log || log === this.#log) return;
    this.#log = log;
    this.#row = -1;
    this.#below.hidden = true;
    const before = this.#stage.value;
    const stages = [...new Set(log.stage)].map((text) => log.strings[text]).filter(Boolean);
    fill(this.#stage, h("option", { value: "", text: "every" }), ...stages.map((stage) => h("option", { value: stage, text: stage })));
    this.#stage.value = stages.includes(before) ? before : "";
    this.#list();
  }

  #list(): void {
    const log = this.#log;
    if (!log) return;
    const { strings, lines } = log;
    const words = this.#words;
    const only = this.#level.value === "warnings";
    const stage = this.#stage.value ? strings.indexOf(this.#stage.value) : -1;
    const warns = (i: number): boolean => strings[log.level[i]] !== "INFO";
    this.#rows = those(lines.length, (i) => {
      if ((only && !warns(i)) || (stage >= 0 && log.stage[i] !== stage)) return false;
      if (!words.length) return true;
      const line = `${strings[log.place[i]]} ${lines[i]}`.toLowerCase();
      return words.every((word) => line.includes(word));
    });
    const all = lines.length;
    const errors = those(all, (i) => strings[log.level[i]] === "ERROR").length;
    const warnings = those(all, warns).length - errors;
    this.#frame.say(
      strong(plural(all, "line")),
      errors > 0 && h("b", { class: "gxt-warn", text: plural(errors, "error") }),
      soft(` · ${plural(warnings, "warning")}`),
      this.#rows.length < all && soft(` · ${count(this.#rows.length)} shown`),
      soft(" · GE's words, with the times of this compilation here, not of a CANN machine"),
    );
    this.#table.set(
      [
        { title: "line", number: true, width: "3.6em", text: (i) => count(i + 1) },
        { title: "level", width: "4.6em", text: (i) => strings[log.level[i]], draw: (i, cell) => level(cell, strings[log.level[i]]) },
        { title: "said by", hint: "The step or file", width: "minmax(7em, 0.28fr)", text: (i) => strings[log.place[i]] },
        {
          title: "message",
          width: "minmax(16em, 1fr)",
          text: (i) => lines[i],
          draw: (i, cell) => {
            cell.append(...marked(lines[i].length > LONG ? `${lines[i].slice(0, LONG)}…` : lines[i], words));
            cell.classList.toggle("gxt-warns", warns(i));
            cell.title = lines[i].slice(0, 2000);
          },
        },
      ],
      this.#rows,
    );
  }

  #choose(row: number): void {
    const log = this.#log;
    if (!log) return;
    this.#show(row);
    const [step, rewrite, reject, node] = [log.step[row], log.rewrite[row], log.reject[row], log.node[row]];
    if (step < 0 && node < 0) return;
    this.store.move({
      step: step < 0 ? undefined : step,
      rewrite: rewrite < 0 ? undefined : rewrite,
      reject: reject < 0 ? undefined : reject,
      rule: undefined,
      ...(node < 0 ? {} : { node, value: undefined }),
    });
  }

  #show(row: number): void {
    const log = this.#log;
    if (!log) return;
    this.#row = row;
    this.#below.hidden = row < 0;
    this.#whole.textContent = row < 0 ? "" : lineText(log, row).slice(0, WHOLE);
    this.#table.select(row);
  }

  /** The line that tells of what is chosen elsewhere. */
  #follow(): void {
    const log = this.#log;
    const { step, rewrite, reject } = this.store.cursor;
    if (!log) return;
    const is = (i: number): boolean => log.step[i] === step && log.rewrite[i] === (rewrite ?? -1) && log.reject[i] === (reject ?? -1);
    if (step === undefined) return this.#row >= 0 && log.step[this.#row] >= 0 ? this.#show(-1) : undefined;
    if (this.#row < 0 || !is(this.#row)) this.#show(log.lines.findIndex((_, i) => is(i)));
  }

  #copyShown(): Promise<void> {
    return this.#put([...this.#rows], plural(this.#rows.length, "line"));
  }

  async #put(rows: readonly number[], what: string): Promise<void> {
    const log = this.#log;
    if (!log) return;
    const done = await copy(rows.map((row) => lineText(log, row)).join("\n"), this.#below);
    this.#copy.textContent = done ? `copied ${what}` : "copying is not allowed here";
    window.setTimeout(() => (this.#copy.textContent = "copy"), 1600);
  }
}

/** As one would grep it. */
export const lineText = ({ strings, level, place, lines }: LogPart, row: number): string => `[${strings[level[row]]}] ${strings[place[row]]}: ${lines[row]}`;

function level(cell: HTMLElement, text: string): void {
  cell.textContent = text === "INFO" ? text : `${text === "ERROR" ? "✗" : "◇"} ${text === "WARNING" ? "WARN" : text}`;
  cell.title = text;
  cell.classList.add(text === "INFO" ? "gxt-soft" : text === "ERROR" ? "gxt-bad" : "gxt-warns");
}

/** A text with the words that were looked for lit. */
function marked(text: string, words: readonly string[]): (Node | string)[] {
  if (!words.length) return [text];
  const found: (Node | string)[] = [];
  const low = text.toLowerCase();
  let at = 0;
  while (at < text.length) {
    let [next, length] = [-1, 0];
    for (const word of words) {
      const place = low.indexOf(word, at);
      if (place >= 0 && (next < 0 || place < next)) [next, length] = [place, word.length];
    }
    if (next < 0) break;
    found.push(text.slice(at, next), h("mark", { text: text.slice(next, next + length) }));
    at = next + length;
  }
  return [...found, text.slice(at)];
}

export const log: PanelKind = {
  name: "log",
  title: "Log",
  needs: ["log"],
  mount: (element, store) => new LogPanel(element, store),
};
