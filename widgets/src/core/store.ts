/** The state of one explorer, and the only place where it changes. */

import type { Figure, Head, PartName, Parts } from "./document.ts";
import type { Changes, Cursor, GraphMode, Host, Store, Theme, Topic, Work } from "./panel.ts";
import { variantKey } from "./pack.ts";
import { carry } from "./diff.ts";

const NEVER = "This page shows one compilation and cannot compile again.";
const NOT_CARRIED = "This report does not carry that variant; open it in Jupyter, or make it with more variants.";

export class ExplorerStore implements Store {
  host: Host;
  parts: Partial<Parts> = {};
  coming: ReadonlySet<PartName> = new Set();
  baseline: Figure[] | null = null;
  pinned = false;
  cursor: Cursor = {};
  mode: GraphMode = "both";
  theme: Theme;
  changes: Changes = {};
  work: Work | null = null;
  failure: string | null = null;

  #listeners = new Set<(changed: ReadonlySet<Topic>) => void>();
  #pending = new Set<Topic>();
  #depth = 0;
  /** What the document was opened with: changes are told against it. */
  #opened: { options: Record<string, unknown>; rules: Map<string, boolean> } = { options: {}, rules: new Map() };
  #figures: Figure[] | null = null;
  /** The changes that the picture shows: a wish that failed falls back to them. */
  #shown: Changes = {};

  constructor(host: Host = {}, theme: Theme = "light") {
    this.host = host;
    this.theme = theme;
  }

  subscribe(listener: (changed: ReadonlySet<Topic>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Several changes, told once. */
  batch(work: () => void): void {
    this.#depth++;
    try {
      work();
    } finally {
      this.#depth--;
      this.#flush();
    }
  }

  #touch(topic: Topic): void {
    this.#pending.add(topic);
    if (!this.#depth) this.#flush();
  }

  #flush(): void {
    if (this.#depth) return;
    // A listener may change the state again: it is told in another round, at most a few deep.
    for (let round = 0; this.#pending.size && round < 8; round++) {
      const changed: ReadonlySet<Topic> = this.#pending;
      this.#pending = new Set();
      this.#depth++;
      for (const listener of [...this.#listeners]) {
        try {
          listener(changed);
        } catch (error) {
          console.error(error); // one broken panel must not take the others along
        }
      }
      this.#depth--;
    }
  }

  move(to: Partial<Cursor>): void {
    const next: Cursor = { ...this.cursor, ...to };
    if ("step" in to && to.step !== this.cursor.step) {
      if (!("rewrite" in to)) delete next.rewrite;
      if (!("reject" in to)) delete next.reject;
    }
    if (to.rewrite !== undefined && !("reject" in to)) delete next.reject;
    if (to.reject !== undefined && !("rewrite" in to)) delete next.rewrite;
    for (const key of Object.keys(next) as (keyof Cursor)[]) if (next[key] === undefined) delete next[key];
    if (same(next, this.cursor)) return;
    this.cursor = next;
    this.host.moved?.(next);
    this.#touch("cursor");
  }

  setMode(mode: GraphMode): void {
    if (mode === this.mode) return;
    this.mode = mode;
    this.#touch("mode");
  }

  setTheme(theme: Theme): void {
    if (theme === this.theme) return;
    this.theme = theme;
    this.#touch("theme");
  }

  change(changes: Changes): void {
    const wanted = this.#merged(changes);
    if (variantKey(wanted) === variantKey(this.changes) || this.refusal(changes)) return;
    this.batch(() => {
      if (!this.pinned) this.baseline = this.#figures;
      this.changes = wanted;
      this.failure = null;
      this.work = { done: 0, total: 0, text: "compiling again" };
      this.#pending.add("changes").add("work");
      this.host.change?.(wanted);
    });
  }

  ask(part: PartName): void {
    this.host.ask?.(part);
  }

  pin(): void {
    this.pinned = true;
    this.baseline = this.#figures;
    this.host.pin?.();
    this.#touch("changes");
  }

  dismiss(): void {
    this.pinned = false;
    this.baseline = null;
    this.#touch("changes");
  }

  reset(): void {
    this.batch(() => {
      this.changes = {};
      this.baseline = null;
      this.pinned = false;
      this.failure = null;
      if (this.host.reset && this.host.change) this.work = { done: 0, total: 0, text: "going back" };
      this.#pending.add("changes").add("work");
      this.host.reset?.();
    });
  }

  enabled(rule: string, node?: string): boolean {
    const fusion = this.changes.fusion ?? {};
    if (node !== undefined && `${rule}:${node}` in fusion) return fusion[`${rule}:${node}`] ?? true;
    if (rule in fusion) return fusion[rule] ?? true;
    return this.#opened.rules.get(rule) ?? true;
  }

  refusal(changes: Changes): string | null {
    if (!this.host.change) return this.host.reason ?? NEVER;
    if (this.host.canChange && !this.host.canChange(this.#merged(changes))) return this.host.reason ?? NOT_CARRIED;
    return null;
  }

  receive(parts: Partial<Parts>, coming: readonly PartName[] = []): void {
    this.batch(() => {
      const before = this.parts;
      // What follows a document that there is no more does not come.
      this.coming = new Set([...(parts.head ? [] : this.coming), ...coming].filter((name) => !parts[name]));
      this.parts = { ...before, ...parts };
      for (const name of Object.keys(parts) as PartName[]) if (parts[name] === undefined) delete this.parts[name];
      if (parts.head) this.#takeHead(parts.head, before.head);
      if (parts.rules && !this.#opened.rules.size) {
        parts.rules.name.forEach((name, i) => this.#opened.rules.set(name, parts.rules?.enabled[i] === 1));
      }
      if (before.nodes && parts.nodes) {
        this.cursor = carry(before, this.parts, this.cursor);
        this.host.moved?.(this.cursor); // what is gone is released there too
      }
      this.failure = null;
      if (parts.head) this.#shown = this.changes;
      this.#pending.add("parts");
      if (before.nodes && parts.nodes) this.#pending.add("cursor");
    });
  }

  setWork(work: Work | null): void {
    this.work = work;
    this.#touch("work");
  }

  /** The last good picture stays, and the switches stand as in it. */
  setFailure(failure: string | null): void {
    this.batch(() => {
      this.failure = failure;
      this.work = null;
      this.changes = this.#shown;
      if (this.coming.size) {
        this.coming = new Set();
        this.#pending.add("parts");
      }
      if (!this.pinned && variantKey(this.changes) === "{}") this.baseline = null;
      this.#pending.add("work").add("changes");
    });
  }

  /** Somebody else, such as Python, asked for these changes. */
  adopt(changes: Changes): void {
    if (variantKey(changes) === variantKey(this.changes)) return;
    if (!this.pinned) this.baseline = Object.keys(changes).length ? this.#figures : null;
    this.changes = changes;
    this.#touch("changes");
  }

  setBaseline(figures: Figure[] | null): void {
    this.baseline = figures;
    this.pinned = figures !== null;
    this.#touch("changes");
  }

  #takeHead(head: Head, before: Head | undefined): void {
    if (!before) this.#opened.options = head.options;
    this.#figures = head.figures;
  }

  /** The changes so far and these, without those that say what was so from the beginning. */
  #merged(changes: Changes): Changes {
    const { fusion, ...rest } = { ...this.changes, ...changes };
    const merged: Changes = {};
    for (const [option, value] of Object.entries(rest)) {
      if (value !== undefined && variantKey(value) !== variantKey(this.#opened.options[option] ?? null)) merged[option] = value;
    }
    const switches: Record<string, boolean> = {};
    for (const [rule, on] of Object.entries({ ...this.changes.fusion, ...fusion })) {
      const [name] = rule.split(":", 1) as [string];
      if (rule === name ? on !== (this.#opened.rules.get(rule) ?? true) : !on) switches[rule] = on;
    }
    if (Object.keys(switches).length) merged.fusion = switches;
    return merged;
  }
}

function same(a: Cursor, b: Cursor): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof Cursor>;
  for (const key of keys) if (a[key] !== b[key]) return false;
  return true;
}
