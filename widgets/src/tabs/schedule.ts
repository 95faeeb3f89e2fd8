/** The tab "Schedule": which kernel runs when and where, the critical path, who waits for whom. */

import type { CostPart, SchedulePart } from "../core/document.ts";
import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { UNITS } from "../core/palette.ts";
import { count, time } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import { button, Choice, Frame, legend, soft, strong, warning, type Key } from "./frame.ts";
import { criticalTasks, idleBy, unitsOfTasks, WHY } from "./lanes.ts";
import { sum } from "./kernels.ts";
import { SchedulePicture } from "./schedule_picture.ts";
import { all, amount, Table, words, type Column } from "./table.ts";
import { Tooltip, type Line } from "./tooltip.ts";
import { meant } from "./versions.ts";
import { atLeast, bindingOf, leftOut, noPrice, plural, share, sizeMissed, within } from "./words.ts";

type View = "stream" | "core" | "table";

class SchedulePanel implements Panel {
  readonly #frame: Frame;
  readonly #tip = new Tooltip();
  readonly #picture = new SchedulePicture({ hover: (task, x, y) => this.#tell(task, x, y), choose: (task) => this.#choose(task) });
  readonly #list = new Table("The critical path", { choose: (task) => this.#choose(task), hover: (task) => this.#picture.point(task) }, "No kernel takes any time.");
  readonly #table = new Table("All kernels", { choose: (task) => this.#choose(task) });
  readonly #heading = h("div", { class: "gxt-heading" });
  readonly #keys = h("div", { class: "gxt-keys" });
  readonly #split: HTMLElement;
  readonly #events: HTMLButtonElement;
  readonly #view: Choice<View>;
  #schedule: SchedulePart | undefined;
  #units: Uint8Array = new Uint8Array();
  #own = false;

  constructor(element: HTMLElement, private readonly store: Store) {
    const picture = h("div", { class: "gxt-picture" }, this.#keys, this.#picture.surface.element, this.#picture.minimap.surface.element, this.#tip.element);
    const side = h("aside", { class: "gxt-side", "aria-label": "Critical path" }, this.#heading, this.#list.element);
    this.#split = h("div", { class: "gxt-split" }, picture, side);
    this.#frame = new Frame(element, "schedule", this.#split, this.#table.element);
    this.#view = new Choice<View>("View", [["stream", "streams"], ["core", "cores"], ["table", "table"]], "stream", () => this.#look());
    this.#events = h("button", { type: "button", class: "gx-button gxt-button", "aria-pressed": "false", text: "events", title: "Show every event between streams" });
    this.#events.addEventListener("click", () => {
      const on = this.#events.getAttribute("aria-pressed") !== "true";
      this.#events.setAttribute("aria-pressed", String(on));
      this.#picture.showEvents(on);
    });
    fill(
      this.#frame.tools,
      this.#view.element,
      this.#events,
      button("−", "Zoom out (−)", () => this.#picture.zoomBy(1.6)),
      button("+", "Zoom in (+)", () => this.#picture.zoomBy(0.6)),
      button("fit", "Show all (0, or double click)", () => this.#picture.fit()),
    );
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
    this.#list.destroy();
    this.#table.destroy();
  }

  #load(): void {
    const { schedule } = this.store.parts;
    const before = this.#schedule;
    this.#schedule = schedule;
    if (!this.#frame.empty(emptiness(schedule, this.store.parts.cost), bindingOf(this.store.parts, sizeMissed(this.store.parts.cost))) || !schedule) return;
    if (schedule === before) return;
    this.#units = unitsOfTasks(schedule, this.store.parts.nodes);
    this.#say(schedule);
    const critical = criticalTasks(schedule);
    const path = critical.reduce((sum, task) => sum + schedule.duration_us[task], 0);
    fill(
      this.#heading,
      h(
        "div",
        { title: "No number of streams is faster with this memory plan" },
        h("b", { text: `Critical path: ${time(path)}` }),
        `, ${count(critical.filter((task) => !schedule.idle[task]).length)} of ${plural(launched(schedule), "kernel")}`,
      ),
      h("div", { class: "gxt-soft", text: this.#idleness(schedule), title: this.#idleness(schedule) }),
    );
    this.#list.set(this.#columns(schedule, false), critical, { column: 1, descending: true });
    const many = schedule.event_from.length > 0;
    this.#events.disabled = !many;
    this.#events.title = many ? "Show every event between streams" : "No stream waits for another: there are no events";
    const cores = [...new Set(this.#units)].sort();
    const keys: Key[] = cores.map((unit) => ({ text: UNITS[unit].label, colour: `--gx-${UNITS[unit].name}` }));
    fill(
      this.#keys,
      legend([
        ...keys,
        { text: "critical path", hint: "critical path: in full colour, and underlined", colour: "--gx-bad", mark: "line" },
        ...(schedule.streams.length > 1
          ? ([
              { text: "waits for data", colour: "--gx-ink", mark: "line" },
              { text: "waits for bytes to be free", colour: "--gx-warn", mark: "dashed" },
            ] as const)
          : []),
      ]),
    );
    this.#look();
  }

  /** How long streams stand idle between their kernels, and for what. */
  #idleness(schedule: SchedulePart): string {
    const idle = idleBy(schedule);
    const waits = [idle.data > 0 && `${time(idle.data)} for data`, idle.reuse > 0 && `${time(idle.reuse)} for bytes to be free`].filter(Boolean);
    return waits.length ? `Streams stand idle: ${waits.join(", ")}` : "No stream waits between its kernels";
  }

  #say(schedule: SchedulePart): void {
    const serial = schedule.duration_us.reduce((sum, us) => sum + us, 0);
    const { streams } = schedule;
    const idle = sum(schedule.idle);
    const gain = serial > 0 ? 1 - schedule.makespan_us / serial : 0;
    const { cost } = this.store.parts;
    const out = leftOut(cost);
    const words = `makespan ${atLeast(cost)}${time(schedule.makespan_us)}`;
    const side = streams.length > 1 && gain > 0.0005 ? ` · ${share(gain)} less than one after the other (${time(serial)})` : "";
    this.#frame.say(
      strong(words),
      out && warning(out),
      ` ${within(schedule.error)}`,
      soft(` · critical path ${time(schedule.critical_path_us)}, ${share(schedule.critical_path_us / (schedule.makespan_us || 1))} of it`),
      soft(` · ${plural(launched(schedule), "kernel")} on ${plural(streams.length, "stream")}, ${plural(schedule.event_from.length, "event")}${side}`),
      idle > 0 && soft(` · ${plural(idle, "node")} of unknown size ${idle === 1 ? "launches" : "launch"} nothing`),
      schedule.note && !out ? soft(` · ${schedule.note}`) : null,
    );
    this.#picture.surface.describe(`Schedule: ${words}, ${plural(launched(schedule), "kernel")} on ${plural(streams.length, "stream")}. Arrows go from kernel to kernel, Enter chooses; the table view lists every kernel.`);
  }

  #look(): void {
    const schedule = this.#schedule;
    if (!schedule) return;
    const { value } = this.#view;
    this.#split.hidden = value === "table";
    this.#table.element.hidden = value !== "table";
    if (value === "table") this.#table.set(this.#columns(schedule, true), all(schedule.name.length));
    else this.#picture.set(schedule, this.#units, value);
  }

  #columns(schedule: SchedulePart, whole: boolean): Column[] {
    const name = (i: number): string => schedule.strings[schedule.name[i]];
    const core = (i: number): string => schedule.strings[schedule.core[i]];
    const colour = (i: number): string => `var(--gx-${UNITS[this.#units[i]].name})`;
    const kernel = words("kernel", "minmax(6.7em, 2fr)", name);
    const duration = amount({ title: "time", width: "minmax(6.2em, 1fr)", of: (i) => schedule.duration_us[i], text: (us) => (us ? time(us) : "–"), colour, rows: schedule.name.length });
    const why: Column = words("after", "5.6em", (i) => WHY[schedule.strings[schedule.held_why[i]]] ?? "the start", "Why it starts no earlier: the data of another kernel, bytes that another still holds, or its stream");
    if (!whole) return [kernel, duration, why];
    return [
      kernel,
      words("core", "5em", (i) => (schedule.idle[i] ? "none" : core(i))),
      { title: "stream", width: "6.7em", text: (i) => schedule.streams[schedule.stream[i]]?.label ?? "", key: (i) => schedule.stream[i] },
      { ...amount({ title: "start", width: "6.2em", of: (i) => schedule.start_us[i], text: time }), key: (i) => -schedule.start_us[i] },
      duration,
      amount({ title: "slack", hint: "How much later it could be without a longer makespan", width: "6.2em", of: (i) => schedule.slack_us[i], text: time }),
      { title: "critical", width: "5em", text: (i) => (schedule.critical[i] ? "● yes" : ""), key: (i) => -schedule.critical[i] },
      amount({ title: "idle before", hint: "How long its stream stands idle before it", width: "6.7em", of: (i) => schedule.wait_us[i], text: time }),
      words("starts after", "minmax(11em, 2fr)", (i) => this.#held(schedule, i), "Who ends when it starts, and why it had to wait for that"),
      words("events", "minmax(6.7em, 1fr)", (i) => this.#waits(schedule, i).join(", "), "Events of other streams that it waits for"),
    ];
  }

  /** Who ends when a kernel starts, and why it had to wait: "conv_3: data (conv_3_out)". */
  #held(schedule: SchedulePart, task: number): string {
    const by = schedule.held_by[task];
    if (by < 0) return "the start";
    const why = schedule.strings[schedule.held_why[task]];
    const tensor = schedule.held_tensor[task] >= 0 ? ` ${why === "reuse" ? "of" : "in"} ${schedule.strings[schedule.held_tensor[task]]}` : "";
    return `${schedule.strings[schedule.name[by]]}: ${WHY[why] ?? why}${tensor}`;
  }

  #waits(schedule: SchedulePart, task: number): string[] {
    return this.#picture.eventsAt(task).waits.map((event) => `${schedule.strings[schedule.name[schedule.event_from[event]]]} (${schedule.strings[schedule.event_reason[event]]})`);
  }

  #follow(): void {
    const schedule = this.#schedule;
    if (!schedule || emptiness(schedule)) return;
    const tasks: number[] = [];
    const is = meant(this.store.parts, this.store.cursor);
    if (is) schedule.node.forEach((of, i) => is(of) && tasks.push(i));
    this.#picture.light(tasks, !this.#own);
    this.#list.select(tasks[0] ?? -1);
    this.#table.select(tasks[0] ?? -1);
  }

  #choose(task: number): void {
    const schedule = this.#schedule;
    if (!schedule || schedule.node[task] < 0) return;
    this.#own = true;
    this.#tip.hide();
    this.store.move({ node: schedule.node[task], value: undefined, position: undefined });
    this.#own = false;
  }

  #tell(task: number, x: number, y: number): void {
    const schedule = this.#schedule;
    if (!schedule || task < 0) return this.#tip.hide();
    const { sends } = this.#picture.eventsAt(task);
    const waits = this.#waits(schedule, task);
    const [start, duration] = [schedule.start_us[task], schedule.duration_us[task]];
    const idle = schedule.wait_us[task];
    const lines: Line[] = [
      ["runs", `${time(start)} – ${time(start + duration)}`],
      ["takes", `${time(duration)} (simulated), ${share(duration / (schedule.makespan_us || 1))} of the makespan`],
      ["on", `${schedule.strings[schedule.core[task]]}, ${schedule.streams[schedule.stream[task]]?.label ?? ""}`],
      ["slack", schedule.critical[task] ? "none: on the critical path" : time(schedule.slack_us[task])],
      ["starts after", this.#held(schedule, task) + (idle > 0 ? `; its stream stands idle ${time(idle)}` : "")],
    ];
    if (waits.length) lines.push(["events", waits.slice(0, 6).join(", ") + (waits.length > 6 ? ` and ${waits.length - 6} more` : "")]);
    if (sends.length) lines.push(["lets start", sends.slice(0, 6).map((event) => schedule.strings[schedule.name[schedule.event_to[event]]]).join(", ")]);
    this.#tip.show(x, y + this.#picture.surface.element.offsetTop, schedule.strings[schedule.name[task]], lines);
  }
}

/** As the headline counts: what launches something. */
const launched = (schedule: SchedulePart): number => schedule.name.length - sum(schedule.idle);

function emptiness(schedule: SchedulePart | undefined, cost?: CostPart): string | null {
  if (!schedule) return "No schedule yet: the schedule stage has not run, or stopped with an error (see the log).";
  if (!schedule.timed || !schedule.name.length) {
    return noPrice(cost) ?? "No kernel takes any time, so there is nothing to schedule.";
  }
  return null;
}

export const schedule: PanelKind = {
  name: "schedule",
  title: "Schedule",
  needs: ["schedule", "nodes"],
  mount: (element, store) => new SchedulePanel(element, store),
};
