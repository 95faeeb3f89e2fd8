/** "2 of 5": which of the boxes at the other end of a value is looked at, and the way to the next and back. */

import { count } from "../core/units.ts";
import { fill, h } from "../shell/dom.ts";
import type { Jump } from "./jumps.ts";

export interface ReadersDo {
  /** Shows a box. */
  show(box: number): void;
  /** What a box is called. */
  name(box: number): string;
}

export class Readers {
  readonly element = h("div", { class: "gx-readers", role: "group", "aria-label": "Ends of the chosen value", hidden: true });
  #jump: Jump | null = null;
  #nth = 0;

  constructor(private readonly does: ReadersDo) {}

  /** The value whose ends are gone through, -1 for none. */
  get value(): number {
    return this.#jump?.value ?? -1;
  }

  begin(jump: Jump): void {
    if (!jump.boxes.length) return this.end();
    this.#jump = jump;
    this.#go(0);
  }

  /** Is this where the last one was begun? Then it goes on from there. */
  goesOn({ value, back, own }: Jump): boolean {
    return this.#jump?.value === value && this.#jump.back === back && this.#jump.own === own;
  }

  turn(by: number): boolean {
    if (!this.#jump) return false;
    this.#go(this.#nth + by);
    return true;
  }

  end(): void {
    this.#jump = null;
    this.element.hidden = true;
  }

  #go(nth: number): void {
    const jump = this.#jump as Jump;
    const { length } = jump.boxes;
    this.#nth = (nth + length) % length;
    const box = jump.boxes[this.#nth] as number;
    const at = ["‹", "›"].indexOf((this.element.getRootNode() as Document | ShadowRoot).activeElement?.textContent ?? "");
    const button = (text: string, title: string, press: () => void): HTMLElement => h("button", { class: "gx-button gx-icon", type: "button", title, "aria-label": title, onclick: press, text });
    const several = length > 1;
    const what = jump.back ? "writer" : "reader";
    const turns = several ? [button("‹", `The ${what} before (N)`, () => this.turn(-1)), button("›", `The next ${what} (n)`, () => this.turn(1))] : [];
    const name = this.does.name(box);
    fill(
      this.element,
      turns[0],
      h("span", { class: "gx-readers-at", role: "status", title: name }, h("b", { text: several ? `${what} ${count(this.#nth + 1)} of ${count(length)}` : what }), h("span", { class: "gx-muted", text: ` ${name}` })),
      turns[1],
      jump.own >= 0 && h("button", { class: "gx-button", type: "button", title: "Back to where the arrow was followed", onclick: () => this.#back(jump), text: "back" }),
    );
    this.element.hidden = false;
    turns[at]?.focus(); // they are others now
    this.does.show(box);
  }

  #back(jump: Jump): void {
    this.end();
    this.does.show(jump.own);
  }
}
