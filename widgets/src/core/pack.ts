/**
 * Packed parts: `GXP1`, the JSON's length (u32, little endian), the JSON (UTF-8), zeros up to a multiple of 8, arrays.
 * In the JSON, `{"$": [type, offset, count]}` stands for an array; its offset is in bytes from where the arrays begin.
 * A key that begins with $ has one more $ before it. gexplorer/views/pack.py writes them.
 */

const MAGIC = 0x31505847; // "GXP1", little endian

type Typed = Uint8Array | Int32Array | Uint32Array | Float32Array | Float64Array;

const TYPES: Record<string, { size: number; make(buffer: ArrayBuffer, offset: number, count: number): Typed }> = {
  u8: { size: 1, make: (buffer, offset, count) => new Uint8Array(buffer, offset, count) },
  i32: { size: 4, make: (buffer, offset, count) => new Int32Array(buffer, offset, count) },
  u32: { size: 4, make: (buffer, offset, count) => new Uint32Array(buffer, offset, count) },
  f32: { size: 4, make: (buffer, offset, count) => new Float32Array(buffer, offset, count) },
  f64: { size: 8, make: (buffer, offset, count) => new Float64Array(buffer, offset, count) },
};

const align = (n: number): number => (n + 7) & ~7;

/** The part that the bytes hold; arrays are views where the bytes lie on a multiple of 8, else of one copy. */
export function unpack<T>(bytes: Uint8Array): T {
  let data = bytes;
  if (data.byteOffset % 8 || !(data.buffer instanceof ArrayBuffer)) data = data.slice();
  const buffer = data.buffer as ArrayBuffer;
  const view = new DataView(buffer, data.byteOffset, data.byteLength);
  if (data.byteLength < 8 || view.getUint32(0, true) !== MAGIC) throw new Error("these bytes are no part of a gexplorer document");
  const length = view.getUint32(4, true);
  const arrays = align(8 + length);
  if (8 + length > data.byteLength) throw new Error("this part of the document is cut off");
  const text = new TextDecoder("utf-8", { fatal: true }).decode(data.subarray(8, 8 + length));
  const room = data.byteLength - arrays;
  return revive(JSON.parse(text) as unknown, (type, offset, count) => {
    const kind = TYPES[type];
    if (!kind) throw new Error(`a part of the document has arrays of the unknown type ${type}`);
    if (count === 0) return kind.make(new ArrayBuffer(0), 0, 0);
    if (offset < 0 || offset % kind.size || offset + count * kind.size > room) throw new Error("an array of the document is cut off");
    return kind.make(buffer, data.byteOffset + arrays + offset, count);
  }) as T;
}

/** Puts arrays where their places stand; lists of texts are left alone, they are long. */
function revive(value: unknown, make: (type: string, offset: number, count: number) => Typed): unknown {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    if (typeof value[0] === "object") for (let i = 0; i < value.length; i++) value[i] = revive(value[i], make);
    return value;
  }
  const object = value as Record<string, unknown>;
  const place = object.$;
  // A key of the document that begins with $ is written with one more.
  if (Array.isArray(place) && place.length === 3 && typeof place[0] === "string" && Object.keys(object).length === 1) {
    return make(place[0], place[1] as number, place[2] as number);
  }
  for (const key of Object.keys(object)) {
    const made = revive(object[key], make);
    if (key.startsWith("$$")) {
      delete object[key];
      object[key.slice(1)] = made;
    } else object[key] = made;
  }
  return object;
}

/** The bytes of base64 of gzip, as the report carries them. */
export async function inflate(base64: string): Promise<Uint8Array> {
  const text = atob(base64);
  const zipped = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) zipped[i] = text.charCodeAt(i);
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
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
