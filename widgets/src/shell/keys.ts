/** The keyboard: what each key does, and the page that says so. */

import { fill, h } from "./dom.ts";

export interface KeyDoes {
  step(by: number): void;
  rewrite(by: number): void;
  enter(): void;
  flip(): void;
  search(): void;
  mode(): void;
  focus(): void;
  memory(): void;
  release(): void;
  fit(): void;
  zoom(factor: number): void;
  table(): void;
}

const KEYS: [string, string][] = [
  ["↑ ↓", "step"],
  ["← →", "rewrite, then near miss, of the step"],
  ["Enter", "open a step, or a box of the graph"],
  ["Space", "switch the chosen rule on or off, where this page can"],
  ["/", "search"],
  ["b", "before, after, both"],
  ["f", "focus on what changed"],
  ["0", "fit the whole graph"],
  ["+ −", "nearer, farther"],
  ["m", "memory"],
  ["t", "graph as a table"],
  ["j k", "in the graph: along the edges, down and up"],
  ["n N", "in the graph: to the next that reads the chosen value"],
  ["w a s d", "in the graph: move the window"],
  ["Esc", "release what is chosen"],
  ["?", "these keys"],
];

/** Of what lies below the graph, while it has the focus. */
const BELOW: [string, string][] = [
  ["← ↑ ↓ →", "the next bar, box or point that way"],
  ["Enter", "choose it: everything follows"],
  ["⇧ ← →", "move the window"],
  ["+ − 0", "nearer, farther, all"],
  ["Wheel", "nearer, farther; with ⇧ addresses alone"],
  ["↑ ↓", "in a table: rows; so do Page and Home, End"],
  ["← →", "in Kernel: instructions; with ⇧ tiles"],
  ["Space", "in Kernel: play, pause"],
];

const list = (keys: typeof KEYS): HTMLElement => h("dl", {}, ...keys.flatMap(([key, what]) => [h("dt", {}, ...key.split(" ").map((one) => h("kbd", { text: one }))), h("dd", { text: what })]));

export class Keys {
  readonly help = h("dialog", { class: "gx-help", "aria-label": "Keys" });

  constructor(
    root: HTMLElement,
    private readonly does: KeyDoes,
  ) {
    root.append(this.help);
    fill(
      this.help,
      h("h2", { text: "Keys" }),
      h("div", { class: "gx-keys" }, list(KEYS), h("div", {}, h("h3", { text: "In a picture or table that has the focus" }), list(BELOW))),
      h("p", { class: "gx-muted", text: "Drag to move, wheel to zoom; press a box to choose it, twice to open it. What is chosen is chosen everywhere." }),
      h("form", { method: "dialog" }, h("button", { class: "gx-button", text: "Close" })),
    );
    this.help.addEventListener("click", (event) => event.target === this.help && this.help.close());
    root.addEventListener("keydown", (event) => this.#key(event));
  }

  toggleHelp(): void {
    if (this.help.open) this.help.close();
    else this.help.showModal();
  }

  #key(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.closest("input, textarea, select") || (target.closest("dialog[open]") && event.key !== "?")) return;
    if ((event.key === "Enter" || event.key === " ") && target.closest("button, a, summary, [role=separator], [role=tab]")) return;
    if (!this.#do(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  #do(key: string): boolean {
    const { does } = this;
    switch (key) {
      case "ArrowDown":
      case "ArrowUp":
        does.step(key === "ArrowDown" ? 1 : -1);
        return true;
      case "ArrowRight":
      case "ArrowLeft":
        does.rewrite(key === "ArrowRight" ? 1 : -1);
        return true;
      case "Enter":
        does.enter();
        return true;
      case " ":
        does.flip();
        return true;
      case "/":
        does.search();
        return true;
      case "b":
        does.mode();
        return true;
      case "f":
        does.focus();
        return true;
      case "m":
        does.memory();
        return true;
      case "0":
        does.fit();
        return true;
      case "t":
        does.table();
        return true;
      case "+":
      case "=":
      case "-":
        does.zoom(key === "-" ? 1 / 1.35 : 1.35);
        return true;
      case "?":
        this.toggleHelp();
        return true;
      case "Escape":
        does.release();
        return true;
    }
    return false;
  }
}
