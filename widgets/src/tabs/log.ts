/** The tab "Log": every line of the compilation, filtered by word and by level. */

import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { count } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { Choice, Frame, searchBox, soft, strong } from "./frame.ts";
import { Table, those } from "./table.ts";
import { plural } from "./words.ts";

type Level = "all" | "warnings";

class LogPanel implements Panel {
  readonly #frame: Frame;
  readonly #table = new Table("Log", { choose: (row) => this.#choose(row) }, "No line matches the filter.");
  readonly #whole = h("pre", { class: "gxt-line", hidden: true, "aria-label": "The chosen line" });
  readonly #level: Choice<Level>;
  #lines: readonly string[] = [];
  #warns = new Uint8Array();
  #words: string[] = [];

  constructor(element: HTMLElement, private readonly store: Store) {
    this.#frame = new Frame(element, "log", h("div", { class: "gxt-stack gxt-mono" }, this.#table.element, this.#whole));
    this.#level = new Choice<Level>("Level", [["all", "all"], ["warnings", "warnings"]], "all", () => this.#list());
    fill(
      this.#frame.tools,
      searchBox("filter lines", (words) => {
        this.#words = words.split(/\s+/).filter(Boolean);
        this.#list();
      }),
      this.#level.element,
    );
    this.update(new Set(["parts"]));
  }

  update(changed: ReadonlySet<Topic>): void {
    if (!changed.has("parts")) return;
    const lines = this.store.parts.log?.lines ?? [];
    if (!this.#frame.empty(lines.length ? null : "The log is empty.")) return;
    if (lines === this.#lines) return;
    this.#lines = lines;
    this.#warns = Uint8Array.from(lines, (line) => (/^\[?(WARNING|ERROR)/.test(line) ? 1 : 0));
    this.#list();
  }

  resize(): void {}

  destroy(): void {
    this.#frame.destroy();
    this.#table.destroy();
  }

  #list(): void {
    const lines = this.#lines;
    const words = this.#words;
    const warns = this.#warns;
    const only = this.#level.value === "warnings";
    const rows = those(lines.length, (i) => {
      if (only && !warns[i]) return false;
      if (!words.length) return true;
      const line = lines[i].toLowerCase();
      return words.every((word) => line.includes(word));
    });
    const warnings = warns.reduce((all, is) => all + is, 0);
    this.#frame.say(strong(plural(lines.length, "line")), soft(` · ${plural(warnings, "warning")}`), rows.length < lines.length && soft(` · ${count(rows.length)} shown`));
    this.#table.set(
      [
        { title: "line", number: true, width: "4.5em", text: (i) => count(i + 1) },
        {
          title: "message",
          width: "minmax(20em, 1fr)",
          text: (i) => lines[i],
          draw: (i, cell) => {
            cell.textContent = lines[i].length > 600 ? `${lines[i].slice(0, 600)}…` : lines[i];
            cell.classList.toggle("gxt-warns", warns[i] === 1);
            cell.title = "";
          },
        },
      ],
      rows,
    );
  }

  #choose(row: number): void {
    this.#whole.hidden = false;
    this.#whole.textContent = this.#lines[row].slice(0, 20000);
  }
}

export const log: PanelKind = {
  name: "log",
  title: "Log",
  needs: ["log"],
  mount: (element, store) => new LogPanel(element, store),
};
