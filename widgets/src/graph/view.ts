/** The graph: a canvas that follows the cursor; what is pressed in it moves the cursor. */

import type { NodeId, NodesPart } from "../core/document.ts";
import type { GraphMode, Panel, Store, Topic } from "../core/panel.ts";
import { Camera, type Rect } from "../core/camera.ts";
import { Mark, mark, shown } from "../core/diff.ts";
import { inHeader } from "../core/hit.ts";
import { palette as readPalette, type Palette } from "../core/palette.ts";
import { h } from "../shell/dom.ts";
import { Labels, type Metric } from "./labels.ts";
import { focusNodes, light } from "./lighting.ts";
import { Overview } from "./overview.ts";
import { Painter, type Picture } from "./paint.ts";
import { Stage } from "./stage.ts";
import { Hands } from "./hands.ts";
import { Tip } from "./tip.ts";
import { NodeTable } from "./table.ts";

const GLIDE = 260;
const READABLE = 0.8;

export class GraphView implements Panel {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly camera = new Camera();
  readonly stage = new Stage();
  metric: Metric = "bytes";
  /** Milliseconds that the last frame took to draw. */
  lastFrame = 0;
  /** Told after every frame that shows something else. */
  onshow: () => void = () => {};

  #store: Store;
  #context: CanvasRenderingContext2D;
  #palette: Palette;
  #painter: Painter;
  #picture: Picture;
  #overview: Overview;
  #tip: Tip;
  #table: NodeTable;
  #ratio = 1;
  #frame = 0;
  #found: readonly NodeId[] = [];
  #hover = -1;
  #framed = false;
  #before: { x: Float32Array; y: Float32Array } | null = null;
  #glideFrom = 0;
  #still = matchMedia("(prefers-reduced-motion: reduce)");
  #observer: ResizeObserver;

  constructor(parent: HTMLElement, store: Store, embedded: boolean) {
    this.#store = store;
    this.canvas = h("canvas", { class: "gx-canvas", tabindex: "0", role: "application", "aria-roledescription": "graph" });
    this.#overview = new Overview((x, y) => this.centre(x, y));
    this.#tip = new Tip(store);
    this.#table = new NodeTable(store, this);
    this.element = h("div", { class: "gx-graph" }, this.canvas, this.#overview.element, this.#tip.element, this.#table.element);
    parent.append(this.element);
    this.#context = this.canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
    this.#palette = readPalette(this.element);
    const labels = new Labels(this.#context, this.#palette);
    this.#painter = new Painter(this.#context, this.#palette, labels);
    this.#painter.which = (box) => this.stage.openness.instance.get(this.stage.scene.path[box] ?? "") ?? 0;
    this.#picture = this.#pictureOf();
    new Hands(this, embedded);
    this.#observer = new ResizeObserver(() => this.resize());
    this.#observer.observe(this.element);
    this.#still.addEventListener("change", () => this.draw());
    this.resize();
    this.update(new Set<Topic>(["parts", "cursor", "theme"]));
  }

  destroy(): void {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
    this.element.remove();
  }

  get store(): Store {
    return this.#store;
  }

  get mode(): GraphMode {
    return this.#store.mode;
  }

  get step(): number {
    return this.#store.cursor.step ?? (this.#store.parts.steps?.steps.length ?? 1) - 1;
  }

  get labels(): Labels {
    return this.#painter.labels;
  }

  #pictureOf(): Picture {
    const { scene, index } = this.stage;
    return {
      scene,
      index,
      nodes: this.#store.parts.nodes ?? EMPTY_NODES,
      mode: this.#store.mode,
      lit: new Uint8Array(scene.count),
      litEdges: new Uint8Array(scene.edges),
      quiet: false,
      x: scene.x,
      y: scene.y,
      glide: 1,
    };
  }

  update(changed: ReadonlySet<Topic>): void {
    const { parts } = this.#store;
    if (changed.has("theme")) {
      this.#palette = readPalette(this.element);
      this.#painter.palette = this.#palette;
    }
    let other = false;
    if (changed.has("parts") || changed.has("cursor")) {
      const old = this.#picture;
      other = this.stage.show(parts, this.step);
      if (other) this.#another(old);
      else if (changed.has("parts")) {
        this.#painter.labels.begin(this.stage.scene, parts, this.metric);
        this.#picture.nodes = parts.nodes ?? EMPTY_NODES;
      }
    }
    this.#picture.mode = this.#store.mode;
    if (changed.has("cursor") || other) this.#follow(other);
    this.#relight();
    if (other || changed.has("theme") || changed.has("mode")) this.#overview.paint(this.#picture, this.#palette);
    this.#table.changed();
    this.draw();
  }

  /** Shows search hits. */
  highlight(nodes: readonly NodeId[]): void {
    this.#found = nodes;
    this.#relight();
    this.draw();
  }

  setMetric(metric: Metric): void {
    this.metric = metric;
    this.#painter.labels.begin(this.stage.scene, this.#store.parts, metric);
    this.draw();
  }

  toggleTable(): boolean {
    return this.#table.toggle();
  }

  #relight(): void {
    light(this.#picture, this.stage, this.#store.parts, this.#store.cursor, this.#found, this.#hover);
  }

  /** Another scene: what is in both glides, and the box nearest to the middle stays where it is. */
  #another(old: Picture, anchor?: { key: string; top: boolean }): void {
    const { scene } = this.stage;
    this.#picture = this.#pictureOf();
    this.#hover = -1;
    this.camera.limit(scene);
    this.#painter.labels.begin(scene, this.#store.parts, this.metric);
    this.#before = null;
    if (!this.#framed || !old.scene.count || old.scene.count + scene.count > 30000) return;
    // By name, so that it holds from one document to the next too; a path begins with a slash and a space here.
    const key = (of: Picture, i: number): string => {
      const member = of.scene.member[i] as number;
      return member >= 0 ? (of.nodes.strings[of.nodes.name[member] as number] ?? "") : `/ ${of.scene.path[i]}`;
    };
    const rows = new Map<string, number>();
    for (let i = 0; i < old.scene.count; i++) rows.set(key(old, i), i);
    const { camera } = this;
    const [cx, cy] = camera.world(camera.width / 2, camera.height / 2);
    let nearest = Infinity;
    let [dx, dy] = [0, 0];
    const pairs: number[] = [];
    for (let i = 0; i < scene.count; i++) {
      const name = key(this.#picture, i);
      const was = rows.get(name);
      if (was === undefined) continue;
      pairs.push(i, was);
      const far = anchor ? (name === anchor.key ? -1 : Infinity) : (old.x[was] as number) === 0 ? Infinity : ((old.x[was] as number) - cx) ** 2 + ((old.y[was] as number) - cy) ** 2;
      if (far >= nearest) continue;
      nearest = far;
      dx = (scene.x[i] as number) - (old.x[was] as number);
      dy = (scene.y[i] as number) - (old.y[was] as number);
      if (anchor?.top) dy -= ((scene.h[i] as number) - (old.scene.h[was] as number)) / 2;
    }
    if (nearest === Infinity) return;
    camera.jump({ k: camera.k, x: camera.x - dx * camera.k, y: camera.y - dy * camera.k });
    if (this.#still.matches) return;
    const before = { x: scene.x.slice(), y: scene.y.slice() };
    let moves = false;
    for (let n = 0; n < pairs.length; n += 2) {
      const i = pairs[n] as number;
      const was = pairs[n + 1] as number;
      before.x[i] = (old.x[was] as number) + dx;
      before.y[i] = (old.y[was] as number) + dy;
      if (Math.abs((before.x[i] as number) - (scene.x[i] as number)) + Math.abs((before.y[i] as number) - (scene.y[i] as number)) > 1) moves = true;
    }
    if (!moves) return;
    this.#before = before;
    this.#glideFrom = performance.now();
    this.#picture.x = before.x.slice();
    this.#picture.y = before.y.slice();
    this.#picture.glide = 0;
  }

  /** The cursor moved: opens and frames what it is about. */
  #follow(other: boolean): void {
    const { parts, cursor } = this.#store;
    const nodes = focusNodes(parts, cursor);
    const place = cursor.rewrite !== undefined || cursor.reject !== undefined;
    const old = this.#picture;
    if (nodes.length && this.stage.reveal(nodes)) {
      this.#another(old);
      this.#overview.paint(this.#picture, this.#palette);
    }
    if (!this.#framed && this.stage.scene.count) {
      this.start();
      other = true;
    }
    const boxes = nodes.map((node) => this.stage.box(node)).filter((box) => box >= 0);
    const rect = this.stage.around(boxes);
    if (rect && (place || !this.#sees(rect))) this.frame(rect, place ? 90 : 60, place ? 1 : Math.max(this.camera.k, READABLE));
    else if (!nodes.length && other && this.stage.scene.differs && !this.#changesSeen()) this.focusChange(READABLE);
  }

  #sees(rect: Rect): boolean {
    const [left, top] = this.camera.world(8, 8);
    const [right, bottom] = this.camera.world(this.camera.width - 8, this.camera.height - 8);
    return rect.left < right && rect.right > left && rect.top < bottom && rect.bottom > top && this.camera.k > 0.3;
  }

  #changed(): number[] {
    const { scene } = this.stage;
    const boxes: number[] = [];
    for (let i = 0; i < scene.count; i++) {
      if (!scene.open[i] && mark(scene.status[i] as number) !== Mark.Same && shown(scene.status[i] as number, this.mode)) boxes.push(i);
    }
    return boxes;
  }

  #changesSeen(): boolean {
    const [left, top] = this.camera.world(0, 0);
    const [right, bottom] = this.camera.world(this.camera.width, this.camera.height);
    return this.#changed().some((i) => {
      const x = this.stage.scene.x[i] as number;
      const y = this.stage.scene.y[i] as number;
      return x > left && x < right && y > top && y < bottom;
    });
  }

  /** All of it where that is readable; else the repeated block, which is what the model is; else the first screenful. */
  start(): void {
    const { scene } = this.stage;
    if (!scene.count || this.camera.width < 20) return;
    this.camera.limit(scene);
    const all = { left: 0, top: 0, right: scene.width, bottom: scene.height };
    const view = this.camera.framing(all, 24, 1, 0);
    const block = this.#repeated();
    if (view.k >= READABLE) this.camera.jump(view);
    else if (block) {
      const { left, top, right, bottom } = block;
      const { width, height } = this.camera;
      const k = Math.max(READABLE, Math.min(1, (width - 48) / (right - left), (height - 64) / (bottom - top)));
      // What is too large is seen from its top: there stands what it is and how often.
      const x = (right - left) * k > width - 16 ? 12 - left * k : (width - (left + right) * k) / 2;
      const y = (bottom - top) * k > height - 64 ? 40 - top * k : (height - (top + bottom) * k) / 2;
      this.camera.jump({ k, x, y });
    } else {
      // From the top; sideways over what comes first.
      let first = 0;
      for (let i = 1; i < scene.count; i++) if ((scene.y[i] as number) < (scene.y[first] as number)) first = i;
      const k = Math.max(view.k, Math.min(0.9, Math.max(READABLE, (this.camera.width - 48) / scene.width)));
      const wide = scene.width * k;
      const x = wide <= this.camera.width ? (this.camera.width - wide) / 2 : Math.min(24, Math.max(this.camera.width - wide - 24, this.camera.width / 2 - (scene.x[first] as number) * k));
      this.camera.jump({ k, x, y: 20 });
    }
    this.#framed = true;
  }

  /** Around the outermost open container that stands for many alike, the one with most in it. */
  #repeated(): Rect | undefined {
    const { scene, scenes } = this.stage;
    let best = -1;
    let most = 0;
    for (let i = 0; i < scene.count; i++) {
      const container = scene.open[i] ? scenes?.containers[-1 - (scene.member[i] as number)] : undefined;
      const inside = container && container.count > 1 ? container.nodes : 0;
      if (inside <= most) continue;
      most = inside;
      best = i;
    }
    return best < 0 ? undefined : this.stage.around([best]);
  }

  fit(): void {
    const { scene } = this.stage;
    this.#go(this.camera.framing({ left: 0, top: 0, right: scene.width, bottom: scene.height }, 24, 1));
  }

  /** All that changed; with `least`, the first of it where all would be too small to read. */
  focusChange(least = 0): void {
    const changed = this.#changed();
    const rect = this.stage.around(changed);
    if (!rect) return;
    const all = this.camera.framing(rect, 70, 0.9);
    if (all.k >= least) return this.#go(all);
    const { y } = this.stage.scene;
    const first = changed.reduce((best, i) => ((y[i] as number) < (y[best] as number) ? i : best));
    this.frame(this.stage.around([first]) as Rect, 70, least);
  }

  frame(rect: Rect, margin: number, most: number): void {
    this.#go(this.camera.framing(rect, margin, most, 0.12));
  }

  zoom(factor: number): void {
    const { camera } = this;
    const view = camera.view;
    const k = Math.min(2.5, view.k * factor);
    const [cx, cy] = [camera.width / 2, camera.height / 2];
    this.#go({ k, x: cx - ((cx - view.x) * k) / view.k, y: cy - ((cy - view.y) * k) / view.k });
  }

  centre(x: number, y: number): void {
    const { k, width, height } = this.camera;
    this.camera.jump({ k, x: width / 2 - x * k, y: height / 2 - y * k });
    this.draw();
  }

  #go(view: { x: number; y: number; k: number }): void {
    this.camera.glide(view, performance.now(), this.#still.matches ? 0 : GLIDE);
    this.draw();
  }

  /** What is pressed: a box, a button of a header, an edge, or nothing, which releases. */
  press(sx: number, sy: number, double: boolean): void {
    const [x, y] = this.camera.world(sx, sy);
    const { scene, index } = this.stage;
    const box = index.box(x, y, this.mode);
    if (box >= 0 && (scene.member[box] as number) < 0) {
      const right = (scene.x[box] as number) + (scene.w[box] as number) / 2 - x;
      const left = x - (scene.x[box] as number) + (scene.w[box] as number) / 2;
      const header = scene.open[box] && inHeader(scene, box, y);
      const alike = this.labels.alike(box);
      if (header && alike > 1 && right < 120) return this.leaf(box, right < 60 ? 1 : -1);
      if (double || (header && left < 26) || (!scene.open[box] && left < 30)) return this.open(box);
      if (!scene.open[box] || header) {
        this.#store.move({ node: undefined, value: undefined });
        this.#hover = box;
        this.#relight();
        return this.draw();
      }
    }
    if (box >= 0 && (scene.member[box] as number) >= 0) return this.#store.move({ node: scene.member[box] as number, value: undefined, reject: undefined });
    const edge = index.edge(x, y, 6 / this.camera.k, this.mode);
    if (edge >= 0) return this.#store.move({ value: scene.edge_value[edge] as number });
    if (!double) this.#store.move({ node: undefined, value: undefined });
  }

  open(box: number): void {
    this.#reshape(box, () => this.stage.toggle(box));
  }

  leaf(box: number, by: number): void {
    this.#reshape(box, () => this.stage.leaf(box, by, this.labels.alike(box)));
  }

  #reshape(box: number, work: () => void): void {
    const old = this.#picture;
    const path = this.stage.scene.path[box] as string;
    work();
    this.#another(old, { key: `/ ${path}`, top: true });
    this.#relight();
    this.#overview.paint(this.#picture, this.#palette);
    this.#table.changed();
    // What was opened should be seen: from its top, and no wider than the window where that can be.
    const at = this.stage.ofPath(path);
    const rect = this.stage.around([at]);
    if (rect && this.stage.scene.open[at]) {
      const [left, top] = this.camera.world(0, 0);
      const [right, bottom] = this.camera.world(this.camera.width, this.camera.height);
      if (rect.left < left || rect.right > right || rect.top < top || rect.top > bottom - 120) this.frame(rect, 40, this.camera.k);
    }
    this.onshow();
    this.draw();
  }

  /** Enter: opens the container at the cursor or under the pointer, closes the one around. */
  enter(): void {
    const { cursor } = this.#store;
    const box = this.#hover >= 0 ? this.#hover : cursor.node !== undefined ? this.stage.box(cursor.node) : -1;
    if (box < 0) return;
    if ((this.stage.scene.member[box] as number) < 0) return this.open(box);
    const around = this.stage.scene.parent[box] as number;
    if (around >= 0) this.open(around);
  }

  /** To the next box along the edges: down to what reads it, up to what it reads. */
  walk(down: boolean): void {
    const { scene } = this.stage;
    const here = this.#store.cursor.node !== undefined ? this.stage.box(this.#store.cursor.node) : this.#hover;
    let next = -1;
    for (let e = 0; e < scene.edges && next < 0; e++) {
      if (!shown(scene.edge_status[e] as number, this.mode)) continue;
      if (down && scene.edge_from[e] === here) next = scene.edge_to[e] as number;
      if (!down && scene.edge_to[e] === here) next = scene.edge_from[e] as number;
    }
    if (next < 0 && here < 0) next = scene.count ? 0 : -1;
    if (next < 0) return;
    const member = scene.member[next] as number;
    this.#hover = member < 0 ? next : -1;
    if (member >= 0) this.#store.move({ node: member, value: undefined });
    else {
      this.#store.move({ node: undefined });
      this.#hover = next;
      const rect = this.stage.around([next]);
      if (rect && !this.#sees(rect)) this.frame(rect, 60, this.camera.k);
      this.#relight();
      this.draw();
    }
  }

  hover(sx: number, sy: number): void {
    const [x, y] = this.camera.world(sx, sy);
    const { scene, index } = this.stage;
    let box = index.box(x, y, this.mode);
    if (box >= 0 && scene.open[box] && !inHeader(scene, box, y)) box = -1;
    const edge = box < 0 && this.camera.k > 0.3 ? index.edge(x, y, 5 / this.camera.k, this.mode) : -1;
    this.canvas.style.cursor = box >= 0 || edge >= 0 ? "pointer" : "grab";
    this.#tip.show(this.stage, box, edge, sx, sy, this.camera.width, this.camera.height);
    if (box === this.#hover) return;
    this.#hover = box;
    this.#relight();
    this.draw();
  }

  leave(): void {
    this.#tip.hide();
    if (this.#hover < 0) return;
    this.#hover = -1;
    this.#relight();
    this.draw();
  }

  resize(): void {
    const { clientWidth, clientHeight } = this.element;
    if (!clientWidth || !clientHeight) return;
    const { width, height } = this.camera;
    const ratio = Math.min(2, devicePixelRatio || 1);
    if (clientWidth === width && clientHeight === height && ratio === this.#ratio) return;
    this.#ratio = ratio;
    this.canvas.width = Math.round(clientWidth * this.#ratio);
    this.canvas.height = Math.round(clientHeight * this.#ratio);
    this.camera.resize(clientWidth, clientHeight);
    if (!this.#framed) this.start();
    else this.camera.shift((clientWidth - width) / 2, 0);
    this.camera.limit(this.stage.scene);
    this.#paint(performance.now()); // at once: a resized canvas is empty until drawn
  }

  draw(): void {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame((now) => {
      this.#frame = 0;
      this.#paint(now);
    });
  }

  #paint(now: number): void {
    const began = performance.now();
    let more = this.camera.moving && this.camera.advance(now);
    const before = this.#before;
    if (before) {
      const t = Math.min(1, Math.max(0, (now - this.#glideFrom) / GLIDE));
      const ease = 1 - (1 - t) ** 3;
      const { x, y } = this.stage.scene;
      for (let i = 0; i < x.length; i++) {
        this.#picture.x[i] = (before.x[i] as number) + ((x[i] as number) - (before.x[i] as number)) * ease;
        this.#picture.y[i] = (before.y[i] as number) + ((y[i] as number) - (before.y[i] as number)) * ease;
      }
      this.#picture.glide = t;
      if (t >= 1) {
        this.#before = null;
        this.#picture.x = x;
        this.#picture.y = y;
      } else more = true;
    }
    this.#painter.draw(this.#picture, this.camera, this.#ratio);
    this.#overview.update(this.camera, this.stage.scene, this.#palette);
    this.lastFrame = performance.now() - began;
    if (more) this.draw();
    else this.#table.changed();
  }
}

const EMPTY_NODES: NodesPart = {
  strings: [],
  name: new Int32Array(0),
  type: new Int32Array(0),
  onnx_type: new Int32Array(0),
  unit: new Uint8Array(0),
  scope: new Int32Array(0),
  detail: new Int32Array(0),
  bytes: new Float64Array(0),
  inputs_at: new Int32Array(1),
  inputs: new Int32Array(0),
  outputs_at: new Int32Array(1),
  outputs: new Int32Array(0),
  attributes: new Int32Array(0),
  origin_at: new Int32Array(1),
  origin: new Int32Array(0),
  body_at: new Int32Array(1),
  body: new Int32Array(0),
  holder: new Int32Array(0),
  born: new Int32Array(0),
  gone: new Int32Array(0),
};
