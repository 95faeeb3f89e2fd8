/** Where a stub leads: to what writes its value, or to what reads it. */

import type { NodeId } from "../core/document.ts";
import type { Store } from "../core/panel.ts";
import { presentAround } from "../core/flow.ts";
import type { Stage } from "./stage.ts";

export interface Jump {
  value: number;
  /** Does it lead to what writes the value? */
  back: boolean;
  /** The box that it leaves from, -1 where none is. */
  own: number;
  nodes: readonly NodeId[];
  /** Boxes at the other end, the input's or output's of the graph among them; none twice, not the stub's own. */
  boxes: readonly number[];
}

export function jumpOf(stage: Stage, store: Store, step: number, stub: number): Jump {
  const { scene } = stage;
  return ofValue(stage, store, step, scene.stub_value[stub], scene.stub_side[stub] === 0, scene.stub_box[stub]);
}

/** From a value that is chosen to what reads it. */
export function ofValue(stage: Stage, store: Store, step: number, value: number, back = false, own = -1): Jump {
  const { nodes } = store.parts;
  const found = nodes ? presentAround(nodes, value, back, step) : [];
  const boxes = [...stage.ends(value).filter((box) => stage.isInput(box) === back), ...found.map((node) => stage.box(node))];
  const around = new Set<number>();
  for (let box = own; box >= 0; box = stage.scene.parent[box]) around.add(box);
  return { value, back, own, nodes: found, boxes: [...new Set(boxes)].filter((box) => box >= 0 && !around.has(box)) };
}
