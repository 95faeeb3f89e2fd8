/** The tab "Memory": the pool by address and life, what is alive at the peak, planners compared. */

import type { MemoryPart } from "../core/document.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { UNITS } from "../core/palette.ts";
import { bytes, count, percent } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { button, Choice, Frame, legend, soft, strong, warning } from "./frame.ts";
import { aliveAt, bytesByKind, holding, holeBytes, idleOf, nextUse, usesOf, writers, type Uses } from "./lives.ts";
import { MemoryPicture, type Spot } from "./memory_picture.ts";
import { Planners } from "./planners.ts";
import { all, amount, Table, words, type Column } from "./table.ts";
import { Tooltip, type Line } from "./tooltip.ts";
import { meant } from "./versions.ts";
import { bindingOf, plural, share, shortened } from "./words.ts";

type View = "pool" | "planners" | "table";

class MemoryPanel implements Panel {
  readonly #frame: Frame;
  readonly #tip = new Tooltip();
  readonly #picture = new MemoryPicture({
    hover: (spot, x, y) => this.#tell(spot, x, y),
    choose: (spot) => this.#choose(spot),
  });
  readonly #planners: Planners;
  readonly #list = new Table("Alive at this position", { choose: (i) => this.#choose({ buffer: i }), hover: (i) => this.#picture.point(i) }, "Nothing of the pool is alive here.");
  readonly #table = new Table("All buffers of the pool", { choose: (i) => this.#choose({ buffer: i }) }, "The pool holds nothing.");
  readonly #heading = h("div", { class: "gxt-heading" });
  readonly #keys = h("div", { class: "gxt-keys" });
  readonly #view: Choice<View>;
  readonly #around: HTMLElement[];
  #memory: MemoryPart | undefined;
  #units: Uint8Array = new Uint8Array();
  #uses: Uses = { at: new Int32Array(1), positions: new Int32Array() };
  #own = false;
  #at = -1; // the position that the list is of

  constructor(element: HTMLElement, private readonly store: Store) {
    this.#planners = new Planners(store);
    const picture = h("div", { class: "gxt-picture" }, this.#keys, this.#picture.surface.element, this.#picture.minimap.surface.element, this.#tip.element);
    const side = h("aside", { class: "gxt-side", "aria-label": "Alive at one position" }, this.#heading, this.#list.element);
    this.#around = [h("div", { class: "gxt-split" }, picture, side), this.#planners.element, this.#table.element];
    this.#frame = new Frame(element, "memory", ...this.#around);
    this.#view = new Choice<View>(
      "View",
      [
        ["pool", "pool"],
        ["planners", "planners", "The same buffers placed by every planner, on one scale"],
        ["table", "table", "All buffers as a table"],
      ],
      "pool",
      () => this.#look(),
    );
    fill(
      this.#frame.tools,
      this.#view.element,
      button("−", "Zoom out (−)", () => this.#picture.zoomBy(1.6)),
      button("+", "Zoom in (+); the wheel zooms, with Shift by address", () => this.#picture.zoomBy(0.6)),
      button("fit", "Show all (0, or double click)", () => this.#picture.fit()),
    );
    this.update(new Set(["parts"]));
  }

  update(changed: ReadonlySet<Topic>): void {
    if (changed.has("parts")) this.#load();
    if (changed.has("theme")) this.#redraw();
    if (changed.has("parts") || changed.has("cursor")) this.#follow();
    if (changed.has("changes") && this.#view.value === "planners") this.#look();
  }

  resize(): void {
    this.#picture.surface.measure();
  }

  destroy(): void {
    this.#frame.destroy();
    this.#picture.destroy();
    this.#planners.clear();
    this.#list.destroy();
    this.#table.destroy();
  }

  #redraw(): void {
    this.#picture.redraw();
    this.#planners.redraw();
  }

  #load(): void {
    const { memory, nodes } = this.store.parts;
    const before = this.#memory;
    this.#memory = memory;
    if (!this.#frame.empty(emptiness(memory), bindingOf(this.store.parts, (memory?.unsized ?? 0) > 0)) || !memory) return;
    if (memory !== before) {
      this.#units = writers(memory, nodes);
      this.#uses = usesOf(memory, nodes);
      this.#picture.set(memory, nodes);
      this.#picture.surface.describe(sentence(memory));
      const units = [...new Set(this.#units)].sort();
      const keys = units.map((unit) => ({ text: UNITS[unit].label, colour: `--gx-${UNITS[unit].name}` }));
      const workspace = memory.strings.includes("workspace") ? [{ text: "workspace", colour: "--gx-muted", mark: "hatched" as const }] : [];
      fill(this.#keys, legend([...keys, ...workspace, { text: "free below others", colour: "--gxt-gap" }], "Written by"));
    }
    this.#say(memory);
    this.#look();
  }

  #say(memory: MemoryPart): void {
    const above = memory.pool_bytes - memory.bound_bytes;
    const bound = memory.bound_bytes;
    const more = above > 9 * bound ? "" : ` (${percent(above / bound)})`;
    const verdict = memory.proved
      ? "proved: no plan of these buffers is smaller"
      : above > 0
        ? `${bytes(above)}${more} above the bound ${bytes(bound)}`
        : above < 0
          ? `below the bound ${bytes(bound)}: this plan cannot hold`
          : "as small as the bound";
    const pairs = memory.conflict_a.length;
    const unsized = memory.unsized ?? 0;
    const name = (i: number): string => shortened(memory.strings[memory.name[i]], 40);
    const outside = `weights ${bytes(memory.weight_bytes)}, inputs, outputs and state ${bytes(memory.persistent_bytes)}`;
    const room_bytes = this.store.parts.cost?.capacity_bytes;
    const needed = memory.pool_bytes + memory.weight_bytes + memory.persistent_bytes;
    const room = room_bytes ? `${bytes(needed)} of ${bytes(room_bytes)} HBM` : "";
    // What has no known size may need any room.
    const verdictOfRoom = (of: number): Node | string =>
      needed > of
        ? warning(` does not fit: ${room}, ${bytes(needed - of)} too much`)
        : unsized > 0
          ? ` · at least ${room}, so that nobody can say whether it fits`
          : ` · fits: ${room} (${share(needed / of)})`;
    this.#frame.say(
      strong(`pool ${bytes(memory.pool_bytes)}`),
      ` ${verdict}`,
      pairs > 0 && warning(` ${count(pairs)} ${pairs === 1 ? "conflict" : "conflicts"}: ${name(memory.conflict_a[0])} and ${name(memory.conflict_b[0])} share bytes while both live`),
      unsized > 0 && warning(` ${plural(unsized, "tensor")} without a known size ${unsized === 1 ? "is" : "are"} not planned`),
      room_bytes ? verdictOfRoom(room_bytes) : null,
      soft(` with ${outside}`),
      soft(` · ${bytes(memory.unplanned_bytes)} without reuse · ${count(memory.first.length)} buffers, planner ${memory.planner}${this.#otherPlans(memory)}`),
    );
  }

  /** What the best of the other planners gives, where they have been asked. */
  #otherPlans(memory: MemoryPart): string {
    const others = this.store.parts.planners?.planners.filter((row) => row.sound && row.offset_bytes && row.name !== memory.planner) ?? [];
    if (!others.length) return "";
    const best = others.reduce((a, b) => (b.pool_bytes < a.pool_bytes ? b : a));
    const by = best.pool_bytes - memory.pool_bytes;
    const text = by ? `${bytes(Math.abs(by))} ${by < 0 ? "less" : "more"}` : "the same pool";
    return `; the best of ${plural(others.length, "other planner")}, ${best.name}: ${text}`;
  }

  #look(): void {
    const memory = this.#memory;
    if (!memory) return;
    const view = this.#view.value;
    this.#around.forEach((element, i) => (element.hidden = ["pool", "planners", "table"][i] !== view));
    if (view === "table") this.#table.set(this.#columns(memory, true), all(memory.first.length), { column: 2, descending: true });
    if (view !== "planners") return;
    const { planners, nodes } = this.store.parts;
    const coming = !planners && this.store.coming.has("planners");
    this.#planners.wait(coming);
    if (coming && this.#planners.any) return;
    if (planners?.planners.length) this.#planners.set(planners, memory, nodes);
    else {
      this.#planners.clear();
      const can = this.store.host.ask !== undefined;
      const text = can
        ? "Planning the same buffers with every planner…"
        : "This page does not carry other planners' plans. In Jupyter they are computed when asked for; on the command line: gexplorer planners MODEL.";
      fill(this.#planners.element, h("p", { class: "gxt-empty", text }));
      if (can) this.store.ask("planners");
    }
  }

  #columns(memory: MemoryPart, whole: boolean): Column[] {
    const name = (i: number): string => memory.strings[memory.name[i]];
    const size = amount({
      title: "size",
      width: "minmax(5.6em, 1fr)",
      of: (i) => memory.size_bytes[i],
      text: bytes,
      colour: (i) => `var(--gx-${UNITS[this.#units[i]].name})`,
      rows: memory.first.length,
    });
    const life: Column = {
      title: "lives",
      hint: "Positions in program order, from the writer to the last reader",
      number: true,
      width: memory.order.length > 9999 ? "8em" : memory.order.length > 999 ? "6.3em" : "5em",
      text: (i) => `${count(memory.first[i])}–${count(memory.last[i])}`,
      key: (i) => memory.last[i] - memory.first[i],
    };
    const tensor: Column = { title: "tensor", width: "minmax(5em, 2fr)", text: (i) => name(i) + more(memory.tensors[i]), key: name };
    if (!whole) {
      const uses = (i: number): number => nextUse(this.#uses, i, this.#at) ?? NaN;
      const next: Column = {
        title: "used",
        hint: "When it is used next: now, or after so many steps; with none to come it could be freed",
        number: true,
        width: "4.6em",
        text: (i) => (Number.isNaN(uses(i)) ? "–" : uses(i) < 0 ? "no more" : uses(i) === this.#at ? "now" : `in ${count(uses(i) - this.#at)}`),
        key: (i) => (uses(i) < 0 ? Infinity : uses(i)),
      };
      return [tensor, size, life, next];
    }
    return [
      tensor,
      words("kind", "7.3em", (i) => memory.strings[memory.kind[i]]),
      size,
      amount({ title: "address", width: "7.8em", of: (i) => memory.offset_bytes[i], text: hex }),
      life,
      amount({ title: "idle", hint: "The longest stretch of steps in which it is held and nobody uses it: it could be freed earlier, made later, or made again", width: "5em", of: (i) => idleOf(memory, this.#uses, i).steps, text: count }),
      words("written by", "minmax(6.7em, 1.5fr)", (i) => this.#nodeAt(memory, memory.first[i])),
      words("last held for", "minmax(6.7em, 1.5fr)", (i) => this.#nodeAt(memory, memory.last[i])),
    ];
  }

  #nodeAt(memory: MemoryPart, position: number): string {
    const { nodes } = this.store.parts;
    const node = memory.order[position] ?? -1;
    return nodes && node >= 0 ? nodes.strings[nodes.name[node]] : `position ${count(position)}`;
  }

  /** The first few tensors that share a buffer with the one that it is named after. */
  #others(memory: MemoryPart, buffer: number): string {
    const { values } = this.store.parts;
    const members = [...memory.member.subarray(memory.member_at[buffer], memory.member_at[buffer + 1])].filter((of) => of >= 0 && of !== memory.value[buffer]);
    if (!values || !members.length) return "";
    const names = members.slice(0, 4).map((of) => values.strings[values.name[of]]);
    return `, also ${names.join(", ")}${members.length > 4 ? ` and ${count(members.length - 4)} more` : ""}`;
  }

  #follow(): void {
    const memory = this.#memory;
    if (!memory || emptiness(memory)) return;
    const { value, position } = this.store.cursor;
    const buffers: number[] = value === undefined ? [] : [...holding(memory, value)];
    const is = meant(this.store.parts, this.store.cursor);
    if (is && value === undefined) memory.first.forEach((at, i) => is(memory.order[at]) && buffers.push(i));
    const place = position ?? (is ? memory.order.findIndex(is) : -1);
    const at = place < 0 && buffers.length ? memory.first[buffers[0]] : place;
    this.#picture.light(buffers.slice(0, 200), at, !this.#own);
    this.#own = false;
    this.#listAt(memory, at >= 0 && at < memory.order.length ? at : memory.peak);
    this.#list.select(buffers[0] ?? -1);
    this.#table.select(buffers[0] ?? -1);
  }

  #listAt(memory: MemoryPart, position: number): void {
    this.#at = position;
    const alive = aliveAt(memory, position);
    const sum = alive.reduce((all, i) => all + memory.size_bytes[i], 0);
    const kinds = bytesByKind(memory, alive).map(([kind, size]) => `${kind} ${bytes(size)}`);
    const holes = holeBytes(memory, position);
    const isPeak = position === memory.peak;
    // What is alive only for what comes later: the first to look at for a smaller peak.
    const waiting = alive.filter((i) => (nextUse(this.#uses, i, position) ?? position) !== position);
    const idle = waiting.reduce((all, i) => all + memory.size_bytes[i], 0);
    fill(
      this.#heading,
      h(
        "div",
        { title: idle > 0 ? `${bytes(idle)} in ${plural(waiting.length, "buffer")} that nobody uses here: held for what comes later` : "" },
        !isPeak && h("button", { type: "button", class: "gx-link", text: "to the peak", onclick: () => this.store.move({ position: memory.peak, node: released(memory.order[memory.peak]), value: undefined }) }),
        h("b", { text: isPeak ? `Alive at the peak: ${bytes(sum)}` : `Alive at ${count(position)}: ${bytes(sum)}` }),
        idle > 0 && `, ${bytes(idle)} only waits`,
      ),
      h("div", {
        class: "gxt-soft",
        text: [this.#nodeAt(memory, position), plural(alive.length, "buffer"), ...(kinds.length > 1 ? kinds : []), holes > 0 ? `holes ${bytes(holes)}` : "no holes"].join(" · "),
        dir: "auto",
      }),
    );
    this.#list.set(this.#columns(memory, false), alive);
  }

  #choose(spot: Spot): void {
    const memory = this.#memory;
    if (!memory || !spot) return;
    this.#own = true;
    this.#tip.hide();
    if ("position" in spot) this.store.move({ position: spot.position, node: released(memory.order[spot.position]), value: undefined });
    else {
      const first = memory.first[spot.buffer];
      this.store.move({ value: released(memory.value[spot.buffer]), node: released(memory.order[first]), position: first });
    }
    this.#own = false;
  }

  #tell(spot: Spot, x: number, y: number): void {
    const memory = this.#memory;
    if (!memory || !spot) return this.#tip.hide();
    if ("position" in spot) {
      const at = spot.position;
      return this.#tip.show(x, y, this.#nodeAt(memory, at), [
        ["position", count(at)],
        ["alive", bytes(memory.load_bytes[at])],
        ["of the peak", percent(memory.load_bytes[at] / (memory.load_bytes[memory.peak] || 1))],
      ]);
    }
    const i = spot.buffer;
    const [first, last] = [memory.first[i], memory.last[i]];
    const { values } = this.store.parts;
    const value = memory.value[i];
    const idle = idleOf(memory, this.#uses, i);
    const against = this.#picture.against(i).slice(0, 3).map((other) => memory.strings[memory.name[other]]);
    const shape = values?.shape && values.dtype && value >= 0 ? `${values.strings[values.dtype[value]]} ${values.strings[values.shape[value]]}` : "";
    this.#tip.show(
      x,
      y + this.#picture.surface.element.offsetTop,
      memory.strings[memory.name[i]],
      [
        ["size", `${bytes(memory.size_bytes[i])}, ${percent(memory.size_bytes[i] / (memory.pool_bytes || 1))} of the pool`],
        ...(shape ? ([["type", shape]] as const) : []),
        ["address", `${hex(memory.offset_bytes[i])} (${bytes(memory.offset_bytes[i])})`],
        ["lives", `${count(first)}–${count(last)}, ${count(last - first + 1)} ${last === first ? "step" : "steps"}`],
        ["written by", this.#nodeAt(memory, first)],
        ["last held for", this.#nodeAt(memory, last)],
        ...(idle.steps ? ([["idle", `${plural(idle.steps, "step")} from ${count(idle.from)} on: held, and not used`]] as const) : []),
        ["kind", memory.strings[memory.kind[i]]],
        ...against.map((other): Line => ["⚠ conflict", `${other} has some of its bytes while both live`]),
      ],
      memory.tensors[i] > 1 ? `${count(memory.tensors[i])} tensors lie in these bytes${this.#others(memory, i)}` : "",
    );
  }
}

const released = (index: number | undefined): number | undefined => (index === undefined || index < 0 ? undefined : index);
const more = (tensors: number): string => (tensors > 1 ? ` (+${count(tensors - 1)})` : "");
const hex = (address: number): string => `0x${address.toString(16).toUpperCase()}`;

function emptiness(memory: MemoryPart | undefined): string | null {
  if (!memory) return "No memory plan yet: the memory stage has not run, or stopped with an error (see the log).";
  if (memory.first.length) return null;
  if (memory.unsized > 0) {
    return `No tensor can be placed: ${plural(memory.unsized, "tensor")} of this model ${memory.unsized === 1 ? "has" : "have"} a size that is not known.`;
  }
  return "The pool is empty: no tensor of this graph has to be kept between two kernels.";
}

function sentence(memory: MemoryPart): string {
  return (
    `Memory pool of ${bytes(memory.pool_bytes)}, bound ${bytes(memory.bound_bytes)}: ${count(memory.first.length)} buffers over ` +
    `${count(memory.order.length)} positions. Arrows go from buffer to buffer, Enter chooses, plus and minus zoom, Shift with arrows pans, 0 shows all; the table view lists every buffer.`
  );
}

export const memory: PanelKind = {
  name: "memory",
  title: "Memory",
  needs: ["memory", "nodes", "values"],
  mount: (element, store) => new MemoryPanel(element, store),
};
