/** Draws a scene: containers, edges, stubs, boxes; by level of detail, only what lies in the window. */

import type { NodesPart } from "../core/document.ts";
import type { GraphMode } from "../core/panel.ts";
import type { Camera } from "../core/camera.ts";
import { Mark, mark, shown } from "../core/diff.ts";
import { GLYPHS } from "../core/glyphs.ts";
import { HEADER, LEAFING, type Scene } from "../core/scene.ts";
import type { SceneIndex } from "../core/hit.ts";
import { Detail, detail } from "../core/lod.ts";
import type { Palette } from "../core/palette.ts";
import type { Labels } from "./labels.ts";
import { Lines } from "./lines.ts";

/** What is lit, by box and by edge. */
export enum Lit {
  Chosen = 1,
  Blocker = 2,
  Near = 4,
  Found = 8,
  Rewrite = 16,
  Hover = 32,
}

export interface Picture {
  scene: Scene;
  index: SceneIndex;
  nodes: NodesPart;
  mode: GraphMode;
  lit: Uint8Array;
  /** By edge: 1 lit, 2 it stands in the way. */
  litEdges: Uint8Array;
  /** Does anything stand out? Then the rest steps back. */
  quiet: boolean;
  /** Where boxes are while they glide. */
  x: Float32Array;
  y: Float32Array;
  /** 0..1 of the glide. */
  glide: number;
}

const SIGN = 16;
const BAND = 23;
const NARROWER = 1.16;
const ROUND = 6;

export class Painter {
  #glyphs = GLYPHS.map((path) => new Path2D(path));
  /** Boxes of one colour as a chained list: no array is made while drawing. */
  #head = new Int32Array(64);
  #next = new Int32Array(0);
  #sorted = new Int32Array(0);

  private readonly lines: Lines;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    public palette: Palette,
    public labels: Labels,
  ) {
    this.lines = new Lines(context);
  }

  draw(picture: Picture, camera: Camera, ratio: number): void {
    const { context, palette } = this;
    const { scene, index } = picture;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = palette.sunken;
    context.fillRect(0, 0, camera.width, camera.height);
    const k = camera.k;
    context.setTransform(ratio * k, 0, 0, ratio * k, ratio * camera.x, ratio * camera.y);
    const [left, top] = camera.world(0, 0);
    const [right, bottom] = camera.world(camera.width, camera.height);
    const margin = picture.glide < 1 ? 400 : 24;
    index.boxes.query(left - margin, top - margin, right + margin, bottom + margin);
    const found = index.boxes.found;
    if (this.#sorted.length < scene.count) this.#sorted = new Int32Array(scene.count);
    const visible = this.#sorted.subarray(0, found);
    visible.set(index.boxes.hits.subarray(0, found));
    const level = detail(k);
    // Containers stand before what is in them; a few boxes are put in order, many are flat already.
    if (level !== Detail.Block || found < 4000) visible.sort();
    this.#containers(picture, visible, k);
    context.globalAlpha = picture.glide < 1 ? picture.glide : 1;
    this.lines.edges(picture, palette, left, top, right, bottom, k);
    if (level !== Detail.Block) this.lines.stubs(picture, palette, k);
    context.globalAlpha = 1;
    if (level === Detail.Block) this.#blocks(picture, visible, k);
    else this.#cards(picture, visible, k, level);
    this.#outlines(picture, visible, k);
    this.#overLabels(picture, visible, camera, ratio, level);
  }

  #rect(x: number, y: number, w: number, h: number, r: number): void {
    this.context.roundRect(x - w / 2, y - h / 2, w, h, r);
  }

  #containers(picture: Picture, visible: Int32Array, k: number): void {
    const { context, palette } = this;
    const { scene } = picture;
    for (const i of visible) {
      if (!scene.open[i] || !shown(scene.status[i] as number, picture.mode)) continue;
      const x = picture.x[i] as number;
      const y = picture.y[i] as number;
      const w = scene.w[i] as number;
      const h = scene.h[i] as number;
      context.beginPath();
      this.#rect(x, y, w, h, ROUND + 2);
      context.fillStyle = (scene.depth[i] as number) % 2 ? palette.sunken : palette.ground;
      context.fill();
      this.#border(scene.status[i] as number, palette["line-strong"], picture, i, k);
      if (k * HEADER < 9) continue;
      context.fillStyle = palette.soft;
      context.font = this.labels.bold;
      context.textBaseline = "middle";
      context.textAlign = "left";
      const top = y - h / 2 + HEADER / 2 + 1;
      const alike = this.labels.alike(i);
      const times = this.labels.times(i);
      const taken = (alike > 1 ? LEAFING : 10) + (times ? this.labels.width(times, this.labels.small) + 20 : 0);
      const text = this.labels.title(i, w - 26 - taken);
      this.#chevron(x - w / 2 + 14, top, true);
      context.fillText(text, x - w / 2 + 26, top);
      if (times) this.#badge(times, x - w / 2 + 26 + this.labels.width(text, this.labels.bold) + 8, top);
      if (alike > 1) this.#leaf(x + w / 2, top, i);
    }
  }

  /** "‹ 3 of 32 ›" at the right of an open container's header. */
  which: (box: number) => number = () => 0;
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

  /** Far away: blocks of colour, one run a colour. */
  #blocks(picture: Picture, visible: Int32Array, k: number): void {
    const { context, palette } = this;
    const { scene, nodes } = picture;
    if (this.#next.length < scene.count) this.#next = new Int32Array(scene.count);
    const grey = scene.differs && picture.mode === "both";
    const colours = 24;
    this.#head.fill(-1, 0, colours);
    for (const i of visible) {
      const status = scene.status[i] as number;
      if (scene.open[i] || !shown(status, picture.mode)) continue;
      const member = scene.member[i] as number;
      const sort = mark(status);
      const unit = member >= 0 ? (nodes.unit[member] as number) : 8;
      const colour = sort !== Mark.Same ? 16 + sort : grey || picture.quiet ? (unit === 8 ? 10 : 9) : unit;
      this.#next[i] = this.#head[colour] as number;
      this.#head[colour] = i;
    }
    const least = 1 / k;
    for (let colour = 0; colour < colours; colour++) {
      let i = this.#head[colour] as number;
      if (i < 0) continue;
      context.fillStyle =
        colour < 8
          ? (palette.units[colour] as string)
          : colour === 8
            ? palette.chosen
            : colour < 16
              ? palette.line
              : (["", palette.removed, palette.added, palette.changed][colour - 16] as string);
      for (; i >= 0; i = this.#next[i] as number) {
        const w = Math.max(scene.w[i] as number, least);
        const h = Math.max(scene.h[i] as number, least);
        context.fillRect((picture.x[i] as number) - w / 2, (picture.y[i] as number) - h / 2, w, h);
      }
    }
  }

  #cards(picture: Picture, visible: Int32Array, k: number, level: Detail): void {
    const { context, palette, labels } = this;
    const { scene, nodes } = picture;
    const grey = scene.differs && picture.mode === "both";
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const i of visible) {
      const status = scene.status[i] as number;
      if (scene.open[i] || !shown(status, picture.mode)) continue;
      const member = scene.member[i] as number;
      const container = member < 0;
      const sort = mark(status);
      const lit = picture.lit[i] as number;
      const back = (grey && sort === Mark.Same && !lit) || (picture.quiet && !lit);
      const x = picture.x[i] as number;
      const y = picture.y[i] as number;
      const w = scene.w[i] as number;
      const h = scene.h[i] as number;
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
      this.#rect(x, y, w, h, ROUND);
      context.fillStyle = sort === Mark.Removed ? palette["removed-tint"] : sort === Mark.Added ? palette["added-tint"] : container ? palette.raised : palette.surface;
      context.fill();
      this.#border(status, container ? palette["line-strong"] : back ? palette.line : palette["line-strong"], picture, i, k);
      this.#words(picture, i, container ? -1 : (nodes.unit[member] as number), back, level);
    }
  }

  /** Operator or label beside its sign; under it type and number, nearer. */
  #words(picture: Picture, i: number, unit: number, back: boolean, level: Detail): void {
    const { context, palette, labels } = this;
    const { scene } = picture;
    const w = scene.w[i] as number;
    const h = scene.h[i] as number;
    const left = (picture.x[i] as number) - w / 2;
    const top = (picture.y[i] as number) - h / 2;
    const three = level === Detail.All && h >= 50;
    const band = three ? BAND : h;
    const line = top + band / 2 + 0.5;
    if (unit >= 0) {
      context.fillStyle = back ? palette.sunken : (palette.unitTints[unit] as string);
      context.beginPath();
      context.roundRect(left + 0.5, top + 0.5, w - 1, band - 0.5, three ? [ROUND - 1, ROUND - 1, 0, 0] : ROUND - 1);
      context.fill();
      context.globalAlpha = back ? 0.45 : 1;
      context.fillStyle = palette.units[unit] as string;
      context.beginPath();
      context.roundRect(left + 5, line - 8, SIGN, SIGN, 3.5);
      context.fill();
      context.save();
      context.translate(left + 6.5, line - 6.5);
      context.scale(13 / 16, 13 / 16);
      context.lineWidth = 1.8;
      context.strokeStyle = palette.onUnits[unit] as string;
      context.stroke(this.#glyphs[unit] as Path2D);
      context.restore();
      context.globalAlpha = 1;
    } else this.#chevron(left + 11, line, false);
    const times = unit < 0 ? labels.times(i) : "";
    const badge = times ? labels.width(times, labels.small) + 16 : 0;
    const from = unit < 0 ? 19 : 25;
    context.fillStyle = back ? palette.muted : palette.ink;
    context.font = labels.bold;
    // A label that is a little too long for its box is drawn narrower; only what is much too long is cut.
    const room = w - from - (badge ? badge + 5 : 6);
    context.fillText(labels.title(i, room * NARROWER), left + from, line, room);
    if (times) this.#badge(times, left + w - badge, line);
    if (!three) return;
    context.fillStyle = back ? palette.muted : palette.soft;
    context.font = labels.plain;
    context.fillText(labels.detail(i, (w - 14) * NARROWER), left + 8, top + BAND + 10, w - 14);
    const number = unit >= 0 ? labels.number(i) : "";
    if (!number) return;
    context.fillStyle = palette.muted;
    context.fillText(number, left + 8, top + BAND + 25);
  }

  /** The line around a box: by what happened to it, in colour and shape. */
  #border(status: number, plain: string, picture: Picture, i: number, k: number): void {
    const { context, palette } = this;
    const { scene } = picture;
    const x = picture.x[i] as number;
    const y = picture.y[i] as number;
    const w = scene.w[i] as number;
    const h = scene.h[i] as number;
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
        this.#rect(x, y, w + 7, h + 7, ROUND + 3);
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

  /** What is lit, above all else; as wide on the screen at any zoom. */
  #outlines(picture: Picture, visible: Int32Array, k: number): void {
    const { context, palette } = this;
    const { scene, lit } = picture;
    for (const i of visible) {
      const flags = lit[i] as number;
      if (!flags || !shown(scene.status[i] as number, picture.mode)) continue;
      const x = picture.x[i] as number;
      const y = picture.y[i] as number;
      const w = scene.w[i] as number;
      const h = scene.h[i] as number;
      const ring = (gap: number, width: number, colour: string, dash: number): void => {
        context.beginPath();
        this.#rect(x, y, w + 2 * gap, h + 2 * gap, ROUND + gap);
        context.lineWidth = Math.max(width, (width * 0.75) / k);
        context.strokeStyle = colour;
        context.setLineDash(dash ? [dash / Math.min(1, k), (dash * 0.8) / Math.min(1, k)] : []);
        context.stroke();
        context.setLineDash([]);
      };
      if (flags & Lit.Near && !(flags & Lit.Blocker)) ring(3, 1.6, palette.near, 3);
      if (flags & Lit.Found) ring(3, 2.2, palette.accent, 0);
      if (flags & Lit.Rewrite && mark(scene.status[i] as number) === Mark.Same) ring(2, 1.6, palette.changed, 0);
      if (flags & Lit.Blocker) {
        ring(3, 3, palette.near, 0);
        ring(8, 1.5, palette.near, 0);
      }
      if (flags & Lit.Chosen) ring(3.5, 3, palette.focus, 0);
      else if (flags & Lit.Hover) ring(2, 1.5, palette.muted, 0);
    }
  }

  /** Far away, names of containers and types of larger blocks stay readable: as large as on paper, where they have room. */
  #overLabels(picture: Picture, visible: Int32Array, camera: Camera, ratio: number, level: Detail): void {
    if (level !== Detail.Block) return;
    const { context, palette, labels } = this;
    const { scene } = picture;
    const { k } = camera;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = labels.small;
    context.textBaseline = "middle";
    context.textAlign = "left";
    let drawn = 0;
    for (const i of visible) {
      if ((scene.member[i] as number) >= 0 || drawn > 200) continue;
      if (!shown(scene.status[i] as number, picture.mode)) continue;
      const w = (scene.w[i] as number) * k;
      const h = (scene.h[i] as number) * k;
      if (w < 44 || h < 13 || (scene.open[i] && HEADER * k >= 9)) continue;
      const x = (picture.x[i] as number) * k + camera.x - w / 2;
      const top = (picture.y[i] as number) * k + camera.y - h / 2;
      const times = labels.times(i);
      const name = labels.full(i);
      const text = labels.cut(times ? `${name} ${times}` : name, labels.small, w - 8);
      if (!text) continue;
      drawn++;
      const width = labels.width(text, labels.small) + 8;
      const y = scene.open[i] ? top - 1 : top + h / 2;
      context.fillStyle = palette.surface;
      context.globalAlpha = 0.86;
      context.fillRect(x + 2, y - 8, width, 16);
      context.globalAlpha = 1;
      context.fillStyle = mark(scene.status[i] as number) === Mark.Changed ? palette.changed : palette.soft;
      context.fillText(text, x + 6, y);
    }
  }
}
