/**
 * Packed parts: what is small as JSON, numbers as columns. gexplorer/views/pack.py writes them, and says how.
 */

import { decoded } from "./base91.ts";
import { textsOf } from "./patterns.ts";

const MAGIC = 0x33505847; // "GXP3", little endian

type Typed = Uint8Array | Int32Array | Uint32Array | Float32Array | Float64Array;

const SIZES: Record<string, number> = { u8: 1, i32: 4, u32: 4, f32: 4, f64: 8 };

/** An array in the text; within a string its quotes would be escaped, so it is found nowhere else. */
const PLACE = /\{"\$":\[(\d+),(\d+)\]\}/g;
const CUT_OFF = "this part of the document is cut off";

const align = (n: number): number => (n + 7) & ~7;

/** The part that the bytes hold; arrays of one column are views of the same memory. */
export function unpack<T>(bytes: Uint8Array): T {
  let data = bytes;
  if (data.byteOffset % 8 || !(data.buffer instanceof ArrayBuffer)) data = data.slice();
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (data.byteLength < 8 || view.getUint32(0, true) !== MAGIC) throw new Error("these bytes are no part of a gexplorer document");
  const end = 8 + view.getUint32(4, true);
  if (end > data.byteLength) throw new Error(CUT_OFF);
  const text = new TextDecoder("utf-8", { fatal: true }).decode(data.subarray(8, end));
  const line = text.indexOf("\n");
  if (line < 0) throw new Error(CUT_OFF);
  let at = align(end);
  const columns = (JSON.parse(text.slice(0, line)) as [string, number][]).map(([type, count]) => {
    const size = SIZES[type];
    if (!size) throw new Error(`a part of the document has numbers of the unknown type ${type}`);
    if (!(count >= 0) || at + count * size > data.byteLength) throw new Error(CUT_OFF);
    const column = read(data, type, at, count);
    at = align(at + count * size);
    return column;
  });
  // Where each array begins follows from the order of the text, which objects with numbers as keys would not keep.
  const taken = columns.map(() => 0);
  const placed = text.slice(line + 1).replace(PLACE, (_, column: string, count: string) => {
    const from = taken[+column] ?? NaN;
    taken[+column] = from + +count;
    return `{"$":[${column},${from},${from + +count}]}`;
  });
  if (columns.some((column, i) => column.length !== taken[i])) throw new Error("an array of the document is cut off");
  return revive(JSON.parse(placed) as unknown, columns) as T;
}

/** One column: integers are differences with their sign in the lowest bit, as planes of bytes. */
function read(data: Uint8Array, type: string, at: number, count: number): Typed {
  const buffer = data.buffer as ArrayBuffer;
  const from = data.byteOffset + at;
  if (type === "u8") return new Uint8Array(buffer, from, count);
  if (type === "f32") return new Float32Array(buffer, from, count);
  if (type === "f64") return new Float64Array(buffer, from, count);
  const column = type === "i32" ? new Int32Array(count) : new Uint32Array(count);
  const [first, second, third] = [at + count, at + 2 * count, at + 3 * count];
  let last = 0;
  for (let i = 0; i < count; i++) {
    const low = (data[at + i] as number) | ((data[first + i] as number) << 8);
    const written = low | ((data[second + i] as number) << 16) | ((data[third + i] as number) << 24);
    last = (last + ((written >>> 1) ^ -(written & 1))) | 0;
    column[i] = last;
  }
  return column;
}

/** Puts in what objects of one key with a single $ stand for; lists of texts are left alone, they are long. */
function revive(value: unknown, columns: readonly Typed[]): unknown {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    if (typeof value[0] !== "string") for (let i = 0; i < value.length; i++) value[i] = revive(value[i], columns);
    return value;
  }
  const object = value as Record<string, unknown>;
  if (Array.isArray(object.$)) {
    const [column, from, to] = object.$ as [number, number, number];
    return (columns[column] as Typed).subarray(from, to);
  }
  if (Array.isArray(object.$each)) return each(...(revive(object.$each, columns) as Parameters<typeof each>));
  if (Array.isArray(object.$rows)) return rows(...(revive(object.$rows, columns) as Parameters<typeof rows>));
  if (Array.isArray(object.$texts)) return textsOf(...(revive(object.$texts, columns) as Parameters<typeof textsOf>));
  for (const key of Object.keys(object)) {
    const made = revive(object[key], columns);
    // A key of the document that begins with $ is written with one more.
    if (key.startsWith("$$")) {
      delete object[key];
      object[key.slice(1)] = made;
    } else object[key] = made;
  }
  return object;
}

/** Arrays that lie one behind the other; those that are equal are the same. */
function each(array: Typed, counts: Typed, which?: Typed): Typed[] {
  let at = 0;
  const arrays = Array.from(counts, (count) => array.subarray(at, (at += count)));
  if (at !== array.length) throw new Error(CUT_OFF);
  return which ? Array.from(which, (one) => arrays[one] ?? broken()) : arrays;
}

/** Objects with the same keys, by their values. */
function rows(count: number, values: Record<string, ArrayLike<unknown>>): Record<string, unknown>[] {
  const made = Array.from({ length: count }, (): Record<string, unknown> => ({}));
  for (const [key, held] of Object.entries(values)) {
    if (held.length !== count) throw new Error(CUT_OFF);
    made.forEach((row, i) => {
      if (key !== "__proto__") row[key] = held[i];
      else Object.defineProperty(row, key, { value: held[i], enumerable: true, writable: true, configurable: true });
    });
  }
  return made;
}

function broken(): never {
  throw new Error(CUT_OFF);
}

/** The bytes that the report carries zipped, as text. */
export async function inflate(text: string): Promise<Uint8Array> {
  const stream = new Blob([decoded(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** JSON with sorted keys and no spaces: the name under which a report carries a variant. */
export function variantKey(changes: unknown): string {
  if (Array.isArray(changes)) return `[${changes.map(variantKey).join(",")}]`;
  if (changes === null || typeof changes !== "object") return JSON.stringify(changes);
  const entries = Object.entries(changes).filter(([, value]) => value !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${variantKey(value)}`).join(",")}}`;
}
