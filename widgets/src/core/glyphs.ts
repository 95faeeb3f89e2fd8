/** A small sign for each unit, as an SVG path in a square of 16: for canvas (Path2D) and SVG alike, drawn as lines. */

/** By Unit: cube, vector, mixed, move, fallback, control, constant, boundary (an input of the graph). */
export const GLYPHS: readonly string[] = [
  "M3 3h10v10h-10zM3 8h10M8 3v10",
  "M3 4h10M3 8h10M3 12h10",
  "M2.5 3.5h5v9h-5zM10 4h4M10 8h4M10 12h4",
  "M2.5 5.5h10M9.5 2.5l3 3-3 3M13.5 10.5h-10M6.5 7.5l-3 3 3 3",
  "M8 2.5l6.2 11h-12.4zM8 6.5v3.5M8 11.6v.6",
  "M8 2l6 6-6 6-6-6zM8 5.8v4.4M5.8 8h4.4",
  "M8 5a3 3 0 1 0 .01 0z",
  "M3.5 3h9M8 3v9.5M4.8 9.3l3.2 3.2 3.2-3.2",
];
/** An output of the graph. */
export const OUTPUT_GLYPH = "M3.5 13h9M8 2.5v7.5M4.8 6.8l3.2 3.2 3.2-3.2";

/** Marks of a difference beside text, by Mark: the same four everywhere. */
export const MARK_SIGNS: readonly string[] = ["·", "−", "+", "~"];
export const MARK_WORDS: readonly string[] = ["unchanged", "removed", "added", "changed"];
