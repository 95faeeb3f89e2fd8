/** What to add to a call of Python, to be copied as it stands. */

import { h } from "./dom.ts";
import { copy } from "./menu.ts";

export function cure(text: string): HTMLElement {
  const button = h("button", { type: "button", class: "gx-link", "aria-label": `Copy ${text}`, text: "copy" });
  const whole = h("span", { class: "gx-cure" }, h("code", { text }), button);
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text, whole)) ? "copied" : "could not copy";
  });
  return whole;
}
