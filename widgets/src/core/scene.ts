/** The picture of one step, flat: every visible box, edge and stub of the open containers, in one system of coordinates. */

import type { Container, NodesPart, ScenesPart, Template, ValueId } from "./document.ts";
import { bodyOf, kernelPaths } from "./bodies.ts";
import { INNER } from "./diff.ts";
import { push, type Opened, type Pushed } from "./push.ts";
import { ports } from "./template.ts";
import { standIn } from "./standin.ts";

/** What a person opened, closed and leafed to; by path, so that it outlives steps and recompilations. */
export interface Openness {
  open: Map<string, boolean>;
  /** Which of the alike is shown. */
  instance: Map<string, number>;
}

export interface Scene {
  width: number;
  height: number;
  /** Boxes; an open container stands before what is in it. Centres and sizes in px. */
  count: number;
  x: Float32Array;
  y: Float32Array;
  w: Float32Array;
  h: Float32Array;
  /** NodeId, or -1 - container. */
  member: Int32Array;
  status: Uint8Array;
  /** Box of the open container around, -1. */
  parent: Int32Array;
  depth: Uint8Array;
  /** 1 for a container that shows what is in it. */
  open: Uint8Array;
  /** Path by box of what can be opened, "" for what cannot. */
  path: string[];
  /** By box: ValueId of an input or output of the graph, -1 for all else. */
  end: Int32Array;
  /** By box: 1 for an output of the graph. */
  result: Uint8Array;
  edges: number;
  edge_from: Int32Array;
  edge_to: Int32Array;
  edge_value: Int32Array;
  edge_status: Uint8Array;
  /** edges + 1: offsets, in points, into `route`, which holds both ends too. */
  route_at: Int32Array;
  route: Float32Array;
  stubs: number;
  stub_box: Int32Array;
  stub_side: Uint8Array;
  stub_value: Int32Array;
  /** Which of the stubs of its box it is. */
  stub_nth: Uint16Array;
  /** Does any box or edge differ between before and after? */
  differs: boolean;
}

export const HEADER = 30;
export const PADDING = 14;
/** Room in an open container's header for leafing through those that are alike. */
export const LEAFING = 118;
/** Room for the sign that something can be opened. */
export const CHEVRON = 26;
const DEEPEST = 48;

/** A container with the places of its boxes, and the same for those that are open in it. */
interface Placed {
  /** What an open box takes, with its header. */
  width: number;
  height: number;
  shown: Container;
  template: Template;
  /** What flows along its edges. */
  values: Int32Array;
  pushed: Pushed;
  inside: Map<number, Placed>;
  paths: Map<number, string>;
  /** Is it the body of a kernel? */
  body: boolean;
}

/** The container whose members are shown for a path: the chosen one of those that are alike. */
export function chosen(scenes: ScenesPart, index: number, path: string, openness: Openness): Container {
  const container = scenes.containers[index];
  const alike = instances(container, index);
  const which = openness.instance.get(path) ?? 0;
  return scenes.containers[alike[Math.min(which, alike.length - 1)]] ?? container;
}

/** All containers that are alike, the first (or the container itself) first. */
export function instances(container: Container, index: number): number[] {
  const alike = [...container.instances];
  return alike.length >= Math.max(1, container.count) ? alike : [index, ...alike.filter((one) => one !== index)];
}

/** Paths of the containers among the members: the label, and a number where several are called the same. */
export function childPaths(scenes: ScenesPart, members: Int32Array, parent: string): Map<number, string> {
  const paths = new Map<number, string>();
  const seen = new Map<number, number>();
  for (let box = 0; box < members.length; box++) {
    const member = members[box];
    if (member >= 0) continue;
    const { label, kind } = scenes.containers[-1 - member] ?? { label: -1, kind: "scope" };
    if (kind === "input" || kind === "output") continue;
    const times = seen.get(label) ?? 0;
    seen.set(label, times + 1);
    paths.set(box, `${parent}/${scenes.strings[label] ?? ""}${times ? `#${times + 1}` : ""}`);
  }
  return paths;
}

export function isOpen(scenes: ScenesPart, index: number, path: string, openness: Openness): boolean {
  return openness.open.get(path) ?? scenes.containers[index]?.open ?? false;
}

const ends = new WeakMap<ScenesPart, Map<number, ValueId>>();

/** Values of the inputs and outputs by the container that stands for each. */
function endValues(scenes: ScenesPart): Map<number, ValueId> {
  let found = ends.get(scenes);
  if (!found) {
    const { container, value } = scenes.ends;
    ends.set(scenes, (found = new Map(Array.from(container, (one, i) => [one, value[i]]))));
  }
  return found;
}

function place(scenes: ScenesPart, index: number, path: string, openness: Openness, plain: boolean, depth: number, nodes?: NodesPart): Placed {
  const own = scenes.containers[index];
  const shown = chosen(scenes, index, path, openness);
  const drawn = scenes.templates[own.template] ?? scenes.templates[shown.template];
  const stand = drawn ? null : standIn(shown, scenes, nodes);
  const template = drawn ?? (stand?.template as Template);
  const inside = new Map<number, Placed>();
  const paths = childPaths(scenes, shown.members, path);
  const opened: Opened[] = [];
  const visible = plain ? shown.status.map((status) => Number((status & 2) !== 0)) : null;
  const grow = (box: number, placed: Placed, leafing: number): void => {
    // As wide as what is in it, and as its label: that fits into the closed box.
    placed.width = Math.max(placed.width, template.w[box] + CHEVRON + leafing);
    inside.set(box, placed);
    opened.push({ box, width: placed.width, height: placed.height });
  };
  for (const [box, below] of paths) {
    const child = -1 - shown.members[box];
    if (visible && !visible[box]) continue;
    if (depth >= DEEPEST || !isOpen(scenes, child, below, openness)) continue;
    grow(box, place(scenes, child, below, openness, plain, depth + 1, nodes), instances(scenes.containers[child], child).length > 1 ? LEAFING : 0);
  }
  if (nodes) {
    for (const [box, below] of kernelPaths(scenes, shown.members, path, nodes)) {
      paths.set(box, below);
      if ((visible && !visible[box]) || !openness.open.get(below)) continue;
      const body = bodyOf(scenes, shown.members[box], nodes) as Container;
      const drawing = scenes.templates[body.template];
      const still = push(drawing, []);
      const size = { width: still.width + 2 * PADDING, height: still.height + HEADER + PADDING };
      grow(box, { ...size, shown: body, template: drawing, values: body.edge_values, pushed: still, inside: new Map(), paths: new Map(), body: true }, 0);
    }
  }
  const pushed = push(template, opened, visible?.includes(0) ? visible : null);
  return { width: pushed.width + 2 * PADDING, height: pushed.height + HEADER + PADDING, shown, template, values: stand?.values ?? shown.edge_values, pushed, inside, paths, body: false };
}

/**
 * Builds the scene of a root container.
 *
 * `nodes` are asked for the edges of containers that came without a picture. `plain`: not the step itself but what it left; what it removed is gone and has given its room away.
 */
export function build(scenes: ScenesPart, root: number, openness: Openness, plain = false, nodes?: NodesPart): Scene {
  const top = place(scenes, root, "", openness, plain, 0, nodes);
  let boxes = 0;
  let edges = 0;
  let points = 0;
  let stubs = 0;
  const stack = [top];
  for (let placed = stack.pop(); placed; placed = stack.pop()) {
    boxes += placed.shown.members.length;
    edges += placed.template.edge_from.length;
    points += placed.template.route.length / 2 + 2 * placed.template.edge_from.length;
    stubs += placed.template.stub_box.length;
    stack.push(...placed.inside.values());
  }
  const scene: Scene = {
    width: top.pushed.width,
    height: top.pushed.height,
    count: 0,
    x: new Float32Array(boxes),
    y: new Float32Array(boxes),
    w: new Float32Array(boxes),
    h: new Float32Array(boxes),
    member: new Int32Array(boxes),
    status: new Uint8Array(boxes),
    parent: new Int32Array(boxes),
    depth: new Uint8Array(boxes),
    open: new Uint8Array(boxes),
    path: new Array<string>(boxes).fill(""),
    end: new Int32Array(boxes).fill(-1),
    result: new Uint8Array(boxes),
    edges: 0,
    edge_from: new Int32Array(edges),
    edge_to: new Int32Array(edges),
    edge_value: new Int32Array(edges),
    edge_status: new Uint8Array(edges),
    route_at: new Int32Array(edges + 1),
    route: new Float32Array(2 * points),
    stubs: 0,
    stub_box: new Int32Array(stubs),
    stub_side: new Uint8Array(stubs),
    stub_value: new Int32Array(stubs),
    stub_nth: new Uint16Array(stubs),
    differs: false,
  };
  emit(scene, top, 0, 0, -1, 0);
  const values = endValues(scenes);
  for (let i = 0; values.size && i < scene.count; i++) {
    const container = -1 - scene.member[i];
    scene.end[i] = values.get(container) ?? -1;
    scene.result[i] = Number(scenes.containers[container]?.kind === "output");
  }
  if (plain) {
    for (let i = 0; i < scene.count; i++) scene.status[i] = scene.status[i] & 2 ? 3 : 0;
    for (let i = 0; i < scene.edges; i++) scene.edge_status[i] = scene.edge_status[i] & 2 ? 3 : 0;
    scene.differs = false;
  }
  return scene;
}

function emit(scene: Scene, placed: Placed, dx: number, dy: number, parent: number, depth: number): void {
  const { shown, template, values, pushed, inside, paths, body } = placed;
  // What is in a kernel is there where the kernel is, and is not marked by itself.
  const sides = body ? (scene.status[parent] & 3) | INNER : 0;
  const first = scene.count;
  const n = shown.members.length;
  // Boxes of one container stand together: edges name them by first + box.
  scene.count += n;
  for (let box = 0; box < n; box++) {
    const at = first + box;
    const child = inside.get(box);
    scene.x[at] = dx + pushed.x(box);
    scene.y[at] = dy + pushed.y(box);
    scene.w[at] = child ? child.width : template.w[box];
    scene.h[at] = child ? child.height : template.h[box];
    scene.member[at] = shown.members[box];
    const status = sides || (shown.status[box] ?? 3);
    scene.status[at] = status;
    if (status !== 3 && !body) scene.differs = true;
    scene.parent[at] = parent;
    scene.depth[at] = depth;
    scene.open[at] = child ? 1 : 0;
    scene.path[at] = paths.get(box) ?? "";
  }
  const port = ports(template);
  for (let edge = 0; edge < template.edge_from.length; edge++) {
    const at = scene.edges++;
    const from = first + template.edge_from[edge];
    const to = first + template.edge_to[edge];
    scene.edge_from[at] = from;
    scene.edge_to[at] = to;
    scene.edge_value[at] = values[edge] ?? -1;
    const status = sides || (shown.edge_status[edge] ?? (scene.status[from] & scene.status[to] & 3 || 3));
    scene.edge_status[at] = status;
    if (status !== 3 && !body) scene.differs = true;
    let point = 2 * scene.route_at[at];
    scene.route[point++] = scene.x[from] + port.out[edge];
    scene.route[point++] = scene.y[from] + scene.h[from] / 2;
    for (let i = template.route_at[edge]; i < template.route_at[edge + 1]; i++) {
      const x = template.route[2 * i];
      const y = template.route[2 * i + 1];
      scene.route[point++] = dx + pushed.px(x, y);
      scene.route[point++] = dy + pushed.py(y);
    }
    scene.route[point++] = scene.x[to] + port.in[edge];
    scene.route[point++] = scene.y[to] - scene.h[to] / 2;
    scene.route_at[at + 1] = point / 2;
  }
  const drawn = new Uint16Array(2 * n); // stubs so far, by box and side
  for (let stub = 0; stub < template.stub_box.length; stub++) {
    const at = scene.stubs++;
    const [box, side] = [template.stub_box[stub], template.stub_side[stub]];
    scene.stub_box[at] = first + box;
    scene.stub_side[at] = side;
    scene.stub_value[at] = shown.stub_values[stub] ?? -1;
    scene.stub_nth[at] = drawn[2 * box + side]++;
  }
  for (const [box, child] of inside) {
    const at = first + box;
    const left = scene.x[at] - child.pushed.width / 2;
    const upper = scene.y[at] - scene.h[at] / 2 + HEADER;
    emit(scene, child, left, upper, at, depth + 1);
  }
}
