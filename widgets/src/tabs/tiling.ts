/** The tab "Tiling": every tile that a kernel could have, which was taken, how full the buffers are, and its program. */

import type { TilingPart } from "../core/document.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { bytes, count, percent, time } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { Choice, Frame, legend, soft, strong, warning, type Key } from "./frame.ts";
import { KernelList } from "./kernel_list.ts";
import type { Landscape, TiledKernel } from "./landscape.ts";
import { ramp } from "./colour.ts";
import { all, Table, type Column } from "./table.ts";
import { HATCHES, TilingPicture } from "./tiling_picture.ts";
import { Tooltip, type Line } from "./tooltip.ts";
import { bindingOf, plural } from "./words.ts";

/** How the tile was come by, by the compilation's tiling mode. */
const TAKEN: Record<string, string> = {
  library: "a library's tile, taken without a search",
  fast: "the tile of a search that looks at the likely ones",
  exhaustive: "the tile of a search through all of them",
};

type View = "time" | "k" | "table";

class TilingPanel implements Panel {
  readonly #frame: Frame;
  readonly #tip = new Tooltip();
  readonly #picture = new TilingPicture((tile, x, y) => this.#tell(tile, x, y), (tile) => this.#pick(tile));
  readonly #kernels: KernelList;
  readonly #tiles = new Table("Tiles of this kernel", { choose: (tile) => this.#pick(tile) }, "This kernel has no tiles to choose from.");
  readonly #keys = h("div", { class: "gxt-keys" });
  readonly #note = h("p", { class: "gxt-empty", hidden: true });
  readonly #picked = h("div", { class: "gxt-totals gxt-tile", "aria-live": "polite", hidden: true });
  readonly #buffers = h("div", { class: "gxt-totals" });
  readonly #program = h("pre", { class: "gxt-program", tabindex: 0, "aria-label": "Tile program" });
  readonly #drawing: HTMLElement;
  readonly #view: Choice<View>;
  #tiling: TilingPart | undefined;
  /** The block that was picked, -1 for none. */
  #tile = -1;
  #asked = false;

  constructor(element: HTMLElement, private readonly store: Store) {
    this.#kernels = new KernelList(store, () => this.#show());
    const list = h("aside", { class: "gxt-side gxt-first", "aria-label": "Kernels" }, this.#kernels.element);
    this.#drawing = h("div", { class: "gxt-picture" }, this.#keys, this.#picture.surface.element, this.#tip.element, this.#tiles.element, this.#note);
    const side = h("aside", { class: "gxt-side gxt-wide", "aria-label": "Chosen tile" }, this.#picked, this.#buffers, this.#program);
    this.#frame = new Frame(element, "tiling", h("div", { class: "gxt-split" }, list, this.#drawing, side));
    this.#view = new Choice<View>("View", [["time", "time"], ["k", "best k", "The length of sums that is best for each block"], ["table", "table"]], "time", () => this.#show());
    fill(this.#frame.tools, this.#view.element);
    this.update(new Set(["parts"]));
  }

  update(changed: ReadonlySet<Topic>): void {
    if (changed.has("parts")) this.#load();
    if (changed.has("theme")) this.#picture.surface.redraw();
    if ((changed.has("parts") || changed.has("cursor")) && this.#kernels.follow(this.store.cursor)) this.#show();
  }

  resize(): void {
    this.#picture.surface.measure();
  }

  destroy(): void {
    this.#frame.destroy();
    this.#picture.destroy();
    this.#kernels.destroy();
    this.#tiles.destroy();
  }

  #load(): void {
    const { tiling } = this.store.parts;
    const before = this.#tiling;
    if (!tiling && !this.#asked && this.store.host.ask) {
      this.#asked = true;
      this.store.ask("tiling");
    }
    if (!tiling && before && this.store.coming.has("tiling")) return this.#frame.wait();
    this.#tiling = tiling;
    if (!this.#frame.empty(this.#emptiness(), bindingOf(this.store.parts, tiling?.kernels.length === 0)) || !tiling) return;
    if (tiling === before) return;
    this.#asked = false;
    const { kernels, strings } = tiling;
    const old = before?.kernels[this.#kernels.chosen];
    const picked = before && old && this.#tile >= 0 ? { name: before.strings[old.name], m: old.m[this.#tile], n: old.n[this.#tile] } : null;
    const tiles: Column = {
      title: "tiles",
      hint: "Tiles whose time was computed",
      number: true,
      width: "3.2em",
      text: (row) => (kernels[row].m.length ? count(kernels[row].evaluations) : "–"),
      key: (row) => kernels[row].evaluations,
    };
    // The dearest with a landscape is shown first.
    this.#kernels.set(kernels, strings, [tiles], kernels.findIndex((kernel) => kernel.m.length > 0));
    this.#show();
    const now = this.#kernel();
    if (picked && now && strings[now.name] === picked.name) this.#pick(now.m.findIndex((m, i) => m === picked.m && now.n[i] === picked.n));
  }

  #emptiness(): string | null {
    const tiling = this.#tiling;
    if (!tiling) {
      return this.store.host.ask
        ? "Searching tiles for the dearest kernels…"
        : "This page does not carry the tile searches. In Jupyter they are made when asked for.";
    }
    return tiling.kernels.length ? null : "No kernel of this graph has a tile program: nothing is computed by cube or vector cores, or its sizes are not known.";
  }

  #kernel(): TiledKernel | undefined {
    return this.#tiling?.kernels[this.#kernels.chosen];
  }

  #show(): void {
    const kernel = this.#kernel();
    const tiling = this.#tiling;
    if (!kernel || !tiling) return;
    this.#pick(-1);
    const table = this.#view.value === "table";
    const none = kernel.m.length === 0;
    this.#picture.strings = tiling.strings;
    const landscape = this.#picture.set(kernel, this.#view.value === "k" ? "k" : "time");
    this.#picture.surface.element.hidden = this.#keys.hidden = table || none;
    this.#tiles.element.hidden = !table || none;
    this.#note.hidden = !none;
    this.#note.textContent = kernel.note ? `No tile program for ${tiling.strings[kernel.type]}: ${kernel.note}.` : `${tiling.strings[kernel.type]} is no single product: its tile follows from its shapes, there is no landscape to search.`;
    if (table) this.#tiles.set(this.#columns(kernel, landscape, tiling), all(kernel.m.length), { column: 3, descending: false });
    this.#say(kernel, landscape, tiling);
    this.#legend(kernel, landscape, tiling);
    this.#detail(kernel, tiling);
  }

  #say(kernel: TiledKernel, landscape: Landscape, tiling: TilingPart): void {
    const alike = kernel.alike.length > 1 ? ` and ${count(kernel.alike.length - 1)} alike` : "";
    const text = kernel.text >= 0 ? tiling.strings[kernel.text] : "";
    const { chosen, best } = kernel;
    const us = (tile: number): string => time(kernel.time_us[tile]);
    const gap = chosen >= 0 && best >= 0 ? kernel.chosen_us / kernel.time_us[best] - 1 : 0;
    const panels = kernel.chosen_double ? "two panels" : "one panel";
    this.#frame.say(
      strong(tiling.strings[kernel.name] + alike),
      text ? ` ${text}` : null,
      chosen >= 0 && soft(` · ${TAKEN[tiling.mode] ?? "taken"}: ${tileText(kernel, chosen, kernel.chosen_k)}, ${tiling.strings[kernel.chosen_order] ?? ""} first, ${panels}: ${time(kernel.chosen_us)} (simulated)`),
      best >= 0 && soft(gap < 5e-4 ? ", as fast as any that was looked at" : `, ${percent(gap)} longer than the fastest, ${tileText(kernel, best, kernel.k[best])}, ${us(best)}${tiling.mode === "library" ? "; tiling_mode fast looks for such" : ""}`),
      kernel.m.length > 0 && soft(` · ${count(landscape.fitting)} of ${plural(kernel.m.length, "block")} fit, ${plural(kernel.evaluations, "tile")} looked at`),
      tiling.more > 0 && soft(` · ${plural(tiling.more, "cheaper kernel")} not listed`),
      this.#kernels.astray && warning("the chosen node is none of these kernels"),
    );
    this.#picture.surface.describe(`Tiling landscape of ${tiling.strings[kernel.name]}: ${plural(kernel.m.length, "block")}. The table view lists every one.`);
  }

  #legend(kernel: TiledKernel, landscape: Landscape, tiling: TilingPart): void {
    const keys: Key[] = [
      { text: "taken", colour: "--gx-bad", mark: "outline" },
      { text: "fastest", colour: "--gx-ink", mark: "star" },
    ];
    const out = landscape.blockers.map((blocker, i) => h("li", {}, h("i", { class: "gxt-letter", text: HATCHES[i % HATCHES.length], "aria-hidden": "true" }), `${tiling.strings[blocker].toUpperCase()} too small`));
    const unseen = landscape.fitting > landscape.looked ? [h("li", {}, h("i", { class: "gxt-letter", text: "·", "aria-hidden": "true" }), "fits, not looked at")] : [];
    const ks = [...new Set(kernel.k)].sort((a, b) => a - b);
    const stops = Array.from({ length: 6 }, (_, i) => ramp(i / 5)).join(", ");
    const [dark, light] = this.#view.value === "k" ? [`k ${ks[0] ?? ""}`, `${ks[ks.length - 1] ?? ""}`] : ["≥ 4 × as long", "fastest"];
    const scale = h("li", {}, dark, h("i", { class: "gxt-ramp", style: { background: `linear-gradient(to right, ${stops})` }, "aria-hidden": "true" }), light);
    const list = legend(keys);
    list.prepend(scale);
    list.append(...out, ...unseen);
    fill(this.#keys, list);
  }

  #detail(kernel: TiledKernel, tiling: TilingPart): void {
    const most = (used: number, capacity: number): number => (capacity ? used / capacity : 0);
    fill(
      this.#buffers,
      h("div", { class: "gxt-soft", text: kernel.buffers.length ? "Buffers of one core, as full as the tile makes them" : kernel.note || "No program." }),
      ...kernel.buffers.map(({ name, used_bytes, capacity_bytes }) =>
        h(
          "div",
          { class: "gxt-total gxt-buffer" },
          h("span", { text: name.toUpperCase() }),
          h("i", { class: "gxt-meter", style: { "--gxt-share": `${Math.min(1, most(used_bytes, capacity_bytes)) * 100}%`, "--gxt-colour": used_bytes > capacity_bytes ? "var(--gx-bad)" : "var(--gx-accent)" }, "aria-hidden": "true" }),
          h("b", { text: percent(most(used_bytes, capacity_bytes)) }),
          h("span", { class: "gxt-soft", text: `${bytes(used_bytes)} of ${bytes(capacity_bytes)}` }),
        ),
      ),
    );
    this.#program.textContent = kernel.program >= 0 ? tiling.strings[kernel.program] : "";
    this.#program.hidden = !this.#program.textContent;
  }

  #columns(kernel: TiledKernel, landscape: Landscape, tiling: TilingPart): Column[] {
    const number = (title: string, of: Int32Array): Column => ({ title, number: true, width: "4.5em", text: (i) => String(of[i]), key: (i) => of[i] });
    return [
      number("m", kernel.m),
      number("n", kernel.n),
      number("k", kernel.k),
      {
        title: "time",
        number: true,
        width: "minmax(6.7em, 1fr)",
        text: (i) => (Number.isFinite(kernel.time_us[i]) ? time(kernel.time_us[i]) : "–"),
        key: (i) => (Number.isFinite(kernel.time_us[i]) ? kernel.time_us[i] : Infinity),
        bar: (i) => landscape.fastest / kernel.time_us[i],
        hint: "With the best k, order and panels of the block",
      },
      { title: "of the fastest", number: true, width: "7.3em", text: (i) => (Number.isFinite(kernel.time_us[i]) ? `${(kernel.time_us[i] / landscape.fastest).toFixed(2)} ×` : "–") },
      {
        title: "",
        width: "minmax(10.1em, 1.4fr)",
        text: (i) => (i === kernel.chosen ? "■ taken" : i === kernel.best ? "★ fastest" : kernel.blocker[i] >= 0 ? `${tiling.strings[kernel.blocker[i]].toUpperCase()} too small` : Number.isFinite(kernel.time_us[i]) ? "" : "fits, not looked at"),
      },
    ];
  }

  /** A tile that was clicked on stays beside; -1 for none. */
  #pick(tile: number): void {
    const kernel = this.#kernel();
    this.#tile = tile;
    this.#picture.pick(tile);
    this.#tiles.select(tile);
    this.#picked.hidden = !kernel || tile < 0;
    if (!kernel || tile < 0) return;
    const { lines, note } = this.#linesOf(kernel, tile);
    fill(
      this.#picked,
      h("div", {}, h("b", { text: `Block ${blockText(kernel, tile)}` }), h("button", { type: "button", class: "gx-link gxt-close", text: "release", onclick: () => this.#pick(-1) })),
      ...lines.map(([name, value]) => h("div", { class: "gxt-fact" }, h("span", { class: "gxt-soft", text: name }), h("span", { text: value }))),
      note && h("div", { class: "gxt-soft", text: note }),
    );
  }

  #tell(tile: number, x: number, y: number): void {
    const kernel = this.#kernel();
    if (!kernel || tile < 0) return this.#tip.hide();
    const { lines, note } = this.#linesOf(kernel, tile);
    this.#tip.show(x, y + this.#picture.surface.element.offsetTop, blockText(kernel, tile), lines, note);
  }

  #linesOf(kernel: TiledKernel, tile: number): { lines: Line[]; note: string } {
    const us = kernel.time_us[tile];
    const lines: Line[] = [];
    const best = kernel.best >= 0 ? kernel.time_us[kernel.best] : NaN;
    const to = (other: number): string => `${(us / other).toFixed(2)} ×`;
    if (Number.isFinite(us)) lines.push(["time", `${time(us)} (simulated), ${to(best)} the fastest${kernel.chosen >= 0 ? `, ${to(kernel.chosen_us)} the one taken` : ""}`], ["best k", String(kernel.k[tile])]);
    else if (kernel.blocker[tile] >= 0) lines.push(["does not fit", `${(this.#tiling?.strings[kernel.blocker[tile]] ?? "").toUpperCase()} is too small, even with the shortest sums (k ${kernel.k[tile]})`]);
    else lines.push(["time", "fits; the search did not look at it"]);
    const note = tile === kernel.chosen ? `Of this block the tile with k ${kernel.chosen_k} is taken: ${time(kernel.chosen_us)}.` : tile === kernel.best ? "The fastest tile that was looked at." : "";
    return { lines, note };
  }
}

const tileText = (kernel: TiledKernel, tile: number, k: number): string => `${blockText(kernel, tile)} × ${k}`;
const blockText = (kernel: TiledKernel, tile: number): string => `${kernel.m[tile]} × ${kernel.n[tile]}`;

export const tiling: PanelKind = {
  name: "tiling",
  title: "Tiling",
  needs: ["tiling", "nodes"],
  mount: (element, store) => new TilingPanel(element, store),
};
