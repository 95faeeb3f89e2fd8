/** A canvas in two layers: a picture that is dear to draw, and marks above it that follow the mouse. */

import { palette, type Palette } from "../core/palette.ts";
import { h } from "../shell/dom.ts";

export interface Drawing {
  readonly context: CanvasRenderingContext2D;
  readonly width: number; // CSS px
  readonly height: number;
  readonly ratio: number; // device px a CSS px
  readonly palette: Palette;
}

export class Surface {
  readonly element: HTMLDivElement;
  readonly canvas: HTMLCanvasElement;
  width = 0;
  height = 0;
  readonly #over: HTMLCanvasElement;
  readonly #observer: ResizeObserver;
  #wanted = 0; // 1 marks, 2 picture
  #frame = 0;

  constructor(
    label: string,
    private readonly picture: (drawing: Drawing) => void,
    private readonly marks: (drawing: Drawing) => void = () => {},
  ) {
    this.canvas = h("canvas", { class: "gxt-canvas", role: "img", tabindex: 0, "aria-label": label });
    this.#over = h("canvas", { class: "gxt-canvas gxt-over", "aria-hidden": "true" });
    this.element = h("div", { class: "gxt-surface" }, this.canvas, this.#over);
    this.#observer = new ResizeObserver(() => this.measure());
    this.#observer.observe(this.element);
  }

  /** Says what the picture shows, for those who do not see it. */
  describe(text: string): void {
    this.canvas.setAttribute("aria-label", text);
  }

  /** Draws all again at the next frame. */
  redraw(): void {
    this.#want(2);
  }

  /** Draws only what lies above the picture. */
  remark(): void {
    this.#want(1);
  }

  measure(): void {
    const { clientWidth, clientHeight } = this.element;
    if (clientWidth === this.width && clientHeight === this.height) return;
    this.width = clientWidth;
    this.height = clientHeight;
    this.redraw();
  }

  destroy(): void {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
  }

  #want(what: number): void {
    this.#wanted = Math.max(this.#wanted, what);
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.measure();
      const wanted = this.#wanted;
      this.#wanted = 0;
      if (!this.width || !this.height) return;
      const colours = palette(this.element);
      if (wanted === 2) this.#draw(this.canvas, colours, this.picture);
      this.#draw(this.#over, colours, this.marks);
    });
  }

  #draw(canvas: HTMLCanvasElement, colours: Palette, how: (drawing: Drawing) => void): void {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const context = canvas.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = `11px ${colours.font}`;
    context.textBaseline = "middle";
    how({ context, width: this.width, height: this.height, ratio, palette: colours });
  }
}

/** Text cut to a width in the middle, so that both of its ends can be read; "" where not even a few letters fit. */
export function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  const short = text.length > 300 ? `${text.slice(0, 150)}…${text.slice(-150)}` : text;
  if (context.measureText(short).width <= width) return short;
  let [low, high] = [0, short.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(cut(short, middle)).width <= width) low = middle;
    else high = middle - 1;
  }
  return low >= 4 ? cut(short, low) : "";
}

function cut(text: string, letters: number): string {
  const head = Math.ceil(letters / 3);
  return `${text.slice(0, head)}…${text.slice(text.length - (letters - head))}`;
}
