/** The tab "Kernel": one core's tile program instruction by instruction, with what its buffers hold and what has been moved. */

import type { KernelPart } from "../core/document.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { bytes, count } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { button, Frame, soft, strong, warning } from "./frame.ts";
import { KernelList } from "./kernel_list.ts";
import { byTile, replay, type Stepped } from "./replay.ts";
import { Lanes } from "./stepper_lanes.ts";
import { wordsOf } from "./stepper_words.ts";
import { Tooltip } from "./tooltip.ts";
import { bindingOf, plural } from "./words.ts";

const BEAT = 420; // ms from one instruction to the next while it plays

type Lacking = KernelPart["missing"][number];

class KernelPanel implements Panel {
  readonly #frame: Frame;
  readonly #kernels: KernelList;
  readonly #tip = new Tooltip();
  readonly #lanes = new Lanes(this.#tip, (step) => this.#go(step));
  readonly #words = h("p", { class: "gxt-doing", "aria-live": "polite" });
  readonly #levels = h("div", { class: "gxt-levels" });
  readonly #paths = h("div", { class: "gxt-totals" });
  readonly #program = h("ol", { class: "gxt-lines", tabindex: 0, "aria-label": "Tile program, flags left out" });
  readonly #split: HTMLElement;
  readonly #lack = h("p", { class: "gxt-empty", hidden: true });
  readonly #play = button("▶", "Play (space)", () => this.#toggle());
  readonly #slider = h("input", { type: "range", class: "gxt-slider", min: "-1", "aria-label": "Instruction", oninput: () => this.#go(Number(this.#slider.value)) });
  #part: KernelPart | undefined;
  #step = -1;
  #timer = 0;
  #asked = false;

  constructor(element: HTMLElement, private readonly store: Store) {
    this.#kernels = new KernelList(store, () => this.#show());
    const list = h("aside", { class: "gxt-side gxt-first", "aria-label": "Kernels" }, this.#kernels.element);
    const machine = h("div", { class: "gxt-picture gxt-machine" }, this.#lanes.surface.element, this.#words, this.#levels, this.#paths, this.#tip.element);
    const side = h("aside", { class: "gxt-side gxt-wide", "aria-label": "Program" }, this.#program);
    this.#split = h("div", { class: "gxt-split" }, list, machine, this.#lack, side);
    this.#frame = new Frame(element, "kernel", this.#split);
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
    if (changed.has("theme")) this.#lanes.surface.redraw();
    if ((changed.has("parts") || changed.has("cursor")) && this.#kernels.follow(this.store.cursor)) this.#show();
  }

  resize(): void {
    this.#lanes.surface.measure();
  }

  destroy(): void {
    this.#stop();
    this.#frame.destroy();
    this.#kernels.destroy();
    this.#lanes.destroy();
  }

  get #now(): Stepped | undefined {
    return this.#part?.programs[this.#kernels.chosen];
  }

  #load(): void {
    const { kernel } = this.store.parts;
    const before = this.#part;
    if (!kernel && !this.#asked && this.store.host.ask) {
      this.#asked = true;
      this.store.ask("kernel");
    }
    if (!kernel && before && this.store.coming.has("kernel")) return this.#frame.wait();
    this.#part = kernel;
    const waiting = this.store.host.ask ? "Walking the dearest kernels…" : "This page does not carry the kernels' steps. In Jupyter they are made when asked for.";
    const none = "No kernel is launched, or none has a price: there is nothing to step through.";
    if (!this.#frame.empty(!kernel ? waiting : kernel.programs.length || kernel.missing.length ? null : none, bindingOf(this.store.parts, !!kernel)) || !kernel || kernel === before) return;
    this.#asked = false;
    const { programs, missing, strings } = kernel;
    const old = before?.programs[this.#kernels.chosen];
    const stood = before && old ? { text: programText(old, before.strings), step: this.#step } : null;
    const tile = (row: number): string => (row < programs.length ? strings[programs[row].tile] : "no program");
    this.#kernels.set([...programs, ...missing], strings, [{ title: "tile", hint: "How its work is cut; why where it is not", width: "minmax(6.2em, 1.3fr)", text: tile, key: tile }]);
    this.#show();
    // The same program is at the same instruction.
    if (stood && this.#now && programText(this.#now, strings) === stood.text) this.#go(stood.step);
  }

  /** Another kernel: from its first instruction; or why it has none. */
  #show(): void {
    const part = this.#part;
    if (!part) return;
    this.#stop();
    const program = this.#now;
    this.#split.classList.toggle("gxt-lacking", !program);
    this.#lack.hidden = program !== undefined;
    this.#frame.tools.hidden = program === undefined;
    if (!program) return this.#explain(part, part.missing[this.#kernels.chosen - part.programs.length]);
    const { cost } = this.store.parts;
    const row = cost?.node.indexOf(program.alike[0]) ?? -1;
    this.#lanes.set(program, part.strings, (pipe) => {
      const at = cost?.pipes.indexOf(pipe) ?? -1; // the cost model has one pipe for what two kinds of core fetch
      return cost && row >= 0 && at >= 0 ? cost.pipe_us[row * cost.pipes.length + at] : NaN;
    });
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

  #explain({ strings }: KernelPart, lacking: Lacking | undefined): void {
    if (!lacking) return;
    this.#frame.say(strong(strings[lacking.name]), ` ${strings[lacking.type]}`, soft(" · no tile program"));
    const many = lacking.alike.length > 1 ? `, as ${plural(lacking.alike.length - 1, "other node")} of its kind` : "";
    this.#lack.textContent = `${strings[lacking.name]} (${strings[lacking.type]}) has no tile program to step through${many}: ${strings[lacking.reason]}.`;
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
      this.#kernels.astray && warning("the chosen node is none of these kernels"),
    );
    this.#words.textContent = wordsOf(program, strings, at);
    this.#lanes.go(at);
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
    const { reads_at, reads, reads_copy } = program.steps;
    const read = new Set(this.#step < 0 ? [] : Array.from(reads.subarray(reads_at[this.#step], reads_at[this.#step + 1]), (buffer, i) => `${buffer} ${reads_copy[reads_at[this.#step] + i]}`));
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
          h("h3", {}, label(name), capacity_bytes ? soft(` ${bytes(used)} of ${bytes(capacity_bytes)} in use`) : null),
          ...own.map(({ buffer, copy, content, held_bytes, step }) => {
            const { copies, copy_bytes } = program.buffers[buffer];
            const text = `${strings[program.buffers[buffer].name]}${copies > 1 && capacity_bytes ? ` ${copy + 1}/${copies}` : ""}`;
            return h(
              "div",
              { class: `gxt-held${step === this.#step && step >= 0 ? " gxt-new" : read.has(`${buffer} ${copy}`) ? " gxt-read" : ""}`, title: `${text}: ${bytes(held_bytes)} of ${bytes(copy_bytes)}${content < 0 ? "" : `, ${strings[content]}`}` },
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
}

/** A kernel's name and all lines of its program. */
const programText = (program: Stepped, strings: readonly string[]): string => [program.name, ...program.lines].map((text) => strings[text]).join("\n");

export const kernel: PanelKind = {
  name: "kernel",
  title: "Kernel",
  needs: ["kernel", "nodes"],
  mount: (element, store) => new KernelPanel(element, store),
};
