/** The small widgets: one panel by itself. The build makes a module of each, so that a notebook holds no more than it shows. */

import type { Panel, PanelKind, Store } from "./core/panel.ts";
import { connect, whenShown, type Model } from "./jupyter.ts";
import { h } from "./shell/dom.ts";

export interface Widget {
  render(given: { model: Model; el: HTMLElement }): () => void;
}

/** A panel as an anywidget. */
export function panelWidget(kind: PanelKind): Widget {
  return {
    render({ model, el }) {
      const { store, ready, theme, stop } = connect(model, el);
      const end = whenShown(el, () => {
        theme();
        return show(kind, model, el, store);
      });
      ready();
      return () => {
        end();
        stop();
      };
    },
  };
}

function show(kind: PanelKind, model: Model, el: HTMLElement, store: Store): () => void {
  const root = h("div", { class: "gexplorer gx-single", "data-lm-suppress-shortcuts": "true" });
  root.dataset.theme = store.theme;
  const height = model.get("height");
  if (typeof height === "number") root.style.setProperty("--gx-height", `${height}px`);
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") store.move({ node: undefined, value: undefined, position: undefined });
  });
  el.append(root);
  let panel: Panel | null = null;
  let asked: unknown = null;
  const mount = (): void => {
    const waiting = kind.needs.filter((part) => !store.parts[part]);
    if (!waiting.length) {
      root.replaceChildren();
      const host = h("div", { class: "gx-tab-panel" });
      root.append(host);
      panel = kind.mount(host, store);
      return;
    }
    root.replaceChildren(h("p", { class: "gx-empty", text: `${kind.title}: waiting for the numbers …` }));
    // What is made on demand has to be asked for; the rest comes by itself.
    const { head } = store.parts;
    if (!head || asked === head) return;
    asked = head;
    for (const part of waiting) store.ask(part);
  };
  mount();
  const end = store.subscribe((changed) => {
    if (changed.has("theme")) root.dataset.theme = store.theme;
    if (panel) panel.update(changed);
    else mount();
  });
  const observer = new ResizeObserver(() => panel?.resize());
  observer.observe(root);
  return () => {
    end();
    observer.disconnect();
    panel?.destroy();
    root.remove();
  };
}
