/** The bar below and the panel that is open; panels are made when first opened, and told only while they are seen. */

import type { Panel, PanelKind, Store, Topic } from "../core/panel.ts";
import { fill, h, uniqueId } from "./dom.ts";

export class TabBar implements Panel {
  readonly element: HTMLElement;
  #buttons = new Map<string, HTMLButtonElement>();
  #hosts = new Map<string, HTMLElement>();
  #panels = new Map<string, Panel>();
  /** What happened while a panel was out of sight. */
  #missed = new Map<string, Set<Topic>>();
  #body = h("div", { class: "gx-tab-body" });
  #fold: HTMLButtonElement;
  #id = uniqueId("tab");
  #asked = new Map<string, unknown>();
  current = "";
  /** Told when a tab is pressed: the shell opens the part below. */
  onopen: () => void = () => {};
  onfold: () => void = () => {};

  constructor(
    parent: HTMLElement,
    private readonly store: Store,
    private readonly kinds: readonly PanelKind[],
  ) {
    const bar = h("div", { class: "gx-tab-bar", role: "tablist", "aria-label": "Views" });
    for (const kind of kinds) {
      const button = h("button", { class: "gx-tab", type: "button", role: "tab", id: `${this.#id}-${kind.name}`, "aria-selected": "false", tabindex: "-1", onclick: () => this.press(kind.name), text: kind.title });
      this.#buttons.set(kind.name, button);
      bar.append(button);
    }
    bar.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      const at = this.kinds.findIndex((kind) => kind.name === this.current) + (event.key === "ArrowRight" ? 1 : -1);
      const next = this.kinds[(at + this.kinds.length) % this.kinds.length];
      if (next) this.press(next.name);
      this.#buttons.get(next?.name ?? "")?.focus();
      event.preventDefault();
      event.stopPropagation();
    });
    this.#fold = h("button", { class: "gx-button gx-icon gx-fold", type: "button", "aria-label": "Fold the views below", title: "Fold", onclick: () => this.onfold(), text: "▾" });
    this.element = h("section", { class: "gx-tabs", "aria-label": "Views" }, h("div", { class: "gx-tab-head" }, bar, this.#fold), this.#body);
    parent.append(this.element);
    const first = kinds[0];
    if (first) this.#choose(first.name);
  }

  folded(folded: boolean): void {
    this.#fold.textContent = folded ? "▴" : "▾";
    this.#fold.setAttribute("aria-label", folded ? "Unfold the views below" : "Fold the views below");
    this.#body.hidden = folded;
    if (!folded) this.#choose(this.current);
  }

  press(name: string): void {
    if (!this.#buttons.has(name)) return;
    this.#choose(name);
    this.onopen();
  }

  #choose(name: string): void {
    this.current = name;
    for (const [one, button] of this.#buttons) {
      button.setAttribute("aria-selected", String(one === name));
      button.tabIndex = one === name ? 0 : -1;
    }
    for (const [one, host] of this.#hosts) host.hidden = one !== name;
    const kind = this.kinds.find((one) => one.name === name);
    if (!kind || this.#body.hidden) return;
    let host = this.#hosts.get(name);
    if (!host) {
      host = h("div", { class: "gx-tab-panel", role: "tabpanel", "aria-labelledby": `${this.#id}-${name}` });
      this.#hosts.set(name, host);
      this.#body.append(host);
    }
    this.#mount(kind, host);
    const missed = this.#missed.get(name);
    if (missed?.size) {
      this.#missed.delete(name);
      this.#panels.get(name)?.resize();
      this.#panels.get(name)?.update(missed);
    }
  }

  /** Mounts a panel once what it reads is there; says what it waits for until then. */
  #mount(kind: PanelKind, host: HTMLElement): void {
    if (this.#panels.has(kind.name)) return;
    const waiting = kind.needs.filter((part) => !this.store.parts[part]);
    if (waiting.length) {
      const failure = this.store.parts.head?.failure;
      const why = failure ? `not reached: the pass ${failure.name} failed.` : `this compilation has no ${waiting.join(", no ")}, or it is still being computed.`;
      fill(host, h("p", { class: "gx-empty", text: `${kind.title}: ${why}` }));
      // Nothing is asked for before there is a document: most of it comes by itself.
      if (!this.store.parts.head) return;
      for (const part of waiting) {
        if (this.#asked.get(part) === this.store.parts.head) continue;
        this.#asked.set(part, this.store.parts.head);
        this.store.ask(part);
      }
      return;
    }
    host.replaceChildren();
    try {
      this.#panels.set(kind.name, kind.mount(host, this.store));
    } catch (error) {
      console.error(error);
      fill(host, h("p", { class: "gx-empty gx-failure", text: `${kind.title} cannot be shown: ${error instanceof Error ? error.message : String(error)}` }));
    }
  }

  update(changed: ReadonlySet<Topic>): void {
    if (changed.has("parts")) this.#dropDeprived();
    if (changed.has("parts") && !this.#panels.has(this.current) && !this.#body.hidden) this.#choose(this.current);
    for (const [name, panel] of this.#panels) {
      if (name === this.current && !this.#body.hidden) panel.update(changed);
      else {
        const missed = this.#missed.get(name) ?? new Set<Topic>();
        for (const topic of changed) missed.add(topic);
        this.#missed.set(name, missed);
      }
    }
  }

  /** A part that a panel reads is gone and is not on its way: it says so instead of showing the old one. */
  #dropDeprived(): void {
    for (const [name, panel] of this.#panels) {
      const kind = this.kinds.find((one) => one.name === name);
      if (kind?.needs.every((part) => this.store.parts[part] ?? this.store.coming.has(part))) continue;
      panel.destroy();
      this.#panels.delete(name);
      this.#missed.delete(name);
      this.#hosts.get(name)?.replaceChildren();
    }
  }

  resize(): void {
    if (!this.#body.hidden) this.#panels.get(this.current)?.resize();
    for (const name of this.#panels.keys()) {
      if (name !== this.current) this.#missed.set(name, (this.#missed.get(name) ?? new Set<Topic>()).add("theme"));
    }
  }

  destroy(): void {
    for (const panel of this.#panels.values()) panel.destroy();
    this.element.remove();
  }
}
