/** Mouse and keys on a canvas: wheel zooms, drag pans, + - 0 and Shift with arrows do the same; arrows go from one thing to the next, a click or Enter chooses. */

export interface Gestures {
  /** `factor` below 1 comes nearer; `x`, `y` in px of the canvas. */
  zoom?(x: number, y: number, factor: number, vertical: boolean): void;
  pan?(dx: number, dy: number): void;
  fit?(): void;
  hover?(x: number, y: number): void;
  leave?(): void;
  click?(x: number, y: number): void;
  /** An arrow: to the next thing that way. Without it arrows pan. */
  step?(dx: -1 | 0 | 1, dy: -1 | 0 | 1): void;
  /** Chooses what the last step went to. */
  enter?(): void;
}

const STEP = 60; // px an arrow key
const SLACK = 4; // px that a click may move

/** Returns the way to stop. */
export function listen(canvas: HTMLCanvasElement, to: Gestures): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  let from: { x: number; y: number; moved: boolean } | null = null;
  const at = (event: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = { x: event.clientX, y: event.clientY, moved: false };
  }, { signal });
  canvas.addEventListener("pointermove", (event) => {
    if (from && to.pan && event.buttons & 1) {
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
      if (!from.moved && Math.abs(dx) + Math.abs(dy) <= SLACK) return;
      if (!from.moved) canvas.setPointerCapture(event.pointerId);
      from = { x: event.clientX, y: event.clientY, moved: true };
      to.leave?.();
      to.pan(dx, dy);
    } else to.hover?.(...at(event));
  }, { signal });
  canvas.addEventListener("pointerup", (event) => {
    if (from && !from.moved) to.click?.(...at(event));
    from = null;
  }, { signal });
  canvas.addEventListener("pointercancel", () => (from = null), { signal });
  canvas.addEventListener("pointerleave", () => to.leave?.(), { signal });
  canvas.addEventListener("blur", () => to.leave?.(), { signal });
  canvas.addEventListener("dblclick", () => to.fit?.(), { signal });
  canvas.addEventListener("wheel", (event) => {
    if (!to.zoom || !(event.ctrlKey || event.metaKey || canvas.matches(":focus") || !scrolls(canvas))) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) <= Math.abs(event.deltaY)) {
      const delta = event.deltaY || event.deltaX;
      to.zoom(...at(event), Math.exp(Math.max(-200, Math.min(200, delta * (event.deltaMode ? 20 : 1))) / 400), event.shiftKey);
    } else to.pan?.(-event.deltaX, 0);
  }, { signal, passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle: [number, number] = [canvas.clientWidth / 2, canvas.clientHeight / 2];
    const arrow = (dx: -1 | 0 | 1, dy: -1 | 0 | 1): (() => void) | undefined => {
      if (to.step && !event.shiftKey) return () => to.step?.(dx, dy);
      return to.pan && (() => to.pan?.(-dx * STEP, -dy * STEP));
    };
    const keys: Record<string, (() => void) | undefined> = {
      ArrowLeft: arrow(-1, 0),
      ArrowRight: arrow(1, 0),
      ArrowUp: arrow(0, -1),
      ArrowDown: arrow(0, 1),
      Enter: to.enter && (() => to.enter?.()),
      "+": to.zoom && (() => to.zoom?.(...middle, 0.7, event.shiftKey && event.key !== "+")),
      "=": to.zoom && (() => to.zoom?.(...middle, 0.7, false)),
      "-": to.zoom && (() => to.zoom?.(...middle, 1 / 0.7, false)),
      "0": to.fit && (() => to.fit?.()),
    };
    if (event.key === "Escape") to.leave?.(); // and on to whoever holds the cursor
    const act = keys[event.key];
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  }, { signal });
  return () => stop.abort();
}

/** Does something around the element scroll? Then the wheel belongs to that until the picture has the focus. */
function scrolls(element: Element): boolean {
  for (let around = element.parentElement; around; around = around.parentElement) {
    if (around.scrollHeight <= around.clientHeight + 1) continue;
    const flow = getComputedStyle(around).overflowY;
    if (flow === "auto" || flow === "scroll" || around === document.scrollingElement) return flow !== "hidden";
  }
  return false;
}
