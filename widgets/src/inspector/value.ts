/** A value: who writes it, who reads it, where it lies. */

import type { Parts, ValueId } from "../core/document.ts";
import type { Store } from "../core/panel.ts";
import { bytes, count } from "../core/units.ts";
import { h } from "../shell/dom.ts";
import { facts, nodeLink, section, some } from "./pieces.ts";
import { nearMiss } from "./why.ts";

export function valuePage(store: Store, value: ValueId): (HTMLElement | null)[] {
  const { values } = store.parts;
  if (!values || value >= values.name.length) return [];
  const text = (at: number | undefined): string => values.strings[at ?? -1] ?? "";
  const { writers, readers } = around(store.parts, value);
  const kind = ["intermediate", "input", "output", "constant", "state"][values.kind[value] as number] ?? "";
  return [
    h("div", { class: "gx-subject" }, h("div", { class: "gx-grow" }, h("h2", { text: "Value" }), h("div", { class: "gx-name gx-mono", text: text(values.name[value]) }))),
    facts([
      ["kind", kind],
      ["type", `${text(values.dtype[value])} ${text(values.shape[value])}`],
      ["size", bytes(values.bytes[value])],
      ...place(store.parts, value),
    ]),
    section("Written by", ...(writers.length ? some(writers, 4, (node) => h("div", {}, nodeLink(store, node))) : [h("p", { class: "gx-muted", text: WRITER[kind] ?? "No node of any step writes it." })])),
    section(`Read by${readers.length > 1 ? ` · ${count(readers.length)}` : ""}`, ...(readers.length ? some(readers, 12, (node) => h("div", {}, nodeLink(store, node))) : [h("p", { class: "gx-muted", text: kind === "output" ? "Nobody here: it is a result of the model." : "No node of any step reads it." })])),
    blocks(store, value),
  ];
}

const WRITER: Record<string, string> = {
  input: "Whoever runs the model: it is an input of the graph.",
  constant: "Nobody: it is a constant of the model, or was folded into one.",
  state: "Whoever runs the model: it is kept from one run to the next.",
};

/** Near misses in which it is what stands in the way. */
function blocks(store: Store, value: ValueId): HTMLElement | null {
  const found = (store.parts.steps?.steps ?? []).flatMap((step) => [...step.rejects.blocker_value.keys()].filter((row) => step.rejects.blocker_value[row] === value).map((row) => ({ step, row })));
  return found.length ? section(`Stands in the way of · ${count(found.length)}`, ...some(found, 8, ({ step, row }) => h("div", { class: "gx-why gx-missed" }, h("div", { class: "gx-why-head" }, h("span", { class: "gx-why-sign", "aria-hidden": "true", text: "◇" }), h("button", { class: "gx-link gx-grow", type: "button", onclick: () => store.move({ step: step.index, reject: row }), text: step.name })), nearMiss(store, step, row)))) : null;
}

/** Nodes of the last version of the graph first; one a name. */
function around({ nodes }: Partial<Parts>, value: ValueId): { writers: number[]; readers: number[] } {
  if (!nodes) return { writers: [], readers: [] };
  const find = (at: Int32Array, of: Int32Array): number[] => {
    const by = new Map<number, number>();
    for (let node = 0; node < nodes.name.length; node++) {
      for (let i = at[node] as number; i < (at[node + 1] as number); i++) if (of[i] === value) by.set(nodes.name[node] as number, node);
    }
    return [...by.values()].sort((a, b) => (nodes.gone[b] as number) - (nodes.gone[a] as number) || a - b);
  };
  return { writers: find(nodes.outputs_at, nodes.outputs), readers: find(nodes.inputs_at, nodes.inputs) };
}

function place({ memory }: Partial<Parts>, value: ValueId): [string, string][] {
  if (!memory) return [];
  for (let buffer = 0; buffer < memory.name.length; buffer++) {
    if (!memory.member.subarray(memory.member_at[buffer], memory.member_at[buffer + 1]).includes(value)) continue;
    return [
      ["address", `0x${(memory.offset_bytes[buffer] as number).toString(16)}`],
      ["buffer", `${bytes(memory.size_bytes[buffer])}, ${count(memory.tensors[buffer])} ${memory.tensors[buffer] === 1 ? "tensor" : "tensors"}`],
      ["live", `${count(memory.first[buffer])} to ${count(memory.last[buffer])}`],
    ];
  }
  return [];
}
