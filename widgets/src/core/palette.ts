/** The colours of gexplorer.css as a canvas needs them; read again when the theme changes. */

const NAMES = [
  "ground", "surface", "raised", "sunken", "hover", "chosen", "ink", "soft", "muted", "line", "line-strong", "accent", "focus",
  "removed", "removed-tint", "added", "added-tint", "changed", "changed-tint", "same", "warn", "warn-tint", "good", "bad", "near",
  "cube", "vector", "mixed", "move", "fallback", "control", "constant", "boundary",
] as const; // prettier-ignore

type Name = (typeof NAMES)[number];

export type Palette = Readonly<Record<Name, string>> & {
  /** By Unit of the document. */
  readonly units: readonly string[];
  /** What is legible on them, black or white. */
  readonly onUnits: readonly string[];
  /** The same, quietly: behind text. */
  readonly unitTints: readonly string[];
  readonly font: string;
  readonly mono: string;
};

/** Units by number: what they are called, and the name of their colour. */
export const UNITS = [
  { name: "cube", label: "Cube" },
  { name: "vector", label: "Vector" },
  { name: "mixed", label: "Cube and vector" },
  { name: "move", label: "Data movement" },
  { name: "fallback", label: "Fallback (AICPU or host)" },
  { name: "control", label: "Control flow" },
  { name: "constant", label: "Constant" },
  { name: "boundary", label: "Input or output" },
] as const;

/** Reads the custom properties in force at an element inside `.gexplorer`. */
export function palette(element: Element): Palette {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(`--gx-${name}`).trim();
  const colours = Object.fromEntries(NAMES.map((name) => [name, read(name)])) as Record<Name, string>;
  const units = UNITS.map((unit) => colours[unit.name]);
  return { ...colours, units, onUnits: units.map(legible), unitTints: units.map((unit) => mix(unit, colours.surface, 0.3)), font: read("font") || "sans-serif", mono: read("mono") || "monospace" };
}

/** Black or white, whichever has more contrast on a colour written #rrggbb. */
export function legible(colour: string): string {
  const value = Number.parseInt(colour.slice(1), 16);
  const linear = [16, 8, 0].map((shift) => (((value >> shift) & 255) / 255) ** 2.2);
  const light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return light > 0.18 ? "#10161d" : "#ffffff";
}

/** A share of one colour in another, both #rrggbb. */
export function mix(colour: string, ground: string, share: number): string {
  const channel = (of: string, at: number): number => Number.parseInt(of.slice(at, at + 2), 16);
  const parts = [1, 3, 5].map((at) => Math.round(channel(colour, at) * share + channel(ground, at) * (1 - share)));
  return `#${parts.map((part) => (part || 0).toString(16).padStart(2, "0")).join("")}`;
}
