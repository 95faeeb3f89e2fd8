/** The whole picture in the corner, with the window on it; drawn once a scene, pressed to go there. */

import type { Camera } from "../core/camera.ts";
import { Mark, mark, shown } from "../core/diff.ts";
import type { Picture } from "./paint.ts";
import type { Palette } from "../core/palette.ts";
import { h } from "../shell/dom.ts";

const WIDTH = 168;
const HEIGHT = 116;
/** From the corner of the window. */
const EDGE = 10;

export class Overview {
  readonly element: HTMLCanvasElement;
  #cached: HTMLCanvasElement;
  #scale = 1;
  #dx = 0;
  #dy = 0;

  constructor(go: (x: number, y: number) => void) {
    this.element = h("canvas", { class: "gx-overview", "aria-hidden": "true", width: WIDTH * 2, height: HEIGHT * 2 });
    this.#cached = h("canvas", { width: WIDTH * 2, height: HEIGHT * 2 });
    const press = (event: PointerEvent): void => {
      const box = this.element.getBoundingClientRect();
      const shrunk = box.width / WIDTH; // where there is little room it is shown smaller
      go(((event.clientX - box.left) / shrunk - this.#dx) / this.#scale, ((event.clientY - box.top) / shrunk - this.#dy) / this.#scale);
    };
    this.element.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      this.element.setPointerCapture(event.pointerId);
      press(event);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (this.element.hasPointerCapture(event.pointerId)) press(event);
    });
  }

  /** Another scene, theme or mode. */
  paint(picture: Picture, palette: Palette): void {
    const { scene, nodes } = picture;
    const context = this.#cached.getContext("2d") as CanvasRenderingContext2D;
    this.#scale = Math.min((WIDTH - 8) / scene.width, (HEIGHT - 8) / scene.height);
    this.#dx = (WIDTH - scene.width * this.#scale) / 2;
    this.#dy = (HEIGHT - scene.height * this.#scale) / 2;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, WIDTH * 2, HEIGHT * 2);
    const s = 2 * this.#scale;
    for (let turn = 0; turn < 2; turn++) {
      for (let i = 0; i < scene.count; i++) {
        const status = scene.status[i];
        if (scene.open[i] || !shown(status, picture.mode)) continue;
        const sort = mark(status);
        if ((sort === Mark.Same) !== (turn === 0)) continue;
        const member = scene.member[i];
        context.fillStyle =
          sort === Mark.Removed
            ? palette.removed
            : sort === Mark.Added
              ? palette.added
              : sort === Mark.Changed
                ? palette.changed
                : scene.differs && picture.mode === "both"
                  ? palette["line-strong"]
                  : member >= 0
                    ? palette.units[nodes.unit[member]]
                    : palette.muted;
        const least = turn ? 4 : 1.5;
        const w = Math.max(least, scene.w[i] * s);
        const height = Math.max(least, scene.h[i] * s * 0.8);
        context.fillRect(scene.x[i] * s + 2 * this.#dx - w / 2, scene.y[i] * s + 2 * this.#dy - height / 2, w, height);
      }
    }
  }

  /** The window moved; hidden where all is in it, small where it would cover boxes. */
  update(camera: Camera, { scene, index, mode }: Picture, palette: Palette): void {
    const world = scene;
    const [left, top] = camera.world(0, 0);
    const [right, bottom] = camera.world(camera.width, camera.height);
    const all = left <= 8 && top <= 8 && right >= world.width - 8 && bottom >= world.height - 8;
    this.element.classList.toggle("gx-away", all || camera.width < 420 || camera.height < 260);
    if (all) return;
    const [x, y] = camera.world(camera.width - WIDTH - EDGE, camera.height - HEIGHT - EDGE);
    index.boxes.query(x, y, right, bottom);
    const { hits, found } = index.boxes;
    let covers = false;
    for (let n = 0; n < found && !covers; n++) covers = !scene.open[hits[n]] && shown(scene.status[hits[n]], mode);
    this.element.classList.toggle("gx-small", covers);
    const context = this.element.getContext("2d") as CanvasRenderingContext2D;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, WIDTH * 2, HEIGHT * 2);
    context.drawImage(this.#cached, 0, 0);
    const clamp = (x: number, most: number): number => Math.max(1, Math.min(most - 1, x));
    const x0 = clamp(left * this.#scale + this.#dx, WIDTH) * 2;
    const y0 = clamp(top * this.#scale + this.#dy, HEIGHT) * 2;
    const x1 = clamp(right * this.#scale + this.#dx, WIDTH) * 2;
    const y1 = clamp(bottom * this.#scale + this.#dy, HEIGHT) * 2;
    context.fillStyle = palette.accent;
    context.globalAlpha = 0.1;
    context.fillRect(x0, y0, x1 - x0, y1 - y0);
    context.globalAlpha = 1;
    context.lineWidth = 3;
    context.strokeStyle = palette.accent;
    context.strokeRect(x0, y0, Math.max(6, x1 - x0), Math.max(6, y1 - y0));
  }
}
