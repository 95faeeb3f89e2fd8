/**
 * What the explorer shows: a document in parts, each one packed block (see pack.ts).
 *
 * Python writes it (gexplorer/render/document.py), the report carries it, a kernel sends it. A part that comes again
 * under the same name replaces the old one; a hash tells which parts are the same, so that a toggle sends little.
 * Every table is columns of equal length; a text is an index into `strings` of its own part; -1 stands for "none";
 * NaN for a number that is not known. Node and value numbers mean the same in all parts of one document.
 */

export const SCHEMA = "gexplorer.explorer/1";

/** An index into `strings` of the part that it stands in. */
export type Text = number;
/** Row of the part `nodes`. A node that a pass changed is another row: a row is one version of a node. */
export type NodeId = number;
/** Row of the part `values`. */
export type ValueId = number;

export interface Parts {
  head: Head;
  steps: StepsPart;
  nodes: NodesPart;
  values: ValuesPart;
  scenes: ScenesPart;
  memory: MemoryPart;
  planners: PlannersPart;
  schedule: SchedulePart;
  cost: CostPart;
  tiling: TilingPart;
  kernel: KernelPart;
  rules: RulesPart;
  course: CoursePart;
  far: FarPart;
  sources: SourcesPart;
  log: LogPart;
}
export type PartName = keyof Parts;

/** Numbers at the top. `null` means not known; the reason stands in `note`. */
export interface Figure {
  key: string; // kernels, hbm_bytes, pool_bytes, latency_us, compile_seconds, ...
  label: string;
  unit: "count" | "bytes" | "us" | "s" | "ratio";
  value: number | null;
  first: number | null; // at the first step (before any pass); null where that has no meaning
  bound: number | null; // what it cannot be below
  error: number | null; // p90 relative error of its family, 0.12 for 12 %
  first_unpriced: number | null; // kernels that are not in a sum at the first step, as they have no price; null where not known
  unpriced: number; // now
  modelled: boolean; // no measurement, nor a count: a simulation says so
  series: Float64Array | null; // by step, NaN where not known
  lower_is_better: boolean | null; // null where neither way is good
  note: string;
}

export interface Head {
  schema: typeof SCHEMA;
  version: string;
  model: { name: string; sha256: string; nodes: number; weight_bytes: number | null; opset: Record<string, number> };
  options: Record<string, unknown>;
  /** The same compilation in other words. */
  copy: { python: string; cli: string; atc: string; switch_file: string };
  figures: Figure[];
  /** Always all six. `absent`: it has no steps. */
  stages: { name: string; seconds: number; steps: number; status: "done" | "failed" | "absent" }[];
  /** What the controls may be set to. */
  choices: { soc: string[]; memory: string[]; planner: string[]; tiling: string[]; preset: string[]; shapes: string[] };
  /** The argument that binds all open sizes of the inputs, in Python; "" where none is open. */
  binding: string;
  /** The pass that ended the compilation, and why; null where it came to its end. */
  failure: { name: string; why: string } | null;
  /** Where two compilations are put side by side: what is different besides the graph. Else null. */
  difference: Differing | null;
}

/** Two compilations or graphs side by side; the figures stand in `Head.figures` too, but only a few. */
export interface Differing {
  sides: [string, string];
  options: { name: string; before: string; after: string }[]; // that differ
  inputs: { name: string; before: string; after: string }[]; // of the model, that have another type
  figures: { key: string; label: string; unit: Figure["unit"]; before: number | null; after: number | null; less_is_better: boolean | null }[]; // that differ; null where neither way is good
  rules: { name: string; before: number; after: number; switched: string; reasons: { text: string; count: number }[] }[]; // rewrites
  /** Kernels of the second by what they are compiled for; null where there are no kernels. */
  kernels: { distinct: number; fresh: number; types: { type: string; count: number }[] } | null;
}

export interface StepsPart {
  strings: string[];
  steps: StepRow[];
}

export interface StepRow {
  index: number;
  stage: string;
  name: string;
  ge_name: string | null;
  kind: "stage" | "pass" | "rule";
  seconds: number;
  nodes_before: number;
  nodes_after: number;
  changed: boolean;
  tried: number;
  summary: string;
  source: string | null; // file and line of the rule or pass, inside the package
  /** Index into the part `scenes`. Steps that change nothing share the scene of the step before. */
  scene: number;
  rewrites: {
    node: Int32Array; // the node that it is about, after if it is there, else before; -1
    reason: Int32Array; // Text
    removed_at: Int32Array; // n + 1 offsets into `removed`
    removed: Int32Array; // NodeId
    added_at: Int32Array;
    added: Int32Array;
    changed_at: Int32Array;
    changed: Int32Array; // NodeId after: other inputs or attributes
  };
  rejects: {
    node: Int32Array;
    place: Int32Array; // Text: the name of the place, also where it is no node
    code: Int32Array; // Text
    reason: Int32Array; // Text
    hint: Int32Array; // Text or -1
    blocker: Int32Array; // NodeId or -1
    blocker_value: Int32Array; // ValueId or -1, where a value stands in the way
    blocker_name: Int32Array; // Text or -1
    traffic_bytes: Float64Array; // memory traffic, through L2 or HBM, that fusing here could save at most, NaN where not known
    saved_bytes: Float64Array; // HBM's part of it, NaN where not known
  };
}

/** Drawn differently by colour and glyph. */
export enum Unit {
  Cube = 0,
  Vector = 1,
  Mixed = 2,
  Move = 3, // data movement: Transpose, TransData, Gather, Reshape
  Fallback = 4, // AICPU or host
  Control = 5, // If, Loop, Scan
  Constant = 6,
  Boundary = 7, // inputs and outputs of the graph
}

export interface NodesPart {
  strings: string[];
  name: Int32Array; // Text
  type: Int32Array; // Text: operator, CANN's name where there is one
  onnx_type: Int32Array; // Text
  unit: Uint8Array; // Unit
  scope: Int32Array; // Text: module path
  detail: Int32Array; // Text: "float16 [1, 2048, 4096]" of the first output
  bytes: Float64Array; // of all outputs, NaN where unsized
  inputs_at: Int32Array; // n + 1
  inputs: Int32Array; // ValueId, -1 for an absent optional input
  outputs_at: Int32Array;
  outputs: Int32Array;
  attributes: Int32Array; // Text: lines "name = value"
  origin_at: Int32Array; // n + 1
  origin: Int32Array; // Text: names of source ONNX nodes
  body_at: Int32Array; // n + 1
  body: Int32Array; // Text: operators inside a fused kernel, in order
  holder: Int32Array; // Text or -1: name of the node whose nested graph it is in
  /** Step that has it first after it, -1 where it was there before all. Versions of a node have one name. */
  born: Int32Array;
  /** Step that has it no more after it, the number of steps where it is there at the end. */
  gone: Int32Array;
}

export interface ValuesPart {
  strings: string[];
  name: Int32Array;
  dtype: Int32Array;
  shape: Int32Array; // Text, "[b, 128]"
  bytes: Float64Array; // NaN where unsized
  kind: Uint8Array; // 0 intermediate, 1 input, 2 output, 3 constant, 4 state
}

/**
 * Pictures of the graph, one a step: boxes of the graph before *and* after, laid out once, so that looking at
 * before, after or both moves nothing. Boxes are nodes or containers; a container has a picture of its own.
 */
export interface ScenesPart {
  strings: string[];
  /** By scene: its root container. */
  roots: Int32Array;
  /** By scene: index of the step that it shows; -1 for the result alone, which the stages after the passes share. */
  steps: Int32Array;
  containers: Container[];
  templates: Template[];
  /** Inputs and outputs of the graph: the container that stands for each, of which nothing else is told; its ValueId. */
  ends: { container: Int32Array; value: Int32Array };
  /** What is inside fused kernels, a row each; their boxes can be opened like containers. */
  bodies: {
    node: Int32Array; // NodeId of the kernel
    template: Int32Array;
    members_at: Int32Array; // rows + 1
    /** By box of the template: NodeId of the operator as it was before; -1 - Text for one that no graph of the trace has. */
    members: Int32Array;
    stubs_at: Int32Array; // rows + 1
    stubs: Int32Array; // by stub of the template: ValueId, -1 where it is not known
  };
}

export interface Container {
  label: Text;
  /** `input`, `output`: a value of the graph, see `ends`; there is nothing in it. */
  kind: "graph" | "scope" | "repeat" | "nested" | "input" | "output";
  /** For `repeat`: how often; `members` are those of the first, `instances` the containers that are alike. */
  count: number;
  instances: Int32Array;
  /** Open when first shown. */
  open: boolean;
  /** Geometry, shared by all containers that look the same. -1: computed when asked for. */
  template: number;
  /** By box of the template: NodeId, or -1 - container. */
  members: Int32Array;
  /** By box: 1 before, 2 after, 3 both, and 4 more where it changed or holds a change. */
  status: Uint8Array;
  /** By edge of the template: ValueId that flows there (the first, where there are several). */
  edge_values: Int32Array;
  /** By edge: 1 before, 2 after, 3 both. */
  edge_status: Uint8Array;
  /** By stub of the template: ValueId. */
  stub_values: Int32Array;
  /** Nodes inside, at any depth; inputs and outputs do not count. */
  nodes: number;
}

/** A picture: coordinates of boxes' centres in px, y downwards; (0, 0) is the top left corner. */
export interface Template {
  width: number;
  height: number;
  x: Float32Array;
  y: Float32Array;
  w: Float32Array;
  h: Float32Array;
  rank: Int32Array; // boxes of one rank stand side by side
  edge_from: Int32Array;
  edge_to: Int32Array;
  route_at: Int32Array; // edges + 1: offsets, in points, into `route`
  route: Float32Array; // x, y of bend points between the two boxes
  stub_box: Int32Array;
  stub_side: Uint8Array; // 0 something comes in, 1 goes out
}

export interface MemoryPart {
  strings: string[];
  planner: string;
  pool_bytes: number;
  bound_bytes: number;
  unplanned_bytes: number;
  weight_bytes: number;
  persistent_bytes: number;
  proved: boolean;
  /** Tensors that no plan can place, as their size is not known. */
  unsized: number;
  /** By position in program order: NodeId. */
  order: Int32Array;
  load_bytes: Float64Array; // live bytes by position
  peak: number; // position, -1 where there is none
  /** By buffer of the pool. */
  value: Int32Array; // ValueId of the tensor that it is named after, -1 for a workspace
  name: Int32Array; // Text
  offset_bytes: Float64Array;
  size_bytes: Float64Array;
  first: Int32Array; // position of the writer
  last: Int32Array; // last position that it is held at, inclusive: its last reader's (one more in mode safe)
  tensors: Int32Array; // how many tensors share it
  member_at: Int32Array; // buffers + 1
  member: Int32Array; // ValueId of every tensor in it, -1 for a workspace
  kind: Int32Array; // Text: intermediate, workspace, ...
  conflict_a: Int32Array; // pairs of buffers that overlap in time and address: empty in a verified plan
  conflict_b: Int32Array;
}

/** Other planners on the same buffers; computed when asked for. One that declined has no offsets. */
export interface PlannersPart {
  planners: { name: string; pool_bytes: number; seconds: number; proved: boolean; sound: boolean; offset_bytes: Float64Array | null; note: string }[];
}

export interface SchedulePart {
  strings: string[];
  makespan_us: number;
  critical_path_us: number;
  error: number | null;
  mode: string;
  streams: { label: string }[];
  node: Int32Array; // NodeId by task
  name: Int32Array; // Text
  stream: Int32Array;
  core: Int32Array; // Text: cube, vector, mixed, aicpu, ...
  start_us: Float64Array;
  duration_us: Float64Array;
  slack_us: Float64Array;
  wait_us: Float64Array; // its stream stood idle so long before it
  held_by: Int32Array; // task at whose end it starts, -1 for one that starts at 0
  held_why: Int32Array; // Text: data, reuse (of bytes), stream, or "" for one that starts at 0
  held_tensor: Int32Array; // Text or -1: what it reads, or whose bytes it takes
  critical: Uint8Array;
  idle: Uint8Array; // 1: launches nothing and only keeps its place, as a view of unknown size does
  event_from: Int32Array; // task
  event_to: Int32Array;
  event_reason: Int32Array; // Text: data, reuse
  timed: boolean; // false: no kernel has a time
  note: string;
}

export interface CostPart {
  strings: string[];
  soc: string;
  capacity_bytes: number; // of HBM
  tiling: string;
  peaks: { label: string; flops_per_s: number }[];
  bandwidths: { label: string; bytes_per_s: number }[];
  node: Int32Array; // NodeId by kernel
  name: Int32Array;
  type: Int32Array;
  family: Int32Array; // Text
  error: Float64Array; // p90 of the family, NaN where not known
  flops: Float64Array;
  peak_flops_per_s: Float64Array; // of its unit, at its element types; NaN where it computes nothing
  compulsory_bytes: Float64Array;
  hbm_bytes: Float64Array;
  l2_bytes: Float64Array;
  l1_bytes: Float64Array;
  ub_bytes: Float64Array;
  latency_us: Float64Array;
  launch_us: Float64Array;
  pipes: string[]; // cube, vector, mte1, mte2, mte3, fixpipe, and hbm for the memory
  pipe_us: Float64Array; // kernels x pipes, row by row
  bound: Int32Array; // Text: the pipe that bounds it
  tile: Int32Array; // Text or -1
  warning: Int32Array; // Text or -1: over-fusion and the like
  /** Totals of the graph before all passes, for comparison; null where not computed, or where other kernels have no price. */
  unfused: { kernels: number | null; hbm_bytes: number | null; latency_us: number | null; unpriced: number | null };
  unpriced: Int32Array; // Text: kernels without a price
  unpriced_node: Int32Array; // NodeId
  unpriced_reason: Int32Array; // Text
}

/** The dearest kernels that differ; computed when asked for. */
export interface TilingPart {
  strings: string[];
  more: number; // kernels that are left out
  mode: string; // how the tiles were taken: library, fast, exhaustive
  kernels: {
    name: Text;
    type: Text;
    alike: Int32Array; // NodeIds that share the search
    /** By block of m x n, with the best k, order and buffering. Empty for what is no single product. */
    m: Int32Array;
    n: Int32Array;
    k: Int32Array;
    time_us: Float32Array; // NaN where it does not fit
    blocker: Int32Array; // Text: the buffer that is too small, -1 where it fits
    chosen: number; // -1 where there are no tiles
    best: number;
    /** The chosen tile itself: its k need not be the best of its block. NaN, 0 and -1 where there is none. */
    chosen_us: number;
    chosen_k: number;
    chosen_order: Text; // rows or columns of blocks first
    chosen_double: boolean; // two panels of everything, so that moving and computing overlap
    evaluations: number;
    buffers: { name: string; used_bytes: number; capacity_bytes: number }[]; // of the chosen tile
    text: Text; // what it computes, in one line
    program: Text; // the tile program, as text, "" where there is none
    note: string; // why there is none
  }[];
}

/** Tile programs step by step: the first instructions of the first core; computed when asked for. */
export interface KernelPart {
  strings: string[];
  more: number; // kernels that are left out
  /** Kernels without a program, the dearest first, and why. */
  missing: { name: Text; type: Text; alike: Int32Array; reason: Text }[];
  more_missing: number; // of these left out
  programs: {
    name: Text;
    type: Text;
    alike: Int32Array; // NodeIds that have this program
    text: Text; // what it computes, in one line
    tile: Text; // how it is cut
    cores: number;
    blocks: number;
    lines: Int32Array; // Text by line of the program, without flags
    levels: { name: string; capacity_bytes: number }[]; // of one core
    buffers: { name: Text; level: string; copies: number; copy_bytes: number; role: string }[];
    paths: { name: string; total_bytes: number }[]; // of all cores, to the end
    /** A row an instruction, in the order in which the first core issues them. */
    steps: {
      line: Int32Array;
      pipe: Int32Array; // Text: mte1, mte2, mte2v (a vector core's), mte3, cube, vector, fixpipe
      turn: Int32Array; // of the innermost loop: one tile
      block: Int32Array; // -1 before the first and after the last
      where: Int32Array; // Text: values of the loop variables
      buffer: Int32Array; // that is written
      copy: Int32Array; // which copy of it
      content: Int32Array; // Text: what is there now
      path: Int32Array; // of a move, else -1
      moved_bytes: Float64Array;
      held_bytes: Float64Array; // what is there now takes so much
      reads_at: Int32Array; // n + 1 offsets
      reads: Int32Array; // buffers that it reads
      reads_copy: Int32Array; // which copy of each
    };
    whole: boolean; // false: the core goes on after the last row
  }[];
}

export interface RulesPart {
  strings: string[];
  name: string[];
  ge_name: (string | null)[];
  enabled: Uint8Array;
  is_fusion: Uint8Array;
  summary: string[];
  source: string[];
  step: Int32Array; // index of its step, -1
  tried: Int32Array;
  matched: Int32Array;
  effective: Int32Array;
  near: Int32Array;
  seconds: Float64Array;
  ends_in: string[]; // operators of the places that a rule looks at, "" where it looks at any
}

/** Places that a rule looked at, far from its pattern, by the kind of what they lack; computed when asked for. */
export interface FarPart {
  strings: string[];
  step: Int32Array; // of the rule; rows of one step stand together, most places first
  kind: Int32Array; // Text: the reason without names
  reason: Int32Array; // Text: of the first place
  count: Int32Array;
  node_at: Int32Array; // rows + 1
  node: Int32Array; // NodeId of the first places, -1 for one in a nested graph
}

/** What the graph costs after every step; computed when asked for, unless the page carries it. NaN: not costed. */
export interface CoursePart {
  kernels: Float64Array;
  latency_us: Float64Array;
  launch_us: Float64Array; // of it
  hbm_bytes: Float64Array;
  l2_bytes: Float64Array; // between L2 and the cores
  unpriced: Int32Array; // kernels that are in no sum, -1 where it was not costed
  comparable: Uint8Array; // 1 where the same are in no sum as after the step before
}

/** The code of the passes and rules that did something or nearly did; asked for when somebody wants to read it. */
export interface SourcesPart {
  name: string[];
  text: string[];
}

/** By line; what it is about is -1 where there is nothing of that kind. */
export interface LogPart {
  strings: string[];
  level: Int32Array; // Text: INFO, WARNING, ERROR
  stage: Int32Array; // Text, "" where it is said of none
  place: Int32Array; // Text: the step or file that says it
  lines: string[]; // what it says
  step: Int32Array; // index of the step
  rewrite: Int32Array; // of the step
  reject: Int32Array; // of the step
  node: Int32Array; // NodeId
}
