/** The pipes of a core one below the other: a box an instruction, where it could run at the earliest; the present one lit. */

import type { Palette } from "../core/palette.ts";
import { mixed } from "./colour.ts";
import { listen } from "./gestures.ts";
import type { Stepped } from "./replay.ts";
import { PIPES, slotsOf, wordsOf, type Slots } from "./stepper_words.ts";
import { time } from "../core/units.ts";
import { fitted, Surface, type Drawing } from "./surface.ts";
import type { Tooltip } from "./tooltip.ts";

const ROW = 14; // px
const LEFT = 112;
const RIGHT = 68; // for how long each pipe is busy
const TOP = 4;
const FOOT = 16;

const UNITS: Record<string, "cube" | "vector" | "move"> = { cube: "cube", vector: "vector" };

export class Lanes {
  readonly surface: Surface;
  readonly #stop: () => void;
  #program: Stepped | null = null;
  #strings: readonly string[] = [];
  #slots: Slots = { pipes: [], lane: new Int32Array(), slot: new Int32Array(), slots: 0 };
  #step = -1;
  /** By pipe: how long the whole kernel keeps it busy by the cost model, µs; NaN where nobody knows. */
  #busy: (pipe: string) => number = () => NaN;

  constructor(
    private readonly tip: Tooltip,
    go: (step: number) => void,
  ) {
    this.surface = new Surface("Pipes", (drawing) => this.#picture(drawing), (drawing) => this.#marks(drawing));
    this.surface.canvas.tabIndex = -1; // the slider and the arrow keys do the same
    this.#stop = listen(this.surface.canvas, {
      hover: (x, y) => this.#hover(x, y),
      leave: () => this.tip.hide(),
      click: (x, y) => {
        const step = this.#at(x, y);
        if (step >= 0) go(step);
      },
    });
  }

  set(program: Stepped, strings: readonly string[], busy: (pipe: string) => number): void {
    this.#busy = busy;
    this.#program = program;
    this.#strings = strings;
    this.#slots = slotsOf(program, strings);
    const { pipes, slots, slot } = this.#slots;
    this.surface.element.style.flex = `0 0 ${TOP + pipes.length * ROW + FOOT}px`;
    this.surface.describe(`${slot.length} instructions on ${pipes.length} pipes: at least ${slots} one after the other, the others at the same time. Not to scale of time: the cost model prices the whole work of a pipe, which stands at its right, and no single instruction. The list beside says what each does.`);
    this.surface.redraw();
  }

  go(step: number): void {
    this.#step = step;
    this.surface.remark();
  }

  destroy(): void {
    this.#stop();
    this.surface.destroy();
  }

  #box(step: number): [x: number, y: number, w: number, h: number] {
    const w = Math.min(16, (this.surface.width - LEFT - RIGHT) / Math.max(1, this.#slots.slots));
    return [LEFT + this.#slots.slot[step] * w, TOP + this.#slots.lane[step] * ROW, w, ROW - 2];
  }

  #at(x: number, y: number): number {
    return this.#slots.slot.findIndex((_, step) => {
      const [left, top, w, h] = this.#box(step);
      return x >= left && x < left + w && y >= top && y < top + h + 2;
    });
  }

  #hover(x: number, y: number): void {
    const step = this.#at(x, y);
    this.surface.canvas.style.cursor = step >= 0 ? "pointer" : "default";
    if (step < 0 || !this.#program) return this.tip.hide();
    const where = this.#strings[this.#program.steps.where[step]];
    this.tip.show(x, y + this.surface.element.offsetTop, `instruction ${step + 1}`, where ? [["at", where]] : [], wordsOf(this.#program, this.#strings, step));
  }

  #picture({ context: c, palette: p, width }: Drawing): void {
    const { pipes, slot, slots } = this.#slots;
    pipes.forEach((pipe, row) => {
      const name = PIPES[this.#strings[pipe]] ?? this.#strings[pipe];
      c.fillStyle = p.soft;
      c.textAlign = "right";
      c.fillText(fitted(c, name, LEFT - 12), LEFT - 6, TOP + row * ROW + ROW / 2 - 1);
      c.fillStyle = p.sunken;
      c.fillRect(LEFT, TOP + row * ROW, width - LEFT - RIGHT, ROW - 2);
      c.fillStyle = p.soft;
      const busy = this.#busy(this.#strings[pipe]);
      if (busy > 0) c.fillText(time(busy), width - 8, TOP + row * ROW + ROW / 2 - 1);
    });
    for (let step = 0; step < slot.length; step++) this.#draw(c, p, step);
    c.fillStyle = p.muted;
    c.textAlign = "left";
    const note = `${slots} turns, not to scale of time: only a pipe’s whole work has a price (right)`;
    c.fillText(fitted(c, note, width - LEFT - 8), LEFT, TOP + pipes.length * ROW + 7);
  }

  #draw(c: CanvasRenderingContext2D, p: Palette, step: number): void {
    const [x, y, w, h] = this.#box(step);
    const unit = UNITS[this.#strings[this.#slots.pipes[this.#slots.lane[step]]]] ?? "move";
    c.fillStyle = mixed(p[unit], p.surface, 0.1);
    c.fillRect(x, y, Math.max(0.6, w - (w > 3 ? 1 : 0)), h);
  }

  #marks({ context: c, palette: p }: Drawing): void {
    if (this.#step < 0 || this.#step >= this.#slots.slot.length) return;
    const [x, y, w, h] = this.#box(this.#step);
    for (const [colour, width] of [[p.surface, 4], [p.ink, 2]] as const) {
      c.strokeStyle = colour;
      c.lineWidth = width;
      c.strokeRect(x - 1, y - 1, Math.max(4, w + 1), h + 2);
    }
  }
}
