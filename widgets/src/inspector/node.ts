/** A node: what it is, where it comes from, what it became, what it costs, why it is not fused. */

import type { CostPart, NodeId, Parts } from "../core/document.ts";
import type { Store } from "../core/panel.ts";
import { UNITS } from "../core/palette.ts";
import { bytes, count, percent, time } from "../core/units.ts";
import { copy } from "../shell/menu.ts";
import { unitGlyph } from "../shell/glyph.ts";
import { h } from "../shell/dom.ts";
import { breaking, facts, section, some, valueLine } from "./pieces.ts";
import { whyNot } from "./why.ts";

export function nodePage(store: Store, node: NodeId): (HTMLElement | null)[] {
  const { nodes } = store.parts;
  if (!nodes || node >= nodes.name.length) return [];
  const text = (at: number | undefined): string => nodes.strings[at ?? -1] ?? "";
  const name = text(nodes.name[node]);
  const type = text(nodes.type[node]);
  const onnx = text(nodes.onnx_type[node]);
  const list = (at: Int32Array, of: Int32Array): number[] => [...of.subarray(at[node], at[node + 1])];
  const attributes = text(nodes.attributes[node]).split("\n").filter(Boolean);
  const origin = list(nodes.origin_at, nodes.origin).map(text);
  const body = list(nodes.body_at, nodes.body).map(text);
  const copyButton = h("button", { class: "gx-link gx-copy", type: "button", title: "Copy the name", "aria-label": "Copy the name", text: "copy" });
  copyButton.addEventListener("click", () => void copy(name, copyButton).then((done) => (copyButton.textContent = done ? "copied" : "could not")));
  return [
    h(
      "div",
      { class: "gx-subject" },
      unitGlyph(nodes.unit[node] as number),
      h("div", { class: "gx-grow" }, h("h2", { text: type }), h("div", { class: "gx-name gx-mono" }, h("span", {}, ...breaking(name)), copyButton)),
    ),
    facts([
      ["unit", UNITS[nodes.unit[node] as number]?.label ?? ""],
      ["ONNX type", onnx && onnx !== type ? onnx : ""],
      ["scope", text(nodes.scope[node])],
      ["inside", text(nodes.holder[node] ?? -1)],
      ["life", life(store.parts, node)],
    ]),
    whyNot(store, node),
    section("Outputs", ...some(list(nodes.outputs_at, nodes.outputs), 6, (value) => valueLine(store, value))),
    section("Inputs", ...some(list(nodes.inputs_at, nodes.inputs), 8, (value) => valueLine(store, value))),
    section("Cost", costOf(store.parts, node)),
    section("Memory", memoryOf(store.parts, node)),
    section("Schedule", scheduleOf(store.parts, node)),
    section(
      "Attributes",
      facts(
        attributes.map((line) => {
          const at = line.indexOf(" = ");
          return [at < 0 ? line : line.slice(0, at), h("span", { class: "gx-mono gx-attribute", text: at < 0 ? "set" : line.slice(at + 3) })];
        }),
      ),
    ),
    body.length ? section(`Inside the kernel · ${count(body.length)}`, h("div", { class: "gx-body" }, ...some(body, 16, (one) => h("div", { text: one })))) : null,
    section("From ONNX", ...some(origin, 6, (one) => h("div", { class: "gx-mono gx-origin", text: one }))),
  ];
}

/** "made by step, gone after step", where it was not there all along. */
function life({ nodes, steps }: Partial<Parts>, node: NodeId): string {
  const born = nodes?.born[node] ?? -1;
  const gone = nodes?.gone[node] ?? Infinity;
  const name = (step: number): string => steps?.steps[step]?.name ?? "";
  return [born >= 0 && name(born) ? `made by ${name(born)}` : "", steps && gone < steps.steps.length && gone >= 0 ? `gone after ${name(gone)}` : ""].filter(Boolean).join(", ");
}

function costOf({ cost }: Partial<Parts>, node: NodeId): HTMLElement | null {
  const row = cost?.node.indexOf(node) ?? -1;
  if (!cost) return null;
  const none = cost.unpriced_node.indexOf(node);
  if (none >= 0) return facts([["price", `none: ${cost.strings[cost.unpriced_reason[none] as number] ?? "nobody knows it"}`]]);
  if (row < 0) return null;
  const text = (at: number | undefined): string => cost.strings[at ?? -1] ?? "";
  const error = cost.error[row] as number;
  const spread = Number.isNaN(error) ? "" : ` ±${(error * 100).toFixed(0)} %`;
  const hbm = cost.hbm_bytes[row] as number;
  const compulsory = cost.compulsory_bytes[row] as number;
  return facts([
    ["latency", Number.isNaN(cost.latency_us[row]) ? "" : `${time(cost.latency_us[row])}${spread}`],
    ["bound by", text(cost.bound[row])],
    ["work", cost.flops[row] ? `${count(cost.flops[row])} FLOP` : ""],
    ["HBM", Number.isNaN(hbm) ? "" : `${bytes(hbm)}${compulsory > 0 && hbm > compulsory ? `, ${percent(hbm / compulsory - 1, 0)} over the least` : ""}`],
    ["L2", moved(cost.l2_bytes[row])],
    ["L1", moved(cost.l1_bytes[row])],
    ["UB", moved(cost.ub_bytes[row])],
    ["launch", cost.launch_us[row] ? time(cost.launch_us[row]) : ""],
    ["tile", text(cost.tile[row])],
    ["pipes", pipes(cost, row)],
    ["warning", text(cost.warning[row])],
  ]);
}

function moved(x: number | undefined): string {
  return x === undefined || Number.isNaN(x) || !x ? "" : bytes(x);
}

/** How long each pipe is busy: the longest bounds the kernel. */
function pipes(cost: CostPart, row: number): HTMLElement | null {
  const busy = cost.pipes.map((name, i) => ({ name, us: cost.pipe_us[row * cost.pipes.length + i] as number })).filter(({ us }) => us > 0);
  const most = Math.max(...busy.map(({ us }) => us));
  if (!busy.length) return null;
  return h("div", {}, ...busy.map(({ name, us }) => h("div", { class: `gx-pipe${us === most ? " gx-binds" : ""}` }, h("span", { text: name }), h("span", {}, h("i", { style: { "--share": us / most } })), h("span", { text: time(us) }))));
}

function memoryOf({ memory, nodes }: Partial<Parts>, node: NodeId): HTMLElement | null {
  if (!memory || !nodes) return null;
  const outputs = nodes.outputs.subarray(nodes.outputs_at[node], nodes.outputs_at[node + 1]);
  const rows: [string, string][] = [];
  for (let buffer = 0; buffer < memory.name.length && rows.length < 6; buffer++) {
    const members = memory.member.subarray(memory.member_at[buffer], memory.member_at[buffer + 1]);
    if (!members.some((value) => value >= 0 && outputs.includes(value))) continue;
    rows.push(["address", `0x${(memory.offset_bytes[buffer] as number).toString(16)} · ${bytes(memory.size_bytes[buffer])}`]);
    rows.push(["live", `${count(memory.first[buffer])} to ${count(memory.last[buffer])}${(memory.tensors[buffer] as number) > 1 ? `, shared by ${count(memory.tensors[buffer])} tensors` : ""}`]);
  }
  return facts(rows);
}

function scheduleOf({ schedule }: Partial<Parts>, node: NodeId): HTMLElement | null {
  const task = schedule?.node.indexOf(node) ?? -1;
  if (!schedule || task < 0) return null;
  if (!schedule.duration_us[task]) return facts([["stream", schedule.streams[schedule.stream[task] as number]?.label ?? ""], ["takes", schedule.idle[task] ? "no time: it launches nothing" : "no time here: it has no price"]]);
  return facts([
    ["stream", schedule.streams[schedule.stream[task] as number]?.label ?? ""],
    ["starts", time(schedule.start_us[task])],
    ["takes", time(schedule.duration_us[task])],
    ["slack", schedule.critical[task] ? "none: on the critical path" : time(schedule.slack_us[task])],
  ]);
}
