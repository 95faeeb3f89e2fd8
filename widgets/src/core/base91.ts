/** Bytes as text, thirteen bits as two of 91 letters. gexplorer/render/base91.py writes it, and says how. */

const LETTERS = 91;
const DAMAGED = "this report's data is damaged";

/** The number of a letter by its code, 255 for what is none. */
const NUMBER = new Uint8Array(128).fill(255);
for (let code = 32, number = 0; code < 127; code++) if (!'"&<\\'.includes(String.fromCharCode(code))) NUMBER[code] = number++;

/** The bytes of a text. */
export function decoded(text: string): Uint8Array<ArrayBuffer> {
  const even = text.length & ~1;
  const bytes = new Uint8Array((13 * (even >> 1) + 6 * (text.length & 1)) >> 3);
  let at = 0;
  // Bits that are not written yet, and what was before them.
  let bits = 0;
  let left = 0;
  for (let i = 0; i < even; i += 2) {
    const pair = LETTERS * number(text, i) + number(text, i + 1);
    if (pair >> 13) throw new Error(DAMAGED);
    bits = (bits << 13) | pair;
    for (left += 13; left > 7; ) bytes[at++] = bits >> (left -= 8);
  }
  if (even < text.length) {
    const single = number(text, even);
    if (single >> 6) throw new Error(DAMAGED);
    bits = (bits << 6) | single;
    for (left += 6; left > 7; ) bytes[at++] = bits >> (left -= 8);
  }
  // What fills the last letter up is zero, and no letter is there for it alone.
  if (bits & ((1 << left) - 1) || (even < text.length ? left > 5 : left > 6)) throw new Error(DAMAGED);
  return bytes;
}

function number(text: string, i: number): number {
  const found = NUMBER[text.charCodeAt(i)] ?? 255;
  if (found === 255) throw new Error(DAMAGED);
  return found;
}
