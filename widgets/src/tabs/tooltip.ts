/** What is under the mouse, in words: a headline and lines of name and value. */

import { fill, h } from "../shell/dom.ts";
import { shortened } from "./words.ts";

export type Line = readonly [name: string, value: string];

const AWAY = 14; // px from what it tells of
const EDGE = 4; // px that it keeps from the window's edge

export class Tooltip {
  readonly element = h("div", { class: "gxt-tip", role: "status", popover: "manual", hidden: true });

  /** Beside a point of the element that it stands in: in the window as a whole, and never over that point. */
  show(x: number, y: number, title: string, lines: readonly Line[], note = ""): void {
    const { element } = this;
    const around = element.parentElement;
    if (!around) return;
    fill(
      element,
      h("b", { text: shortened(title), dir: "auto" }),
      h("dl", {}, ...lines.flatMap(([name, value]) => [h("dt", { text: name }), h("dd", { text: shortened(value, 400), dir: "auto" })])),
      note && h("p", { text: shortened(note, 600), dir: "auto" }),
    );
    element.hidden = false;
    // Above all else of the page, so that a low pane does not cut it off; where there are no popovers, as far as it goes.
    const free = typeof element.showPopover === "function";
    if (free && !element.matches(":popover-open")) element.showPopover();
    const { left, top } = around.getBoundingClientRect();
    const [fromX, fromY] = free ? [left, top] : [0, 0];
    const [width, height] = free ? [innerWidth, innerHeight] : [around.clientWidth, around.clientHeight];
    const at = placed(fromX + x, fromY + y, element.offsetWidth, element.offsetHeight, width, height);
    element.style.transform = `translate(${Math.round(at.x)}px, ${Math.round(at.y)}px)`;
  }

  hide(): void {
    if (this.element.matches(":popover-open")) this.element.hidePopover();
    this.element.hidden = true;
  }
}

/** Where a box of some size stands beside a point: right of it or left, or else above or below, all of it in the room. */
export function placed(x: number, y: number, width: number, height: number, roomX: number, roomY: number): { x: number; y: number } {
  const into = (at: number, size: number, room: number): number => Math.max(EDGE, Math.min(at, room - size - EDGE));
  const right = x + AWAY + width + EDGE <= roomX;
  if (right || x - AWAY - width >= EDGE) return { x: right ? x + AWAY : x - AWAY - width, y: into(y + AWAY, height, roomY) };
  const below = y + AWAY + height + EDGE <= roomY;
  return { x: into(x - width / 2, width, roomX), y: below ? y + AWAY : into(y - AWAY - height, height, roomY) };
}
