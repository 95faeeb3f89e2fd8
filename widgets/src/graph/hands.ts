/** Pointer, wheel and keys of the canvas. */

import type { GraphView } from "./view.ts";

/** px that a pointer may move and still press. */
const SLOP = 4;
/** ms between two presses of one place that count as one. */
const DOUBLE = 350;

export class Hands {
  constructor(view: GraphView, embedded: boolean) {
    const { canvas, camera } = view;
    const pointers = new Map<number, { x: number; y: number }>();
    let moved = 0;
    let last = { time: -Infinity, x: 0, y: 0 };
    const at = (event: MouseEvent): [number, number] => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button > 1) return;
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      moved = 0;
      view.leave();
    });
    canvas.addEventListener("pointermove", (event) => {
      const held = pointers.get(event.pointerId);
      if (!held) return view.hover(...at(event));
      const dx = event.clientX - held.x;
      const dy = event.clientY - held.y;
      if (pointers.size === 2) {
        const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1] as { x: number; y: number };
        const before = Math.hypot(held.x - other.x, held.y - other.y);
        const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
        const box = canvas.getBoundingClientRect();
        if (before > 4) camera.zoom(after / before, (event.clientX + other.x) / 2 - box.left, (event.clientY + other.y) / 2 - box.top);
      }
      moved += Math.abs(dx) + Math.abs(dy);
      held.x = event.clientX;
      held.y = event.clientY;
      if (moved < SLOP) return;
      if (pointers.size === 1) camera.pan(dx, dy);
      canvas.style.cursor = "grabbing";
      view.draw();
    });
    const up = (event: PointerEvent): void => {
      if (!pointers.delete(event.pointerId) || event.type === "pointercancel") return;
      canvas.style.cursor = "grab";
      if (moved >= SLOP) return;
      const near = Math.hypot(event.clientX - last.x, event.clientY - last.y) < 2 * SLOP;
      const double = near && event.timeStamp - last.time < DOUBLE;
      last = { time: double ? -Infinity : event.timeStamp, x: event.clientX, y: event.clientY };
      view.press(...at(event), double);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => view.leave());
    canvas.addEventListener(
      "wheel",
      (event) => {
        const pinch = event.ctrlKey || event.metaKey;
        // In a notebook the page scrolls, until the graph has been taken in hand.
        if (embedded && !pinch && !canvas.matches(":focus")) return;
        event.preventDefault();
        const step = event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 300 : 1;
        if (event.shiftKey && !pinch) camera.pan(-(event.deltaX || event.deltaY) * step, 0);
        else camera.zoom(Math.exp(-event.deltaY * step * (pinch ? 0.008 : 0.0016)), ...at(event));
        view.leave();
        view.draw();
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const done = key(view, event.key);
      if (!done) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }
}

function key(view: GraphView, name: string): boolean {
  const step = 90;
  switch (name) {
    case "Enter":
      view.enter();
      return true;
    case "+":
    case "=":
      view.zoom(1.35);
      return true;
    case "-":
      view.zoom(1 / 1.35);
      return true;
    case "0":
      view.fit();
      return true;
    case "j":
      view.walk(true);
      return true;
    case "k":
      view.walk(false);
      return true;
    case "w":
    case "s":
    case "a":
    case "d":
      view.camera.pan(name === "a" ? step : name === "d" ? -step : 0, name === "w" ? step : name === "s" ? -step : 0);
      view.draw();
      return true;
  }
  return false;
}
