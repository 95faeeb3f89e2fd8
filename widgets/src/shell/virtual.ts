/** A list of any length: only rows in the window are elements. All rows are equally high. */

import { h } from "./dom.ts";

const EXTRA = 8;

export class VirtualList<Row> {
  readonly element: HTMLElement;
  #inner: HTMLElement;
  #rows: readonly Row[] = [];
  #first = -1;
  #last = -1;

  constructor(
    readonly rowHeight: number,
    private readonly make: (row: Row, index: number) => HTMLElement,
    attributes: Record<string, unknown> = {},
  ) {
    this.#inner = h("div", { class: "gx-virtual-inner", role: "presentation" });
    this.element = h("div", { class: "gx-virtual", ...attributes }, this.#inner);
    this.element.addEventListener("scroll", () => this.#draw(false), { passive: true });
    new ResizeObserver(() => this.#draw(false)).observe(this.element);
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
    const { scrollTop, clientHeight } = this.element;
    const margin = Math.min(2 * this.rowHeight, clientHeight / 4);
    if (top < scrollTop + margin) this.element.scrollTop = Math.max(0, top - margin);
    else if (top + this.rowHeight > scrollTop + clientHeight - margin) this.element.scrollTop = top + this.rowHeight - clientHeight + margin;
    this.#draw(false);
  }

  #draw(again: boolean): void {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / this.rowHeight) - EXTRA);
    const last = Math.min(this.#rows.length, Math.ceil((scrollTop + (clientHeight || 600)) / this.rowHeight) + EXTRA);
    if (!again && first === this.#first && last === this.#last) return;
    this.#first = first;
    this.#last = last;
    const focused = document.activeElement instanceof HTMLElement && this.#inner.contains(document.activeElement) ? document.activeElement.dataset.row : undefined;
    const made: HTMLElement[] = [];
    for (let i = first; i < last; i++) {
      const element = this.make(this.#rows[i] as Row, i);
      element.style.transform = `translateY(${i * this.rowHeight}px)`;
      element.dataset.row = String(i);
      made.push(element);
    }
    this.#inner.replaceChildren(...made);
    if (focused !== undefined) this.#inner.querySelector<HTMLElement>(`[data-row="${focused}"]`)?.focus({ preventScroll: true });
  }
}
