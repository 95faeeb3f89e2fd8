/** The entry for the small widgets: the graph, or one of the panels, by itself; its name is the trait `panel`. */

import { tabs } from "gexplorer:tabs";
import type { Panel, Store } from "./core/panel.ts";
import { GraphView } from "./graph/view.ts";
import { connect, whenShown, type Model } from "./jupyter.ts";
import { Toolbar } from "./shell/toolbar.ts";
import { h } from "./shell/dom.ts";

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const { store, theme, stop } = connect(model, el);
  const end = whenShown(el, () => {
    theme();
    return show(model, el, store);
  });
  model.send({ type: "ready" });
  return () => {
    end();
    stop();
  };
}

function show(model: Model, el: HTMLElement, store: Store): () => void {
  const name = String(model.get("panel") ?? "graph");
  const root = h("div", { class: "gexplorer gx-single", "data-lm-suppress-shortcuts": "true" });
  root.dataset.theme = store.theme;
  const height = model.get("height");
  if (typeof height === "number") root.style.setProperty("--gx-height", `${height}px`);
  el.append(root);
  const panels: Panel[] = [];
  const kind = tabs.find((one) => one.name === name);
  const mount = (): void => {
    if (panels.length) return;
    if (name === "graph") {
      const host = h("div", { class: "gx-graph-host" });
      const bar = h("div", { class: "gx-graph-head" });
      root.append(bar, host);
      const graph = new GraphView(host, store, true);
      const toolbar = new Toolbar(bar, store, graph);
      host.append(toolbar.legend, toolbar.crumbs);
      panels.push(graph, toolbar);
    } else if (!kind) root.replaceChildren(h("p", { class: "gx-empty", text: `There is no panel called ${name}. There are: graph, ${tabs.map((one) => one.name).join(", ")}.` }));
    else if (kind.needs.every((part) => store.parts[part])) {
      root.replaceChildren();
      const host = h("div", { class: "gx-tab-panel" });
      root.append(host);
      panels.push(kind.mount(host, store));
    } else if (!root.firstChild) {
      // What is made on demand has to be asked for; the rest comes by itself.
      for (const part of store.parts.head ? kind.needs : []) if (!store.parts[part]) store.ask(part);
      if (!store.parts.head) return;
      root.append(h("p", { class: "gx-empty", text: `${kind.title}: waiting for the numbers …` }));
    }
  };
  mount();
  const end = store.subscribe((changed) => {
    if (changed.has("theme")) root.dataset.theme = store.theme;
    if (!panels.length) mount();
    for (const panel of panels) panel.update(changed);
  });
  const observer = new ResizeObserver(() => panels.forEach((panel) => panel.resize()));
  observer.observe(root);
  return () => {
    end();
    observer.disconnect();
    for (const panel of panels) panel.destroy();
    root.remove();
  };
}

export default { render };
