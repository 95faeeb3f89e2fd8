/** What every tab has: a sentence with the figures, controls beside it, the picture below, or words where there is none. */

import { cure } from "../shell/cure.ts";
import { fill, h } from "../shell/dom.ts";

type Part = string | Node | null | undefined | false;

const LOW = 270; // px
const LEAST = 180;

export class Frame {
  readonly words = h("p", { class: "gxt-words" });
  readonly tools = h("div", { class: "gxt-tools", role: "toolbar", "aria-label": "View" });
  readonly body: HTMLElement;
  readonly #observer: ResizeObserver;
  readonly #head = h("div", { class: "gxt-head" }, this.words, this.tools);
  readonly #nothing = h("p", { class: "gxt-empty", hidden: true });

  constructor(
    readonly element: HTMLElement,
    name: string,
    ...body: Part[]
  ) {
    this.body = h("div", { class: `gxt-body gxt-${name}` }, ...body);
    const whole = h("div", { class: "gxt" }, this.#head, this.body, this.#nothing);
    fill(element, whole);
    // Where there is little height, words and legends take one line each, so that the picture keeps its room; where
    // there is least, the picture has that of its minimap, too.
    this.#observer = new ResizeObserver(() => {
      whole.classList.toggle("gxt-low", whole.clientHeight < LOW);
      whole.classList.toggle("gxt-least", whole.clientHeight < LEAST);
    });
    this.#observer.observe(whole);
  }

  destroy(): void {
    this.#observer.disconnect();
  }

  say(...parts: Part[]): void {
    fill(this.words, ...parts);
    this.words.title = this.words.textContent ?? "";
  }

  /** Says why there is no picture, and what would help, to be copied; `null` shows it again. Returns whether there is one. */
  empty(why: string | null, help = ""): boolean {
    this.#waits(false);
    this.#nothing.hidden = why === null;
    this.body.hidden = this.#head.hidden = why !== null;
    if (why !== null) {
      fill(this.#nothing, h("span", { text: why }), help && h("span", {}, " Compile with, for example, ", cure(help)));
      this.say();
    }
    return why === null;
  }

  /** Leaves the old picture where it is, greyed, while the next one is made; it cannot be used meanwhile. */
  wait(): void {
    this.#waits(true);
  }

  #waits(on: boolean): void {
    this.body.classList.toggle("gxt-waiting", on);
    this.body.setAttribute("aria-busy", String(on));
    this.body.inert = on;
  }
}

export const strong = (text: string): HTMLElement => h("b", { text });
export const soft = (text: string): HTMLElement => h("span", { class: "gxt-soft", text });
export const warning = (text: string): HTMLElement => h("span", { class: "gxt-warn", text: `⚠ ${text}` });

/** One of several: buttons side by side. */
export class Choice<T extends string> {
  readonly element: HTMLElement;
  readonly #buttons: HTMLButtonElement[];

  constructor(
    label: string,
    private readonly options: readonly (readonly [value: T, text: string, hint?: string])[],
    private chosen: T,
    changed: (value: T) => void,
  ) {
    this.#buttons = options.map(([value, text, hint]) =>
      h("button", {
        type: "button",
        class: "gxt-choice",
        text,
        title: hint,
        onclick: () => {
          this.set(value);
          changed(value);
        },
      }),
    );
    this.element = h("div", { class: "gxt-choices", role: "group", "aria-label": label }, ...this.#buttons);
    this.set(chosen);
  }

  get value(): T {
    return this.chosen;
  }

  set(value: T): void {
    this.chosen = value;
    this.options.forEach(([option], i) => this.#buttons[i].setAttribute("aria-pressed", String(option === value)));
  }
}

/** A button that does something once. */
export function button(text: string, hint: string, act: () => void): HTMLButtonElement {
  return h("button", { type: "button", class: "gx-button gxt-button", text, title: hint, onclick: act });
}

/** A box to type what is looked for. */
export function searchBox(label: string, changed: (text: string) => void): HTMLInputElement {
  const box = h("input", { type: "search", class: "gxt-search", placeholder: label, "aria-label": label, spellcheck: "false" });
  box.addEventListener("input", () => changed(box.value.trim().toLowerCase()));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && box.value) {
      box.value = "";
      changed("");
      event.stopPropagation();
    }
  });
  return box;
}

export interface Key {
  readonly text: string;
  /** What more there is to say of it. */
  readonly hint?: string;
  /** Custom property of the colour, such as `--gx-cube`. */
  readonly colour: string;
  readonly mark?: "box" | "line" | "dashed" | "hatched" | "circle" | "square" | "triangle" | "diamond" | "cross" | "outline" | "star" | "ring" | "tick";
}

/** How readily a caption gives way where there is no room: long ones first, those of lines before those of units, the shortest not at all. */
const shrink = ({ text, mark = "box" }: Key): number => Math.max(0, text.length - 6) * (["line", "dashed", "hatched"].includes(mark) ? 30 : 1);

/** What colours and marks mean. */
export function legend(keys: readonly Key[], title = ""): HTMLElement {
  return h(
    "ul",
    { class: "gxt-legend", "aria-label": title || "Legend" },
    title && h("li", { class: "gxt-soft", text: title }),
    ...keys.map((key) => [key, shrink(key)] as const).map(([{ text, hint, colour, mark = "box" }, readily]) =>
      h("li", { title: hint ?? text, style: { "--gxt-shrink": readily } }, h("i", { class: `gxt-mark gxt-mark-${mark}`, style: { "--gxt-colour": `var(${colour})` }, "aria-hidden": "true" }), h("span", { text })),
    ),
  );
}
