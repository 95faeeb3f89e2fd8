/** A node through the steps: its other versions, or what has become of it, by name and by the source nodes that it is of. */

import type { NodeId, NodesPart, ValueId } from "../core/document.ts";

/**
 * Tells of the nodes of the end whether one is what a chosen node has become: a version of it (versions share their
 * name), or else, where it was fused or replaced, the node that has all of its source nodes.
 */
export function becomes(nodes: NodesPart | undefined, chosen: NodeId): (node: NodeId) => boolean {
  if (!nodes || !(chosen >= 0 && chosen < nodes.name.length)) return (node) => node === chosen;
  const last = nodes.gone.reduce((a, b) => Math.max(a, b), -1);
  const name = nodes.name[chosen];
  for (let i = 0; i < nodes.name.length; i++) if (nodes.name[i] === name && nodes.gone[i] === last) return (node) => nodes.name[node] === name;
  const sources = originsOf(nodes, chosen);
  if (!sources.length) return (node) => node === chosen;
  return (node) => {
    if (node < 0) return false;
    const found = originsOf(nodes, node);
    return sources.every((source) => found.includes(source));
  };
}

const originsOf = (nodes: NodesPart, node: NodeId): Int32Array => nodes.origin.subarray(nodes.origin_at[node], nodes.origin_at[node + 1]);

/** Tells of the nodes of the end whether the cursor means one: what it stands on, or what writes the tensor that it is on. */
export function meant(parts: { nodes?: NodesPart }, cursor: { node?: NodeId; value?: ValueId }): ((node: NodeId) => boolean) | null {
  const { nodes } = parts;
  if (cursor.node !== undefined) return becomes(nodes, cursor.node);
  if (cursor.value === undefined || !nodes) return null;
  const last = nodes.gone.reduce((a, b) => Math.max(a, b), -1);
  for (let i = 0; i < nodes.name.length; i++) {
    if (nodes.gone[i] === last && nodes.outputs.subarray(nodes.outputs_at[i], nodes.outputs_at[i + 1]).includes(cursor.value)) return (node) => node === i;
  }
  return null;
}
