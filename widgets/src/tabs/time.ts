/** The tab "Compile time": by stage, pass and rule, as bars one below the other and as a table. */

import type { StepRow } from "../core/document.ts";
import type { Palette } from "../core/palette.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { count, seconds } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { Grid } from "./boxes.ts";
import { inkOn, mixed } from "./colour.ts";
import { Frame, soft, strong } from "./frame.ts";
import { listen } from "./gestures.ts";
import { isQuiet, lapsOf, type Lap } from "./laps.ts";
import { fitted, Surface, type Drawing } from "./surface.ts";
import { Table, type Column } from "./table.ts";
import { Tooltip } from "./tooltip.ts";
import { plural, share } from "./words.ts";

const ROW = 24; // px
const STAGES = ["parse", "passes", "memory", "schedule", "kernels", "validation"];
const COLOURS = ["control", "accent", "cube", "mixed", "move", "boundary"] as const;

class TimePanel implements Panel {
  readonly #frame: Frame;
  readonly #tip = new Tooltip();
  readonly #surface = new Surface("Compile time", (drawing) => this.#picture(drawing), (drawing) => this.#marks(drawing));
  readonly #table: Table;
  readonly #quietly: HTMLButtonElement;
  readonly #stop: () => void;
  #steps: readonly StepRow[] = [];
  #laps: Lap[] = [];
  #whole = 0;
  #hovered = -1;
  #grid: Grid | null = null;

  constructor(element: HTMLElement, private readonly store: Store) {
    this.#table = new Table("Steps", { choose: (row) => this.#choose(row) }, "No step took any time.");
    const strip = h("div", { class: "gxt-strip" }, this.#surface.element);
    this.#frame = new Frame(element, "time", h("div", { class: "gxt-stack" }, strip, this.#table.element, this.#tip.element));
    this.#quietly = h("button", { type: "button", class: "gx-button gxt-button", "aria-pressed": "false", text: "quiet steps", title: "List every step that changed nothing" });
    this.#quietly.addEventListener("click", () => {
      this.#quietly.setAttribute("aria-pressed", String(!this.#isOpen()));
      this.#list();
    });
    fill(this.#frame.tools, this.#quietly);
    this.#stop = listen(this.#surface.canvas, {
      hover: (x, y) => this.#hover(x, y),
      leave: () => this.#hover(-1, -1),
      click: (x, y) => {
        const lap = this.#laps[this.#at(x, y)];
        if (lap && lap.step >= 0) this.store.move({ step: lap.step });
      },
    });
    this.update(new Set(["parts"]));
  }

  update(changed: ReadonlySet<Topic>): void {
    if (changed.has("parts")) this.#load();
    if (changed.has("theme")) this.#surface.redraw();
    if (changed.has("parts") || changed.has("cursor")) this.#follow();
  }

  resize(): void {
    this.#surface.measure();
  }

  destroy(): void {
    this.#frame.destroy();
    this.#stop();
    this.#surface.destroy();
    this.#table.destroy();
  }

  #isOpen(): boolean {
    return this.#quietly.getAttribute("aria-pressed") === "true";
  }

  #load(): void {
    const { head, steps } = this.store.parts;
    if (!this.#frame.empty(head && steps?.steps.length ? null : "No step has been taken yet.") || !head || !steps) return;
    if (steps.steps === this.#steps) return;
    this.#steps = steps.steps;
    const { laps, seconds: whole } = lapsOf(head.stages, this.#steps);
    this.#laps = laps;
    this.#whole = whole;
    this.#grid = null;
    const parts = laps.filter((lap) => lap.level === 0).sort((a, b) => b.seconds - a.seconds);
    const slowest = this.#steps.reduce<StepRow | undefined>((a, step) => (a && a.seconds >= step.seconds ? a : step), undefined);
    this.#frame.say(
      strong(`compiled in ${seconds(whole)}`),
      soft(" by this explorer on its own machine; what GE takes nobody has measured here · "),
      slowest && `slowest: ${slowest.name} ${seconds(slowest.seconds)}`,
      slowest && soft(`, ${share(slowest.seconds / (whole || 1))}: ${reasonOf(slowest)}`),
      soft(` · ${parts.map((lap) => `${lap.name} ${seconds(lap.seconds)} (${share(lap.seconds / (whole || 1))})`).join(", ")}`),
    );
    this.#surface.describe(`Compile time ${seconds(whole)}: ${parts.map((lap) => `${lap.name} ${share(lap.seconds / whole)}`).join(", ")}. The table below lists every step.`);
    this.#surface.redraw();
    this.#list();
  }

  #list(): void {
    const steps = this.#steps;
    const whole = this.#whole;
    const quiet = steps.flatMap((step, i) => (isQuiet(step) ? [i] : []));
    const sum = quiet.length; // row number of the quiet ones together is that of no step
    const quietSeconds = quiet.reduce((all, i) => all + steps[i].seconds, 0);
    const together = steps.length;
    const of = (row: number): StepRow | undefined => steps[row];
    const time = (row: number): number => of(row)?.seconds ?? quietSeconds;
    const rows = steps.flatMap((step, i) => (this.#isOpen() || !isQuiet(step) ? [i] : []));
    if (!this.#isOpen() && sum) rows.push(together);
    const most = rows.reduce((a, row) => Math.max(a, time(row)), 1e-12);
    this.#quietly.textContent = `${plural(sum, "quiet step")}`;
    const number = (title: string, hint: string, get: (step: StepRow) => number): Column => ({
      title,
      hint,
      number: true,
      width: "4.6em",
      text: (row) => {
        const step = of(row);
        return step && get(step) ? count(get(step)) : "";
      },
      key: (row) => (of(row) ? get(steps[row]) : 0),
    });
    const columns: Column[] = [
      { title: "step", width: "minmax(9em, 2fr)", text: (row) => of(row)?.name ?? `${plural(sum, "quiet step")}: nothing to do`, key: (row) => of(row)?.name ?? "~" },
      { title: "GE's name", hint: "What GE calls the pass, or the stage that it stands for", width: "minmax(6em, 1.6fr)", spare: 4, text: (row) => of(row)?.ge_name ?? "", key: (row) => of(row)?.ge_name ?? "~" },
      { title: "stage", spare: 2, hint: "A pass or fusion rule of the passes, or another stage", width: "6.2em", text: (row) => stageText(of(row)), key: (row) => stageText(of(row)) || "~" },
      { title: "time", number: true, width: "minmax(6.7em, 1.2fr)", text: (row) => seconds(time(row)), key: time, bar: (row) => time(row) / most, colour: (row) => `var(--gx-${colourOf(of(row)?.stage ?? "")})` },
      { title: "share", hint: "Of the whole compilation", number: true, width: "4.4em", text: (row) => share(time(row) / (whole || 1)), key: time },
      { ...number("tried", "Places that it looked at", (step) => step.tried), spare: 3 },
      {
        title: "a try",
        spare: 5,
        hint: "Time for each place that it looked at",
        number: true,
        width: "5em",
        text: (row) => (of(row)?.tried ? seconds(steps[row].seconds / steps[row].tried) : ""),
        key: (row) => (of(row)?.tried ? steps[row].seconds / steps[row].tried : NaN),
      },
      number("rewrites", "Changes that it made", (step) => step.rewrites.node.length),
      { title: "nodes", spare: 1, hint: "Before and after", number: true, width: "minmax(6.6em, 0.7fr)", text: (row) => nodesText(of(row)), key: (row) => (of(row) ? steps[row].nodes_before - steps[row].nodes_after : 0) },
    ];
    this.#table.set(columns, Int32Array.from(rows), { column: 3, descending: true });
  }

  #follow(): void {
    const { step } = this.store.cursor;
    this.#table.select(step ?? -1);
    this.#surface.remark();
  }

  #choose(row: number): void {
    if (row < this.#steps.length) this.store.move({ step: this.#steps[row].index });
    else {
      this.#quietly.setAttribute("aria-pressed", "true");
      this.#list();
    }
  }

  #place(lap: Lap): [x: number, y: number, w: number, h: number] {
    const wide = this.#surface.width - 20;
    return [10 + (lap.start / this.#whole) * wide, 4 + lap.level * ROW, (lap.seconds / this.#whole) * wide, ROW - 2];
  }

  #at(x: number, y: number): number {
    if (x < 0 || !this.#whole) return -1;
    this.#grid ??= new Grid({
      x0: this.#laps.map((lap) => lap.start),
      x1: this.#laps.map((lap) => lap.start + lap.seconds),
      y0: this.#laps.map((lap) => lap.level + 0.01),
      y1: this.#laps.map((lap) => lap.level + 0.99),
      length: this.#laps.length,
    });
    const wide = this.#surface.width - 20;
    return this.#grid.hit(((x - 10) / wide) * this.#whole, (y - 4) / ROW, this.#whole / wide, 0);
  }

  #hover(x: number, y: number): void {
    const at = this.#at(x, y);
    const lap = this.#laps[at];
    this.#surface.canvas.style.cursor = lap && lap.step >= 0 ? "pointer" : "default";
    if (at !== this.#hovered) {
      this.#hovered = at;
      this.#surface.remark();
    }
    if (!lap) return this.#tip.hide();
    const step = lap.step >= 0 ? this.#steps.find((one) => one.index === lap.step) : undefined;
    this.#tip.show(
      x,
      y,
      lap.name,
      [
        ["time", `${seconds(lap.seconds)}, ${share(lap.seconds / this.#whole)} of the compilation`],
        ["stage", lap.stage],
        ...(step ? ([["because", reasonOf(step)]] as const) : []),
      ],
      step?.summary ?? "",
    );
  }

  #picture({ context: c, palette: p }: Drawing): void {
    for (const lap of this.#laps) {
      const [x, y, w, tall] = this.#place(lap);
      const colour = mixed(p[colourOf(lap.stage)], p.surface, [0.05, 0.4, 0.62][lap.level]);
      c.fillStyle = colour;
      c.fillRect(x, y, Math.max(0.5, w - (w > 3 ? 1 : 0)), tall);
      this.#name(c, p, lap, colour);
    }
  }

  #name(c: CanvasRenderingContext2D, p: Palette, lap: Lap, colour: string): void {
    const [x, y, w, tall] = this.#place(lap);
    if (w < 34) return;
    const full = `${lap.name}  ${seconds(lap.seconds)}`;
    const text = c.measureText(full).width <= w - 10 ? full : fitted(c, lap.name, w - 10);
    c.fillStyle = colour ? inkOn(colour) : p.ink;
    c.textAlign = "left";
    if (text) c.fillText(text, x + 5, y + tall / 2 + 0.5);
  }

  #marks({ context: c, palette: p }: Drawing): void {
    this.#laps.forEach((lap, i) => {
      const chosen = lap.step >= 0 && lap.step === this.store.cursor.step;
      if (!chosen && i !== this.#hovered) return;
      const [x, y, w, tall] = this.#place(lap);
      c.strokeStyle = chosen ? p.accent : p.ink;
      c.lineWidth = chosen ? 2.5 : 1.5;
      c.strokeRect(x, y, Math.max(2, w), tall);
    });
  }
}

/** Why a step takes its time, by what it went through. */
export function reasonOf(step: StepRow): string {
  const done = step.rewrites.node.length;
  if (step.tried) return `${plural(step.tried, step.kind === "stage" ? "piece of work" : "place", step.kind === "stage" ? "pieces of work" : "places")}, ${seconds(step.seconds / step.tried)} each`;
  if (done) return `${plural(done, "rewrite")}, ${seconds(step.seconds / done)} each`;
  return step.nodes_before ? `${plural(step.nodes_before, "node")}, ${seconds(step.seconds / step.nodes_before)} each` : "it reads the model";
}

const colourOf = (stage: string): (typeof COLOURS)[number] => COLOURS[Math.max(0, STAGES.indexOf(stage)) % COLOURS.length];

const stageText = (step: StepRow | undefined): string => (!step ? "" : step.kind === "rule" ? "fusion rule" : step.kind === "pass" ? "pass" : step.stage);

function nodesText(step: StepRow | undefined): string {
  if (!step) return "";
  return step.nodes_before === step.nodes_after ? count(step.nodes_after) : `${count(step.nodes_before)} → ${count(step.nodes_after)}`;
}

export const time: PanelKind = {
  name: "time",
  title: "Compile time",
  needs: ["head", "steps"],
  mount: (element, store) => new TimePanel(element, store),
};
