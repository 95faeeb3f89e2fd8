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
    this.#top = Math.min(this.#top, Math.max(0, this.#rows.length * this.rowHeight - this.#height));
    const first = Math.max(0, Math.floor(this.#top / this.rowHeight) - EXTRA);
    const last = Math.min(this.#rows.length, Math.ceil((this.#top + (this.#height || 600)) / this.rowHeight) + EXTRA);
    if (!again && first === this.#first && last === this.#last) return;
    this.#first = first;
    this.#last = last;
    const active = focused(this.#inner);
    const holder = active && this.#inner.contains(active) ? active.closest<HTMLElement>("[data-row]") : null;
    const nth = holder && active !== holder ? [...holder.querySelectorAll(CONTROLS)].indexOf(active as Element) : -1;
    const made: HTMLElement[] = [];
    for (let i = first; i < last; i++) {
      const element = this.make(this.#rows[i] as Row, i);
      element.style.transform = `translateY(${i * this.rowHeight}px)`;
      element.dataset.row = String(i);
      made.push(element);
    }
    this.#inner.replaceChildren(...made);
    if (!holder) return;
    const row = this.#inner.querySelector<HTMLElement>(`[data-row="${holder.dataset.row}"]`);
    (nth < 0 ? row : row?.querySelectorAll<HTMLElement>(CONTROLS)[nth])?.focus({ preventScroll: true });
  }
}
