/**
 * Many rectangles: drawn into pixels, and found under a point.
 *
 * One fill a rectangle costs a canvas call each; written into the pixels themselves, 100,000 of them cost no more than
 * the picture has pixels. What is smaller than a pixel still shows as one.
 */

/** Columns of equal length in the units of the data; a rectangle reaches from (x0, y0) up to (x1, y1). */
export interface Boxes {
  readonly x0: ArrayLike<number>;
  readonly x1: ArrayLike<number>;
  readonly y0: ArrayLike<number>;
  readonly y1: ArrayLike<number>;
  readonly length: number;
}

/** What of the data a picture shows; y grows upwards. */
export interface Frame {
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  readonly top: number;
  readonly width: number; // pixels
  readonly height: number;
}

export interface Ink {
  /** By rectangle: index into `fills`. */
  readonly colour: Uint8Array;
  /** As ImageData wants them: 0xAABBGGRR. */
  readonly fills: Uint32Array;
  readonly edges: Uint32Array;
  /** By index: lines drawn over the fill, so that it can be told without colour. */
  readonly hatched: Uint8Array;
  /** Where rectangles really cover the same pixel. */
  readonly clash: number;
}

/**
 * Fills the pixels (width x height, top row first; zero means nothing there). A pixel that two rectangles both cover
 * entirely is a true overlap and gets the colour of a clash.
 *
 * Returns how many pixels clash.
 */
export function paint(boxes: Boxes, frame: Frame, ink: Ink, pixels: Uint32Array): number {
  const { width, height, left, bottom } = frame;
  const sx = width / (frame.right - left);
  const sy = height / (frame.top - bottom);
  const whole = new Uint8Array(pixels.length);
  let clashes = 0;
  for (let i = 0; i < boxes.length; i++) {
    const a = (boxes.x0[i] - left) * sx;
    const b = (boxes.x1[i] - left) * sx;
    if (b <= 0 || a >= width) continue;
    const c = height - (boxes.y1[i] - bottom) * sy;
    const d = height - (boxes.y0[i] - bottom) * sy;
    if (d <= 0 || c >= height) continue;
    // Rounded edges meet their neighbours' without a seam; at least a pixel.
    let x0 = Math.round(a);
    let x1 = Math.max(Math.round(b), x0 + 1);
    let y0 = Math.round(c);
    let y1 = Math.max(Math.round(d), y0 + 1);
    const framed = x1 - x0 >= 5 && y1 - y0 >= 4;
    const [ex0, ex1, ey0, ey1] = [x0, x1 - 1, y0, y1 - 1];
    // Pixels that it covers from edge to edge; the tolerance is for offsets that are not exact in binary.
    const [fx0, fx1, fy0, fy1] = [Math.ceil(a - 1e-6), Math.floor(b + 1e-6), Math.ceil(c - 1e-6), Math.floor(d + 1e-6)];
    x0 = Math.max(x0, 0);
    x1 = Math.min(x1, width);
    y0 = Math.max(y0, 0);
    y1 = Math.min(y1, height);
    const which = ink.colour[i];
    const fill = ink.fills[which];
    const edge = ink.edges[which];
    const lined = ink.hatched[which] === 1;
    for (let y = y0; y < y1; y++) {
      const row = y * width;
      if (framed && (y === ey0 || y === ey1)) pixels.fill(edge, row + x0, row + x1);
      else {
        pixels.fill(fill, row + x0, row + x1);
        if (lined) for (let x = x0 + ((5 - ((x0 + y) % 5)) % 5); x < x1; x += 5) pixels[row + x] = edge;
        if (framed) {
          if (ex0 >= 0) pixels[row + ex0] = edge;
          if (ex1 < width) pixels[row + ex1] = edge;
        }
      }
      if (y < fy0 || y >= fy1) continue;
      const end = Math.min(fx1, x1);
      for (let x = Math.max(fx0, x0); x < end; x++) {
        if (whole[row + x]) {
          pixels[row + x] = (x + y) % 6 < 3 ? ink.clash : fill;
          clashes++;
        } else whole[row + x] = 1;
      }
    }
  }
  return clashes;
}

/** Empty pixels below filled ones become `gap`: free bytes that nothing higher up lets go of. */
export function tintGaps(pixels: Uint32Array, width: number, height: number, gap: number): void {
  const covered = new Uint8Array(width);
  for (let y = 0; y < height; y++) {
    const row = y * width;
    for (let x = 0; x < width; x++) {
      if (pixels[row + x]) covered[x] = 1;
      else if (covered[x]) pixels[row + x] = gap;
    }
  }
}

/** Finds rectangles under a point: a grid over all of them, each cell with the list of those that touch it. */
export class Grid {
  readonly #at: Int32Array;
  readonly #found: Int32Array;
  #columns: number;
  #rows: number;
  readonly #left: number;
  readonly #bottom: number;
  #sx = 1;
  #sy = 1;

  constructor(private readonly boxes: Boxes) {
    let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < boxes.length; i++) {
      left = Math.min(left, boxes.x0[i]);
      right = Math.max(right, boxes.x1[i]);
      bottom = Math.min(bottom, boxes.y0[i]);
      top = Math.max(top, boxes.y1[i]);
    }
    this.#left = boxes.length ? left : 0;
    this.#bottom = boxes.length ? bottom : 0;
    this.#columns = this.#rows = Math.max(1, Math.min(256, Math.ceil(Math.sqrt(boxes.length))));
    const measure = (): void => {
      this.#sx = this.#columns / (right - left || 1);
      this.#sy = this.#rows / (top - bottom || 1);
    };
    measure();
    // Long thin rectangles would each stand in hundreds of cells: then the grid is made coarser along them.
    for (let wide = this.#spans(); wide.x * wide.y > 8 && this.#columns * this.#rows > 1; wide = this.#spans()) {
      if (wide.x > wide.y) this.#columns = Math.ceil(this.#columns / 2);
      else this.#rows = Math.ceil(this.#rows / 2);
      measure();
    }
    const cells = this.#columns * this.#rows;
    const count = new Int32Array(cells + 1);
    this.#each((cell) => count[cell + 1]++);
    for (let i = 0; i < cells; i++) count[i + 1] += count[i];
    this.#at = count.slice();
    this.#found = new Int32Array(count[cells]);
    this.#each((cell, i) => (this.#found[count[cell]++] = i));
  }

  /** How many places in cells the rectangles take together: what the grid weighs. */
  get weight(): number {
    return this.#found.length;
  }

  /** The last rectangle that holds the point, or else the nearest within `dx` and `dy`; -1 where there is none. */
  hit(x: number, y: number, dx = 0, dy = 0): number {
    let best = -1;
    let nearest = Infinity;
    const { boxes } = this;
    const [c0, c1] = [this.#column(x - dx), this.#column(x + dx)];
    const [r0, r1] = [this.#row(y - dy), this.#row(y + dy)];
    for (let r = r0; r <= r1; r++) {
      for (let c = c0; c <= c1; c++) {
        const cell = r * this.#columns + c;
        for (let k = this.#at[cell]; k < this.#at[cell + 1]; k++) {
          const i = this.#found[k];
          const outX = Math.max(boxes.x0[i] - x, x - boxes.x1[i], 0);
          const outY = Math.max(boxes.y0[i] - y, y - boxes.y1[i], 0);
          if (outX > dx || outY > dy) continue;
          const distance = (dx ? outX / dx : 0) + (dy ? outY / dy : 0);
          if (distance < nearest || (distance === nearest && i > best)) {
            nearest = distance;
            best = i;
          }
        }
      }
    }
    return best;
  }

  /** In how many columns and rows a rectangle stands on average. */
  #spans(): { x: number; y: number } {
    const { boxes } = this;
    let [x, y] = [0, 0];
    for (let i = 0; i < boxes.length; i++) {
      x += this.#column(boxes.x1[i]) - this.#column(boxes.x0[i]) + 1;
      y += this.#row(boxes.y1[i]) - this.#row(boxes.y0[i]) + 1;
    }
    const n = Math.max(1, boxes.length);
    return { x: x / n, y: y / n };
  }

  #column(x: number): number {
    return Math.max(0, Math.min(this.#columns - 1, Math.floor((x - this.#left) * this.#sx)));
  }

  #row(y: number): number {
    return Math.max(0, Math.min(this.#rows - 1, Math.floor((y - this.#bottom) * this.#sy)));
  }

  #each(visit: (cell: number, box: number) => void): void {
    const { boxes } = this;
    for (let i = 0; i < boxes.length; i++) {
      const [c0, c1] = [this.#column(boxes.x0[i]), this.#column(boxes.x1[i])];
      const [r0, r1] = [this.#row(boxes.y0[i]), this.#row(boxes.y1[i])];
      for (let r = r0; r <= r1; r++) for (let c = c0; c <= c1; c++) visit(r * this.#columns + c, i);
    }
  }
}

/** The largest value of each pixel column of a view: a curve of any length drawn without losing its peaks. */
export function peaks(values: ArrayLike<number>, low: number, high: number, columns: number): Float64Array {
  const found = new Float64Array(columns);
  for (let c = 0; c < columns; c++) {
    const from = Math.max(0, Math.floor(low + ((high - low) * c) / columns));
    const to = Math.min(values.length, Math.max(from + 1, Math.ceil(low + ((high - low) * (c + 1)) / columns)));
    let most = 0;
    for (let i = from; i < to; i++) if (values[i] > most) most = values[i];
    found[c] = most;
  }
  return found;
}
