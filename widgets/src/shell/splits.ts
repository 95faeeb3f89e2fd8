/** A bar between two parts of the screen that can be dragged, or moved by the arrow keys. */

import { h } from "./dom.ts";

export interface Split {
  element: HTMLElement;
  /** Sets the size in px; 0 is closed. */
  set(size: number): void;
  readonly size: number;
}

/** `grow` says which way makes the part larger: 1 right or down, -1 left or up. */
export function split(
  label: string,
  axis: "x" | "y",
  grow: 1 | -1,
  limits: { least: number; most: () => number; begin: number },
  apply: (size: number) => void,
): Split {
  let size = limits.begin;
  let last = limits.begin;
  const element = h("div", {
    class: `gx-split gx-split-${axis}`,
    role: "separator",
    tabindex: "0",
    "aria-label": label,
    "aria-orientation": axis === "x" ? "vertical" : "horizontal",
  });
  const set = (to: number): void => {
    size = to <= limits.least / 2 ? 0 : Math.max(limits.least, Math.min(limits.most(), to));
    if (size) last = size;
    element.setAttribute("aria-valuenow", String(Math.round(size)));
    apply(size);
  };
  let from = 0;
  let was = 0;
  const at = (event: PointerEvent): number => (axis === "x" ? event.clientX : event.clientY);
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    from = at(event);
    was = size;
    event.preventDefault();
  });
  element.addEventListener("pointermove", (event) => {
    if (element.hasPointerCapture(event.pointerId)) set(was + grow * (at(event) - from));
  });
  element.addEventListener("dblclick", () => set(size ? 0 : last));
  element.addEventListener("keydown", (event) => {
    const more = axis === "x" ? "ArrowRight" : "ArrowDown";
    const less = axis === "x" ? "ArrowLeft" : "ArrowUp";
    if (event.key === more) set(size + grow * 24);
    else if (event.key === less) set(size - grow * 24);
    else if (event.key === "Enter") set(size ? 0 : last);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return {
    element,
    set,
    get size() {
      return size;
    },
  };
}
