/** The tab "Roofline": what each kernel reaches, under what memory and arithmetic allow. */

import type { CostPart } from "../core/document.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { UNITS } from "../core/palette.ts";
import { bytes, count, percent, time } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { Choice, Frame, legend, soft, strong, warning, type Key } from "./frame.ts";
import { boundsOf, errorOf, ofRoof, pointsOf, shapeOf, sum, unitsOf, type Point } from "./kernels.ts";
import { plainText, RooflinePicture, speedText } from "./roofline_picture.ts";
import { all, amount, Table, words, type Column } from "./table.ts";
import { Tooltip } from "./tooltip.ts";
import { meant } from "./versions.ts";
import { bindingOf, leftOut, noPrice, plural, share, sizeMissed, within } from "./words.ts";

const BOUNDS: Record<ReturnType<typeof shapeOf>, string> = {
  circle: "bound by its unit",
  square: "by memory",
  diamond: "by moves inside the core",
  triangle: "by its launch",
  cross: "by the host",
};

/** Slices of less than this share of the time have no room for words. */
const NAMED = 0.07;

class RooflinePanel implements Panel {
  readonly #frame: Frame;
  readonly #tip = new Tooltip();
  readonly #picture = new RooflinePicture({ hover: (point, x, y) => this.#tell(point, x, y), choose: (point) => this.#choose(point) });
  readonly #table = new Table("Kernels on the roofline", { choose: (point) => this.#choose(point), hover: (point) => this.#picture.point(point) }, "No kernel computes anything.");
  readonly #keys = h("div", { class: "gxt-keys" });
  readonly #bounds = h("div", { class: "gxt-shares", role: "list", "aria-label": "Time by what bounds it" });
  readonly #drawing: HTMLElement;
  readonly #side: HTMLElement;
  readonly #level: Choice<"hbm" | "l2">;
  readonly #view: Choice<"chart" | "table">;
  #cost: CostPart | undefined;
  #points: Point[] = [];
  #units: Uint8Array = new Uint8Array();

  constructor(element: HTMLElement, private readonly store: Store) {
    this.#drawing = h("div", { class: "gxt-picture" }, this.#keys, this.#picture.surface.element, this.#tip.element);
    this.#side = h("aside", { class: "gxt-side gxt-wide", "aria-label": "Kernels" }, this.#bounds, this.#table.element);
    this.#frame = new Frame(element, "roofline", h("div", { class: "gxt-split" }, this.#drawing, this.#side));
    this.#level = new Choice("Bytes of", [["hbm", "HBM"], ["l2", "L2"]] as const, "hbm", () => this.#look());
    this.#view = new Choice("View", [["chart", "chart"], ["table", "table"]] as const, "chart", () => this.#look());
    fill(this.#frame.tools, this.#level.element, this.#view.element);
    this.update(new Set(["parts"]));
  }

  update(changed: ReadonlySet<Topic>): void {
    if (changed.has("parts")) this.#load();
    if (changed.has("theme")) this.#picture.surface.redraw();
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
    const why = noPrice(cost) ?? onlyMoves(cost as CostPart);
    if (!this.#frame.empty(why, bindingOf(this.store.parts, sizeMissed(cost))) || !cost) return;
    if (cost === before) return;
    // Where nothing that computes needs HBM, all there is to see is under L2's roof.
    if (this.#level.value === "hbm" && !pointsOf(cost, "hbm").points.length) this.#level.set("l2");
    this.#units = unitsOf(cost, nodes);
    this.#share(cost);
    this.#look();
  }

  /** All of the time as one bar, cut by what bounds the kernels. */
  #share(cost: CostPart): void {
    const bounds = boundsOf(cost);
    const whole = bounds.reduce((us, one) => us + one.us, 0) || 1;
    fill(
      this.#bounds,
      ...bounds.map(({ bound, us, kernels }) => {
        const shape = shapeOf(bound);
        const text = `${shape === "square" && bound !== "hbm" ? `memory (${bound})` : bound} ${percent(us / whole, 0)}`;
        return h(
          "span",
          { class: "gxt-share", role: "listitem", style: { "flex-grow": us / whole }, title: `Bound by ${bound}: ${time(us)}, ${share(us / whole)} of the time, in ${plural(kernels, "kernel")}` },
          h("i", { class: `gxt-mark gxt-mark-${shape === "square" ? "box" : shape}`, style: { "--gxt-colour": "var(--gx-muted)" }, "aria-hidden": "true" }),
          us / whole > NAMED && h("span", { text }),
        );
      }),
    );
  }

  #look(): void {
    const cost = this.#cost;
    if (!cost) return;
    const { points, moves, cached } = pointsOf(cost, this.#level.value);
    this.#points = points;
    const table = this.#view.value === "table";
    this.#drawing.hidden = table;
    this.#side.classList.toggle("gxt-full", table);
    if (!table) this.#picture.set(cost, points, this.#units, this.#level.value);
    this.#table.set(this.#columns(cost, table), all(points.length), { column: table ? 3 : 1, descending: true });
    this.#say(cost, moves, cached);
    const seen = [...new Set(points.map((point) => this.#units[point.kernels[0]]))].sort();
    const shapes = [...new Set(points.map((point) => shapeOf(cost.strings[cost.bound[point.kernels[0]]])))];
    const keys: Key[] = [
      ...seen.map((unit) => ({ text: UNITS[unit].label, colour: `--gx-${UNITS[unit].name}` })),
      ...shapes.map((mark) => ({ text: BOUNDS[mark], colour: "--gx-muted", mark: mark === "square" ? ("box" as const) : mark })),
    ];
    fill(this.#keys, legend([...keys, { text: "area: time", colour: "--gx-muted", mark: "ring" }]));
    this.#follow();
  }

  #say(cost: CostPart, moves: number[], cached: number[]): void {
    const whole = sum(cost.latency_us);
    const flops = sum(cost.flops);
    const peak = Math.max(0, ...cost.peaks.map((one) => one.flops_per_s));
    const reached = whole ? flops / (whole * 1e-6) : 0;
    const part = (kernels: number[]): string => share(kernels.reduce((us, i) => us + cost.latency_us[i], 0) / (whole || 1));
    const drawn = this.#points.reduce((us, point) => us + point.us, 0);
    // What the points would take if each reached its roof.
    const least = this.#points.reduce((us, point) => us + point.us * Math.min(1, this.#ofRoof(cost, point) || 0), 0);
    const [first] = boundsOf(cost);
    const out = leftOut(cost);
    this.#frame.say(
      strong(speedText(reached)),
      out && warning(out),
      ` reached ${within(errorOf(cost, [...all(cost.name.length)]))}`,
      first && ` · ${share(first.us / (whole || 1))} of the time is bound by ${first.bound === "hbm" ? "HBM" : first.bound}`,
      drawn > 0 && ` · at their roofs the kernels drawn would take ${time(least)} instead of ${time(drawn)} (${share(least / drawn)})`,
      soft(` · ${share(peak ? reached / peak : 0)} of ${cost.soc}'s highest peak, ${speedText(peak)}`),
      soft(` · ${time(whole)} for ${plural(cost.name.length, "kernel")}`),
      moves.length > 0 && soft(` · ${plural(moves.length, "kernel")} only ${moves.length === 1 ? "moves" : "move"} data (${part(moves)} of the time): not on this chart`),
      cached.length > 0 && soft(` · ${plural(cached.length, "kernel")} ${cached.length === 1 ? "needs" : "need"} no byte of HBM (${part(cached)}): see L2`),
    );
    this.#picture.surface.describe(`Roofline of ${cost.soc}: ${plural(this.#points.length, "point")}. Arrows go from point to point, Enter chooses; the table lists every kernel.`);
  }

  #columns(cost: CostPart, whole: boolean): Column[] {
    const points = this.#points;
    const first = (row: number): number => points[row].kernels[0];
    const name = (row: number): string => cost.strings[cost.name[first(row)]];
    const many = (row: number): string => (points[row].kernels.length > 1 ? ` × ${count(points[row].kernels.length)}` : "");
    const kernel: Column = { title: "kernel", width: "minmax(6em, 2fr)", text: (row) => name(row) + many(row), key: name };
    const us = amount({ title: "time", width: "minmax(4.8em, 1fr)", of: (row) => points[row].us, text: time, colour: (row) => `var(--gx-${UNITS[this.#units[first(row)]].name})`, rows: points.length });
    const bound = words("bound by", whole ? "5.6em" : "4.9em", (row) => cost.strings[cost.bound[first(row)]]);
    const roof = amount({ title: "of the roof", hint: "Of what memory, and its unit's peak at its element types, allow at this intensity", width: "5.7em", of: (row) => this.#ofRoof(cost, points[row]), text: share });
    if (!whole) return [kernel, us, roof, bound];
    return [
      kernel,
      { ...words("type", "minmax(6.7em, 1fr)", (row) => cost.strings[cost.type[first(row)]]), word: true },
      bound,
      us,
      amount({ title: "error", width: "5em", of: (row) => cost.error[first(row)], text: (x) => within(x, true) }),
      amount({ title: "FLOP a byte", width: "7.3em", of: (row) => points[row].intensity, text: plainText }),
      amount({ title: "reached", width: "8.3em", of: (row) => points[row].speed, text: speedText }),
      roof,
      amount({ title: "HBM", width: "6.2em", of: (row) => cost.hbm_bytes[first(row)], text: bytes }),
      words("tile", "9em", (row) => (cost.tile[first(row)] >= 0 ? cost.strings[cost.tile[first(row)]] : "")),
    ];
  }

  #ofRoof(cost: CostPart, point: Point): number {
    return ofRoof(cost, this.#level.value, this.#units[point.kernels[0]], point);
  }

  #follow(): void {
    const cost = this.#cost;
    if (!cost || noPrice(cost) || onlyMoves(cost)) return;
    const is = meant(this.store.parts, this.store.cursor);
    const found = is ? this.#points.flatMap((point, at) => (point.kernels.some((i) => is(cost.node[i])) ? [at] : [])) : [];
    this.#picture.light(found);
    this.#table.select(found[0] ?? -1);
  }

  #choose(at: number): void {
    const cost = this.#cost;
    // A click on a point of several kernels that are alike goes through them one after the other.
    const kernels = this.#points[at]?.kernels.filter((i) => (cost?.node[i] ?? -1) >= 0) ?? [];
    if (!cost || !kernels.length) return;
    const now = kernels.findIndex((i) => cost.node[i] === this.store.cursor.node);
    this.#tip.hide();
    this.store.move({ node: cost.node[kernels[(now + 1) % kernels.length]], value: undefined, position: undefined });
  }

  #tell(at: number, x: number, y: number): void {
    const cost = this.#cost;
    if (!cost || at < 0) return this.#tip.hide();
    const point = this.#points[at];
    const [i] = point.kernels;
    const alike = point.kernels.length;
    this.#tip.show(
      x,
      y + this.#picture.surface.element.offsetTop,
      cost.strings[cost.name[i]] + (alike > 1 ? ` and ${count(alike - 1)} alike` : ""),
      [
        ["type", cost.strings[cost.type[i]]],
        ["time", `${time(cost.latency_us[i])} ${within(cost.error[i])}${alike > 1 ? `, together ${time(point.us)}` : ""}`],
        ["reached", `${speedText(point.speed)}, ${share(this.#ofRoof(cost, point))} of the roof`],
        ["intensity", `${plainText(point.intensity)} FLOP a byte of ${this.#level.value === "hbm" ? "HBM" : "L2"}`],
        ["bound by", cost.strings[cost.bound[i]]],
        ...(cost.tile[i] >= 0 ? ([["tile", cost.strings[cost.tile[i]]]] as const) : []),
      ],
      cost.warning[i] >= 0 ? `⚠ ${cost.strings[cost.warning[i]]}` : "",
    );
  }
}

/** Why there is nothing to place under the roofs; null where there is. */
export function onlyMoves(cost: CostPart): string | null {
  if (pointsOf(cost, "hbm").points.length || pointsOf(cost, "l2").points.length) return null;
  const [kernels, us] = [cost.name.length, sum(cost.latency_us)];
  const what = kernels === 1 ? "The one kernel with a price" : `The ${count(kernels)} kernels with a price`;
  return `${what} only ${kernels === 1 ? "moves" : "move"} data (${time(us)}, ${bytes(sum(cost.hbm_bytes))} of HBM) and ${kernels === 1 ? "computes" : "compute"} nothing, so there is no speed to place under a roof. Traffic shows what they move.`;
}

export const roofline: PanelKind = {
  name: "roofline",
  title: "Roofline",
  needs: ["cost", "nodes"],
  mount: (element, store) => new RooflinePanel(element, store),
};
