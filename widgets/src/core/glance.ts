/** What one wants to know first of a compilation: where its time goes, and what has no kernel on the device. */

import type { CostPart, NodeId, NodesPart } from "./document.ts";
import { UNITS } from "./palette.ts";

const FALLBACK = UNITS.findIndex(({ name }) => name === "fallback");

/** The kernels of one operator type together. */
export interface Slice {
  type: string;
  unit: number;
  kernels: number;
  us: number;
  /** Of the time of all kernels that have a price. */
  share: number;
  dearest: NodeId;
}

/** By type of operator, the dearest first; kernels without a price are in none. */
export function timeByType(cost: CostPart, nodes: NodesPart): Slice[] {
  const byType = new Map<number, Slice & { most: number }>();
  let all = 0;
  cost.node.forEach((node, row) => {
    const us = cost.latency_us[row] as number;
    if (!(us > 0)) return;
    all += us;
    const type = cost.type[row] as number;
    const slice = byType.get(type) ?? { type: cost.strings[type] ?? "", unit: nodes.unit[node] as number, kernels: 0, us: 0, share: 0, dearest: node, most: 0 };
    slice.kernels++;
    slice.us += us;
    if (us > slice.most) [slice.most, slice.dearest, slice.unit] = [us, node, nodes.unit[node] as number];
    byType.set(type, slice);
  });
  return [...byType.values()].map(({ most: _, ...slice }) => ({ ...slice, share: slice.us / all })).sort((a, b) => b.us - a.us);
}

/** Nodes of the result that run on an AI CPU or on the host, in their order. */
export function fallbacks(nodes: NodesPart, steps: number): NodeId[] {
  return [...nodes.unit.keys()].filter((node) => nodes.unit[node] === FALLBACK && (nodes.gone[node] as number) >= steps);
}
