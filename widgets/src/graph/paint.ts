/** Draws a scene: containers, edges, stubs, boxes; by level of detail, only what lies in the window. */

import { Unit, type NodesPart } from "../core/document.ts";
import type { GraphMode } from "../core/panel.ts";
import type { Camera, Rect } from "../core/camera.ts";
import { Mark, mark, shown } from "../core/diff.ts";
import { HEADER, type Scene } from "../core/scene.ts";
import type { SceneIndex } from "../core/hit.ts";
import { Detail, detail } from "../core/lod.ts";
import type { Palette } from "../core/palette.ts";
import type { Labels } from "./labels.ts";
import { Cards, corner } from "./cards.ts";
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
  /** The stub under the pointer, -1. */
  litStub: number;
  /** Does anything stand out? Then the rest steps back. */
  quiet: boolean;
  /** Where boxes are while they glide. */
  x: Float32Array;
  y: Float32Array;
  /** 0..1 of the glide. */
  glide: number;
}

export class Painter {
  /** Boxes of one colour as a chained list: no array is made while drawing. */
  #head = new Int32Array(64);
  #next = new Int32Array(0);
  #sorted = new Int32Array(0);

  private readonly cards: Cards;
  private readonly lines: Lines;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    public palette: Palette,
    readonly labels: Labels,
    which: (box: number) => number,
  ) {
    this.lines = new Lines(context);
    this.cards = new Cards(context, labels, which);
  }

  draw(picture: Picture, camera: Camera, ratio: number): void {
    const { context, palette } = this;
    const { scene, index } = picture;
    this.cards.palette = palette;
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
    this.cards.containers(picture, visible, k);
    context.globalAlpha = picture.glide < 1 ? picture.glide : 1;
    this.lines.edges(picture, palette, left, top, right, bottom, k);
    if (level !== Detail.Block) this.lines.stubs(picture, palette, k);
    context.globalAlpha = 1;
    if (level === Detail.Block) this.#blocks(picture, visible, k);
    else this.cards.draw(picture, visible, k, level);
    this.#outlines(picture, visible, k);
    this.#overLabels(picture, visible, camera, ratio, level);
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
      const status = scene.status[i];
      if (scene.open[i] || !shown(status, picture.mode)) continue;
      const member = scene.member[i];
      const sort = mark(status);
      const unit = member >= 0 ? nodes.unit[member] : scene.end[i] >= 0 ? Unit.Boundary : 8;
      const colour = sort !== Mark.Same ? 16 + sort : grey || picture.quiet ? (unit === 8 ? 10 : 9) : unit;
      this.#next[i] = this.#head[colour];
      this.#head[colour] = i;
    }
    const least = 1 / k;
    for (let colour = 0; colour < colours; colour++) {
      let i = this.#head[colour];
      if (i < 0) continue;
      context.fillStyle =
        colour < 8
          ? palette.units[colour]
          : colour === 8
            ? palette.chosen
            : colour < 16
              ? palette.line
              : ["", palette.removed, palette.added, palette.changed][colour - 16];
      for (; i >= 0; i = this.#next[i]) {
        const w = Math.max(scene.w[i], least);
        const h = Math.max(scene.h[i], least);
        context.fillRect(picture.x[i] - w / 2, picture.y[i] - h / 2, w, h);
      }
    }
  }

  /** What is lit, above all else; as wide on the screen at any zoom. */
  #outlines(picture: Picture, visible: Int32Array, k: number): void {
    const { context, palette } = this;
    const { scene, lit } = picture;
    for (const i of visible) {
      const flags = lit[i];
      if (!flags || !shown(scene.status[i], picture.mode)) continue;
      const x = picture.x[i];
      const y = picture.y[i];
      const w = scene.w[i];
      const h = scene.h[i];
      const ring = (gap: number, width: number, colour: string, dash: number): void => {
        context.beginPath();
        context.roundRect(x - w / 2 - gap, y - h / 2 - gap, w + 2 * gap, h + 2 * gap, corner(scene, i, gap));
        context.lineWidth = Math.max(width, (width * 0.75) / k);
        context.strokeStyle = colour;
        context.setLineDash(dash ? [dash / Math.min(1, k), (dash * 0.8) / Math.min(1, k)] : []);
        context.stroke();
        context.setLineDash([]);
      };
      if (flags & Lit.Near && !(flags & Lit.Blocker)) ring(3, 1.6, palette.near, 3);
      if (flags & Lit.Found) ring(3, 2.2, palette.accent, 0);
      if (flags & Lit.Rewrite && mark(scene.status[i]) === Mark.Same) ring(2, 1.6, palette.changed, 0);
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
    const taken: Rect[] = [];
    for (const i of visible) {
      if ((scene.member[i] >= 0 && !scene.open[i]) || drawn > 200) continue;
      if (!shown(scene.status[i], picture.mode)) continue;
      const w = scene.w[i] * k;
      const h = scene.h[i] * k;
      if (w < 44 || h < 13 || (scene.open[i] && HEADER * k >= 9)) continue;
      const x = picture.x[i] * k + camera.x - w / 2;
      const top = picture.y[i] * k + camera.y - h / 2;
      const times = labels.times(i);
      const name = labels.full(i);
      // How often it stands there is never cut off.
      const cut = labels.cut(name, labels.small, w - 8 - (times ? labels.width(` ${times}`, labels.small) : 0));
      const text = times && cut ? `${cut} ${times}` : cut || times;
      if (!text) continue;
      const width = labels.width(text, labels.small) + 8;
      const y = scene.open[i] ? top - 1 : top + h / 2;
      // Outer ones come first; what would lie on one that is written is left out.
      if (taken.some((one) => x + 2 < one.right && x + 2 + width > one.left && y - 8 < one.bottom && y + 8 > one.top)) continue;
      taken.push({ left: x + 2, right: x + 2 + width, top: y - 8, bottom: y + 8 });
      drawn++;
      context.fillStyle = palette.surface;
      context.globalAlpha = 0.86;
      context.fillRect(x + 2, y - 8, width, 16);
      context.globalAlpha = 1;
      context.fillStyle = mark(scene.status[i]) === Mark.Changed ? palette.changed : palette.soft;
      context.fillText(text, x + 6, y);
    }
  }
}
