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
    const band = place.get(rank[i] as number) as number;
    of[i] = band;
    top[band] = Math.min(top[band] as number, (y[i] as number) - (h[i] as number) / 2);
    bottom[band] = Math.max(bottom[band] as number, (y[i] as number) + (h[i] as number) / 2);
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
      x: (box) => x[box] as number,
      y: (box) => y[box] as number,
      px: (at) => at,
      py: (at) => at,
    };
  }
  const { top, bottom, of } = bands(template);
  const count = top.length;
  const grown = new Float64Array(count); // how much higher a band is
  const wider: { x: number; by: number; box: number }[][] = Array.from({ length: count }, () => []);
  for (const { box, width, height } of opened) {
    const band = of[box] as number;
    // An opened box stays centred where it was; it may stick out of its band by less than the band has room.
    const middle = y[box] as number;
    const reach = 2 * Math.min(middle - (top[band] as number), (bottom[band] as number) - middle);
    grown[band] = Math.max(grown[band] as number, height - Math.max(reach, h[box] as number));
    wider[band]?.push({ x: x[box] as number, by: Math.max(0, width - (w[box] as number)), box });
  }
  const empty = new Uint8Array(count).fill(visible ? 1 : 0);
  if (visible) for (let box = 0; box < x.length; box++) if (visible[box]) empty[of[box] as number] = 0;

  // Where bands begin and end now; what lies between is stretched evenly.
  const newTop = new Float64Array(count);
  const newBottom = new Float64Array(count);
  let at = count ? (top[0] as number) : 0;
  for (let band = 0; band < count; band++) {
    newTop[band] = at;
    at += empty[band] ? 0 : (bottom[band] as number) - (top[band] as number) + Math.max(0, grown[band] as number);
    newBottom[band] = at;
    if (band + 1 < count && !empty[band]) at += Math.max(0, (top[band + 1] as number) - (bottom[band] as number));
  }
  // Behind the last rank that is seen there is no gap to the next.
  let end = 0;
  for (let band = 0; band < count; band++) if (!empty[band]) end = newBottom[band] as number;
  const below = count ? template.height - (bottom[count - 1] as number) : template.height;

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
      if ((top[middle] as number) <= from) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const between = (from: number, a: number, b: number, na: number, nb: number): number => (b > a ? na + ((from - a) / (b - a)) * (nb - na) : na);
  const py = (from: number): number => {
    if (!count || from <= (top[0] as number)) return from;
    const band = bandAt(from);
    const edge = bottom[band] as number;
    if (from <= edge) return between(from, top[band] as number, edge, newTop[band] as number, newBottom[band] as number);
    if (band + 1 >= count) return (newBottom[band] as number) + from - edge;
    return between(from, edge, top[band + 1] as number, newBottom[band] as number, newTop[band + 1] as number);
  };
  const px = (from: number, y0: number): number => {
    if (!count) return from;
    const band = bandAt(y0);
    const here = aside(band, from, -1);
    if (band + 1 >= count || y0 <= (bottom[band] as number)) return from + here;
    const gap = (top[band + 1] as number) - (bottom[band] as number);
    const part = gap > 0 ? (y0 - (bottom[band] as number)) / gap : 1;
    return from + here + part * (aside(band + 1, from, -1) - here);
  };

  // The extent, so that the left edge lies at 0 again; the template's own margin stays.
  const size = new Map(opened.map((one) => [one.box, one.width]));
  let margin = template.width / 2;
  let left = visible ? Infinity : 0;
  let right = visible ? -Infinity : template.width;
  for (let box = 0; box < x.length; box++) margin = Math.min(margin, (x[box] as number) - (w[box] as number) / 2);
  margin = Math.max(0, margin);
  for (let box = 0; box < x.length; box++) {
    if (visible && !visible[box]) continue;
    const half = (size.get(box) ?? (w[box] as number)) / 2;
    const centre = (x[box] as number) + aside(of[box] as number, x[box] as number, box);
    left = Math.min(left, centre - half - margin);
    right = Math.max(right, centre + half + margin);
  }
  if (left > right) left = right = 0;
  return {
    width: right - left,
    height: count ? end + below : template.height,
    x: (box) => (x[box] as number) + aside(of[box] as number, x[box] as number, box) - left,
    y: (box) => {
      const band = of[box] as number;
      const middle = ((newTop[band] as number) + (newBottom[band] as number)) / 2;
      return empty[band] ? middle : middle + (y[box] as number) - ((top[band] as number) + (bottom[band] as number)) / 2;
    },
    px: (from, y0) => px(from, y0) - left,
    py,
  };
}
