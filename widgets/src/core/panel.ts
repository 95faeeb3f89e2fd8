/** What the parts of the screen know of each other: one cursor, one document, one way to ask for a change. */

import type { Figure, NodeId, PartName, Parts, ValueId } from "./document.ts";

/** What is chosen, everywhere at once. `undefined` means nothing of that kind. */
export interface Cursor {
  step?: number;
  rewrite?: number; // of the step
  reject?: number; // of the step
  node?: NodeId;
  value?: ValueId;
  rule?: string;
  /** Position in program order. */
  position?: number;
}

/** What a person asks to be different; merged into the options of the compilation. */
export interface Changes {
  fusion?: Record<string, boolean>; // "rule" or "rule:node"
  memory?: string;
  soc?: string;
  tiling_mode?: string;
  preset?: string;
  shapes?: Record<string, (number | string)[]>;
  [option: string]: unknown;
}

export type Theme = "light" | "dark";
export type GraphMode = "before" | "after" | "both";

/** What the page around the explorer can do: a kernel, a report with variants, or nothing but show. */
export interface Host {
  /** Asks for another compilation; the newest wish wins. Absent where nothing can be changed. */
  change?(changes: Changes): void;
  /** Can this change be shown? A report can only show what it carries. */
  canChange?(changes: Changes): boolean;
  /** Asks for a part that is computed on demand (planners, tiling, a template). */
  ask?(part: PartName): void;
  /** Puts the present document aside to compare with. */
  pin?(): void;
  reset?(): void;
  /** Told when the cursor moved: the address bar, or a traitlet. */
  moved?(cursor: Cursor): void;
  /** Why nothing (or not this) can be changed here, in a sentence; shown beside what is grey. */
  readonly reason?: string;
}

/** Work in progress, shown as a thin bar; null when there is none. */
export interface Work {
  done: number;
  total: number;
  text: string;
}

/** The state of one explorer. Panels read it, and call the methods; they never write it. */
export interface Store {
  readonly host: Host;
  readonly parts: Partial<Parts>;
  /** Parts that belong to this document and are on their way: whoever shows the old ones says so until then. */
  readonly coming: ReadonlySet<PartName>;
  /** Figures of the baseline that is pinned, or of the last document before a change. */
  readonly baseline: Figure[] | null;
  readonly cursor: Cursor;
  readonly mode: GraphMode;
  readonly theme: Theme;
  readonly changes: Changes; // since the document was opened
  readonly work: Work | null;
  readonly failure: string | null;
  /** Moves the cursor; fields left out stay, `undefined` releases. */
  move(to: Partial<Cursor>): void;
  setMode(mode: GraphMode): void;
  setTheme(theme: Theme): void;
  change(changes: Changes): void;
  ask(part: PartName): void;
  /** Keeps the figures of now to compare with, until dismissed. */
  pin(): void;
  /** Compares with nothing any more. */
  dismiss(): void;
  /** Back to the options the document was opened with. */
  reset(): void;
  /** Is this rule on, with the changes that were asked for? */
  enabled(rule: string, node?: string): boolean;
  /** `null` where the host can do this, else the reason why it cannot, to be shown beside what is grey. */
  refusal(changes: Changes): string | null;
  /** New parts have come (already decoded), `undefined` for those that are gone; others are on their way. */
  receive(parts: Partial<Parts>, coming?: readonly PartName[]): void;
  /** Called after every change with what changed: "cursor", "parts", "mode", "theme", "work". Returns the way to stop. */
  subscribe(listener: (changed: ReadonlySet<Topic>) => void): () => void;
}
export type Topic = "cursor" | "parts" | "mode" | "theme" | "work" | "changes";

/** A tab below, or a small widget by itself. */
export interface Panel {
  /** Draws again what the topics touch. */
  update(changed: ReadonlySet<Topic>): void;
  /** The element has another size. */
  resize(): void;
  destroy(): void;
}
export interface PanelKind {
  name: string; // memory, schedule, traffic, roofline, tiling, time, rules, log
  title: string;
  /** Parts that it reads. */
  needs: PartName[];
  mount(element: HTMLElement, store: Store): Panel;
}
