/** Texts that differ in their numbers alone, as their patterns and the numbers. gexplorer/views/patterns.py says how. */

const SIGN = "\u007f";
const CUT_OFF = "the texts of a part of the document are cut off";

/** The texts. */
export function textsOf(patterns: readonly string[], which: ArrayLike<number>, numbers: ArrayLike<number>): string[] {
  const pieces = patterns.map((pattern) => pattern.split(SIGN));
  const uses = new Int32Array(patterns.length);
  for (let i = 0; i < which.length; i++) uses[which[i] as number]++;
  // Where the numbers of each pattern's first place go on; those of the next place are as many further as it has texts.
  const next = new Int32Array(patterns.length);
  let taken = 0;
  pieces.forEach((piece, pattern) => {
    next[pattern] = taken;
    taken += (piece.length - 1) * (uses[pattern] as number);
  });
  if (taken !== numbers.length) throw new Error(CUT_OFF);
  const texts = new Array<string>(which.length);
  for (let i = 0; i < which.length; i++) {
    const pattern = which[i] as number;
    const piece = pieces[pattern];
    if (!piece) throw new Error(CUT_OFF);
    let text = piece[0] as string;
    let at = next[pattern]++ as number;
    for (let place = 1; place < piece.length; place++) {
      text += numbers[at] + (piece[place] as string);
      at += uses[pattern] as number;
    }
    texts[i] = text;
  }
  return texts;
}
