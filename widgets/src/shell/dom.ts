/** Elements without markup: every text goes in as text, so no name of a model can become code. */

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, unknown>;
const SVG = "http://www.w3.org/2000/svg";

/**
 * Makes an element. `class`, `on*` listeners (functions), `text`, `style` (an object of properties, which CSP allows)
 * and ARIA or data attributes; `null`, `undefined` and `false` leave one out.
 */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  set(element, attributes);
  append(element, children);
  return element;
}

/** The same for SVG. */
export function s<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  set(element, attributes);
  append(element, children);
  return element;
}

export function append(element: Element, children: readonly Child[]): void {
  for (const child of children) if (child || child === "") element.append(child);
}

/** Puts other children into an element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

export function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) {
      if (!name.startsWith("on")) element.removeAttribute(name);
    } else if (name === "text") element.textContent = String(value);
    else if (name === "style") {
      const style = (element as HTMLElement).style;
      for (const [property, to] of Object.entries(value)) style.setProperty(property, String(to));
    } else if (name.startsWith("on") && typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** What has the focus near an element: within a shadow root, as in marimo, the document only knows its host. */
export function focused(near: Element): Element | null {
  const root = near.getRootNode();
  return root instanceof Document || root instanceof ShadowRoot ? root.activeElement : null;
}

/** A long name whose end stays where there is no room: names of a kind differ in it. */
export function ended(text: string): (Node | string)[] {
  const [, name, times] = /^([!-~]{13,})( × [\d,]+| \(\+\d+\))?$/.exec(text) ?? [];
  if (!name) return [text];
  const tail = name.slice(times ? -3 : -7) + (times ?? "");
  return [h("span", { class: "gx-begin", style: { "--gx-tail": `${tail.length + 0.6}ch` }, text: text.slice(0, -tail.length) }), tail];
}

let made = 0;
/** An id that no other explorer of the page has. */
export function uniqueId(name: string): string {
  return `gx-${name}-${++made}`;
}
