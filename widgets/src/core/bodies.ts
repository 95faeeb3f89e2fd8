/** Inside fused kernels: their bodies as containers, and which kernels hold an operator. */

import type { Container, NodeId, NodesPart, ScenesPart, ValueId } from "./document.ts";

/** Members below this are operators that no graph of the trace has: UNKNOWN - Text. */
export const UNKNOWN = -(2 ** 30);

interface Known {
  row: Map<NodeId, number>;
  container: Map<NodeId, Container>;
  /** Kernels by what is inside them. */
  holders: Map<NodeId, NodeId[]>;
}

const cache = new WeakMap<ScenesPart, Known>();

function known(scenes: ScenesPart): Known {
  let found = cache.get(scenes);
  if (!found) {
    const { node, members_at, members } = scenes.bodies;
    const row = new Map(Array.from(node, (kernel, i) => [kernel, i]));
    const holders = new Map<NodeId, NodeId[]>();
    for (let i = 0; i < node.length; i++) {
      for (const member of members.subarray(members_at[i], members_at[i + 1])) {
        if (member < 0) continue;
        const list = holders.get(member);
        if (list) list.push(node[i]);
        else holders.set(member, [node[i]]);
      }
    }
    cache.set(scenes, (found = { row, container: new Map(), holders }));
  }
  return found;
}

/** The kernels that an operator went into, of all steps. */
export function holders(scenes: ScenesPart, node: NodeId): readonly NodeId[] {
  return known(scenes).holders.get(node) ?? [];
}

/** What is inside a kernel; null for what is no kernel. */
export function bodyOf(scenes: ScenesPart, kernel: NodeId, nodes: NodesPart): Container | null {
  const { row, container } = known(scenes);
  const at = row.get(kernel);
  if (at === undefined) return null;
  let made = container.get(kernel);
  if (!made) container.set(kernel, (made = opened(scenes, at, nodes)));
  return made;
}

/** Paths of the kernels among the members: by operator and a number, so that they hold in the next layer too. */
export function kernelPaths(scenes: ScenesPart, members: Int32Array, parent: string, nodes: NodesPart): Map<number, string> {
  const paths = new Map<number, string>();
  const { row } = known(scenes);
  if (!row.size) return paths;
  const seen = new Map<number, number>();
  for (let box = 0; box < members.length; box++) {
    const member = members[box];
    if (member < 0 || !row.has(member)) continue;
    const type = nodes.type[member];
    const times = (seen.get(type) ?? 0) + 1;
    seen.set(type, times);
    paths.set(box, `${parent}/\t${nodes.strings[type] ?? ""}#${times}`);
  }
  return paths;
}

function opened(scenes: ScenesPart, row: number, nodes: NodesPart): Container {
  const { bodies } = scenes;
  const index = bodies.template[row];
  const template = scenes.templates[index];
  const told = bodies.members.subarray(bodies.members_at[row], bodies.members_at[row + 1]);
  const edges = template?.edge_from.length ?? 0;
  return {
    label: -1,
    kind: "scope",
    count: 1,
    instances: new Int32Array(0),
    open: false,
    template: index,
    members: told.map((member) => (member >= 0 ? member : UNKNOWN + 1 + member)),
    status: new Uint8Array(told.length).fill(3),
    edge_values: Int32Array.from({ length: edges }, (_, e) => between(nodes, told[template?.edge_from[e] ?? -1] ?? -1, told[template?.edge_to[e] ?? -1] ?? -1)),
    edge_status: new Uint8Array(edges).fill(3),
    stub_values: bodies.stubs.subarray(bodies.stubs_at[row], bodies.stubs_at[row + 1]),
    nodes: told.length,
  };
}

/** The value that flows from one node to another; where the other has become another version, the first that one makes. */
function between(nodes: NodesPart, from: NodeId, to: NodeId): ValueId {
  if (from < 0) return -1;
  const outputs = nodes.outputs.subarray(nodes.outputs_at[from], nodes.outputs_at[from + 1]);
  const inputs = to < 0 ? [] : [...nodes.inputs.subarray(nodes.inputs_at[to], nodes.inputs_at[to + 1])];
  return outputs.find((value) => value >= 0 && inputs.includes(value)) ?? outputs[0] ?? -1;
}
