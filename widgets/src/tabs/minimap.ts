/** The whole length of an axis in a strip, and the window that is in view: drag it, drag its ends, or click elsewhere. */

import type { Palette } from "../core/palette.ts";
import type { Range } from "./scale.ts";
import { linear } from "./scale.ts";
import { Surface, type Drawing } from "./surface.ts";

type Grip = "low" | "high" | "all";

/** What a point of the strip takes hold of. */
export function gripAt(x: number, low: number, high: number, reach = 6): Grip {
  if (Math.abs(x - low) <= reach && Math.abs(x - low) <= Math.abs(x - high)) return "low";
  return Math.abs(x - high) <= reach ? "high" : "all";
}

/** The window after a grip has been moved to a value; it stays inside the whole and no shorter than `least`. */
export function dragged(view: Range, grip: Grip, to: number, offset: number, whole: Range, least: number): Range {
  if (grip === "low") return { low: Math.max(whole.low, Math.min(to, view.high - least)), high: view.high };
  if (grip === "high") return { low: view.low, high: Math.min(whole.high, Math.max(to, view.low + least)) };
  const size = view.high - view.low;
  const low = Math.max(whole.low, Math.min(to - offset, whole.high - size));
  return { low, high: low + size };
}

export class Minimap {
  readonly surface: Surface;
  readonly #stop = new AbortController();
  #view: Range = { low: 0, high: 1 };
  #whole: Range = { low: 0, high: 1 };

  /** `inset` is where the plot above begins and how far from the right it ends, so that both stand on one axis. */
  constructor(
    private readonly inset: { left: number; right: number },
    private readonly least: number,
    private readonly curve: (columns: number) => ArrayLike<number>,
    private readonly moved: (view: Range) => void,
  ) {
    this.surface = new Surface("Overview; drag to move the view", (drawing) => this.#picture(drawing), (drawing) => this.#marks(drawing));
    this.surface.element.classList.add("gxt-minimap");
    this.#listen();
  }

  set(view: Range, whole: Range, afresh: boolean): void {
    this.#view = view;
    this.#whole = whole;
    if (afresh) this.surface.redraw();
    else this.surface.remark();
  }

  destroy(): void {
    this.#stop.abort();
    this.surface.destroy();
  }

  #scale(): ReturnType<typeof linear> {
    return linear(this.#whole, this.inset.left, this.surface.width - this.inset.right);
  }

  #picture({ context: c, width, height, palette: p }: Drawing): void {
    const columns = Math.max(1, Math.round(width - this.inset.left - this.inset.right));
    const values = this.curve(columns);
    let most = 0;
    for (let i = 0; i < values.length; i++) most = Math.max(most, values[i]);
    c.fillStyle = p.sunken;
    c.fillRect(this.inset.left, 0, columns, height);
    c.fillStyle = p["line-strong"];
    for (let i = 0; most && i < columns; i++) {
      const tall = (values[i] / most) * (height - 3);
      c.fillRect(this.inset.left + i, height - tall, 1, tall);
    }
  }

  #marks({ context: c, width, height, palette: p }: Drawing): void {
    const scale = this.#scale();
    const [low, high] = [scale.to(this.#view.low), scale.to(this.#view.high)];
    c.globalAlpha = 0.65;
    c.fillStyle = p.ground;
    c.fillRect(this.inset.left, 0, low - this.inset.left, height);
    c.fillRect(high, 0, width - this.inset.right - high, height);
    c.globalAlpha = 1;
    frame(c, p, low, high, height);
  }

  #listen(): void {
    const { canvas } = this.surface;
    const { signal } = this.#stop;
    let held: { grip: Grip; offset: number } | null = null;
    const at = (event: PointerEvent): number => event.clientX - canvas.getBoundingClientRect().left;
    const ends = (): [number, number] => [this.#scale().to(this.#view.low), this.#scale().to(this.#view.high)];
    canvas.addEventListener("pointerdown", (event) => {
      const x = at(event);
      const [low, high] = ends();
      const value = this.#scale().from(x);
      const outside = x < low - 6 || x > high + 6;
      held = { grip: outside ? "all" : gripAt(x, low, high), offset: outside ? (this.#view.high - this.#view.low) / 2 : value - this.#view.low };
      canvas.setPointerCapture(event.pointerId);
      if (outside) this.moved(dragged(this.#view, "all", value, held.offset, this.#whole, this.least));
    }, { signal });
    canvas.addEventListener("pointermove", (event) => {
      if (held) this.moved(dragged(this.#view, held.grip, this.#scale().from(at(event)), held.offset, this.#whole, this.least));
      else canvas.style.cursor = gripAt(at(event), ...ends()) === "all" ? "grab" : "ew-resize";
    }, { signal });
    canvas.addEventListener("pointerup", () => (held = null), { signal });
    canvas.addEventListener("pointercancel", () => (held = null), { signal });
    canvas.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -0.1, ArrowRight: 0.1 }[event.key];
      if (by === undefined) return;
      const size = this.#view.high - this.#view.low;
      this.moved(dragged(this.#view, "all", this.#view.low + by * size, 0, this.#whole, this.least));
      event.preventDefault();
      event.stopPropagation();
    }, { signal });
  }
}

function frame(c: CanvasRenderingContext2D, p: Palette, low: number, high: number, height: number): void {
  c.strokeStyle = p.accent;
  c.lineWidth = 1;
  c.strokeRect(low + 0.5, 0.5, Math.max(1, high - low - 1), height - 1);
  c.fillStyle = p.accent;
  for (const x of [low, high]) c.fillRect(x - 1.5, height / 2 - 6, 3, 12);
}
