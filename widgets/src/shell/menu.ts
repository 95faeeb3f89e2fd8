/** "Copy as": the same compilation in other words. */

import type { Store } from "../core/panel.ts";
import { fill, focused, h } from "./dom.ts";

const WORDS = [
  ["python", "Python"],
  ["cli", "Command line"],
  ["atc", "atc command"],
  ["switch_file", "Fusion switch file"],
] as const;

/** Puts text on the clipboard; a page from a file may have to do it the old way. */
export async function copy(text: string, near: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "gx-hidden", "aria-hidden": "true" });
    area.value = text;
    near.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function copyMenu(store: Store): HTMLElement {
  const list = h("div", { class: "gx-menu", role: "menu", hidden: true });
  const button = h("button", { class: "gx-button", type: "button", "aria-haspopup": "menu", "aria-expanded": "false", text: "Copy as ▾" });
  const wrap = h("div", { class: "gx-menu-wrap" }, button, list);
  const close = (): void => {
    list.hidden = true;
    button.setAttribute("aria-expanded", "false");
  };
  button.addEventListener("click", () => {
    if (!list.hidden) return close();
    const said = store.parts.head?.copy;
    fill(
      list,
      ...WORDS.filter(([key]) => said?.[key]).map(([key, label]) => {
        const state = h("span", { class: "gx-muted", text: "copy" });
        const press = async (): Promise<void> => {
          state.textContent = (await copy(said?.[key] ?? "", wrap)) ? "copied" : "could not copy";
        };
        return h("button", { class: "gx-menu-item", type: "button", role: "menuitem", onclick: press }, h("span", { class: "gx-menu-head" }, h("b", { text: label }), state), h("code", { text: said?.[key] ?? "" }));
      }),
    );
    list.hidden = false;
    button.setAttribute("aria-expanded", "true");
    list.querySelector<HTMLElement>("button")?.focus();
  });
  wrap.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) {
      close();
      button.focus();
      event.stopPropagation();
    }
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !list.hidden) {
      const items = [...list.querySelectorAll<HTMLElement>("button")];
      const at = items.indexOf(focused(list) as HTMLElement);
      items[(at + (event.key === "ArrowDown" ? 1 : -1) + items.length) % items.length]?.focus();
      event.preventDefault();
      event.stopPropagation();
    }
  });
  wrap.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !wrap.contains(event.relatedTarget as Node)) close();
  });
  return wrap;
}
