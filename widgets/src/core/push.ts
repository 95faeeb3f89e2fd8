/**
 * Room for opened boxes, made by pushing: ranks below move down, boxes of the same rank move apart, all else stays.
 *
 * Inside a band (the height of a rank) everything is stretched, between bands shifted, so that bend points follow.
 */

import type { Template } from "./document.ts";

/** Bands of the ranks, from the top: shared by all containers of one look. */
interface Bands {
  top: Float64Array;
  bottom: Float64Array;
  /** Band by box. */
  of: Int32Array;
}

const cache = new WeakMap<Template, Bands>();

function bands(template: Template): Bands {
  const found = cache.get(template);
  if (found) return found;
  const { x, y, h, rank } = template;
  const order = [...new Set(rank)].sort((a, b) => a - b);
  const place = new Map(order.map((r, i) => [r, i]));
  const top = new Float64Array(order.length).fill(Infinity);
  const bottom = new Float64Array(order.length).fill(-Infinity);
  const of = new Int32Array(x.length);
  for (let i = 0; i < x.length; i++) {
    const band = place.get(rank[i]) as number;
    of[i] = band;
    top[band] = Math.min(top[band], y[i] - h[i] / 2);
    bottom[band] = Math.max(bottom[band], y[i] + h[i] / 2);
  }
  const made = { top, bottom, of };
  cache.set(template, made);
  return made;
}

export interface Opened {
  box: number;
  width: number;
  height: number;
}

/** Where things of a template go once some of its boxes are larger. */
export interface Pushed {
  width: number;
  height: number;
  /** Of a box. */
  x(box: number): number;
  y(box: number): number;
  /** Of any point, x by the place where it was. */
  px(x: number, y: number): number;
  py(y: number): number;
}

/**
 * Makes room for opened boxes. With `visible`, boxes that are not (nor will be) seen give their room away: ranks
 * without any close up.
 */
export function push(template: Template, opened: readonly Opened[], visible: Uint8Array | null = null): Pushed {
  const { x, y, w, h } = template;
  if (!opened.length && !visible) {
    return {
      width: template.width,
      height: template.height,
      x: (box) => x[box],
      y: (box) => y[box],
      px: (at) => at,
      py: (at) => at,
    };
  }
  const { top, bottom, of } = bands(template);
  const count = top.length;
  const grown = new Float64Array(count); // how much higher a band is
  const wider: { x: number; by: number; box: number }[][] = Array.from({ length: count }, () => []);
  for (const { box, width, height } of opened) {
    const band = of[box];
    // An opened box stays centred where it was; it may stick out of its band by less than the band has room.
    const middle = y[box];
    const reach = 2 * Math.min(middle - top[band], bottom[band] - middle);
    grown[band] = Math.max(grown[band], height - Math.max(reach, h[box]));
    wider[band]?.push({ x: x[box], by: Math.max(0, width - w[box]), box });
  }
  const empty = new Uint8Array(count).fill(visible ? 1 : 0);
  if (visible) for (let box = 0; box < x.length; box++) if (visible[box]) empty[of[box]] = 0;

  // Where bands begin and end now; what lies between is stretched evenly.
  const newTop = new Float64Array(count);
  const newBottom = new Float64Array(count);
  let at = count ? top[0] : 0;
  for (let band = 0; band < count; band++) {
    newTop[band] = at;
    at += empty[band] ? 0 : bottom[band] - top[band] + Math.max(0, grown[band]);
    newBottom[band] = at;
    if (band + 1 < count && !empty[band]) at += Math.max(0, top[band + 1] - bottom[band]);
  }
  // Behind the last rank that is seen there is no gap to the next.
  let end = 0;
  for (let band = 0; band < count; band++) if (!empty[band]) end = newBottom[band];
  const below = count ? template.height - bottom[count - 1] : template.height;

  const aside = (band: number, from: number, self: number): number => {
    let by = 0;
    for (const one of wider[band] ?? []) {
      if (one.box === self) continue;
      if (from > one.x || (from === one.x && self > one.box)) by += one.by / 2;
      else by -= one.by / 2;
    }
    return by;
  };
  /** The last band that begins above y. */
  const bandAt = (from: number): number => {
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (top[middle] <= from) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const between = (from: number, a: number, b: number, na: number, nb: number): number => (b > a ? na + ((from - a) / (b - a)) * (nb - na) : na);
  const py = (from: number): number => {
    if (!count || from <= top[0]) return from;
    const band = bandAt(from);
    const edge = bottom[band];
    if (from <= edge) return between(from, top[band], edge, newTop[band], newBottom[band]);
    if (band + 1 >= count) return newBottom[band] + from - edge;
    return between(from, edge, top[band + 1], newBottom[band], newTop[band + 1]);
  };
  const px = (from: number, y0: number): number => {
    if (!count) return from;
    const band = bandAt(y0);
    const here = aside(band, from, -1);
    if (band + 1 >= count || y0 <= bottom[band]) return from + here;
    const gap = top[band + 1] - bottom[band];
    const part = gap > 0 ? (y0 - bottom[band]) / gap : 1;
    return from + here + part * (aside(band + 1, from, -1) - here);
  };

  // The extent, so that the left edge lies at 0 again; the template's own margin stays.
  const size = new Map(opened.map((one) => [one.box, one.width]));
  let margin = template.width / 2;
  let left = visible ? Infinity : 0;
  let right = visible ? -Infinity : template.width;
  for (let box = 0; box < x.length; box++) margin = Math.min(margin, x[box] - w[box] / 2);
  margin = Math.max(0, margin);
  for (let box = 0; box < x.length; box++) {
    if (visible && !visible[box]) continue;
    const half = (size.get(box) ?? w[box]) / 2;
    const centre = x[box] + aside(of[box], x[box], box);
    left = Math.min(left, centre - half - margin);
    right = Math.max(right, centre + half + margin);
  }
  if (left > right) left = right = 0;
  return {
    width: right - left,
    height: count ? end + below : template.height,
    x: (box) => x[box] + aside(of[box], x[box], box) - left,
    y: (box) => {
      const band = of[box];
      const middle = (newTop[band] + newBottom[band]) / 2;
      return empty[band] ? middle : middle + y[box] - (top[band] + bottom[band]) / 2;
    },
    px: (from, y0) => px(from, y0) - left,
    py,
  };
}
