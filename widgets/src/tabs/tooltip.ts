/** What is under the mouse, in words: a headline and lines of name and value. */

import { fill, h } from "../shell/dom.ts";

export type Line = readonly [name: string, value: string];

export class Tooltip {
  readonly element = h("div", { class: "gxt-tip", role: "status", hidden: true });

  /** Beside a point of the element that it stands in, never outside of that. */
  show(x: number, y: number, title: string, lines: readonly Line[], note = ""): void {
    const short = title.length > 160 ? `${title.slice(0, 80)}…${title.slice(-80)}` : title;
    fill(
      this.element,
      h("b", { text: short, dir: "auto" }),
      h("dl", {}, ...lines.flatMap(([name, value]) => [h("dt", { text: name }), h("dd", { text: value, dir: "auto" })])),
      note && h("p", { text: note, dir: "auto" }),
    );
    this.element.hidden = false;
    const around = this.element.offsetParent as HTMLElement | null;
    const [width, height] = [around?.clientWidth ?? 0, around?.clientHeight ?? 0];
    const [w, tall] = [this.element.offsetWidth, this.element.offsetHeight];
    const left = x + 14 + w <= width ? x + 14 : Math.max(2, x - 14 - w);
    const top = Math.max(2, Math.min(y + 14, height - tall - 2));
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  hide(): void {
    this.element.hidden = true;
  }
}
