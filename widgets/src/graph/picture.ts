/** What the painter is given: a scene with its nodes, what is lit, and where boxes are while they glide. */

import type { NodesPart } from "../core/document.ts";
import type { Store } from "../core/panel.ts";
import type { Picture } from "./paint.ts";
import type { Stage } from "./stage.ts";

/** The scene of a stage, with nothing lit. */
export function pictureOf(stage: Stage, store: Store): Picture {
  const { scene, index } = stage;
  return {
    scene,
    index,
    nodes: nodesOf(store),
    mode: store.mode,
    lit: new Uint8Array(scene.count),
    litEdges: new Uint8Array(scene.edges),
    litStub: -1,
    quiet: false,
    x: scene.x,
    y: scene.y,
    glide: 1,
  };
}

export function nodesOf(store: Store): NodesPart {
  return store.parts.nodes ?? EMPTY_NODES;
}

const EMPTY_NODES: NodesPart = {
  strings: [],
  name: new Int32Array(0),
  type: new Int32Array(0),
  onnx_type: new Int32Array(0),
  unit: new Uint8Array(0),
  scope: new Int32Array(0),
  detail: new Int32Array(0),
  bytes: new Float64Array(0),
  inputs_at: new Int32Array(1),
  inputs: new Int32Array(0),
  outputs_at: new Int32Array(1),
  outputs: new Int32Array(0),
  attributes: new Int32Array(0),
  origin_at: new Int32Array(1),
  origin: new Int32Array(0),
  body_at: new Int32Array(1),
  body: new Int32Array(0),
  holder: new Int32Array(0),
  born: new Int32Array(0),
  gone: new Int32Array(0),
};
