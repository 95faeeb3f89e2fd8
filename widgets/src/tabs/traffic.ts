/** The tab "Traffic": bytes through every level of memory by kernel, against what is compulsory, before and after fusion. */

import type { CostPart } from "../core/document.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { UNITS } from "../core/palette.ts";
import { bytes, change, count, percent, time } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { Choice, Frame, legend, soft, strong, type Key } from "./frame.ts";
import { errorOf, groupsOf, LEVEL_NAMES, LEVELS, sum, unitsOf, type Group } from "./kernels.ts";
import { all, Table, type Column } from "./table.ts";
import { Tooltip } from "./tooltip.ts";
import { TrafficPicture } from "./traffic_picture.ts";
import { becomes } from "./versions.ts";
import { noPrice, plural, within } from "./words.ts";

type By = "kernel" | "type" | "family";

class TrafficPanel implements Panel {
  readonly #frame: Frame;
  readonly #tip = new Tooltip();
  readonly #picture = new TrafficPicture({ hover: (kernel, x, y) => this.#tell(kernel, x, y), choose: (kernel) => this.#choose([kernel]) });
  readonly #table = new Table("Traffic", {
    choose: (row) => this.#choose(this.#groups[row].kernels),
    hover: (row) => this.#picture.point(row >= 0 && this.#by.value === "kernel" ? row : -1),
  });
  readonly #totals = h("div", { class: "gxt-totals" });
  readonly #keys = h("div", { class: "gxt-keys" });
  readonly #split: HTMLElement;
  readonly #side: HTMLElement;
  readonly #drawing: HTMLElement;
  readonly #by: Choice<By>;
  readonly #order: Choice<"order" | "size" | "table">;
  #cost: CostPart | undefined;
  #groups: Group[] = [];
  #units: Uint8Array = new Uint8Array();
  #own = false;

  constructor(element: HTMLElement, private readonly store: Store) {
    this.#drawing = h("div", { class: "gxt-picture" }, this.#keys, this.#picture.surface.element, this.#picture.minimap.surface.element, this.#tip.element);
    this.#side = h("aside", { class: "gxt-side gxt-wide", "aria-label": "Totals and kernels" }, this.#totals, this.#table.element);
    this.#split = h("div", { class: "gxt-split" }, this.#drawing, this.#side);
    this.#frame = new Frame(element, "traffic", this.#split);
    this.#by = new Choice<By>("Rows", [["kernel", "kernels"], ["type", "types"], ["family", "families"]], "kernel", () => this.#look());
    this.#order = new Choice("View", [["order", "as they run"], ["size", "largest first"], ["table", "table"]] as const, "order", () => this.#look());
    fill(this.#frame.tools, this.#order.element, this.#by.element);
    this.update(new Set(["parts"]));
  }

  update(changed: ReadonlySet<Topic>): void {
    if (changed.has("parts")) this.#load();
    if (changed.has("theme")) this.#picture.redraw();
    if (changed.has("parts") || changed.has("cursor")) this.#follow();
  }

  resize(): void {
    this.#picture.surface.measure();
  }

  destroy(): void {
    this.#frame.destroy();
    this.#picture.destroy();
    this.#table.destroy();
  }

  #load(): void {
    const { cost, nodes } = this.store.parts;
    const before = this.#cost;
    this.#cost = cost;
    if (!this.#frame.empty(noPrice(cost)) || !cost) return;
    if (cost === before) return;
    this.#units = unitsOf(cost, nodes);
    this.#say(cost);
    this.#total(cost);
    const seen = [...new Set(this.#units)].sort();
    const keys: Key[] = seen.map((unit) => ({ text: UNITS[unit].label, colour: `--gx-${UNITS[unit].name}` }));
    fill(this.#keys, legend([...keys, { text: "compulsory: inputs and outputs once", colour: "--gx-ink", mark: "line" }]));
    this.#look();
  }

  #say(cost: CostPart): void {
    const [hbm, least] = [sum(cost.hbm_bytes), sum(cost.compulsory_bytes)];
    const against = hbm >= least ? `${percent(least ? hbm / least - 1 : 0)} more than compulsory (${bytes(least)})` : `L2 keeps ${bytes(least - hbm)} of the compulsory ${bytes(least)} from it`;
    const { unfused } = cost;
    const before = unfused.hbm_bytes;
    this.#frame.say(
      strong(`HBM ${bytes(hbm)}`),
      ` ${within(errorOf(cost, [...all(cost.name.length)]))}`,
      soft(` · ${against}`),
      before !== null && soft(` · before all passes ${bytes(before)} in ${count(unfused.kernels)} kernels: ${change(hbm, before)}`),
      cost.unpriced.length > 0 && soft(` · ${plural(cost.unpriced.length, "kernel")} without a price left out`),
    );
    this.#picture.surface.describe(`Bytes through ${LEVELS.map((level) => LEVEL_NAMES[level]).join(", ")} by kernel. The table lists every kernel.`);
  }

  #total(cost: CostPart): void {
    const [hbm, least] = [sum(cost.hbm_bytes), sum(cost.compulsory_bytes)];
    const before = cost.unfused.hbm_bytes;
    const most = Math.max(hbm, least, before ?? 0, 1);
    const row = (text: string, size: number, colour: string, note = ""): HTMLElement =>
      h(
        "div",
        { class: "gxt-total" },
        h("span", { text }),
        h("i", { class: "gxt-meter", style: { "--gxt-share": `${(size / most) * 100}%`, "--gxt-colour": colour }, "aria-hidden": "true" }),
        h("b", { text: bytes(size) }),
        h("span", { class: "gxt-soft", text: note }),
      );
    fill(
      this.#totals,
      before !== null && row("before passes", before, "var(--gx-same)", plural(cost.unfused.kernels ?? 0, "kernel")),
      row("now", hbm, "var(--gx-accent)", before === null ? plural(cost.name.length, "kernel") : `${plural(cost.name.length, "kernel")}, ${change(hbm, before)}`),
      row("compulsory", least, "var(--gx-ink)", "each input and output once"),
    );
  }

  #look(): void {
    const cost = this.#cost;
    if (!cost) return;
    this.#groups = groupsOf(cost, this.#by.value);
    const order = all(cost.name.length);
    if (this.#order.value === "size") order.sort((a, b) => cost.hbm_bytes[b] - cost.hbm_bytes[a] || a - b);
    const table = this.#order.value === "table";
    this.#drawing.hidden = table;
    this.#side.classList.toggle("gxt-full", table);
    this.#table.set(this.#columns(cost, table), all(this.#groups.length), { column: this.#by.value === "kernel" ? 1 : 2, descending: true });
    if (!table) this.#picture.set(cost, this.#units, order);
    this.#follow();
  }

  #columns(cost: CostPart, whole: boolean): Column[] {
    const groups = this.#groups;
    const single = this.#by.value === "kernel";
    const colour = (row: number): string => `var(--gx-${UNITS[this.#units[groups[row].kernels[0]]].name})`;
    const size = (title: string, hint: string, of: (group: Group) => number): Column => {
      const most = groups.reduce((a, group) => Math.max(a, of(group)), 1);
      return { title, hint, number: true, width: "minmax(5.5em, 1fr)", text: (row) => bytes(of(groups[row])), key: (row) => of(groups[row]), bar: (row) => of(groups[row]) / most, colour };
    };
    const name: Column = { title: single ? "kernel" : this.#by.value, width: "minmax(6.7em, 1.6fr)", text: (row) => groups[row].name, key: (row) => groups[row].name };
    const number: Column = { title: "kernels", number: true, width: "4.5em", text: (row) => count(groups[row].kernels.length), key: (row) => groups[row].kernels.length };
    const levels = LEVELS.map((level) => size(LEVEL_NAMES[level], `Bytes through ${LEVEL_NAMES[level]}`, (group) => group.bytes[level]));
    if (!whole) return [name, ...(single ? [] : [number]), levels[0], levels[1]];
    return [
      name,
      single ? { title: "type", width: "minmax(5.6em, 1fr)", text: (row) => cost.strings[cost.type[row]], key: (row) => cost.strings[cost.type[row]] } : number,
      ...levels,
      size("compulsory", "Every input and output of the kernel once", (group) => group.compulsory),
      { title: "HBM / compulsory", hint: "Below 1: L2 held some of it; above 1: something is read again", number: true, width: "9em", text: (row) => ratio(groups[row]).toFixed(2), key: (row) => ratio(groups[row]) },
      { title: "time", number: true, width: "5.6em", text: (row) => time(groups[row].us), key: (row) => groups[row].us },
      { title: "error", hint: "Nine of ten published points of the family lie within", number: true, width: "5em", text: (row) => within(errorOf(cost, groups[row].kernels), true) },
    ];
  }

  #follow(): void {
    const cost = this.#cost;
    if (!cost || noPrice(cost)) return;
    const { node } = this.store.cursor;
    const kernels: number[] = [];
    const is = node === undefined ? null : becomes(this.store.parts.nodes, node);
    if (is) cost.node.forEach((of, i) => is(of) && kernels.push(i));
    this.#picture.light(kernels, !this.#own);
    const [first] = kernels;
    this.#table.select(first === undefined ? -1 : this.#by.value === "kernel" ? first : this.#groups.findIndex((group) => group.kernels.includes(first)));
  }

  #choose(kernels: readonly number[]): void {
    const node = this.#cost?.node[kernels[0]] ?? -1;
    if (node < 0) return;
    this.#own = true;
    this.#tip.hide();
    this.store.move({ node, value: undefined, position: undefined });
    this.#own = false;
  }

  #tell(i: number, x: number, y: number): void {
    const cost = this.#cost;
    if (!cost || i < 0) return this.#tip.hide();
    this.#tip.show(
      x,
      y + this.#picture.surface.element.offsetTop,
      cost.strings[cost.name[i]],
      [
        ["type", cost.strings[cost.type[i]]],
        ["HBM", `${bytes(cost.hbm_bytes[i])}, compulsory ${bytes(cost.compulsory_bytes[i])}`],
        ["L2", bytes(cost.l2_bytes[i])],
        ["L1", bytes(cost.l1_bytes[i])],
        ["UB", bytes(cost.ub_bytes[i])],
        ["time", `${time(cost.latency_us[i])} ${within(cost.error[i])}`],
        ["bound by", cost.strings[cost.bound[i]]],
      ],
      cost.warning[i] >= 0 ? `⚠ ${cost.strings[cost.warning[i]]}` : "",
    );
  }
}

const ratio = (group: Group): number => (group.compulsory ? group.bytes.hbm / group.compulsory : NaN);

export const traffic: PanelKind = {
  name: "traffic",
  title: "Traffic",
  needs: ["cost", "nodes"],
  mount: (element, store) => new TrafficPanel(element, store),
};
