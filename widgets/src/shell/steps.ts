/** The left side: stages, their steps, what each rewrote and nearly rewrote. */

import type { StepRow, StepsPart } from "../core/document.ts";
import type { Panel, Store, Topic } from "../core/panel.ts";
import { count, seconds } from "../core/units.ts";
import { Mark, sameSteps } from "../core/diff.ts";
import { plural } from "../tabs/words.ts";
import { markSign, toggle } from "./glyph.ts";
import { ended, h, uniqueId } from "./dom.ts";
import { VirtualList } from "./virtual.ts";

type Row =
  | { kind: "stage"; stage: number }
  | { kind: "step"; step: number }
  | { kind: "quiet"; stage: string; count: number; open: boolean }
  | { kind: "rewrite"; step: number; row: number }
  | { kind: "near"; step: number; count: number; open: boolean }
  | { kind: "reject"; step: number; row: number }
  | { kind: "none"; step: number }
  | { kind: "off"; rule: string }
  | { kind: "failed" };

const HEIGHT = 28;

/** Nothing happened, and nothing nearly happened. */
function quiet(step: StepRow): boolean {
  return step.kind !== "stage" && !step.changed && !step.rewrites.node.length && !step.rejects.node.length;
}

export class StepList implements Panel {
  readonly element: HTMLElement;
  #list: VirtualList<Row>;
  #id = uniqueId("chosen-step");
  #open = new Set<number>();
  #near = new Set<number>();
  #loud = new Set<string>();
  #steps: StepsPart | undefined;
  #count = h("span", { class: "gx-muted" });
  #title = h("h2", { text: "Steps" });

  constructor(
    parent: HTMLElement,
    private readonly store: Store,
  ) {
    this.#list = new VirtualList<Row>(HEIGHT, (row) => this.#make(row), { role: "tree", "aria-label": "Steps of the compilation", tabindex: "0" });
    this.element = h("section", { class: "gx-steps", "aria-label": "Steps" }, h("header", { class: "gx-pane-head" }, this.#title, this.#count), this.#list.element);
    parent.append(this.element);
    this.update(new Set<Topic>(["parts"]));
  }

  update(changed: ReadonlySet<Topic>): void {
    if (changed.has("parts")) this.#lay();
    else if (changed.has("cursor")) {
      const { step, rewrite, reject } = this.store.cursor;
      // What is chosen is unfolded.
      let unfold = false;
      if (step !== undefined) {
        const row = this.store.parts.steps?.steps[step];
        if ((rewrite !== undefined || reject !== undefined) && !this.#open.has(step)) unfold = !!this.#open.add(step);
        if (reject !== undefined && !this.#near.has(step)) unfold = !!this.#near.add(step);
        if (row && quiet(row) && !this.#loud.has(row.stage)) unfold = !!this.#loud.add(row.stage);
      }
      if (unfold) this.#lay();
      else this.#list.refresh();
    } else if (changed.has("changes")) this.#lay();
    if (changed.has("cursor") || changed.has("parts")) this.#list.show(this.#list.rows.findIndex((row) => this.#chosen(row)));
  }

  resize(): void {}
  destroy(): void {
    this.#list.destroy();
    this.element.remove();
  }

  /** Steps that ↑ and ↓ go through: those that are not folded away. */
  visible(): number[] {
    return this.#list.rows.flatMap((row) => (row.kind === "step" ? [row.step] : []));
  }

  /** Unfolds or folds a step. */
  toggle(step: number): void {
    if (!this.#open.delete(step)) this.#open.add(step);
    this.#lay();
    this.#list.show(this.#list.rows.findIndex((row) => row.kind === "step" && row.step === step));
  }

  #lay(): void {
    const { steps, head } = this.store.parts;
    const rows: Row[] = [];
    if (steps !== this.#steps) {
      // What was unfolded stays so, though a rule that is off has no step and all later ones have other numbers.
      const now = sameSteps(this.#steps, steps);
      for (const set of [this.#open, this.#near]) {
        const kept = [...set].flatMap((step) => now.get(step) ?? []);
        set.clear();
        for (const step of kept) set.add(step);
      }
      this.#steps = steps;
    }
    this.#title.textContent = head?.difference ? "Nodes that differ" : "Steps";
    if (steps && head?.difference) {
      // Two graphs side by side: what differs is all there is to list.
      for (const step of steps.steps) this.#inside(step, rows);
      this.#count.textContent = count(steps.steps.reduce((sum, step) => sum + step.rewrites.node.length, 0));
    } else if (steps) {
      const stages = head?.stages.map((stage) => stage.name) ?? [];
      for (const step of steps.steps) if (!stages.includes(step.stage)) stages.push(step.stage);
      stages.forEach((stage, i) => {
        rows.push({ kind: "stage", stage: i });
        const own = steps.steps.filter((step) => step.stage === stage);
        const still = own.filter(quiet);
        const loud = this.#loud.has(stage) || still.length < 3;
        const off = stage === "passes" ? this.#off(own) : [];
        for (const step of own) {
          const place = this.#place(step.name);
          while (off.length && this.#place(off[0] as string) < place) rows.push({ kind: "off", rule: off.shift() as string });
          if (!loud && quiet(step)) continue;
          rows.push({ kind: "step", step: step.index });
          if (this.#open.has(step.index)) this.#inside(step, rows);
        }
        for (const rule of off) rows.push({ kind: "off", rule });
        if (head?.failure && head.stages[i]?.status === "failed") rows.push({ kind: "failed" });
        if (still.length >= 3) rows.push({ kind: "quiet", stage, count: still.length, open: loud });
      });
      this.#count.textContent = count(steps.steps.length);
    }
    this.#list.set(rows);
  }

  /** Rules that were switched off here and have no step any more: their switches stay where they were. */
  #off(own: StepRow[]): string[] {
    const switches = Object.entries(this.store.changes.fusion ?? {});
    const gone = switches.filter(([rule, on]) => !on && !rule.includes(":") && !own.some((step) => step.name === rule));
    return gone.map(([rule]) => rule).sort((a, b) => this.#place(a) - this.#place(b));
  }

  /** Where a rule runs among all others; behind them where nobody knows it. */
  #place(rule: string): number {
    const at = this.store.parts.rules?.name.indexOf(rule) ?? -1;
    return at < 0 ? Infinity : at;
  }

  #inside(step: StepRow, rows: Row[]): void {
    const rewrites = step.rewrites.node.length;
    const rejects = step.rejects.node.length;
    for (let row = 0; row < rewrites; row++) rows.push({ kind: "rewrite", step: step.index, row });
    if (!rewrites && !this.store.parts.head?.difference) rows.push({ kind: "none", step: step.index });
    if (!rejects) return;
    const open = this.#near.has(step.index);
    rows.push({ kind: "near", step: step.index, count: rejects, open });
    if (open) for (let row = 0; row < rejects; row++) rows.push({ kind: "reject", step: step.index, row });
  }

  #chosen(row: Row): boolean {
    const { step, rewrite, reject } = this.store.cursor;
    switch (row.kind) {
      case "step":
        return row.step === step && rewrite === undefined && reject === undefined;
      case "rewrite":
        return row.step === step && row.row === rewrite;
      case "reject":
        return row.step === step && row.row === reject;
      default:
        return false;
    }
  }

  #make(row: Row): HTMLElement {
    const { steps, head } = this.store.parts;
    const chosen = this.#chosen(row);
    const level = head?.difference ? 1 : { stage: 1, step: 2, quiet: 2, off: 2, rewrite: 3, near: 3, none: 3, reject: 4, failed: 2 }[row.kind];
    const open = row.kind === "step" ? this.#open.has(row.step) : row.kind === "near" || row.kind === "quiet" ? row.open : undefined;
    const option = (className: string, press: () => void, ...children: Parameters<typeof h>[2][]): HTMLElement => {
      if (chosen) this.#list.element.setAttribute("aria-activedescendant", this.#id);
      const element = h("div", { class: `gx-row ${className}${chosen ? " gx-chosen" : ""}`, id: chosen ? this.#id : null, role: "treeitem", "aria-level": String(level), "aria-expanded": open === undefined ? null : String(open), "aria-selected": String(chosen), onclick: press }, ...children);
      // One stop of Tab for the list, and one for the switch of what is chosen.
      if (!chosen) for (const control of element.querySelectorAll<HTMLElement>("button")) control.tabIndex = -1;
      return element;
    };
    switch (row.kind) {
      case "stage":
        return this.#stage(row.stage);
      case "quiet":
        return option(
          "gx-row-quiet",
          () => {
            if (!this.#loud.delete(row.stage)) this.#loud.add(row.stage);
            this.#lay();
          },
          h("span", { class: "gx-chevron", text: row.open ? "▾" : "▸" }),
          h("span", { text: row.open ? `fold ${row.count} quiet` : `${row.count} quiet` }),
        );
      case "step":
        return this.#step(steps?.steps[row.step] as StepRow, option);
      case "off":
        return option(
          "gx-row-step gx-off",
          () => this.store.move({ rule: row.rule }),
          h("span", { class: "gx-chevron" }),
          h("span", { class: "gx-grow", text: row.rule }),
          h("span", { class: "gx-time", text: "off" }),
          toggle(row.rule, false, this.store.refusal({ fusion: { [row.rule]: true } }), (to) => this.store.change({ fusion: { [row.rule]: to } })),
        );
      case "failed":
        return option(
          "gx-row-step gx-row-failed",
          () => this.store.move({ step: undefined, rewrite: undefined, reject: undefined, node: undefined, value: undefined, rule: undefined }),
          h("span", { class: "gx-chevron", "aria-hidden": "true", text: "✕" }),
          h("span", { class: "gx-grow", title: head?.failure?.why, text: head?.failure?.name }),
          h("span", { class: "gx-status", text: "failed" }),
        );
      case "none":
        return option("gx-row-in gx-muted gx-row-none", () => {}, h("span", { class: "gx-grow", title: this.#nothing(steps?.steps[row.step] as StepRow), text: this.#nothing(steps?.steps[row.step] as StepRow) }));
      case "rewrite": {
        const { node, reason } = (steps?.steps[row.step] as StepRow).rewrites;
        return option(
          "gx-row-in",
          () => this.store.move({ step: row.step, rewrite: row.row, reject: undefined, node: undefined, value: undefined, rule: undefined }),
          head?.difference ? markSign(this.#mark(steps?.steps[row.step] as StepRow, row.row)) : h("span", { class: "gx-number", text: `#${row.row + 1}` }),
          h("span", { class: "gx-grow", title: [this.#name(node[row.row] as number), steps?.strings[reason[row.row] ?? -1]].filter(Boolean).join("\n") }, ...ended(this.#name(node[row.row] as number) || (steps?.strings[reason[row.row] ?? -1] ?? ""))),
        );
      }
      case "near":
        return option(
          "gx-row-in gx-row-near",
          () => {
            if (!this.#near.delete(row.step)) this.#near.add(row.step);
            this.#lay();
          },
          h("span", { class: "gx-chevron", text: row.open ? "▾" : "▸" }),
          h("span", { text: `${count(row.count)} near ${row.count === 1 ? "miss" : "misses"}` }),
        );
      case "reject": {
        const { place, reason } = (steps?.steps[row.step] as StepRow).rejects;
        return option(
          "gx-row-in gx-row-reject",
          () => this.store.move({ step: row.step, reject: row.row, rewrite: undefined, node: undefined, value: undefined, rule: undefined }),
          h("span", { class: "gx-near-sign", "aria-label": "near miss", text: "◇" }),
          h("span", { class: "gx-grow", title: [steps?.strings[place[row.row] ?? -1], steps?.strings[reason[row.row] ?? -1]].filter(Boolean).join("\n") }, ...ended(steps?.strings[place[row.row] ?? -1] ?? "")),
        );
      }
    }
  }

  /** What a row of a difference is: a node of the first only, of the second only, or of both. */
  #mark({ rewrites }: StepRow, row: number): Mark {
    const has = (at: Int32Array): boolean => (at[row + 1] as number) > (at[row] as number);
    return has(rewrites.changed_at) ? Mark.Changed : has(rewrites.removed_at) ? (has(rewrites.added_at) ? Mark.Changed : Mark.Removed) : Mark.Added;
  }

  #stage(index: number): HTMLElement {
    const stage = this.store.parts.head?.stages[index];
    const failure = this.store.parts.head?.failure;
    const failed = stage?.status === "failed";
    return h(
      "div",
      { class: "gx-row gx-row-stage", role: "treeitem", "aria-level": "1", "aria-selected": "false" },
      h("span", { class: "gx-grow", text: stage?.name ?? "" }),
      failed ? h("span", { class: "gx-status", title: failure?.why, text: "failed" }) : null,
      failed ? null : h("span", { class: "gx-time", text: !stage ? "" : stage.status === "absent" ? (failure ? "not reached" : "") : seconds(stage.seconds) }),
    );
  }

  #step(step: StepRow, option: (className: string, press: () => void, ...children: Parameters<typeof h>[2][]) => HTMLElement): HTMLElement {
    const rewrites = step.rewrites.node.length;
    const rejects = step.rejects.node.length;
    const leads = rewrites + rejects > 0;
    const open = this.#open.has(step.index);
    const rules = this.store.parts.rules;
    const rule = rules && step.kind !== "stage" ? rules.name.indexOf(step.name) : -1;
    const on = this.store.enabled(step.name);
    const refusal = this.store.refusal({ fusion: { [step.name]: !on } });
    const fold = h("span", {
      class: "gx-chevron",
      text: leads ? (open ? "▾" : "▸") : "",
      onclick: (event: MouseEvent) => {
        event.stopPropagation();
        if (leads) this.toggle(step.index);
      },
    });
    return option(
      `gx-row-step${quiet(step) ? " gx-dim" : ""}${on ? "" : " gx-off"}`,
      () => this.store.move({ step: step.index, rewrite: undefined, reject: undefined, rule: undefined }),
      fold,
      h("span", { class: "gx-grow", title: [step.name, step.ge_name, step.summary, `${count(step.nodes_before)} → ${count(step.nodes_after)} nodes, ${seconds(step.seconds)}`, rule >= 0 && refusal ? `${on ? "On" : "Off"}. ${refusal}` : ""].filter(Boolean).join("\n"), text: step.name }),
      rejects ? h("span", { class: "gx-pill gx-pill-near", title: plural(rejects, "near miss", "near misses"), text: `◇ ${count(rejects)}` }) : null,
      rewrites ? h("span", { class: "gx-pill", title: plural(rewrites, "rewrite"), text: count(rewrites) }) : null,
      h("span", { class: "gx-time", text: seconds(step.seconds) }),
      rule >= 0 && this.store.host.change ? toggle(step.name, on, refusal, (to) => this.store.change({ fusion: { [step.name]: to } })) : null,
    );
  }

  #nothing(step: StepRow): string {
    const rejects = step.rejects.node.length;
    return rejects ? `no rewrites: every candidate was rejected, ${count(rejects)} near ${rejects === 1 ? "miss" : "misses"} ▾` : "no rewrites, no near misses";
  }

  #name(node: number): string {
    const { nodes } = this.store.parts;
    return node >= 0 && nodes ? (nodes.strings[nodes.name[node] as number] ?? "") : "";
  }
}
