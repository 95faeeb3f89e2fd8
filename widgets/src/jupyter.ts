/** What the widgets share: a store that a Python model fills, and asks. */

import type { Figure, PartName, Parts } from "./core/document.ts";
import { unpack } from "./core/pack.ts";
import type { Changes, Host, Theme } from "./core/panel.ts";
import { fromSelection, toSelection, type Selection } from "./core/selection.ts";
import { variantKey } from "./core/pack.ts";
import { ExplorerStore } from "./core/store.ts";
import { h } from "./shell/dom.ts";

/** The part of anywidget's model that is used here. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown): void;
  on(name: string, callback: (...found: never[]) => void): void;
  off(name: string, callback: (...found: never[]) => void): void;
}

type Message =
  | { type: "parts"; sequence?: number; names: string[]; gone?: string[]; coming?: PartName[]; changes?: Changes }
  | { type: "work"; done: number; total: number; text: string }
  | { type: "failure"; message: string }
  | { type: "baseline"; figures: Figure[] | null };

/**
 * Mounts once the element has room in the page: before that it has no size and no colours, and JupyterLab renders a
 * widget before it attaches it. Returns the way to stop, which ends what was mounted too.
 */
export function whenShown(element: HTMLElement, mount: () => () => void): () => void {
  let end: (() => void) | null = null;
  const observer = new ResizeObserver(() => {
    if (end || !element.isConnected || !element.clientWidth) return;
    observer.disconnect();
    end = mount();
  });
  observer.observe(element);
  return () => {
    observer.disconnect();
    end?.();
  };
}

/**
 * Keys in the element are its own. JupyterLab looks for shortcuts before anybody else hears a key, and first at what has
 * the focus ("d d" deletes the cell): only there it can be told not to. Chords, such as Ctrl+S, stay JupyterLab's: they
 * are told again from the element around. Returns the way to stop.
 */
function ownKeys(element: HTMLElement): () => void {
  const stop = new AbortController();
  const focus = (event: FocusEvent): void => (event.target as Element).setAttribute("data-lm-suppress-shortcuts", "true");
  const chord = (event: KeyboardEvent): void => {
    if (!(event.ctrlKey || event.metaKey) || event.defaultPrevented || event.target === element || !element.closest(".lm-Widget")) return;
    if (!element.dispatchEvent(new KeyboardEvent("keydown", event))) event.preventDefault();
  };
  element.addEventListener("focusin", focus, { signal: stop.signal });
  element.addEventListener("keydown", chord, { signal: stop.signal });
  return () => stop.abort();
}

/** Nothing has come for so long after a wish: then the kernel is busy, or there is none. In ms. */
const PATIENCE = 4000;
const PROBE = 1500;
const SILENT = "no answer from the kernel yet: it is busy, or gone (then run the cell again)";
const GONE = "The kernel of this picture is gone. Run the cell again.";

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** What a saved notebook shows without its kernel: a static page, in a frame that runs no program. */
function picture(html: string, height: unknown): HTMLElement {
  const frame = h("iframe", { style: { width: "100%", border: "0" }, sandbox: "", srcdoc: html, title: "The compilation when the notebook was saved", height: typeof height === "number" ? height : 480 });
  return h("div", { class: "gexplorer gx-still" }, h("p", { class: "gx-empty", text: "Saved picture: no kernel answers. Run the cell again for the live one." }), frame);
}

/** A store that follows a model; `ready` asks for the first parts, `theme` looks again what theme is in force, `stop` lets go of it. */
export function connect(model: Model, element: HTMLElement): { store: ExplorerStore; ready(): void; theme(): void; stop(): void } {
  let sequence = 0;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  let still: HTMLElement | null = null;
  const silent = (): void => {
    store.setWork({ done: 0, total: 0, text: SILENT });
    const html = model.get("static");
    if (!store.parts.head && typeof html === "string" && html) element.prepend((still ??= picture(html, model.get("height"))));
  };
  const say = (message: object, patience = PATIENCE, otherwise = silent): void => {
    clearTimeout(waiting);
    waiting = setTimeout(otherwise, patience);
    try {
      model.send(message);
    } catch {
      clearTimeout(waiting); // there is no line any more
      otherwise();
    }
  };
  const host: Writable<Host> = {
    change: (changes) => say({ type: "change", sequence: ++sequence, changes }),
    ask: (part) => say({ type: "ask", part }),
    pin: () => model.send({ type: "pin" }),
    reset: () => say({ type: "reset", sequence: ++sequence }),
    moved: (cursor) => {
      const selection = toSelection(cursor, store.parts);
      if (variantKey(selection) === variantKey(model.get("selection") ?? {})) return;
      model.set("selection", selection);
      model.save_changes();
    },
  };
  /** Nobody compiles again: switches are grey and say why. */
  const fix = (reason: string): void => {
    host.change = host.reset = undefined;
    host.reason = reason;
  };
  const fixed = model.get("fixed");
  if (typeof fixed === "string" && fixed) fix(fixed);
  const store = new ExplorerStore(host, themeOf(model, element));
  /** JupyterLab says that the line to the kernel was cut: it was restarted (then nobody answers), or is back. */
  const cut = (): void => say({ type: "ready" }, PROBE, () => store.setFailure(GONE));
  const follow = (): void => {
    const selection = (model.get("selection") ?? {}) as Selection;
    if (variantKey(selection) === variantKey(toSelection(store.cursor, store.parts))) return;
    store.move({ ...BLANK, ...fromSelection(selection, store.parts) });
  };
  const hear = (message: Message, buffers: (DataView | ArrayBuffer)[] = []): void => {
    clearTimeout(waiting);
    still?.remove();
    switch (message.type) {
      case "parts": {
        // An answer to a wish that is no longer the newest: the next one is under way.
        if (message.sequence !== undefined && message.sequence < sequence) return;
        sequence = Math.max(sequence, message.sequence ?? 0); // Python may have asked for it
        const first = !store.parts.head;
        try {
          const parts = Object.fromEntries(message.names.map((name, i) => [name, unpack(bytesOf(buffers[i]))])) as Partial<Parts>;
          store.batch(() => {
            store.setWork(null);
            if (message.changes) store.adopt(message.changes);
            store.receive({ ...Object.fromEntries((message.gone ?? []).map((name) => [name, undefined])), ...parts }, message.coming);
          });
        } catch (error) {
          store.setFailure(error instanceof Error ? error.message : String(error));
        }
        if (first) follow();
        return;
      }
      case "work":
        return store.setWork(message.total > 0 && message.done >= message.total && !message.text ? null : { done: message.done, total: message.total, text: message.text });
      case "failure":
        return store.setFailure(message.message);
      case "baseline":
        return store.setBaseline(message.figures);
    }
  };
  const theme = (): void => store.setTheme(themeOf(model, element));
  model.on("msg:custom", hear as never);
  model.on("change:selection", follow as never);
  model.on("change:theme", theme as never);
  model.on("comm_live_update", cut as never);
  const free = ownKeys(element);
  const watch = new MutationObserver(theme);
  watch.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", theme);
  return {
    store,
    ready: () => say({ type: "ready" }),
    theme,
    stop: () => {
      clearTimeout(waiting);
      still?.remove();
      free();
      model.off("comm_live_update", cut as never);
      model.off("msg:custom", hear as never);
      model.off("change:selection", follow as never);
      model.off("change:theme", theme as never);
      watch.disconnect();
      dark.removeEventListener("change", theme);
    },
  };
}

const BLANK = { step: undefined, rewrite: undefined, reject: undefined, node: undefined, value: undefined, rule: undefined, position: undefined };

function bytesOf(buffer: DataView | ArrayBuffer | undefined): Uint8Array {
  if (!buffer) return new Uint8Array(0);
  return buffer instanceof ArrayBuffer ? new Uint8Array(buffer) : new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset, buffer.byteLength);
}

/** As asked for; else as JupyterLab or VS Code say; else as the page's own background is; else as the system prefers. */
function themeOf(model: Model, element: HTMLElement): Theme {
  const wanted = model.get("theme");
  if (wanted === "light" || wanted === "dark") return wanted;
  const { body } = document;
  const lab = body.dataset.jpThemeLight;
  if (lab !== undefined) return lab === "false" ? "dark" : "light";
  const says = (...names: string[]): boolean => names.some((name) => body.classList.contains(name));
  if (says("vscode-light", "vscode-high-contrast-light")) return "light"; // the latter comes with the next one's name too
  if (says("vscode-dark", "vscode-high-contrast", "dark")) return "dark";
  for (let at: Element | null = element; at; at = around(at)) {
    const found = /rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?/.exec(getComputedStyle(at).backgroundColor);
    if (found && found[4] !== "0") return Number(found[1]) + Number(found[2]) + Number(found[3]) < 384 ? "dark" : "light";
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** The element around one; around a shadow root (marimo) it is what holds that. */
function around(element: Element): Element | null {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}
