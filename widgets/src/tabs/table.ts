/** A table of any length: only the rows in view exist; columns sort; arrows, Page, Home, End and Enter do what they say. */

import { ended, fill, h } from "../shell/dom.ts";

export interface Column {
  readonly title: string;
  readonly hint?: string;
  /** A track of a CSS grid, "5.6em" or "minmax(9em, 2fr)". */
  readonly width: string;
  readonly number?: boolean;
  /** Words that differ in how they begin: of long ones the end is left out, not the middle. */
  readonly word?: boolean;
  text(row: number): string;
  /** What the column is sorted by; left out where it cannot be. Numbers start with the largest. */
  key?(row: number): number | string;
  /** A bar behind the text, 0 to 1. */
  bar?(row: number): number;
  colour?(row: number): string | undefined;
  /** Whether the number is for the better or the worse. */
  tone?(row: number): "good" | "bad" | undefined;
  /** Where there is no room, the columns with the highest number go first; what they said is in the title of the first. */
  spare?: number;
  /** Puts more than text into the cell. */
  draw?(row: number, cell: HTMLElement): void;
}

/** A column of words that is sorted by them. */
export function words(title: string, width: string, text: (row: number) => string, hint?: string): Column {
  return { title, hint, width, text, key: text };
}

export interface Amount {
  readonly title: string;
  readonly hint?: string;
  readonly width: string;
  /** The number of a row, by which the column is sorted; NaN where it is not known. */
  of(row: number): number;
  /** The number as people read it. */
  text(value: number): string;
  /** By row: the colour of a bar behind the number. Without it there is none. */
  colour?(row: number): string | undefined;
  /** Of how many rows the bars are: the largest number fills its cell. */
  rows?: number;
}

/** A column of numbers, with bars where there is a colour for them. */
export function amount({ title, hint, width, of, text, colour, rows = 0 }: Amount): Column {
  const column: Column = { title, hint, number: true, width, text: (row) => text(of(row)), key: of };
  if (!colour) return column;
  let most = 0;
  for (let row = 0; row < rows; row++) if (of(row) > most) most = of(row);
  return { ...column, bar: (row) => (most ? of(row) / most : 0), colour };
}

export interface TableEvents {
  choose?(row: number): void;
  hover?(row: number): void;
}

const ROW = 24; // px
const EM = 12.5; // px
const SPARE = 6; // rows beyond what is seen

export class Table {
  readonly element: HTMLElement;
  readonly #head = h("div", { class: "gxt-row gxt-heads", role: "row" });
  readonly #room = h("div", { class: "gxt-room", role: "presentation" });
  readonly #scroller = h("div", { class: "gxt-scroller", tabindex: 0, role: "rowgroup" }, this.#room);
  readonly #nothing = h("p", { class: "gxt-none", hidden: true });
  readonly #observer: ResizeObserver;
  #columns: readonly Column[] = [];
  /** Those that there is room for. */
  #seen: readonly number[] = [];
  #fitted = "?";
  #rows: Int32Array = new Int32Array();
  #shown: HTMLElement[] = [];
  #sorted: { column: number; descending: boolean } | null = null;
  #selected = -1;
  #first = -1;

  constructor(
    label: string,
    private readonly events: TableEvents = {},
    private readonly none = "Nothing to list.",
  ) {
    this.element = h("div", { class: "gxt-table", role: "table", "aria-label": label }, this.#head, this.#scroller, this.#nothing);
    this.#scroller.addEventListener("scroll", () => this.#draw(false), { passive: true });
    this.#scroller.addEventListener("keydown", (event) => this.#key(event));
    this.#observer = new ResizeObserver(() => {
      this.#fit();
      this.#draw(true);
    });
    this.#observer.observe(this.#scroller);
  }

  /** Other columns or rows. Sorting stays as it was where the column is still there. */
  set(columns: readonly Column[], rows: Int32Array, sorted?: { column: number; descending: boolean }): void {
    const known = this.#columns.length === columns.length && this.#columns.every((column, i) => column.title === columns[i].title);
    this.#columns = columns;
    this.#rows = rows;
    if (!known) this.#sorted = sorted ?? null;
    this.#fitted = "?";
    this.element.setAttribute("aria-rowcount", String(rows.length + 1));
    this.#nothing.hidden = rows.length > 0;
    this.#nothing.textContent = this.none;
    this.#fit();
    this.#sort();
  }

  /** Leaves columns out until the others have room. Narrower than those it scrolls sideways, so that none is lost. */
  #fit(): void {
    const room = this.element.clientWidth / EM;
    let seen = [...this.#columns.keys()];
    const least = (): number => seen.reduce((all, i) => all + Number.parseFloat(this.#columns[i].width.replace("minmax(", "")) + 0.8, 2);
    const last = seen.filter((i) => this.#columns[i].spare).sort((a, b) => (this.#columns[a].spare ?? 0) - (this.#columns[b].spare ?? 0));
    while (room && last.length && least() > room) {
      const out = last.pop();
      seen = seen.filter((i) => i !== out);
    }
    if (seen.join() === this.#fitted) return;
    this.#fitted = seen.join();
    this.#seen = seen;
    this.element.style.setProperty("--gxt-columns", seen.map((i) => this.#columns[i].width).join(" "));
    this.element.style.setProperty("--gxt-least", `${least()}em`);
    this.#heads();
  }

  /** Lights up a row and brings it into view; -1 lights none. */
  select(row: number): void {
    if (row === this.#selected) return;
    this.#selected = row;
    const at = row < 0 ? -1 : this.#rows.indexOf(row);
    if (at >= 0) this.#reveal(at);
    this.#draw(true);
  }

  /** The texts of some rows have changed. */
  refresh(): void {
    this.#draw(true);
  }

  destroy(): void {
    this.#observer.disconnect();
  }

  #heads(): void {
    fill(
      this.#head,
      ...this.#seen.map((i) => {
        const column = this.#columns[i];
        const active = this.#sorted?.column === i;
        const arrow = active ? (this.#sorted?.descending ? " ▾" : " ▴") : "";
        const cell = h("span", {
          class: column.number ? "gxt-cell gxt-number" : "gxt-cell",
          role: "columnheader",
          title: column.hint,
          "aria-sort": active ? (this.#sorted?.descending ? "descending" : "ascending") : column.key ? "none" : null,
        });
        if (column.key) {
          cell.append(h("button", { type: "button", class: "gxt-sort", text: column.title + arrow, onclick: () => this.#sortBy(i) }));
        } else cell.textContent = column.title;
        return cell;
      }),
    );
  }

  #sortBy(column: number): void {
    const descending = this.#sorted?.column === column ? !this.#sorted.descending : this.#columns[column].number === true;
    this.#sorted = { column, descending };
    this.#heads();
    (this.#head.children[this.#seen.indexOf(column)]?.firstElementChild as HTMLElement | null)?.focus();
    this.#sort();
  }

  #sort(): void {
    const key = this.#sorted && this.#columns[this.#sorted.column]?.key;
    if (key && this.#sorted) {
      const sign = this.#sorted.descending ? -1 : 1;
      const keys = new Map<number, number | string>();
      for (const row of this.#rows) keys.set(row, key(row));
      this.#rows = this.#rows.slice().sort((a, b) => sign * order(keys.get(a) as number, keys.get(b) as number) || a - b);
    }
    this.#draw(true);
  }

  #draw(afresh: boolean): void {
    const height = this.#scroller.clientHeight;
    this.#room.style.height = `${this.#rows.length * ROW}px`; // first: a shorter table is scrolled less
    const [first, last] = visible(this.#scroller.scrollTop, height, this.#rows.length);
    if (!afresh && first === this.#first) return;
    this.#first = first;
    while (this.#shown.length < last - first) this.#shown.push(this.#newRow());
    while (this.#shown.length > last - first) this.#shown.pop()?.remove();
    this.#shown.forEach((element, i) => this.#fill(element, first + i));
  }

  #newRow(): HTMLElement {
    const element = h("div", { class: "gxt-row", role: "row" });
    const row = (): number => Number(element.dataset.row);
    if (this.events.choose) {
      element.addEventListener("click", () => {
        this.#selected = row();
        this.#draw(true);
        this.events.choose?.(row());
      });
    }
    if (this.events.hover) {
      element.addEventListener("pointerenter", () => this.events.hover?.(row()));
      element.addEventListener("pointerleave", () => this.events.hover?.(-1));
    }
    this.#room.append(element);
    return element;
  }

  #fill(element: HTMLElement, at: number): void {
    const row = this.#rows[at];
    element.dataset.row = String(row);
    element.style.transform = `translateY(${at * ROW}px)`;
    element.setAttribute("aria-rowindex", String(at + 2));
    element.setAttribute("aria-selected", String(row === this.#selected));
    while (element.children.length < this.#seen.length) element.append(h("span", { class: "gxt-cell", role: "cell" }));
    while (element.children.length > this.#seen.length) element.lastElementChild?.remove();
    this.#seen.forEach((at, i) => {
      const column = this.#columns[at];
      const cell = element.children[i] as HTMLElement;
      const text = column.text(row);
      cell.className = column.number ? "gxt-cell gxt-number" : "gxt-cell";
      if (column.bar) {
        cell.classList.add("gxt-bar");
        cell.style.setProperty("--gxt-share", `${Math.max(0, Math.min(1, column.bar(row) || 0)) * 100}%`);
        cell.style.setProperty("--gxt-colour", column.colour?.(row) ?? "var(--gx-accent)");
      }
      const tone = column.tone?.(row);
      if (tone) cell.classList.add(`gxt-${tone}`);
      if (column.draw) {
        cell.replaceChildren();
        column.draw(row, cell);
      } else {
        const short = text.length > 400 ? `${text.slice(0, 200)}…${text.slice(-200)}` : text;
        if (column.number || column.word) cell.textContent = short;
        else fill(cell, ...ended(short));
        cell.title = column.number ? "" : text.slice(0, 2000);
        cell.dir = column.number ? "" : "auto";
      }
    });
    const left = this.#columns.filter((_, i) => !this.#seen.includes(i)).map((column) => `${column.title}: ${column.text(row)}`);
    if (left.length) (element.firstElementChild as HTMLElement).title += `\n${left.join("\n")}`;
  }

  #key(event: KeyboardEvent): void {
    if (event.target !== this.#scroller) return;
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / ROW) - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const by = steps[event.key];
    if (event.key === "Enter" && this.#selected >= 0) this.events.choose?.(this.#selected);
    else if (by !== undefined && this.#rows.length) {
      const now = this.#rows.indexOf(this.#selected);
      const at = Math.max(0, Math.min(this.#rows.length - 1, (now < 0 && by === 1 ? -1 : now) + by));
      this.#selected = this.#rows[at];
      this.#reveal(at);
      this.#draw(true);
      this.events.choose?.(this.#selected);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #reveal(at: number): void {
    const height = this.#scroller.clientHeight;
    const [top, bottom] = [at * ROW, (at + 1) * ROW];
    this.#room.style.height = `${this.#rows.length * ROW}px`;
    if (top < this.#scroller.scrollTop) this.#scroller.scrollTop = top;
    else if (bottom > this.#scroller.scrollTop + height) this.#scroller.scrollTop = Math.ceil((bottom - height) / ROW) * ROW; // whole rows from the top
  }
}

/** The rows that are seen, and a few more: from the first up to before the last; none where there are none. */
export function visible(scrolled: number, height: number, rows: number): [first: number, last: number] {
  const last = Math.min(rows, Math.ceil((scrolled + height) / ROW) + SPARE);
  return [Math.max(0, Math.min(last, Math.floor(scrolled / ROW) - SPARE)), last];
}

/** NaN comes last in a descending table and first in an ascending one: less than anything. */
function order(a: number | string, b: number | string): number {
  if (typeof a === "string" || typeof b === "string") return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
  const [x, y] = [Number.isNaN(a) ? -Infinity : a, Number.isNaN(b) ? -Infinity : b];
  return x < y ? -1 : x > y ? 1 : 0;
}

/** 0, 1, ... n - 1. */
export const all = (n: number): Int32Array => Int32Array.from({ length: n }, (_, i) => i);

/** The rows that a test accepts. */
export const those = (n: number, test: (row: number) => boolean): Int32Array => all(n).filter(test);
