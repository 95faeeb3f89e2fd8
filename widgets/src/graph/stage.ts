/** Which picture is shown: the scene of the cursor's step with what is open; and where its nodes are. */

import type { NodeId, Parts, ScenesPart, ValueId } from "../core/document.ts";
import { holders } from "../core/bodies.ts";
import { Places } from "../core/places.ts";
import { build, isOpen, type Openness, type Scene } from "../core/scene.ts";
import { SceneIndex } from "../core/hit.ts";
import type { Rect } from "../core/camera.ts";

export class Stage {
  readonly openness: Openness = { open: new Map(), instance: new Map() };
  scene: Scene;
  index: SceneIndex;
  #parts: Partial<Parts> = {};
  #root = -1;
  #plain = false;
  #places = new Map<number, Places>();
  /** Box by text of a node's name, and by path of a container. */
  #byName = new Int32Array(0);
  #byPath = new Map<string, number>();
  /** Box by operator inside an open kernel. */
  #inner = new Map<NodeId, number>();
  /** Boxes by value of the inputs and outputs of the graph. */
  #ends = new Map<ValueId, number[]>();

  constructor() {
    this.scene = build({ strings: [], roots: new Int32Array(0), steps: new Int32Array(0), containers: [EMPTY], templates: [], ends: NO_ENDS, bodies: NO_BODIES }, 0, this.openness);
    this.index = new SceneIndex(this.scene);
  }

  get scenes(): ScenesPart | undefined {
    return this.#parts.scenes;
  }

  /** Does the picture stand still, because its step changed nothing? */
  get plain(): boolean {
    return this.#plain;
  }

  /** Another document or step; says whether the scene is another. */
  show(parts: Partial<Parts>, step: number): boolean {
    const { scenes, steps, nodes } = parts;
    if (!scenes || !nodes) return false;
    if (scenes !== this.#parts.scenes || nodes !== this.#parts.nodes) {
      this.#places.clear();
      this.#root = -1;
    }
    this.#parts = parts;
    const row = steps?.steps[step];
    const scene = Math.max(0, Math.min(row?.scene ?? 0, scenes.roots.length - 1));
    const root = scenes.roots[scene] ?? -1;
    const plain = row !== undefined && (scenes.steps[scene] ?? step) !== row.index;
    if (root < 0 || (root === this.#root && plain === this.#plain)) return false;
    this.#root = root;
    this.#plain = plain;
    this.rebuild();
    return true;
  }

  /** Something was opened, closed or leafed to. */
  rebuild(): void {
    const { scenes, nodes } = this.#parts;
    if (!scenes || !nodes || this.#root < 0) return;
    const scene = build(scenes, this.#root, this.openness, this.#plain, nodes);
    this.scene = scene;
    this.index = new SceneIndex(scene);
    if (this.#byName.length !== nodes.strings.length) this.#byName = new Int32Array(nodes.strings.length);
    this.#byName.fill(-1);
    this.#byPath.clear();
    this.#inner.clear();
    this.#ends.clear();
    for (let i = scene.count - 1; i >= 0; i--) {
      const member = scene.member[i];
      const end = scene.end[i];
      if (end >= 0) this.#ends.set(end, [...(this.#ends.get(end) ?? []), i]);
      else if (this.#inKernel(i)) this.#inner.set(member, i);
      else if (member >= 0) {
        const name = nodes.name[member];
        // Of two versions the one that is left counts.
        if (this.#byName[name] === -1 || scene.status[i] & 2) this.#byName[name] = i;
      }
      if (scene.path[i]) this.#byPath.set(scene.path[i], i);
    }
  }

  #inKernel(box: number): boolean {
    const around = this.scene.parent[box];
    return around >= 0 && this.scene.member[around] >= 0;
  }

  /** Boxes of a value that goes into the graph or comes out of it, none for others. */
  ends(value: ValueId): readonly number[] {
    return this.#ends.get(value) ?? [];
  }

  isInput(box: number): boolean {
    return this.scenes?.containers[-1 - this.scene.member[box]]?.kind === "input";
  }

  /** The box of an operator inside an open kernel, -1. */
  inside(node: NodeId): number {
    return this.#inner.get(node) ?? -1;
  }

  get places(): Places | null {
    const { scenes, nodes } = this.#parts;
    if (!scenes || !nodes || this.#root < 0) return null;
    let places = this.#places.get(this.#root);
    if (!places) {
      if (this.#places.size > 6) this.#places.clear();
      this.#places.set(this.#root, (places = new Places(scenes, this.#root, nodes)));
    }
    return places;
  }

  /** Is the node in this picture, seen or inside something closed? */
  holds(node: NodeId): boolean {
    return this.places?.has(node) ?? false;
  }

  /**
   * The box of a node; of the closed container that holds it; of the open one that shows another of those alike; or of
   * the kernel that it went into. -1 where the picture does not have it.
   */
  box(node: NodeId): number {
    const { nodes } = this.#parts;
    if (!nodes || node < 0) return -1;
    const own = this.#byName[nodes.name[node]] ?? -1;
    const inner = this.inside(node);
    // A kernel has the name of one of the operators inside it.
    if (inner >= 0 && this.scene.member[own] !== node) return inner;
    if (own >= 0) return own;
    const way = this.places?.way(node) ?? [];
    let box = -1;
    if (!way.length) return this.#kernel(node);
    for (const room of way.slice(1)) {
      const here = this.#byPath.get(room.path);
      if (here === undefined) break;
      box = here;
      if (!this.scene.open[here] || (this.openness.instance.get(room.path) ?? 0) !== room.instance) break;
    }
    return box;
  }

  /** The box of the kernel that an operator went into, where it is seen. */
  #kernel(node: NodeId): number {
    const { scenes, nodes } = this.#parts;
    if (!scenes || !nodes) return -1;
    for (const kernel of holders(scenes, node)) {
      const box = this.#byName[nodes.name[kernel]] ?? -1;
      if (box >= 0 && this.scene.member[box] === kernel) return box;
    }
    return -1;
  }

  ofPath(path: string): number {
    return this.#byPath.get(path) ?? -1;
  }

  /** Opens what holds these nodes; says whether the scene is another. */
  reveal(nodes: Iterable<NodeId>): boolean {
    const { scenes } = this.#parts;
    const places = this.places;
    if (!scenes || !places) return false;
    let changed = false;
    for (const node of nodes) {
      if (node < 0 || !places.has(node)) continue;
      if (places.reveal(node, this.openness, (path, container) => isOpen(scenes, container, path, this.openness))) changed = true;
    }
    if (changed) this.rebuild();
    return changed;
  }

  /** Which of those that are alike a box shows. */
  instance(box: number): number {
    return this.openness.instance.get(this.scene.path[box]) ?? 0;
  }

  toggle(box: number): void {
    const path = this.scene.path[box];
    if (!path) return;
    this.openness.open.set(path, !this.scene.open[box]);
    this.rebuild();
  }

  leaf(box: number, by: number, alike: number): void {
    this.openness.instance.set(this.scene.path[box], (this.instance(box) + by + alike) % alike);
    this.rebuild();
  }

  /** Around some boxes, undefined for none. */
  around(boxes: Iterable<number>): Rect | undefined {
    let rect: Rect | undefined;
    const { x, y, w, h } = this.scene;
    for (const i of boxes) {
      if (i < 0) continue;
      const one = {
        left: x[i] - w[i] / 2,
        top: y[i] - h[i] / 2,
        right: x[i] + w[i] / 2,
        bottom: y[i] + h[i] / 2,
      };
      rect = rect
        ? { left: Math.min(rect.left, one.left), top: Math.min(rect.top, one.top), right: Math.max(rect.right, one.right), bottom: Math.max(rect.bottom, one.bottom) }
        : one;
    }
    return rect;
  }
}

const NONE = new Int32Array(0);
const NO_ENDS = { container: NONE, value: NONE };
const NO_BODIES = { node: NONE, template: NONE, members_at: new Int32Array(1), members: NONE, stubs_at: new Int32Array(1), stubs: NONE };

const EMPTY = {
  label: -1,
  kind: "graph" as const,
  count: 1,
  instances: new Int32Array(0),
  open: true,
  template: -1,
  members: new Int32Array(0),
  status: new Uint8Array(0),
  edge_values: new Int32Array(0),
  edge_status: new Uint8Array(0),
  stub_values: new Int32Array(0),
  nodes: 0,
};
