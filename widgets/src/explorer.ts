/** The entry for Jupyter: the whole explorer as an anywidget. */

import { tabs } from "gexplorer:tabs";
import { connect, type Model } from "./jupyter.ts";
import { Explorer } from "./shell/explorer.ts";

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const { store, stop } = connect(model, el);
  const explorer = new Explorer(el, store, { embedded: true, tabs });
  const height = model.get("height");
  if (typeof height === "number") explorer.root.style.setProperty("--gx-height", `${height}px`);
  model.send({ type: "ready" });
  return () => {
    stop();
    explorer.destroy();
  };
}

export default { render };
