/** The tab "Figures": every headline number before all passes, in the baseline and now, with what changed. */

import type { Figure } from "../core/document.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { change, measure } from "../core/units.ts";
import { Frame, soft, strong } from "./frame.ts";
import { all, Table, type Column } from "./table.ts";
import { plural, within } from "./words.ts";

/** 1 better, -1 worse, 0 the same (to what is shown of it), not known, or neither. */
export function verdict(figure: Figure, before: number | null): number {
  if (figure.value === null || before === null || figure.lower_is_better === null || Math.abs(figure.value - before) <= 5e-4 * Math.abs(before)) return 0;
  return figure.value < before === figure.lower_is_better ? 1 : -1;
}

/**
 * The step that changed a figure most, for the better or the worse; null where nothing changed, or nobody knows. Steps
 * after which other kernels have no price than before are left out: what they change in a sum is none of their doing.
 */
export function turnOf(series: ArrayLike<number> | null, comparable?: Uint8Array): { step: number; change: number } | null {
  let found: { step: number; change: number } | null = null;
  for (let step = 1; step < (series?.length ?? 0); step++) {
    if (comparable && !comparable[step]) continue;
    const change = (series as ArrayLike<number>)[step] - (series as ArrayLike<number>)[step - 1];
    if (Math.abs(change) > Math.abs(found?.change ?? 0)) found = { step, change };
  }
  return found;
}

class FiguresPanel implements Panel {
  readonly #frame: Frame;
  readonly #table = new Table("Figures", { choose: (row) => this.#choose(row) }, "No figures.");

  constructor(element: HTMLElement, private readonly store: Store) {
    this.#frame = new Frame(element, "figures", this.#table.element);
    this.update(new Set(["parts"]));
  }

  update(changed: ReadonlySet<Topic>): void {
    if (!changed.has("parts") && !changed.has("changes")) return;
    const figures = this.store.parts.head?.figures ?? [];
    if (!this.#frame.empty(figures.length ? null : "No figures yet.")) return;
    const { baseline } = this.store;
    const kept = new Map(baseline?.map((figure) => [figure.key, figure.value]));
    const other = (row: number): number | null => kept.get(figures[row].key) ?? null;
    const moved = figures.filter((figure) => baseline && kept.has(figure.key) && kept.get(figure.key) !== figure.value).length;
    this.#frame.say(
      strong(plural(figures.length, "figure")),
      soft(baseline ? ` · ${plural(moved, "differs", "differ")} from the baseline` : " · no baseline yet: pin this compilation, or change something, to compare"),
    );
    const value = (row: number, of: number | null): string => (of === null ? "–" : measure(of, figures[row].unit));
    const column = (title: string, hint: string, of: (row: number) => number | null): Column => ({ title, hint, number: true, width: "9.4em", text: (row) => value(row, of(row)) });
    const changed_ = (title: string, of: (row: number) => number | null): Column => ({
      title,
      number: true,
      width: "6.4em",
      text: (row) => change(figures[row].value, of(row)),
      draw: (row, cell) => {
        const better = verdict(figures[row], of(row));
        cell.textContent = change(figures[row].value, of(row)) + (better > 0 ? " ✓" : better < 0 ? " ✗" : "");
        cell.classList.add(better > 0 ? "gxt-good" : better < 0 ? "gxt-bad" : "gxt-soft");
      },
    });
    this.#table.set(
      [
        { title: "figure", width: "minmax(8.6em, 0.5fr)", text: (row) => figures[row].label },
        column("before all passes", "At the first step", (row) => figures[row].first),
        ...(baseline ? [column("baseline", "What is pinned, or was before the last change", other)] : []),
        column("now", "This compilation", (row) => figures[row].value),
        changed_(baseline ? "to baseline" : "change", (row) => (baseline ? other(row) : figures[row].first)),
        { ...column("bound", "What it cannot be below", (row) => figures[row].bound), spare: 1 },
        { title: "error", spare: 3, hint: "Nine of ten published points lie within", number: true, width: "5.6em", text: (row) => (figures[row].error === null ? "" : within(figures[row].error, true)) },
        {
          title: "changed most by",
          spare: 2,
          hint: "The step that changed it most; press the row to go there",
          width: "minmax(14em, 1fr)",
          text: (row) => this.#turn(figures[row]),
        },
        { title: "note", spare: 4, width: "minmax(9em, 4fr)", text: (row) => figures[row].note },
      ],
      all(figures.length),
    );
  }

  #turnOf(figure: Figure | undefined): { step: number; change: number } | null {
    const priced = figure?.key !== "kernels";
    return figure ? turnOf(figure.series, priced ? this.store.parts.course?.comparable : undefined) : null;
  }

  #turn(figure: Figure): string {
    const turn = this.#turnOf(figure);
    const name = turn ? this.store.parts.steps?.steps[turn.step]?.name : undefined;
    if (!turn || !name) return figure.series ? "nothing" : "";
    return `${name} ${turn.change < 0 ? "−" : "+"}${measure(Math.abs(turn.change), figure.unit)}`;
  }

  #choose(row: number): void {
    const turn = this.#turnOf(this.store.parts.head?.figures[row]);
    if (turn) this.store.move({ step: turn.step, rewrite: undefined, reject: undefined });
  }

  resize(): void {}

  destroy(): void {
    this.#frame.destroy();
    this.#table.destroy();
  }
}

export const figures: PanelKind = {
  name: "figures",
  title: "Figures",
  needs: ["head", "steps"],
  mount: (element, store) => new FiguresPanel(element, store),
};
