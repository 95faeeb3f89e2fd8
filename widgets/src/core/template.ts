/** What is derived from a template once: where edges leave and enter their boxes. */

import type { Template } from "./document.ts";

export interface Ports {
  /** By edge: from the centre of the box that it leaves, and of the one it enters. */
  out: Float32Array;
  in: Float32Array;
}

const cache = new WeakMap<Template, Ports>();
const STEP = 14;
/** px beside the middle from which a line may leave its box all the same. */
const NEARLY = 24;

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
    const from = route_at[e];
    const to = route_at[e + 1];
    first[e] = to > from ? route[2 * from] : x[edge_to[e]];
    last[e] = to > from ? route[2 * to - 2] : x[edge_from[e]];
  }
  spread(edge_from, first, x, w, made.out);
  spread(edge_to, last, x, w, made.in);
  cache.set(template, made);
  return made;
}

function spread(box: Int32Array, next: Float32Array, x: Float32Array, w: Float32Array, into: Float32Array): void {
  const order = Int32Array.from(box.keys());
  order.sort((a, b) => box[a] - box[b] || next[a] - next[b] || a - b);
  for (let at = 0; at < order.length; ) {
    const one = box[order[at]];
    let end = at;
    while (end < order.length && box[order[end]] === one) end++;
    const count = end - at;
    const room = w[one] * 0.7;
    if (count === 1) {
      // A single edge that only just misses the middle runs straight.
      const off = next[order[at]] - x[one];
      into[order[at]] = Math.abs(off) < Math.min(room / 2, NEARLY) ? off * 0.999 : 0;
    } else {
      const step = Math.min(STEP, room / (count - 1));
      for (let i = at; i < end; i++) into[order[i]] = (i - at - (count - 1) / 2) * step;
    }
    at = end;
  }
}
