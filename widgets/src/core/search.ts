/**
 * Finds nodes by name, type, scope, value, operator inside a kernel, or size.
 *
 * Words are joined by "and"; `type:`, `scope:`, `name:`, `value:`, `op:`, `unit:` say where to look; `bytes>1MiB` how large.
 * Texts are looked through once each, in one long string, however many nodes have them: 100,000 take milliseconds.
 */

import type { NodeId, NodesPart, ValuesPart } from "./document.ts";
import { UNITS } from "./palette.ts";

export interface Hits {
  total: number;
  /** Best first, at most as many as asked for. */
  nodes: NodeId[];
}

const SIZES: Record<string, number> = { b: 1, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3, kb: 1e3, mb: 1e6, gb: 1e9 };
const FIELDS = ["name", "type", "scope", "value", "op", "unit"] as const;
type Field = (typeof FIELDS)[number];

export class Search {
  #nodes: NodesPart;
  #texts: Haystack;
  #values: Haystack | null = null;
  #valueText: Int32Array = new Int32Array(0);

  constructor(nodes: NodesPart, values?: ValuesPart) {
    this.#nodes = nodes;
    this.#texts = new Haystack(nodes.strings);
    if (values) {
      this.#values = new Haystack(values.strings);
      this.#valueText = values.name;
    }
  }

  /** `alive` says which rows come first: those of the step that is looked at. One row a name. */
  find(query: string, limit: number, alive: (node: NodeId) => boolean): Hits {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return { total: 0, nodes: [] };
    const tests = words.map((word) => this.#test(word));
    const nodes = this.#nodes;
    const best = new Map<number, { node: NodeId; score: number }>();
    for (let node = 0; node < nodes.name.length; node++) {
      let score = 0;
      for (const test of tests) {
        const one = test(node);
        if (!one) {
          score = 0;
          break;
        }
        score += one;
      }
      if (!score) continue;
      if (alive(node)) score += 100;
      const name = nodes.name[node];
      const old = best.get(name);
      if (!old || score >= old.score) best.set(name, { node, score });
    }
    const found = [...best.values()].sort((a, b) => b.score - a.score || a.node - b.node);
    return { total: found.length, nodes: found.slice(0, limit).map((one) => one.node) };
  }

  /** How well a node answers a word: 0 not at all. */
  #test(word: string): (node: NodeId) => number {
    const nodes = this.#nodes;
    const size = /^bytes([<>])=?([\d.]+)([a-z]*)$/.exec(word);
    if (size) {
      const limit = Number(size[2]) * (SIZES[size[3] || "b"] ?? NaN);
      return (node) => Number(size[1] === ">" ? nodes.bytes[node] > limit : nodes.bytes[node] < limit);
    }
    const colon = word.indexOf(":");
    const field = FIELDS.find((one) => one === word.slice(0, colon)) as Field | undefined;
    const text = field ? word.slice(colon + 1) : word;
    const marks = this.#texts.find(text);
    const values = field && field !== "value" ? null : (this.#values?.find(text) ?? null);
    const column = (of: Int32Array, weight: number) => (node: NodeId) => {
      const at = of[node];
      return at >= 0 && marks[at] ? weight * marks[at] : 0;
    };
    const list = (at: Int32Array, of: Int32Array, weight: number) => (node: NodeId) => {
      for (let i = at[node]; i < at[node + 1]; i++) if (marks[of[i]]) return weight;
      return 0;
    };
    const ofValues = (node: NodeId): number => {
      if (!values) return 0;
      for (const [at, of] of [[nodes.outputs_at, nodes.outputs], [nodes.inputs_at, nodes.inputs]] as const) {
        for (let i = at[node]; i < at[node + 1]; i++) {
          const value = of[i];
          if (value >= 0 && values[this.#valueText[value]]) return 1;
        }
      }
      return 0;
    };
    const either = (...tests: ((node: NodeId) => number)[]) => (node: NodeId) => {
      let most = 0;
      for (const test of tests) most = Math.max(most, test(node));
      return most;
    };
    const type = either(column(nodes.type, 6), column(nodes.onnx_type, 4));
    const op = list(nodes.body_at, nodes.body, 2);
    const name = either(column(nodes.name, 8), list(nodes.origin_at, nodes.origin, 2));
    const scope = column(nodes.scope, 3);
    switch (field) {
      case "name":
        return name;
      case "type":
        return type;
      case "scope":
        return scope;
      case "op":
        return either(type, op);
      case "value":
        return ofValues;
      case "unit":
        return (node) => Number(UNITS[nodes.unit[node]]?.name.startsWith(text) ?? false);
      default:
        return either(name, type, scope, op, ofValues);
    }
  }
}

/** Texts in one long string; lines are found by halving. */
class Haystack {
  #text: string;
  #starts: Int32Array;

  constructor(strings: readonly string[]) {
    const starts = new Int32Array(strings.length + 1);
    let at = 0;
    const lower = strings.map((text, i) => {
      // One line a text; folding may change the length, so it is folded before it is measured.
      const line = text.toLowerCase().replaceAll("\n", " ");
      starts[i] = at;
      at += line.length + 1;
      return line;
    });
    starts[strings.length] = at;
    this.#text = lower.join("\n");
    this.#starts = starts;
  }

  /** By text: 0 without the word, 1 with it, 2 where it begins with it, 3 where it is it. */
  find(word: string): Uint8Array {
    const starts = this.#starts;
    const marks = new Uint8Array(starts.length - 1);
    if (!word) return marks.fill(1);
    for (let at = this.#text.indexOf(word); at >= 0; at = this.#text.indexOf(word, at + 1)) {
      let low = 0;
      let high = starts.length - 2;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (starts[middle] <= at) low = middle;
        else high = middle - 1;
      }
      const start = starts[low];
      const length = starts[low + 1] - 1 - start;
      const mark = at === start ? (length === word.length ? 3 : 2) : 1;
      if (mark > marks[low]) marks[low] = mark;
      at = Math.max(at, start + length); // one find a text, the best place first
    }
    return marks;
  }
}
