/**
 * A plain layered picture of a container that came without one: of very large models only the first containers are laid
 * out in advance. Ranks by the longest way, order by where the inputs stand, rows centred.
 */

import type { Container, NodesPart, ScenesPart, Template, ValueId } from "./document.ts";

export interface StandIn {
  template: Template;
  /** By edge: what flows there. */
  values: Int32Array;
}

const HEIGHT = 57;
const GAP_X = 26;
const GAP_Y = 40;
const MARGIN = 16;
const WIDEST = 8;
/** Nodes inside that are looked at for edges; a larger container has its boxes in rows. */
const MOST = 20_000;

const cache = new WeakMap<Container, StandIn>();

export function standIn(container: Container, scenes: ScenesPart, nodes: NodesPart | undefined): StandIn {
  let made = cache.get(container);
  if (!made) cache.set(container, (made = draw(container, nodes && container.nodes <= MOST ? flows(container, scenes, nodes) : [], nodes)));
  return made;
}

/** Pairs of boxes with the value between them: from what nodes inside write and read. */
function flows(container: Container, scenes: ScenesPart, nodes: NodesPart): [from: number, to: number, value: ValueId][] {
  const writer = new Map<ValueId, number>();
  const inside: number[][] = [];
  for (let box = 0; box < container.members.length; box++) {
    const own: number[] = [];
    const stack = [container.members[box]];
    for (let member = stack.pop(); member !== undefined; member = stack.pop()) {
      if (member >= 0) own.push(member);
      else {
        const below = scenes.containers[-1 - member];
        // Those that are alike are drawn once, but all of them read and write.
        for (const one of below?.instances.length ? below.instances : []) stack.push(...(scenes.containers[one]?.members ?? []));
        if (below && !below.instances.length) stack.push(...below.members);
      }
    }
    inside.push(own);
    for (const node of own) for (let i = nodes.outputs_at[node]; i < nodes.outputs_at[node + 1]; i++) writer.set(nodes.outputs[i], box);
  }
  const found: [number, number, ValueId][] = [];
  inside.forEach((own, box) => {
    const seen = new Set<number>();
    for (const node of own) {
      for (let i = nodes.inputs_at[node]; i < nodes.inputs_at[node + 1]; i++) {
        const value = nodes.inputs[i];
        const from = writer.get(value);
        if (from === undefined || from === box || seen.has(from)) continue;
        seen.add(from);
        found.push([from, box, value]);
      }
    }
  });
  return found;
}

function draw(container: Container, edges: [number, number, ValueId][], nodes: NodesPart | undefined): StandIn {
  const n = container.members.length;
  const { rank, forward } = ranks(n, edges);
  const rows: number[][] = [];
  for (let box = 0; box < n; box++) (rows[rank[box]] ??= []).push(box);
  const w = Float32Array.from(container.members, (member) => {
    const title = member >= 0 && nodes ? (nodes.strings[nodes.type[member]] ?? "").length : 12;
    const detail = member >= 0 && nodes ? (nodes.strings[nodes.detail[member]] ?? "").length : 0;
    return Math.max(92, Math.min(220, Math.max(34 + 8 * title, 18 + 7 * detail)));
  });
  const x = new Float32Array(n);
  const before: number[][] = Array.from({ length: n }, () => []);
  for (const [from, to] of forward) before[to]?.push(from);
  const want = (box: number): number => {
    const above = before[box];
    return above.length ? above.reduce((sum, from) => sum + x[from], 0) / above.length : 0;
  };
  // A rank that is too wide goes on in the next line.
  const lines = rows.filter(Boolean).flatMap((row) => {
    const sorted = row.map((box) => [want(box), box] as const).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, box]) => box);
    const parts: number[][] = [];
    for (let i = 0; i < sorted.length; i += WIDEST) parts.push(sorted.slice(i, i + WIDEST));
    for (const part of parts) {
      const width = part.reduce((sum, box) => sum + w[box] + GAP_X, -GAP_X);
      let left = part.reduce((sum, box) => sum + want(box), 0) / part.length - width / 2;
      for (const box of part) {
        x[box] = left + w[box] / 2;
        left += w[box] + GAP_X;
      }
    }
    return parts;
  });
  const y = new Float32Array(n);
  const line = new Int32Array(n);
  lines.forEach((part, r) => {
    for (const box of part) {
      y[box] = MARGIN + HEIGHT / 2 + r * (HEIGHT + GAP_Y);
      line[box] = r;
    }
  });
  let left = Infinity;
  let right = -Infinity;
  for (let box = 0; box < n; box++) {
    left = Math.min(left, x[box] - w[box] / 2);
    right = Math.max(right, x[box] + w[box] / 2);
  }
  if (!n) left = right = 0;
  for (let box = 0; box < n; box++) x[box] = x[box] - left + MARGIN;
  return {
    template: {
      width: right - left + 2 * MARGIN,
      height: 2 * MARGIN + lines.length * (HEIGHT + GAP_Y) - GAP_Y,
      x,
      y,
      w,
      h: new Float32Array(n).fill(HEIGHT),
      rank: line,
      edge_from: Int32Array.from(forward, ([from]) => from),
      edge_to: Int32Array.from(forward, ([, to]) => to),
      route_at: new Int32Array(forward.length + 1),
      route: new Float32Array(0),
      stub_box: new Int32Array(0),
      stub_side: new Uint8Array(0),
    },
    values: Int32Array.from(forward, ([, , value]) => value),
  };
}

/** Longest ways from the top; edges of a cycle are left out. Without edges, rows of eight. */
function ranks(n: number, edges: [number, number, ValueId][]): { rank: Int32Array; forward: [number, number, ValueId][] } {
  const rank = new Int32Array(n);
  if (!edges.length) return { rank: rank.map((_, box) => Math.floor(box / WIDEST)), forward: [] };
  const after: number[][] = Array.from({ length: n }, () => []);
  const open = new Int32Array(n);
  edges.forEach(([from, to], e) => {
    after[from]?.push(e);
    open[to]++;
  });
  const ready: number[] = [];
  for (let box = 0; box < n; box++) if (!open[box]) ready.push(box);
  for (let i = 0; i < ready.length; i++) {
    for (const e of after[ready[i]]) {
      const [from, to] = edges[e];
      rank[to] = Math.max(rank[to], rank[from] + 1);
      if (!--open[to]) ready.push(to);
    }
  }
  return { rank, forward: edges.filter(([from, to]) => rank[from] < rank[to]) };
}
