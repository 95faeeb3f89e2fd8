/** Small documents for the tests, written by hand. */

import type { Container, NodesPart, ScenesPart, StepRow, StepsPart, Template, ValuesPart } from "../src/core/document.ts";

const i32 = (...numbers: number[]): Int32Array => Int32Array.from(numbers);

export interface NodeWords {
  name: string;
  type?: string;
  scope?: string;
  bytes?: number;
  unit?: number;
  body?: string[];
  inputs?: number[];
  outputs?: number[];
  born?: number;
  gone?: number;
}

export function nodesOf(words: NodeWords[]): NodesPart {
  const strings: string[] = [];
  const text = (word: string): number => {
    const at = strings.indexOf(word);
    return at >= 0 ? at : strings.push(word) - 1;
  };
  const lists = (pick: (one: NodeWords) => number[]): [Int32Array, Int32Array] => {
    const at = [0];
    const all: number[] = [];
    for (const one of words) {
      all.push(...pick(one));
      at.push(all.length);
    }
    return [i32(...at), i32(...all)];
  };
  const [body_at, body] = lists((one) => (one.body ?? []).map(text));
  const [inputs_at, inputs] = lists((one) => one.inputs ?? []);
  const [outputs_at, outputs] = lists((one) => one.outputs ?? []);
  const none = i32(...new Array<number>(words.length + 1).fill(0));
  const column = (pick: (one: NodeWords) => string): Int32Array => i32(...words.map((one) => text(pick(one))));
  return {
    strings,
    name: column((one) => one.name),
    type: column((one) => one.type ?? "Relu"),
    onnx_type: column((one) => one.type ?? "Relu"),
    unit: Uint8Array.from(words.map((one) => one.unit ?? 1)),
    scope: column((one) => one.scope ?? ""),
    detail: column(() => "float32 [1]"),
    bytes: Float64Array.from(words.map((one) => one.bytes ?? NaN)),
    inputs_at,
    inputs,
    outputs_at,
    outputs,
    attributes: column(() => ""),
    origin_at: none,
    origin: i32(),
    body_at,
    body,
    holder: i32(...words.map(() => -1)),
    born: i32(...words.map((one) => one.born ?? -1)),
    gone: i32(...words.map((one) => one.gone ?? 9)),
  };
}

export function valuesOf(names: string[]): ValuesPart {
  return {
    strings: names,
    name: i32(...names.keys()),
    dtype: i32(...names.map(() => 0)),
    shape: i32(...names.map(() => 0)),
    bytes: new Float64Array(names.length),
    kind: new Uint8Array(names.length),
  };
}

/** Boxes of 100 x 50 px; one list a rank, of centres in x. Edges as pairs of boxes. */
export function templateOf(ranks: number[][], edges: [number, number, ...number[]][] = [], width = 400): Template {
  const x = ranks.flat();
  const rank = ranks.flatMap((row, r) => row.map(() => r));
  const routes = edges.map(([, , ...points]) => points);
  let at = 0;
  const route_at = [0, ...routes.map((points) => (at += points.length / 2))];
  return {
    width,
    height: ranks.length * 100,
    x: Float32Array.from(x),
    y: Float32Array.from(rank.map((r) => 50 + 100 * r)),
    w: new Float32Array(x.length).fill(100),
    h: new Float32Array(x.length).fill(50),
    rank: i32(...rank),
    edge_from: i32(...edges.map(([from]) => from)),
    edge_to: i32(...edges.map(([, to]) => to)),
    route_at: i32(...route_at),
    route: Float32Array.from(routes.flat()),
    stub_box: i32(),
    stub_side: new Uint8Array(0),
  };
}

export function containerOf(members: number[], template: number, more: Partial<Container> = {}): Container {
  return {
    label: 0,
    kind: "scope",
    count: 1,
    instances: i32(),
    open: false,
    template,
    members: i32(...members),
    status: new Uint8Array(members.length).fill(3),
    edge_values: i32(),
    edge_status: new Uint8Array(0),
    stub_values: i32(),
    nodes: members.length,
    ...more,
  };
}

export function scenesOf(containers: Container[], templates: Template[], strings = ["block"]): ScenesPart {
  const ends = { container: i32(), value: i32() };
  const bodies = { node: i32(), template: i32(), members_at: i32(0), members: i32(), stubs_at: i32(0), stubs: i32() };
  return { strings, roots: i32(0), steps: i32(0), containers, templates, ends, bodies };
}

export function stepsOf(rows: Partial<StepRow>[], strings: string[] = []): StepsPart {
  return {
    strings,
    steps: rows.map((row, index) => ({
      index,
      stage: "passes",
      name: `step_${index}`,
      ge_name: null,
      kind: "rule" as const,
      seconds: 0,
      nodes_before: 1,
      nodes_after: 1,
      changed: false,
      tried: 0,
      summary: "",
      source: null,
      scene: 0,
      rewrites: { node: i32(), reason: i32(), removed_at: i32(0), removed: i32(), added_at: i32(0), added: i32(), changed_at: i32(0), changed: i32() },
      rejects: rejectsOf([]),
      ...row,
    })),
  };
}

/** Near misses as node, blocker, bytes, the text of the place, and that of the cure (-1: there is none). */
export function rejectsOf(rows: [node: number, blocker: number, bytes: number, place: number, hint?: number][]): StepRow["rejects"] {
  const none = i32(...rows.map(() => -1));
  return {
    node: i32(...rows.map((row) => row[0])),
    place: i32(...rows.map((row) => row[3])),
    code: none,
    reason: none,
    hint: i32(...rows.map((row) => row[4] ?? 0)),
    blocker: i32(...rows.map((row) => row[1])),
    blocker_value: none,
    blocker_name: none,
    saved_bytes: Float64Array.from(rows.map((row) => row[2])),
    traffic_bytes: Float64Array.from(rows.map((row) => row[2])),
  };
}
