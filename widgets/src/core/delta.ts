/** Differences of bytes, by which a report carries its variants. gexplorer/views/delta.py writes them, and says how. */

const MAGIC = 0x31445847; // "GXD1", little endian
const HEAD = 20;
const DAMAGED = "this variant's data is damaged";

/** Whether the bytes are a difference, and not a part as a whole. */
export function isDifference(bytes: Uint8Array): boolean {
  return bytes.length >= HEAD && new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) === MAGIC;
}

/** What a difference makes of its source. */
export function applied(source: Uint8Array, delta: Uint8Array): Uint8Array {
  if (!isDifference(delta)) throw new Error(DAMAGED);
  const head = new DataView(delta.buffer, delta.byteOffset);
  const [sourceBytes, targetBytes, runsBytes, movesBytes] = [4, 8, 12, 16].map((at) => head.getUint32(at, true)) as [number, number, number, number];
  const movesAt = HEAD + runsBytes;
  const freshAt = movesAt + movesBytes;
  if (sourceBytes !== source.length || freshAt > delta.length) throw new Error(DAMAGED);
  const runs = numbers(delta.subarray(HEAD, movesAt));
  const moves = numbers(delta.subarray(movesAt, freshAt));
  if (runs.length !== 2 * moves.length) throw new Error(DAMAGED);
  // What there is cannot be longer than what is new and what is copied: a wrong length reserves no memory.
  if (targetBytes !== delta.length - freshAt + moves.reduce((sum, _, i) => sum + (runs[2 * i + 1] as number), 0)) throw new Error(DAMAGED);
  const target = new Uint8Array(targetBytes);
  let fresh = freshAt;
  let at = 0;
  let ahead = 0;
  moves.forEach((move, i) => {
    const [count, length] = [runs[2 * i] as number, runs[2 * i + 1] as number];
    if (fresh + count > delta.length) throw new Error(DAMAGED);
    target.set(delta.subarray(fresh, fresh + count), at);
    fresh += count;
    at += count;
    ahead += move % 2 ? -(move + 1) / 2 : move / 2;
    if (at + ahead < 0 || at + ahead + length > source.length) throw new Error(DAMAGED);
    target.set(source.subarray(at + ahead, at + ahead + length), at);
    at += length;
  });
  target.set(delta.subarray(fresh), at);
  return target;
}

/** Seven bits a byte, the lowest first; the eighth says that more come. */
function numbers(bytes: Uint8Array): number[] {
  const found: number[] = [];
  let number = 0;
  let unit = 1;
  for (const byte of bytes) {
    number += (byte & 0x7f) * unit;
    unit *= 128;
    if (byte < 0x80) {
      found.push(number);
      number = 0;
      unit = 1;
    }
  }
  return found;
}
