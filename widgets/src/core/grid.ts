/** Which rectangles lie in a window: a grid of cells, filled once, asked every frame without making anything. */

const MOST_CELLS = 1 << 16;
const WIDE = 48;

export class Grid {
  #columns = 1;
  #rows = 1;
  #cell = 256;
  #start: Int32Array;
  #items: Int32Array;
  /** Rectangles over so many cells that they are looked at always. */
  #wide: Int32Array;
  #stamp: Uint32Array;
  #turn = 0;
  /** What the last question found; the first `found` entries count. */
  readonly hits: Int32Array;
  found = 0;

  /** Rectangles as left, top, right, bottom. */
  constructor(
    readonly count: number,
    readonly left: Float32Array,
    readonly top: Float32Array,
    readonly right: Float32Array,
    readonly bottom: Float32Array,
    width: number,
    height: number,
  ) {
    this.hits = new Int32Array(count);
    this.#stamp = new Uint32Array(count);
    this.#cell = Math.max(256, Math.sqrt((width * height) / MOST_CELLS));
    this.#columns = Math.max(1, Math.ceil(width / this.#cell));
    this.#rows = Math.max(1, Math.ceil(height / this.#cell));
    const sizes = new Int32Array(this.#columns * this.#rows + 1);
    const wide: number[] = [];
    for (let i = 0; i < count; i++) {
      const [c0, r0, c1, r1] = this.#cells(left[i], top[i], right[i], bottom[i]);
      if ((c1 - c0 + 1) * (r1 - r0 + 1) > WIDE) {
        wide.push(i);
        continue;
      }
      for (let r = r0; r <= r1; r++) for (let c = c0; c <= c1; c++) sizes[r * this.#columns + c + 1]++;
    }
    for (let i = 1; i < sizes.length; i++) sizes[i] += sizes[i - 1];
    this.#start = sizes.slice();
    this.#items = new Int32Array(sizes[sizes.length - 1]);
    this.#wide = Int32Array.from(wide);
    let next = 0;
    for (let i = 0; i < count; i++) {
      if (this.#wide[next] === i) {
        next++;
        continue;
      }
      const [c0, r0, c1, r1] = this.#cells(left[i], top[i], right[i], bottom[i]);
      for (let r = r0; r <= r1; r++) for (let c = c0; c <= c1; c++) this.#items[sizes[r * this.#columns + c]++] = i;
    }
  }

  #cells(x0: number, y0: number, x1: number, y1: number): [number, number, number, number] {
    const column = (x: number): number => Math.max(0, Math.min(this.#columns - 1, Math.floor(x / this.#cell)));
    const row = (y: number): number => Math.max(0, Math.min(this.#rows - 1, Math.floor(y / this.#cell)));
    return [column(x0), row(y0), column(x1), row(y1)];
  }

  /** Fills `hits`, in rising order where `sorted` is asked for. */
  query(x0: number, y0: number, x1: number, y1: number): number {
    this.#turn++;
    this.found = 0;
    const column = (x: number): number => Math.max(0, Math.min(this.#columns - 1, Math.floor(x / this.#cell)));
    const row = (y: number): number => Math.max(0, Math.min(this.#rows - 1, Math.floor(y / this.#cell)));
    const c1 = column(x1);
    const r1 = row(y1);
    for (let i = 0; i < this.#wide.length; i++) this.#try(this.#wide[i], x0, y0, x1, y1);
    for (let r = row(y0); r <= r1; r++) {
      for (let c = column(x0); c <= c1; c++) {
        const cell = r * this.#columns + c;
        for (let k = this.#start[cell]; k < this.#start[cell + 1]; k++) {
          this.#try(this.#items[k], x0, y0, x1, y1);
        }
      }
    }
    return this.found;
  }

  #try(i: number, x0: number, y0: number, x1: number, y1: number): void {
    if (this.#stamp[i] === this.#turn) return;
    this.#stamp[i] = this.#turn;
    if (this.left[i] > x1 || this.right[i] < x0) return;
    if (this.top[i] > y1 || this.bottom[i] < y0) return;
    this.hits[this.found++] = i;
  }
}
