/** The tab "Traffic": bytes through every level of memory by kernel, against what is compulsory, before and after fusion. */

import type { CostPart } from "../core/document.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { UNITS } from "../core/palette.ts";
import { bytes, change, count, percent, time } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { Choice, Frame, legend, soft, strong, warning, type Key } from "./frame.ts";
import { errorOf, groupsOf, hits, LEVEL_NAMES, LEVELS, sum, unitsOf, wastedOf, type Group } from "./kernels.ts";
import { all, amount, Table, words, type Column } from "./table.ts";
import { Tooltip } from "./tooltip.ts";
import { TrafficPicture } from "./traffic_picture.ts";
import { meant } from "./versions.ts";
import { atLeast, bindingOf, leftOut, noPrice, plural, share, sizeMissed, within } from "./words.ts";

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
    if (!this.#frame.empty(noPrice(cost), bindingOf(this.store.parts, sizeMissed(cost))) || !cost) return;
    if (cost === before) return;
    this.#units = unitsOf(cost, nodes);
    this.#say(cost);
    this.#total(cost);
    const seen = [...new Set(this.#units)].sort();
    const keys: Key[] = seen.map((unit) => ({ text: UNITS[unit].label, colour: `--gx-${UNITS[unit].name}` }));
    fill(this.#keys, legend([...keys, { text: "compulsory: inputs and outputs once", colour: "--gx-ink", mark: "line" }, ...(this.#wasted(cost) ? [{ text: "wasted: above it", colour: "--gx-bad", mark: "hatched" as const }] : [])]));
    this.#look();
  }

  #say(cost: CostPart): void {
    const [hbm, least] = [sum(cost.hbm_bytes), sum(cost.compulsory_bytes)];
    const [wasted, l2] = [this.#wasted(cost), sum(cost.l2_bytes)];
    const kept = Math.max(0, least - (hbm - wasted));
    const { unfused } = cost;
    const before = unfused.hbm_bytes;
    const out = leftOut(cost);
    this.#frame.say(
      strong(`HBM ${atLeast(cost)}${bytes(hbm)}`),
      out && warning(out),
      ` ${within(errorOf(cost, [...all(cost.name.length)]))}`,
      wasted > 0 ? ` · ${bytes(wasted)} (${share(wasted / (hbm || 1))}) wasted: above compulsory` : " · nothing wasted",
      l2 > 0 && ` · L2 serves ${share(hits(l2, hbm))} of ${bytes(l2)}`,
      kept > 0 && soft(`, and keeps ${bytes(kept)} of the compulsory ${bytes(least)} from HBM`),
      before !== null && soft(` · before all passes ${bytes(before)} in ${plural(cost.unfused.kernels ?? 0, "kernel")}: ${change(hbm, before)}`),
    );
    this.#picture.surface.describe(
      `Bytes through ${LEVELS.map((level) => LEVEL_NAMES[level]).join(", ")} by kernel. Left and right go from kernel to kernel, Enter chooses; the table lists every kernel.`,
    );
  }

  #wasted(cost: CostPart): number {
    let all = 0;
    for (let i = 0; i < cost.name.length; i++) all += wastedOf(cost, i);
    return all;
  }

  #total(cost: CostPart): void {
    const [hbm, least] = [sum(cost.hbm_bytes), sum(cost.compulsory_bytes)];
    const before = cost.unfused.hbm_bytes;
    const most = Math.max(hbm, least, before ?? 0, 1);
    const row = (text: string, size: number, colour: string, note = ""): HTMLElement =>
      h(
        "div",
        { class: "gxt-total", title: `${text}: ${bytes(size)}, ${note}` },
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
    const size = (title: string, hint: string, of: (group: Group) => number): Column =>
      amount({ title, hint, width: "minmax(5em, 1fr)", of: (row) => of(groups[row]), text: bytes, colour, rows: groups.length });
    const name = words(single ? "kernel" : this.#by.value, "minmax(6em, 1.6fr)", (row) => groups[row].name);
    const number = amount({ title: "kernels", width: "4.5em", of: (row) => groups[row].kernels.length, text: count });
    const [hbm, ...others] = LEVELS.map((level) => size(LEVEL_NAMES[level], `Bytes through ${LEVEL_NAMES[level]}`, (group) => group.bytes[level]));
    const wasted: Column = { ...size("wasted", "Bytes of HBM beyond every input and output once: something is read again, or spilled", (group) => group.wasted), colour: () => "var(--gx-bad)" };
    const served = amount({ title: "L2 hits", hint: "Share of the bytes asked of L2 that it serves without HBM", width: "4.6em", of: (row) => hits(groups[row].bytes.l2, groups[row].bytes.hbm), text: (x) => percent(x, 0) });
    const some = this.#wasted(cost) > 0 ? [wasted] : [];
    if (!whole) return single ? [name, hbm, ...some, served] : [name, number, hbm, ...some];
    return [
      name,
      single ? { ...words("type", "minmax(5.6em, 1fr)", (row) => cost.strings[cost.type[row]]), word: true } : number,
      hbm,
      wasted,
      ...others,
      served,
      size("compulsory", "Every input and output of the kernel once", (group) => group.compulsory),
      amount({ title: "HBM / compulsory", hint: "Below 1: L2 held some of it; above 1: something is read again", width: "10em", of: (row) => ratio(groups[row]), text: (x) => (Number.isFinite(x) ? x.toFixed(2) : "–") }),
      amount({ title: "time", width: "5.6em", of: (row) => groups[row].us, text: time }),
      { title: "error", hint: "Nine of ten published points of the family lie within", number: true, width: "5em", text: (row) => within(errorOf(cost, groups[row].kernels), true), key: (row) => errorOf(cost, groups[row].kernels) ?? NaN },
    ];
  }

  #follow(): void {
    const cost = this.#cost;
    if (!cost || noPrice(cost)) return;
    const kernels: number[] = [];
    const is = meant(this.store.parts, this.store.cursor);
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
        ...(wastedOf(cost, i) > 0 ? ([["wasted", bytes(wastedOf(cost, i))]] as const) : []),
        ["L2", `${bytes(cost.l2_bytes[i])}, of which it serves ${percent(hits(cost.l2_bytes[i], cost.hbm_bytes[i]), 0)} itself`],
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
