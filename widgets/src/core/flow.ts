/** Who writes and who reads each value, over all versions of the nodes. */

import type { NodeId, NodesPart, ValueId } from "./document.ts";

interface Lists {
  at: Int32Array;
  node: Int32Array;
}

const cache = new WeakMap<NodesPart, { writers: Lists; readers: Lists }>();

function lists(from: Int32Array, values: Int32Array): Lists {
  let most = -1;
  for (const value of values) if (value > most) most = value;
  const at = new Int32Array(most + 2);
  for (const value of values) if (value >= 0) at[value + 1]++;
  for (let i = 1; i < at.length; i++) at[i] += at[i - 1];
  const next = at.slice();
  const node = new Int32Array(at[most + 1] ?? 0);
  for (let n = 0; n + 1 < from.length; n++) {
    for (let i = from[n]; i < from[n + 1]; i++) {
      const value = values[i];
      if (value >= 0) node[next[value]++] = n;
    }
  }
  return { at, node };
}

/** Nodes that write a value (what comes from `before` it) or read it, of all versions, in the order of their numbers. */
export function around(nodes: NodesPart, value: ValueId, before: boolean): Int32Array {
  let found = cache.get(nodes);
  if (!found) cache.set(nodes, (found = { writers: lists(nodes.outputs_at, nodes.outputs), readers: lists(nodes.inputs_at, nodes.inputs) }));
  const { at, node } = before ? found.writers : found.readers;
  return value >= 0 && value + 1 < at.length ? node.subarray(at[value], at[value + 1]) : node.subarray(0, 0);
}

/** Those of them that are there before or after a step. */
export function presentAround(nodes: NodesPart, value: ValueId, before: boolean, step: number): NodeId[] {
  return [...around(nodes, value, before)].filter((node) => nodes.born[node] <= step && nodes.gone[node] >= step);
}
