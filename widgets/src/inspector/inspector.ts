/** The right side: what is chosen, the most particular first. */

import type { Panel, Store, Topic } from "../core/panel.ts";
import { fill, h } from "../shell/dom.ts";
import { differencePage } from "./difference.ts";
import { failurePage } from "./failure.ts";
import { glancePage } from "./glance.ts";
import { nodePage } from "./node.ts";
import { rejectPage, rewritePage, rulePage, stepPage } from "./step.ts";
import { valuePage } from "./value.ts";

export class Inspector implements Panel {
  readonly element: HTMLElement;
  #body = h("div", { class: "gx-inspector-body" });
  #back: HTMLElement;
  /** Remembered: asking, or setting it to what it is, would have the page lay everything out anew. */
  #scrolled = 0;

  constructor(
    parent: HTMLElement,
    private readonly store: Store,
  ) {
    this.#back = h("button", { class: "gx-link", type: "button", title: "Release (Esc)", onclick: () => this.#release(), text: "release" });
    this.element = h("section", { class: "gx-inspector", "aria-label": "Inspector" }, h("header", { class: "gx-pane-head" }, h("h2", { text: "Inspector" }), this.#back), this.#body);
    this.#body.addEventListener("scroll", () => (this.#scrolled = this.#body.scrollTop), { passive: true });
    parent.append(this.element);
    this.update(new Set<Topic>(["parts"]));
  }

  resize(): void {}
  destroy(): void {
    this.element.remove();
  }

  update(changed: ReadonlySet<Topic>): void {
    if (!["cursor", "parts", "changes"].some((topic) => changed.has(topic as Topic))) return;
    const { cursor, parts } = this.store;
    const scroll = changed.has("cursor") ? 0 : this.#scrolled;
    const pages: (HTMLElement | null)[] = [];
    const head = (label: string): HTMLElement => h("div", { class: "gx-divider", text: label });
    // What is chosen with a place: the place first, then the node on it.
    if (cursor.value !== undefined) pages.push(...valuePage(this.store, cursor.value));
    if (cursor.node !== undefined) {
      if (pages.length) pages.push(head("node"));
      pages.push(...nodePage(this.store, cursor.node));
    }
    const place =
      cursor.step === undefined
        ? []
        : cursor.reject !== undefined
          ? rejectPage(this.store, cursor.step, cursor.reject)
          : cursor.rewrite !== undefined
            ? rewritePage(this.store, cursor.step, cursor.rewrite)
            : [];
    if (place.length) {
      if (pages.length) pages.push(head(cursor.reject !== undefined ? "near miss" : "rewrite"));
      pages.push(...place);
    } else if (!pages.length && parts.head?.difference) {
      pages.push(...differencePage(this.store, parts.head.difference));
    } else if (!pages.length) {
      if (cursor.rule !== undefined) pages.push(...rulePage(this.store, cursor.rule));
      else if (cursor.step !== undefined) pages.push(...stepPage(this.store, cursor.step));
    }
    this.#back.hidden = !pages.length || Object.keys(cursor).every((key) => key === "step");
    if (!pages.length) pages.push(...failurePage(this.store));
    if (!pages.length) pages.push(...glancePage(this.store));
    fill(this.#body, ...pages);
    if (scroll || this.#scrolled) this.#body.scrollTop = this.#scrolled = scroll;
  }

  #release(): void {
    this.store.move({ node: undefined, value: undefined, rewrite: undefined, reject: undefined, rule: undefined, position: undefined });
  }
}
