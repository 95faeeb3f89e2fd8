/** The graph: a canvas that follows the cursor; what is pressed in it moves the cursor. */

import type { NodeId } from "../core/document.ts";
import type { GraphMode, Panel, Store, Topic } from "../core/panel.ts";
import { Camera, type Rect } from "../core/camera.ts";
import { palette as readPalette, type Palette } from "../core/palette.ts";
import { h } from "../shell/dom.ts";
import { READABLE, changedBoxes, firstView, sees, seesAny } from "./framing.ts";
import { GLIDE, Glide, keyOf, type Anchor } from "./glide.ts";
import { jumpOf, ofValue } from "./jumps.ts";
import { Labels, type Metric } from "./labels.ts";
import { focusNodes, light } from "./lighting.ts";
import { Overview } from "./overview.ts";
import { Painter, type Picture } from "./paint.ts";
import { nodesOf, pictureOf } from "./picture.ts";
import { Readers } from "./readers.ts";
import { Stage } from "./stage.ts";
import { Hands } from "./hands.ts";
import { Tip } from "./tip.ts";
import { NodeTable } from "./table.ts";
import { targetAt, type Target } from "./target.ts";
import { nextBox } from "./walk.ts";

export class GraphView implements Panel {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly camera = new Camera();
  readonly stage = new Stage();
  metric: Metric = "bytes";

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
  #glide = new Glide();
  #readers = new Readers({ show: (box) => this.#visit(box), name: (box) => this.labels.full(box) });
  #still = matchMedia("(prefers-reduced-motion: reduce)");
  #again = (): void => this.draw();
  #observer: ResizeObserver;

  constructor(parent: HTMLElement, store: Store, embedded: boolean) {
    this.#store = store;
    this.canvas = h("canvas", { class: "gx-canvas", tabindex: "0", role: "application", "aria-roledescription": "graph" });
    this.#overview = new Overview((x, y) => this.centre(x, y));
    this.#tip = new Tip(store);
    this.#table = new NodeTable(store, this);
    this.element = h("div", { class: "gx-graph" }, this.canvas, this.#overview.element, this.#readers.element, this.#tip.element, this.#table.element);
    this.element.addEventListener("keydown", (event) => this.#key(event));
    parent.append(this.element);
    this.#context = this.canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
    this.#palette = readPalette(this.element);
    const labels = new Labels(this.#context, this.#palette);
    this.#painter = new Painter(this.#context, this.#palette, labels, (box) => this.stage.instance(box));
    this.#picture = pictureOf(this.stage, store);
    new Hands(this, embedded);
    this.#observer = new ResizeObserver(() => this.resize());
    this.#observer.observe(this.element);
    this.#still.addEventListener("change", this.#again);
    this.resize();
    this.update(new Set<Topic>(["parts", "cursor", "theme"]));
  }

  destroy(): void {
    this.#observer.disconnect();
    this.#still.removeEventListener("change", this.#again);
    this.#table.destroy();
    cancelAnimationFrame(this.#frame);
    this.element.remove();
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

  update(changed: ReadonlySet<Topic>): void {
    const { parts } = this.#store;
    if (changed.has("theme")) {
      this.#palette = readPalette(this.element);
      this.#painter.palette = this.#palette;
    }
    if (nodesOf(this.#store) !== this.#picture.nodes) this.#found = []; // nodes have other numbers now
    let other = false;
    if (changed.has("parts") || changed.has("cursor")) {
      const old = this.#picture;
      other = this.stage.show(parts, this.step);
      if (other) this.#another(old);
      else if (changed.has("parts")) {
        this.#painter.labels.begin(this.stage.scene, parts, this.metric);
        this.#picture.nodes = nodesOf(this.#store);
      }
    }
    this.#picture.mode = this.#store.mode;
    if (this.#store.cursor.value !== this.#readers.value) this.#readers.end();
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
  #another(old: Picture, anchor?: Anchor): void {
    const { scene } = this.stage;
    this.#picture = pictureOf(this.stage, this.#store);
    this.#hover = -1;
    this.#tip.hide();
    this.#readers.end(); // its boxes have other numbers now
    this.camera.limit(scene);
    this.#painter.labels.begin(scene, this.#store.parts, this.metric);
    if (this.#framed) this.#glide.begin(old, this.#picture, this.camera, this.#still.matches, anchor);
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
    if (rect && (place || !sees(this.camera, rect))) this.frame(rect, place ? 90 : 60, place ? 1 : Math.max(this.camera.k, READABLE));
    else if (!nodes.length && other && this.stage.scene.differs && !seesAny(this.camera, this.stage, this.#changed())) this.focusChange(READABLE);
  }

  start(): void {
    const { scene } = this.stage;
    if (!scene.count || this.camera.width < 20) return;
    this.camera.limit(scene);
    this.camera.jump(firstView(this.stage, this.camera));
    this.#framed = true;
  }

  fit(): void {
    const { scene } = this.stage;
    this.#go(this.camera.framing({ left: 0, top: 0, right: scene.width, bottom: scene.height }, 24, 1));
  }

  #changed(): number[] {
    return changedBoxes(this.stage, this.mode);
  }

  /** All that changed; with `least`, the first of it where all would be too small to read. */
  focusChange(least = 0): void {
    const changed = this.#changed();
    const rect = this.stage.around(changed);
    if (!rect) return;
    const all = this.camera.framing(rect, 70, 0.9);
    if (all.k >= least) return this.#go(all);
    const { y } = this.stage.scene;
    const first = changed.reduce((best, i) => (y[i] < y[best] ? i : best));
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

  #targetAt(sx: number, sy: number): Target {
    const { scene, index } = this.stage;
    return targetAt(scene, index, ...this.camera.world(sx, sy), this.camera.k, this.mode, (box) => this.labels.alike(box));
  }

  /** Something is pressed, or the ground, which releases. */
  press(sx: number, sy: number, double: boolean): void {
    const target = this.#targetAt(sx, sy);
    if (target.kind === "stub") return this.#jump(target.stub);
    if (target.kind === "leaf") return this.leaf(target.box, target.by);
    if (target.kind === "chevron" || (double && this.stage.scene.path[target.box])) return this.open(target.box);
    if (target.kind === "line") return this.#store.move({ value: target.value });
    if (target.kind !== "ground") return this.choose(target.box);
    if (!double) this.#store.move({ node: undefined, value: undefined });
  }

  /** A node, or the value of an input or output; a container is no more than where one is. */
  choose(box: number): void {
    const { member, end } = this.stage.scene;
    this.#hover = box; // before the cursor moves: it may bring another scene
    if (end[box] >= 0) this.#store.move({ value: end[box], node: undefined, reject: undefined });
    else if (member[box] >= 0) this.#store.move({ node: member[box], value: undefined, reject: undefined });
    else this.#store.move({ node: undefined, value: undefined });
    this.#relight();
    this.draw();
  }

  /** Follows a stub to the other end of its value, and on to the next where there are several. */
  #jump(stub: number): void {
    const jump = jumpOf(this.stage, this.#store, this.step, stub);
    if (this.#readers.goesOn(jump)) return void this.#readers.turn(1);
    if (jump.value >= 0) this.#store.move({ value: jump.value, node: undefined, reject: undefined });
    this.#readers.begin(jump);
  }

  /** The next of those that read the chosen value. */
  next(by: number): boolean {
    const { value } = this.#store.cursor;
    if (this.#readers.turn(by)) return true;
    if (value === undefined) return false;
    this.#readers.begin(ofValue(this.stage, this.#store, this.step, value));
    return true;
  }

  #visit(box: number): void {
    const rect = this.stage.around([box]);
    if (rect) this.frame(rect, 60, Math.max(this.camera.k, READABLE));
    this.#hover = box;
    this.#relight();
    this.draw();
  }

  #key(event: KeyboardEvent): void {
    const by = event.key === "n" ? 1 : event.key === "N" ? -1 : 0;
    if (!by || event.ctrlKey || event.metaKey || event.altKey || (event.target as Element).closest("input")) return;
    if (!this.next(by)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  open(box: number): void {
    if (!this.stage.scene.path[box]) return;
    this.#reshape(box, () => this.stage.toggle(box));
  }

  leaf(box: number, by: number): void {
    this.#reshape(box, () => this.stage.leaf(box, by, this.labels.alike(box)));
  }

  #reshape(box: number, work: () => void): void {
    const old = this.#picture;
    const path = this.stage.scene.path[box];
    const key = keyOf(old, box);
    work();
    this.#another(old, { key, top: true });
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
    this.draw();
  }

  /** The box where one is: that of the chosen node or value, else the one under the pointer; -1. */
  #here(): number {
    const { node, value } = this.#store.cursor;
    const chosen = node !== undefined ? this.stage.box(node) : value !== undefined ? (this.stage.ends(value)[0] ?? -1) : -1;
    return chosen >= 0 ? chosen : this.#hover;
  }

  /** Enter: opens the container under the pointer or at the cursor, or closes the one around. */
  enter(): void {
    const box = this.#hover >= 0 ? this.#hover : this.#here();
    if (box < 0) return;
    if (this.stage.scene.path[box]) return this.open(box);
    const around = this.stage.scene.parent[box];
    if (around >= 0) this.open(around);
  }

  /** To the next box along the lines: down to what reads this one, up to what it reads. */
  walk(down: boolean): void {
    const next = nextBox(this.stage.scene, this.#here(), down, this.mode);
    if (next < 0) return;
    this.choose(next);
    const rect = this.stage.around([next]);
    if (rect && !sees(this.camera, rect)) this.frame(rect, 60, this.camera.k);
  }

  hover(sx: number, sy: number): void {
    const target = this.#targetAt(sx, sy);
    const { kind } = target;
    const box = kind === "line" || kind === "ground" ? -1 : target.box;
    const stub = kind === "stub" ? target.stub : -1;
    this.canvas.style.cursor = kind === "ground" ? "grab" : "pointer";
    const words = stub >= 0 ? this.#tip.ofStub(this.stage, stub, this.step) : box >= 0 ? this.#tip.ofBox(this.stage, box) : kind === "line" ? this.#tip.ofEdge(this.stage, target.edge) : null;
    this.#tip.show(words, sx, sy, this.camera.width, this.camera.height);
    if (box === this.#hover && stub === this.#picture.litStub) return;
    this.#hover = box;
    this.#picture.litStub = stub;
    this.#relight();
    this.draw();
  }

  leave(): void {
    this.#tip.hide();
    if (this.#hover < 0 && this.#picture.litStub < 0) return;
    this.#hover = this.#picture.litStub = -1;
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
    const moving = this.camera.moving && this.camera.advance(now);
    const more = this.#glide.advance(this.#picture, now) || moving;
    this.#painter.draw(this.#picture, this.camera, this.#ratio);
    this.#overview.update(this.camera, this.#picture, this.#palette);
    if (more) this.draw();
    else this.#table.changed();
  }
}
