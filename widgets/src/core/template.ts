/** What is derived from a template once: where edges leave and enter their boxes. */

import type { Template } from "./document.ts";

export interface Ports {
  /** By edge: from the centre of the box that it leaves, and of the one it enters. */
  out: Float32Array;
  in: Float32Array;
}

const cache = new WeakMap<Template, Ports>();
const STEP = 14;

/** Edges of one box stand side by side, in the order of where they go, so that they do not cross at the box. */
export function ports(template: Template): Ports {
  const found = cache.get(template);
  if (found) return found;
  const edges = template.edge_from.length;
  const made: Ports = { out: new Float32Array(edges), in: new Float32Array(edges) };
  const { x, w, route_at, route, edge_from, edge_to } = template;
  const first = new Float32Array(edges);
  const last = new Float32Array(edges);
  for (let e = 0; e < edges; e++) {
    const from = route_at[e] as number;
    const to = route_at[e + 1] as number;
    first[e] = to > from ? (route[2 * from] as number) : (x[edge_to[e] as number] as number);
    last[e] = to > from ? (route[2 * to - 2] as number) : (x[edge_from[e] as number] as number);
  }
  spread(edge_from, first, x, w, made.out);
  spread(edge_to, last, x, w, made.in);
  cache.set(template, made);
  return made;
}

function spread(box: Int32Array, next: Float32Array, x: Float32Array, w: Float32Array, into: Float32Array): void {
  const order = Int32Array.from(box.keys());
  order.sort((a, b) => (box[a] as number) - (box[b] as number) || (next[a] as number) - (next[b] as number) || a - b);
  for (let at = 0; at < order.length; ) {
    const one = box[order[at] as number] as number;
    let end = at;
    while (end < order.length && box[order[end] as number] === one) end++;
    const count = end - at;
    const room = (w[one] as number) * 0.7;
    if (count === 1) {
      // A single edge that only just misses the middle runs straight.
      const off = (next[order[at] as number] as number) - (x[one] as number);
      into[order[at] as number] = Math.abs(off) < room / 2 ? off * 0.999 : 0;
      if (Math.abs(off) > 24) into[order[at] as number] = 0;
    } else {
      const step = Math.min(STEP, room / (count - 1));
      for (let i = at; i < end; i++) into[order[i] as number] = (i - at - (count - 1) / 2) * step;
    }
    at = end;
  }
}
