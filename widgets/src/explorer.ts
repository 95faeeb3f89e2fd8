/** The entry for Jupyter: the whole explorer as an anywidget. */

import { tabs } from "gexplorer:tabs";
import { connect, whenShown, type Model } from "./jupyter.ts";
import { Explorer } from "./shell/explorer.ts";

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const { store, ready, theme, stop } = connect(model, el);
  const end = whenShown(el, () => {
    theme();
    const height = model.get("height");
    const explorer = new Explorer(el, store, { embedded: true, tabs, height: typeof height === "number" ? height : undefined });
    return () => explorer.destroy();
  });
  ready();
  return () => {
    stop();
    end();
  };
}

export default { render };
