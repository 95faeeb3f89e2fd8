/** Units and marks as small pictures beside text. */

import { GLYPHS, MARK_SIGNS, MARK_WORDS } from "../core/glyphs.ts";
import { UNITS } from "../core/palette.ts";
import type { Mark } from "../core/diff.ts";
import { h, s } from "./dom.ts";

export function unitGlyph(unit: number, glyph = GLYPHS[unit], label: string = UNITS[unit]?.label ?? ""): HTMLElement {
  return h(
    "span",
    { class: `gx-unit gx-unit-${UNITS[unit]?.name ?? "boundary"}`, title: label },
    s("svg", { viewBox: "0 0 16 16", "aria-label": label, role: "img" }, s("path", { d: glyph ?? "" })),
  );
}

export function markSign(mark: Mark): HTMLElement {
  return h("span", { class: `gx-mark gx-mark-${MARK_WORDS[mark]}`, title: MARK_WORDS[mark], text: MARK_SIGNS[mark] });
}

/** A line over steps; gaps where nothing is known. */
export function sparkline(series: Float64Array, at: number | undefined): SVGSVGElement {
  const [width, height] = [72, 22];
  let low = Infinity;
  let high = -Infinity;
  for (const y of series) {
    if (Number.isNaN(y)) continue;
    low = Math.min(low, y);
    high = Math.max(high, y);
  }
  const last = Math.max(1, series.length - 1);
  const px = (i: number): string => ((i / last) * (width - 4) + 2).toFixed(1);
  const py = (y: number): string => (high > low ? height - 3 - ((y - low) / (high - low)) * (height - 6) : height / 2).toFixed(1);
  let line = "";
  let pen = "M";
  let previous = "";
  series.forEach((y, i) => {
    if (Number.isNaN(y)) {
      pen = "M";
      return;
    }
    // Steps: a figure stays until the next step.
    line += pen === "M" ? `M${px(i)} ${py(y)}` : `H${px(i)}${py(y) === previous ? "" : `V${py(y)}`}`;
    previous = py(y);
    pen = "L";
  });
  const picture = s("svg", { class: "gx-spark", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" }, s("path", { d: line }));
  const here = at ?? series.length - 1;
  const y = series[here];
  if (y !== undefined && !Number.isNaN(y)) picture.append(s("circle", { cx: px(here), cy: py(y), r: 2.4 }));
  return picture;
}

/** An on/off switch. Where it cannot be moved it is no switch but a word, and says why. */
export function toggle(label: string, on: boolean, refusal: string | null, press: (on: boolean) => void): HTMLButtonElement {
  return h(
    "button",
    {
      class: `gx-switch${refusal ? " gx-fixed" : ""}`,
      type: "button",
      role: "switch",
      "aria-checked": String(on),
      "aria-label": label,
      "aria-disabled": refusal ? "true" : null,
      title: refusal ? `${label} is ${on ? "on" : "off"}. ${refusal}` : `${on ? "Turn off" : "Turn on"}: ${label}`,
      onclick: (event: MouseEvent) => {
        event.stopPropagation();
        if (!refusal) press(!on);
      },
    },
    refusal ? (on ? "on" : "off") : h("span", {}),
  );
}
