/** The graph with its toolbar, as a panel by itself. */

import type { PanelKind } from "../core/panel.ts";
import { GraphView } from "../graph/view.ts";
import { Toolbar } from "./toolbar.ts";
import { h } from "./dom.ts";

export const graph: PanelKind = {
  name: "graph",
  title: "Graph",
  needs: [],
  mount: (element, store) => {
    const host = h("div", { class: "gx-graph-host" });
    const bar = h("div", { class: "gx-graph-head" });
    element.classList.add("gx-graph-panel");
    element.append(bar, host);
    const view = new GraphView(host, store, true);
    const toolbar = new Toolbar(bar, store, view);
    host.append(toolbar.legend, toolbar.crumbs);
    const both = [view, toolbar];
    return {
      update: (changed) => both.forEach((panel) => panel.update(changed)),
      resize: () => both.forEach((panel) => panel.resize()),
      destroy: () => both.forEach((panel) => panel.destroy()),
    };
  },
};
