/** The whole screen: header, steps, graph, inspector, views below; one store behind all of it. */

import type { PanelKind, Topic } from "../core/panel.ts";
import type { ExplorerStore } from "../core/store.ts";
import { GraphView } from "../graph/view.ts";
import { Inspector } from "../inspector/inspector.ts";
import { Header } from "./header.ts";
import { Keys } from "./keys.ts";
import { SearchBox } from "./search.ts";
import { split } from "./splits.ts";
import { StepList } from "./steps.ts";
import { TabBar } from "./tabs.ts";
import { Toolbar } from "./toolbar.ts";
import { h } from "./dom.ts";

export interface ExplorerOptions {
  /** In a page of others, such as a notebook: no more room than it is given, the wheel scrolls the page. */
  embedded: boolean;
  tabs: readonly PanelKind[];
  /** In px; else as high as there is room. */
  height?: number;
}

const WIDE = 1080;
const NARROW = 760;

export class Explorer {
  readonly root: HTMLElement;
  readonly graph: GraphView;
  readonly #steps: StepList;
  readonly #tabs: TabBar;
  readonly #search: SearchBox;
  #stop: () => void;
  #observer: ResizeObserver;

  constructor(
    parent: HTMLElement,
    readonly store: ExplorerStore,
    options: ExplorerOptions,
  ) {
    // JupyterLab must not take the keys for its own while the explorer has the focus.
    // A page of its own has it as its main part; a notebook has a main part already.
    this.root = h(options.embedded ? "section" : "main", { class: `gexplorer gx-explorer${options.embedded ? " gx-embedded" : ""}`, "aria-label": "gexplorer", "data-lm-suppress-shortcuts": "true", tabindex: "-1" });
    this.root.dataset.theme = store.theme;
    if (options.height) this.root.style.setProperty("--gx-height", `${options.height}px`);
    parent.append(this.root);
    const left = h("div", { class: "gx-left" });
    const middle = h("section", { class: "gx-middle", "aria-label": "Graph" });
    const right = h("div", { class: "gx-right" });
    const below = h("div", { class: "gx-below" });
    const drawer = (side: "steps" | "inspector"): void => {
      const name = side === "steps" ? "gx-show-left" : "gx-show-right";
      this.root.classList.toggle(name);
    };
    const header = new Header(this.root, store, { search: () => this.#search.open(), help: () => keys.toggleHelp(), open: (view) => this.#tabs.press(view), drawer });
    const size = (name: string) => (px: number) => this.root.style.setProperty(name, `${px}px`);
    const width = (): number => this.root.clientWidth || 1280;
    const height = (): number => this.root.clientHeight || 800;
    const fold = (): void => {
      this.root.classList.toggle("gx-narrow", width() < NARROW);
      this.root.classList.toggle("gx-medium", width() < WIDE);
    };
    fold(); // before the graph looks how much room it has
    const leftSplit = split("Width of the steps", "x", 1, { least: 170, most: () => width() * 0.4, begin: 272 }, size("--gx-left"));
    const rightSplit = split("Width of the inspector", "x", -1, { least: 200, most: () => width() * 0.5, begin: 330 }, size("--gx-right"));
    const belowSplit = split("Height of the views below", "y", -1, { least: 120, most: () => height() * 0.7, begin: 270 }, (px) => {
      size("--gx-below")(px ? px : 36);
      this.#tabs?.folded(!px);
      this.#tabs?.resize();
    });
    const leftBegin = width() < WIDE ? 220 : width() > 1600 ? 372 : store.host.change ? 304 : 288;
    size("--gx-left")(leftBegin);
    size("--gx-right")(width() < WIDE ? 240 : width() > 1600 ? 380 : 330);
    size("--gx-below")(options.tabs.length ? this.#belowBegin() : 0);
    const body = h("div", { class: "gx-main" }, left, leftSplit.element, middle, rightSplit.element, right);
    this.root.append(body, belowSplit.element, below);

    this.#steps = new StepList(left, store);
    const graphHost = h("div", { class: "gx-graph-host" });
    const bar = h("div", { class: "gx-graph-head" });
    middle.append(bar, graphHost); // before the graph is made: it reads its colours from the page
    this.graph = new GraphView(graphHost, store, options.embedded);
    const toolbar = new Toolbar(bar, store, this.graph);
    graphHost.append(toolbar.legend, toolbar.crumbs);
    const inspector = new Inspector(right, store);
    this.#tabs = new TabBar(below, store, options.tabs);
    this.#tabs.onopen = () => belowSplit.size || belowSplit.set(this.#belowBegin());
    this.#tabs.onfold = () => belowSplit.set(belowSplit.size ? 0 : this.#belowBegin());
    this.#search = new SearchBox(middle, store, this.graph);
    const keys = new Keys(this.root, {
      step: (by) => this.#step(by),
      rewrite: (by) => this.#rewrite(by),
      enter: () => this.#enter(),
      flip: () => this.#flip(),
      search: () => this.#search.open(),
      mode: () => store.setMode(({ before: "both", both: "after", after: "before" } as const)[store.mode]),
      focus: () => this.graph.focusChange(),
      memory: () => this.#tabs.press("memory"),
      release: () => store.move({ node: undefined, value: undefined, rewrite: undefined, reject: undefined, rule: undefined, position: undefined }),
      fit: () => this.graph.fit(),
      zoom: (factor) => this.graph.zoom(factor),
      table: () => void this.graph.toggleTable(),
    });

    leftSplit.set(leftBegin);
    rightSplit.set(width() < WIDE ? 240 : width() > 1600 ? 380 : 330);
    belowSplit.set(options.tabs.length ? this.#belowBegin() : 0);
    if (!options.tabs.length) this.root.classList.add("gx-no-tabs");

    const panels = [header, this.#steps, this.graph, toolbar, inspector, this.#tabs];
    this.#stop = store.subscribe((changed: ReadonlySet<Topic>) => {
      if (changed.has("theme")) this.root.dataset.theme = store.theme;
      for (const panel of panels) {
        try {
          panel.update(changed);
        } catch (error) {
          console.error(error);
        }
      }
    });
    this.#observer = new ResizeObserver(() => {
      fold();
      for (const panel of panels) panel.resize();
    });
    this.#observer.observe(this.root);
    // The page's keys work without a click first; a notebook keeps its own focus.
    if (!options.embedded) this.root.focus({ preventScroll: true });
    this.#panels = panels;
  }
  #panels: { destroy(): void }[] = [];

  destroy(): void {
    this.#stop();
    this.#observer.disconnect();
    for (const panel of this.#panels) panel.destroy();
    this.root.remove();
  }

  #belowBegin(): number {
    return Math.round(Math.min(320, (this.root.clientHeight || 800) * 0.29));
  }

  #step(by: number): void {
    const visible = this.#steps.visible();
    const { step } = this.store.cursor;
    const at = step === undefined ? (by > 0 ? -1 : visible.length) : visible.indexOf(step);
    const next = visible[Math.max(0, Math.min(visible.length - 1, at + by))];
    if (next !== undefined) this.store.move({ step: next, rewrite: undefined, reject: undefined, node: undefined, value: undefined, rule: undefined });
  }

  /** Rewrites first, then near misses. */
  #rewrite(by: number): void {
    const { step, rewrite, reject } = this.store.cursor;
    const row = step === undefined ? undefined : this.store.parts.steps?.steps[step];
    if (!row) return;
    const rewrites = row.rewrites.node.length;
    const all = rewrites + row.rejects.node.length;
    const here = rewrite ?? (reject === undefined ? (by > 0 ? -1 : all) : rewrites + reject);
    const next = here + by;
    if (!all || next >= all) return;
    const released = { node: undefined, value: undefined, rule: undefined };
    if (next < 0) this.store.move({ rewrite: undefined, reject: undefined, ...released });
    else if (next < rewrites) this.store.move({ rewrite: next, reject: undefined, ...released });
    else this.store.move({ reject: next - rewrites, rewrite: undefined, ...released });
  }

  /** Switches the rule of the chosen step, where that can be. */
  #flip(): void {
    const { step, rule } = this.store.cursor;
    const name = rule ?? (step === undefined ? undefined : this.store.parts.steps?.steps[step]?.name);
    if (name === undefined || !this.store.parts.rules?.name.includes(name)) return;
    this.store.change({ fusion: { [name]: !this.store.enabled(name) } });
  }

  #enter(): void {
    const { step, node } = this.store.cursor;
    if (node !== undefined || step === undefined || this.graph.canvas.matches(":focus")) this.graph.enter();
    else this.#steps.toggle(step);
  }
}
