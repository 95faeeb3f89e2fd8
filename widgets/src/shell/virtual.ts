/**
 * A list of any length: only rows in the window are elements. All rows are equally high.
 *
 * Where it is scrolled to and how high it is are remembered: asking the page would have it lay everything out anew.
 */

import { focused, h } from "./dom.ts";

const EXTRA = 8;
/** What in a row can have the focus. */
const CONTROLS = "button, a, input, [tabindex]";

export class VirtualList<Row> {
  readonly element: HTMLElement;
  #inner: HTMLElement;
  #rows: readonly Row[] = [];
  #first = -1;
  #last = -1;
  #top = 0;
  #height = 0;
  #pressed = false;
  /** The rows are others than those that are drawn. */
  #behind = false;
  readonly #observer: ResizeObserver;

  constructor(
    readonly rowHeight: number,
    private readonly make: (row: Row, index: number) => HTMLElement,
    attributes: Record<string, unknown> = {},
  ) {
    this.#inner = h("div", { class: "gx-virtual-inner", role: "presentation" });
    this.element = h("div", { class: "gx-virtual", ...attributes }, this.#inner);
    const look = (): void => {
      this.#top = this.element.scrollTop;
      this.#height = this.element.clientHeight;
      this.#draw(false);
    };
    this.element.addEventListener("scroll", look, { passive: true });
    this.element.addEventListener("pointerdown", (event) => this.#press(event));
    this.#observer = new ResizeObserver(look);
    this.#observer.observe(this.element);
  }

  destroy(): void {
    this.#observer.disconnect();
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  set(rows: readonly Row[]): void {
    this.#rows = rows;
    this.#inner.style.height = `${rows.length * this.rowHeight}px`;
    this.#draw(true);
  }

  /** Draws the rows in the window again: what is chosen changed. */
  refresh(): void {
    this.#draw(true);
  }

  show(index: number): void {
    if (index < 0) return;
    const top = index * this.rowHeight;
    const margin = Math.min(2 * this.rowHeight, this.#height / 4);
    const bottom = top + this.rowHeight + margin - this.#height;
    const to = top < this.#top + margin ? Math.max(0, top - margin) : bottom > this.#top ? bottom : this.#top;
    if (to !== this.#top && this.#height) {
      this.element.scrollTop = to;
      this.#top = Math.min(to, Math.max(0, this.#rows.length * this.rowHeight - this.#height));
    }
    this.#draw(false);
  }

  #draw(again: boolean): void {
    if (this.#pressed) {
      this.#behind ||= again;
      return;
    }
    this.#top = Math.min(this.#top, Math.max(0, this.#rows.length * this.rowHeight - this.#height));
    const first = Math.max(0, Math.floor(this.#top / this.rowHeight) - EXTRA);
    const last = Math.min(this.#rows.length, Math.ceil((this.#top + (this.#height || 600)) / this.rowHeight) + EXTRA);
    if (!again && first === this.#first && last === this.#last) return;
    if (again) this.#replace(first, last);
    else this.#shift(first, last);
    this.#first = first;
    this.#last = last;
  }

  /** Rows that stay stay the same elements. */
  #shift(first: number, last: number): void {
    const stay = [...this.#inner.children].filter((child) => {
      const index = Number((child as HTMLElement).dataset.row);
      if (index >= first && index < last) return true;
      child.remove();
      return false;
    }) as HTMLElement[];
    const from = stay.length ? Number(stay[0]?.dataset.row) : last;
    const to = stay.length ? from + stay.length : last;
    this.#inner.prepend(...this.#made(first, from));
    this.#inner.append(...this.#made(to, last));
  }

  /** All rows anew; what had the focus has it again. */
  #replace(first: number, last: number): void {
    const active = focused(this.#inner);
    const holder = active && this.#inner.contains(active) ? active.closest<HTMLElement>("[data-row]") : null;
    const nth = holder && active !== holder ? [...holder.querySelectorAll(CONTROLS)].indexOf(active as Element) : -1;
    this.#inner.replaceChildren(...this.#made(first, last));
    if (!holder) return;
    const row = this.#inner.querySelector<HTMLElement>(`[data-row="${holder.dataset.row}"]`);
    (nth < 0 ? row : row?.querySelectorAll<HTMLElement>(CONTROLS)[nth])?.focus({ preventScroll: true });
  }

  #made(first: number, last: number): HTMLElement[] {
    const made: HTMLElement[] = [];
    for (let i = first; i < last; i++) {
      const element = this.make(this.#rows[i] as Row, i);
      element.style.transform = `translateY(${i * this.rowHeight}px)`;
      element.dataset.row = String(i);
      made.push(element);
    }
    return made;
  }

  /** A press and its release must find the same element, or the page makes no click of them: nothing is drawn between. */
  #press(event: PointerEvent): void {
    if (!(event.target as Element).closest("[data-row]")) return; // the scroll bar
    this.#pressed = true;
    const release = (): void => {
      for (const name of ["pointerup", "pointercancel"]) removeEventListener(name, release, true);
      // The click comes first.
      setTimeout(() => {
        this.#pressed = false;
        const behind = this.#behind;
        this.#behind = false;
        this.#draw(behind);
      });
    };
    for (const name of ["pointerup", "pointercancel"]) addEventListener(name, release, true);
  }
}
