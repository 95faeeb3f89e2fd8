/** Boxes near enough to be read: cards of nodes, closed and open containers, inputs and outputs. */

import { UNKNOWN } from "../core/bodies.ts";
import { INNER, Mark, mark, shown } from "../core/diff.ts";
import { Unit } from "../core/document.ts";
import { GLYPHS, OUTPUT_GLYPH } from "../core/glyphs.ts";
import { Detail } from "../core/lod.ts";
import type { Palette } from "../core/palette.ts";
import { HEADER, LEAFING, type Scene } from "../core/scene.ts";
import type { Labels } from "./labels.ts";
import type { Picture } from "./paint.ts";

const SIGN = 16;
const BAND = 23;
const NARROWER = 1.16;
const ROUND = 6;

/** How round a box is, or a line so far around it: an input is round above, where nothing comes in, an output below. */
export function corner(scene: Scene, box: number, gap = 0): number | number[] {
  if (scene.end[box] < 0) return ROUND + gap;
  const [round, sharp] = [scene.h[box] / 2 + gap, 3 + gap];
  return scene.result[box] ? [sharp, sharp, round, round] : [round, round, sharp, sharp];
}

export class Cards {
  #glyphs = [...GLYPHS, OUTPUT_GLYPH].map((path) => new Path2D(path));
  palette!: Palette;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly labels: Labels,
    /** Which of those that are alike an open container shows. */
    private readonly which: (box: number) => number,
  ) {}

  #rect(x: number, y: number, w: number, h: number, r: number | number[]): void {
    this.context.roundRect(x - w / 2, y - h / 2, w, h, r);
  }

  containers(picture: Picture, visible: Int32Array, k: number): void {
    const { context, palette } = this;
    const { scene } = picture;
    for (const i of visible) {
      if (!scene.open[i] || !shown(scene.status[i], picture.mode)) continue;
      const x = picture.x[i];
      const y = picture.y[i];
      const w = scene.w[i];
      const h = scene.h[i];
      context.beginPath();
      this.#rect(x, y, w, h, ROUND + 2);
      context.fillStyle = scene.depth[i] % 2 ? palette.sunken : palette.ground;
      context.fill();
      this.#border(scene.status[i], palette["line-strong"], picture, i, k);
      if (k * HEADER < 9) continue;
      context.textBaseline = "middle";
      context.textAlign = "left";
      const top = y - h / 2 + HEADER / 2 + 1;
      const alike = this.labels.alike(i);
      const times = this.labels.times(i);
      const taken = (alike > 1 ? LEAFING : 10) + (times ? this.labels.width(times, this.labels.small) + 20 : 0);
      const member = scene.member[i];
      const from = x - w / 2 + (member >= 0 ? 47 : 26);
      const text = this.labels.title(i, x + w / 2 - from - taken);
      this.#chevron(x - w / 2 + 14, top, true);
      if (member >= 0) this.#sign(picture.nodes.unit[member], x - w / 2 + 26, top);
      context.fillStyle = palette.soft;
      context.font = this.labels.bold;
      context.fillText(text, from, top);
      if (times) this.#badge(times, from + this.labels.width(text, this.labels.bold) + 8, top);
      if (alike > 1) this.#leaf(x + w / 2, top, i);
    }
  }

  /** "‹ 3 of 32 ›" at the right of an open container's header. */
  #leaf(right: number, y: number, box: number): void {
    const { context, palette } = this;
    context.font = this.labels.plain;
    context.fillStyle = palette.muted;
    context.textAlign = "center";
    context.fillText(`${this.which(box) + 1} of ${this.labels.alike(box)}`, right - 60, y);
    context.fillStyle = palette.accent;
    context.font = `600 15px ${palette.font}`;
    context.fillText("‹", right - 104, y - 1);
    context.fillText("›", right - 16, y - 1);
    context.textAlign = "left";
  }

  #badge(text: string, x: number, y: number): number {
    const { context, palette } = this;
    const width = this.labels.width(text, this.labels.small) + 12;
    context.beginPath();
    context.roundRect(x, y - 9, width, 18, 9);
    context.fillStyle = palette.chosen;
    context.fill();
    context.fillStyle = palette.accent;
    context.font = this.labels.small;
    context.fillText(text, x + 6, y + 0.5);
    return x + width;
  }

  #chevron(x: number, y: number, open: boolean): void {
    const { context } = this;
    context.beginPath();
    if (open) {
      context.moveTo(x - 4, y - 2);
      context.lineTo(x, y + 2.5);
      context.lineTo(x + 4, y - 2);
    } else {
      context.moveTo(x - 2, y - 4);
      context.lineTo(x + 2.5, y);
      context.lineTo(x - 2, y + 4);
    }
    context.lineWidth = 1.6;
    context.strokeStyle = this.palette.muted;
    context.stroke();
  }

  /** The sign of a unit, its left end at x. */
  #sign(unit: number, x: number, y: number, glyph = unit): void {
    const { context, palette } = this;
    context.fillStyle = palette.units[unit];
    context.beginPath();
    context.roundRect(x, y - 8, SIGN, SIGN, 3.5);
    context.fill();
    context.save();
    context.translate(x + 1.5, y - 6.5);
    context.scale(13 / 16, 13 / 16);
    context.lineWidth = 1.8;
    context.strokeStyle = palette.onUnits[unit];
    context.stroke(this.#glyphs[glyph]);
    context.restore();
  }

  draw(picture: Picture, visible: Int32Array, k: number, level: Detail): void {
    const { context, palette, labels } = this;
    const { scene, nodes } = picture;
    const grey = scene.differs && picture.mode === "both";
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const i of visible) {
      const status = scene.status[i];
      if (scene.open[i] || !shown(status, picture.mode)) continue;
      const member = scene.member[i];
      const container = member < 0;
      const sort = mark(status);
      const lit = picture.lit[i];
      const inner = (status & INNER) !== 0;
      const back = (grey && sort === Mark.Same && !lit && !inner) || (picture.quiet && !lit);
      const x = picture.x[i];
      const y = picture.y[i];
      const w = scene.w[i];
      const h = scene.h[i];
      if (container && labels.times(i)) {
        // What stands for many lies on a pile.
        for (const off of [6, 3]) {
          context.beginPath();
          this.#rect(x + off, y + off, w, h, ROUND);
          context.fillStyle = palette.surface;
          context.fill();
          context.lineWidth = 1;
          context.strokeStyle = palette["line-strong"];
          context.stroke();
        }
      }
      context.beginPath();
      this.#rect(x, y, w, h, corner(scene, i));
      context.fillStyle = sort === Mark.Removed ? palette["removed-tint"] : sort === Mark.Added ? palette["added-tint"] : container ? palette.raised : palette.surface;
      context.fill();
      this.#border(status, container ? palette["line-strong"] : back ? palette.line : palette["line-strong"], picture, i, k);
      if (scene.end[i] >= 0) this.#endWords(picture, i, back, level);
      else this.#words(picture, i, container ? -1 : nodes.unit[member], back, level);
    }
  }

  /** Operator or label beside its sign; under it type and number, nearer. */
  #words(picture: Picture, i: number, unit: number, back: boolean, level: Detail): void {
    const { context, palette, labels } = this;
    const { scene } = picture;
    const w = scene.w[i];
    const h = scene.h[i];
    const left = picture.x[i] - w / 2;
    const top = picture.y[i] - h / 2;
    const three = level === Detail.All && h >= 50;
    const band = three ? BAND : h;
    const line = top + band / 2 + 0.5;
    const opens = unit >= 0 && scene.path[i] !== "";
    if (unit >= 0) {
      context.fillStyle = back ? palette.sunken : palette.unitTints[unit];
      context.beginPath();
      context.roundRect(left + 0.5, top + 0.5, w - 1, band - 0.5, three ? [ROUND - 1, ROUND - 1, 0, 0] : ROUND - 1);
      context.fill();
      context.globalAlpha = back ? 0.45 : 1;
      this.#sign(unit, left + 5, line);
      context.globalAlpha = 1;
      if (opens) this.#chevron(left + w - 10, line, false);
    } else if (scene.member[i] > UNKNOWN) this.#chevron(left + 11, line, false);
    const times = unit < 0 ? labels.times(i) : "";
    const badge = times ? labels.width(times, labels.small) + 16 : 0;
    const from = unit < 0 ? 19 : 25;
    context.fillStyle = back ? palette.muted : palette.ink;
    context.font = labels.bold;
    // A label that is a little too long for its box is drawn narrower; only what is much too long is cut.
    const room = w - from - (badge ? badge + 5 : opens ? 18 : 6);
    context.fillText(labels.title(i, room * NARROWER), left + from, line, room);
    if (times) this.#badge(times, left + w - badge, line);
    if (!three) return;
    context.fillStyle = back ? palette.muted : palette.soft;
    context.font = labels.plain;
    const number = unit >= 0 ? labels.number(i) : "";
    // Alone it stands in the middle of what is left, as if there were no third line.
    context.fillText(labels.detail(i, (w - 14) * NARROWER), left + 8, number ? top + BAND + 10 : top + (BAND + h) / 2, w - 14);
    if (!number) return;
    context.fillStyle = palette.muted;
    context.fillText(number, left + 8, top + BAND + 25);
  }

  /** The line around a box: by what happened to it, in colour and shape. */
  #border(status: number, plain: string, picture: Picture, i: number, k: number): void {
    const { context, palette } = this;
    const { scene } = picture;
    const x = picture.x[i];
    const y = picture.y[i];
    const w = scene.w[i];
    const h = scene.h[i];
    switch (mark(status)) {
      case Mark.Removed:
        context.setLineDash([6, 4]);
        context.lineWidth = Math.max(1.8, 1.2 / k);
        context.strokeStyle = palette.removed;
        context.stroke();
        context.setLineDash([]);
        break;
      case Mark.Added:
        context.lineWidth = Math.max(1.4, 1 / k);
        context.strokeStyle = palette.added;
        context.stroke();
        context.beginPath();
        this.#rect(x, y, w + 7, h + 7, corner(scene, i, 3.5));
        context.stroke();
        break;
      case Mark.Changed:
        context.lineWidth = 1.2;
        context.strokeStyle = palette.changed;
        context.stroke();
        context.fillStyle = palette.changed;
        context.beginPath();
        context.roundRect(x - w / 2 - 7, y - h / 2, 5, h, 2.5);
        context.fill();
        break;
      default:
        context.lineWidth = 1;
        context.strokeStyle = plain;
        context.stroke();
    }
  }

  /** An input or output of the graph: its sign, its name, under it its type. */
  #endWords(picture: Picture, i: number, back: boolean, level: Detail): void {
    const { context, palette, labels } = this;
    const { scene } = picture;
    const w = scene.w[i];
    const left = picture.x[i] - w / 2 + 12;
    const y = picture.y[i];
    const two = level === Detail.All;
    const line = two ? y - 7.5 : y;
    context.globalAlpha = back ? 0.45 : 1;
    this.#sign(Unit.Boundary, left, two ? y : line, Unit.Boundary + scene.result[i]);
    context.globalAlpha = 1;
    const room = w - 12 - 21 - 12;
    context.fillStyle = back ? palette.muted : palette.ink;
    context.font = labels.bold;
    context.fillText(labels.title(i, room * NARROWER), left + 21, line, room);
    if (!two) return;
    context.fillStyle = back ? palette.muted : palette.soft;
    context.font = labels.plain;
    context.fillText(labels.detail(i, room * NARROWER), left + 21, y + 8.5, room);
  }
}
