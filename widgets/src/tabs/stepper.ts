/** The tab "Kernel": one core's tile program instruction by instruction, with what its buffers hold and what has been moved. */

import type { KernelPart } from "../core/document.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { bytes, count } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { button, Frame, soft, strong } from "./frame.ts";
import { byTile, replay, type Stepped } from "./replay.ts";
import { all, Table } from "./table.ts";
import { becomes } from "./versions.ts";
import { plural } from "./words.ts";

const BEAT = 420; // ms from one instruction to the next while it plays

class KernelPanel implements Panel {
  readonly #frame: Frame;
  readonly #kernels = new Table("Kernels", { choose: (row) => this.#choose(row) }, "No kernel has a tile program.");
  readonly #levels = h("div", { class: "gxt-levels" });
  readonly #paths = h("div", { class: "gxt-totals" });
  readonly #program = h("ol", { class: "gxt-lines", tabindex: 0, "aria-label": "Tile program, flags left out" });
  readonly #play = button("▶", "Play (space)", () => this.#toggle());
  readonly #slider = h("input", { type: "range", class: "gxt-slider", min: "-1", "aria-label": "Instruction", oninput: () => this.#go(Number(this.#slider.value)) });
  #part: KernelPart | undefined;
  #chosen = 0;
  #step = -1;
  #timer = 0;
  #asked = false;

  constructor(element: HTMLElement, private readonly store: Store) {
    const list = h("aside", { class: "gxt-side gxt-first", "aria-label": "Kernels" }, this.#kernels.element);
    const machine = h("div", { class: "gxt-picture gxt-machine" }, this.#levels, this.#paths);
    const side = h("aside", { class: "gxt-side gxt-wide", "aria-label": "Program" }, this.#program);
    this.#frame = new Frame(element, "kernel", h("div", { class: "gxt-split" }, list, machine, side));
    fill(
      this.#frame.tools,
      button("«", "Tile back (shift ←)", () => this.#tile(-1)),
      button("‹", "Instruction back (←)", () => this.#go(this.#step - 1)),
      this.#play,
      button("›", "Next instruction (→)", () => this.#go(this.#step + 1)),
      button("»", "Next tile (shift →)", () => this.#tile(1)),
      this.#slider,
    );
    this.#frame.element.addEventListener("keydown", (event) => this.#key(event));
    this.update(new Set(["parts"]));
  }

  update(changed: ReadonlySet<Topic>): void {
    if (changed.has("parts")) this.#load();
    if (changed.has("parts") || changed.has("cursor")) this.#follow();
  }

  resize(): void {}

  destroy(): void {
    this.#stop();
    this.#frame.destroy();
    this.#kernels.destroy();
  }

  get #now(): Stepped | undefined {
    return this.#part?.programs[this.#chosen];
  }

  #load(): void {
    const { kernel } = this.store.parts;
    const before = this.#part;
    this.#part = kernel;
    if (!kernel && !this.#asked && this.store.host.ask) {
      this.#asked = true;
      this.store.ask("kernel");
    }
    const waiting = this.store.host.ask ? "Walking the dearest kernels…" : "This page does not carry the kernels' steps. In Jupyter they are made when asked for.";
    const none = "No kernel of this graph has a tile program: nothing is computed by cube or vector cores, or its sizes are not known.";
    if (!this.#frame.empty(!kernel ? waiting : kernel.programs.length ? null : none) || !kernel || kernel === before) return;
    this.#asked = false;
    const { programs, strings } = kernel;
    this.#chosen = Math.min(this.#chosen, programs.length - 1);
    const name = (row: number): string => strings[programs[row].name];
    this.#kernels.set(
      [
        { title: "kernel", width: "minmax(5em, 1.2fr)", text: (row) => name(row) + (programs[row].alike.length > 1 ? ` × ${count(programs[row].alike.length)}` : ""), key: name },
        { title: "type", width: "minmax(4.5em, 1.1fr)", text: (row) => strings[programs[row].type], key: (row) => strings[programs[row].type] },
        { title: "tile", width: "8em", text: (row) => strings[programs[row].tile] },
      ],
      all(programs.length),
    );
    this.#show();
  }

  /** Another kernel: from its first instruction. */
  #show(): void {
    const program = this.#now;
    const part = this.#part;
    if (!program || !part) return;
    this.#stop();
    this.#kernels.select(this.#chosen);
    this.#slider.max = String(program.steps.line.length - 1);
    fill(
      this.#program,
      ...[...program.lines].map((line) => {
        const text = part.strings[line];
        return h("li", { style: { "padding-inline-start": `${0.6 + (text.length - text.trimStart().length) * 0.5}em` }, text: text.trim().replace(/ +/g, " ") });
      }),
    );
    this.#go(0);
  }

  #go(step: number): void {
    const program = this.#now;
    const part = this.#part;
    if (!program || !part) return;
    const last = program.steps.line.length - 1;
    this.#step = Math.max(-1, Math.min(last, step));
    this.#slider.value = String(this.#step);
    if (this.#step === last) this.#stop();
    const { strings } = part;
    const { steps } = program;
    const at = this.#step;
    const where = at < 0 ? "before the first instruction" : `tile ${count(steps.turn[at] + 1)}${steps.block[at] >= 0 ? `, block ${count(steps.block[at] + 1)} of ${count(program.blocks)}` : ""}${strings[steps.where[at]] ? `: ${strings[steps.where[at]]}` : ""}`;
    this.#frame.say(
      strong(`${strings[program.name]}`),
      ` ${strings[program.text]}`,
      soft(` · core 1 of ${count(program.cores)} · instruction ${count(at + 1)} of ${count(last + 1)}${program.whole ? "" : " shown, the core goes on after them"} · ${where}`),
      part.more > 0 && soft(` · ${plural(part.more, "cheaper kernel")} not listed`),
    );
    this.#slider.setAttribute("aria-valuetext", where);
    this.#machine(program, strings);
    const line = at < 0 ? -1 : steps.line[at];
    [...this.#program.children].forEach((element, i) => {
      if ((element.getAttribute("aria-current") !== null) === (i === line)) return;
      if (i !== line) return element.removeAttribute("aria-current");
      element.setAttribute("aria-current", "step");
      const list = this.#program;
      const top = (element as HTMLElement).offsetTop;
      if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 30) list.scrollTop = top - list.clientHeight / 2;
    });
  }

  #machine(program: Stepped, strings: string[]): void {
    const { held, moved } = replay(program, this.#step);
    const label = (level: string): string => (level === "gm" ? "memory (written so far)" : level.toUpperCase());
    const levels = [...program.levels, { name: "gm", capacity_bytes: 0 }];
    fill(
      this.#levels,
      ...levels.map(({ name, capacity_bytes }) => {
        // What is in memory was there before; only what the kernel writes there is told.
        const own = held.filter(({ buffer, content }) => program.buffers[buffer].level === name && (capacity_bytes || content >= 0));
        if (!own.length) return null;
        const used = own.reduce((sum, one) => sum + one.held_bytes, 0);
        return h(
          "section",
          { class: "gxt-level" },
          h("h4", {}, label(name), capacity_bytes ? soft(` ${bytes(used)} of ${bytes(capacity_bytes)} in use`) : null),
          ...own.map(({ buffer, copy, content, held_bytes, step }) => {
            const { copies, copy_bytes } = program.buffers[buffer];
            const text = `${strings[program.buffers[buffer].name]}${copies > 1 && capacity_bytes ? ` ${copy + 1}/${copies}` : ""}`;
            return h(
              "div",
              { class: `gxt-held${step === this.#step && step >= 0 ? " gxt-new" : ""}`, title: `${text}: ${bytes(held_bytes)} of ${bytes(copy_bytes)}` },
              h("span", { text }),
              capacity_bytes ? h("i", { class: "gxt-meter", style: { "--gxt-share": `${Math.min(1, held_bytes / Math.max(1, copy_bytes)) * 100}%`, "--gxt-colour": "var(--gx-accent)" }, "aria-hidden": "true" }) : null,
              h("code", { text: content < 0 ? "empty" : strings[content] }),
              h("span", { class: "gxt-soft", text: content < 0 ? "" : bytes(held_bytes) }),
            );
          }),
        );
      }),
    );
    fill(
      this.#paths,
      h("div", { class: "gxt-soft", text: "Moved so far by this core; of all cores to the end" }),
      ...program.paths.map(({ name, total_bytes }, i) =>
        h("div", { class: "gxt-path" }, h("span", { text: name.toUpperCase().replace("GM", "memory").replace("GM", "memory").replace("->", " → ") }), h("b", { text: bytes(moved[i]) }), h("span", { class: "gxt-soft", text: bytes(total_bytes) })),
      ),
    );
  }

  #tile(by: 1 | -1): void {
    if (this.#now) this.#go(byTile(this.#now, this.#step, by));
  }

  #toggle(): void {
    if (this.#timer) return this.#stop();
    const program = this.#now;
    if (!program) return;
    if (this.#step >= program.steps.line.length - 1) this.#go(-1);
    this.#timer = window.setInterval(() => this.#go(this.#step + 1), BEAT);
    this.#play.textContent = "‖";
  }

  #stop(): void {
    window.clearInterval(this.#timer);
    this.#timer = 0;
    this.#play.textContent = "▶";
  }

  /** Its own keys, not the graph's, while the focus is in it. */
  #key(event: KeyboardEvent): void {
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || (target instanceof Element && target.closest(".gxt-first"))) return;
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by) event.shiftKey ? this.#tile(by) : this.#go(this.#step + by);
    else if (event.key === " " && !(target instanceof HTMLButtonElement)) this.#toggle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #follow(): void {
    const { node } = this.store.cursor;
    if (node === undefined || !this.#part) return;
    const is = becomes(this.store.parts.nodes, node);
    const found = this.#part.programs.findIndex((program) => program.alike.some(is));
    if (found < 0 || found === this.#chosen) return;
    this.#chosen = found;
    this.#show();
  }

  #choose(row: number): void {
    this.#chosen = row;
    this.#show();
    const node = this.#now?.alike.find((one) => one >= 0);
    const { node: now } = this.store.cursor;
    if (node !== undefined && !(now !== undefined && this.#now?.alike.includes(now))) this.store.move({ node, value: undefined, position: undefined });
  }
}

export const kernel: PanelKind = {
  name: "kernel",
  title: "Kernel",
  needs: ["kernel", "nodes"],
  mount: (element, store) => new KernelPanel(element, store),
};
