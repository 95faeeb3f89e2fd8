/** Where we look from: screen = world * k + (x, y). */

export interface Rect {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface View {
  x: number;
  y: number;
  k: number;
}

const NEAREST = 2.5;

export class Camera {
  x = 0;
  y = 0;
  k = 1;
  width = 1;
  height = 1;
  /** Never farther out than this shows all. */
  #farthest = 0.02;
  #from: View | null = null;
  #to: View | null = null;
  #began = 0;
  #lasts = 0;

  get view(): View {
    return { x: this.x, y: this.y, k: this.k };
  }

  get moving(): boolean {
    return this.#to !== null;
  }

  resize(width: number, height: number): void {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
  }

  world(sx: number, sy: number): [number, number] {
    return [(sx - this.x) / this.k, (sy - this.y) / this.k];
  }

  pan(dx: number, dy: number): void {
    this.#to = null;
    this.x += dx;
    this.y += dy;
  }

  /** The window is larger or smaller: what is in the middle stays there, also on the way of a glide. */
  shift(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
    for (const view of [this.#from, this.#to]) {
      if (!view) continue;
      view.x += dx;
      view.y += dy;
    }
  }

  /** Zooms so that the point under the cursor stays under it. */
  zoom(factor: number, sx: number, sy: number): void {
    this.#to = null;
    const k = Math.max(this.#farthest, Math.min(NEAREST, this.k * factor));
    this.x = sx - ((sx - this.x) * k) / this.k;
    this.y = sy - ((sy - this.y) * k) / this.k;
    this.k = k;
  }

  limit(world: { width: number; height: number }): void {
    this.#farthest = Math.min(0.5, 0.7 * Math.min(this.width / Math.max(1, world.width), this.height / Math.max(1, world.height)));
  }

  /** The view that shows a rectangle with a margin, no nearer than `most`. */
  framing(rect: Rect, margin = 28, most = 1.15, least = 0): View {
    const width = Math.max(1, rect.right - rect.left);
    const height = Math.max(1, rect.bottom - rect.top);
    const room = Math.min((this.width - 2 * margin) / width, (this.height - 2 * margin) / height);
    const k = Math.max(least, Math.min(most, Math.max(room, this.#farthest)));
    return {
      k,
      x: this.width / 2 - ((rect.left + rect.right) / 2) * k,
      y: this.height / 2 - ((rect.top + rect.bottom) / 2) * k,
    };
  }

  jump(view: View): void {
    this.#to = null;
    ({ x: this.x, y: this.y, k: this.k } = view);
  }

  /** Goes there in `milliseconds`; 0 where less motion is wanted. */
  glide(view: View, now: number, milliseconds: number): void {
    if (milliseconds <= 0) return this.jump(view);
    this.#from = this.view;
    this.#to = { ...view };
    this.#began = now;
    this.#lasts = milliseconds;
  }

  /** Moves on; says whether there is more to come. */
  advance(now: number): boolean {
    const [from, to] = [this.#from, this.#to];
    if (!from || !to) return false;
    const t = Math.min(1, Math.max(0, (now - this.#began) / this.#lasts));
    const ease = t < 0.5 ? 4 * t * t * t : 1 - (2 - 2 * t) ** 3 / 2;
    this.k = from.k * (to.k / from.k) ** ease;
    // The world point in the middle travels straight, measured at the zoom of the moment.
    const part = Math.abs(to.k - from.k) < 1e-9 ? ease : (1 / this.k - 1 / from.k) / (1 / to.k - 1 / from.k);
    const [cx, cy] = [this.width / 2, this.height / 2];
    const at = (a: number, ka: number, b: number, kb: number, c: number): number => {
      const wa = (c - a) / ka;
      return wa + ((c - b) / kb - wa) * part;
    };
    this.x = cx - at(from.x, from.k, to.x, to.k, cx) * this.k;
    this.y = cy - at(from.y, from.k, to.y, to.k, cy) * this.k;
    if (t >= 1) this.jump(to);
    return t < 1;
  }
}
