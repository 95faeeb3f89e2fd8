/** The kernels that differ, beside a picture of one: chosen here or by the cursor, with words where it is not among them. */

import type { Cursor, Store } from "../core/panel.ts";
import { count } from "../core/units.ts";
import { all, Table, type Column } from "./table.ts";
import { becomes } from "./versions.ts";

export interface Listed {
  readonly name: number; // Text
  readonly type: number; // Text
  readonly alike: Int32Array; // NodeIds
}

export class KernelList {
  readonly table: Table;
  /** Row that is shown. */
  chosen = 0;
  /** A node is chosen elsewhere that no listed kernel is. */
  astray = false;
  #kernels: readonly Listed[] = [];

  constructor(
    private readonly store: Store,
    private readonly shown: () => void,
  ) {
    this.table = new Table("Kernels", { choose: (row) => this.#choose(row) }, "No kernel is listed.");
  }

  get element(): HTMLElement {
    return this.table.element;
  }

  destroy(): void {
    this.table.destroy();
  }

  /** Other kernels. What is shown stays by the name of its first node; else it is the first that `preferred` names. */
  set(kernels: readonly Listed[], strings: readonly string[], columns: readonly Column[], preferred = 0): void {
    const before = this.#name;
    this.#kernels = kernels;
    const name = (row: number): string => strings[kernels[row].name];
    const kept = kernels.findIndex((_, row) => name(row) === before);
    this.chosen = Math.max(0, kept < 0 ? Math.min(preferred, kernels.length - 1) : kept);
    this.#strings = strings;
    this.table.set(
      [
        { title: "kernel", hint: "Its first node, and how many nodes have the same kernel", width: "minmax(7em, 2fr)", text: (row) => name(row) + (kernels[row].alike.length > 1 ? ` × ${count(kernels[row].alike.length)}` : ""), key: name },
        { title: "type", word: true, spare: 1, width: "minmax(7em, 1.2fr)", text: (row) => strings[kernels[row].type], key: (row) => strings[kernels[row].type] },
        ...columns,
      ],
      all(kernels.length),
    );
    this.#remember();
  }

  #strings: readonly string[] = [];
  #name = "";

  /** Follows the cursor; says whether another kernel is shown now, or the words about it are others. */
  follow({ node }: Cursor): boolean {
    const before = [this.chosen, this.astray];
    if (node === undefined) this.astray = false;
    else {
      const is = becomes(this.store.parts.nodes, node);
      const found = this.#kernels[this.chosen]?.alike.some(is) ? this.chosen : this.#kernels.findIndex((kernel) => kernel.alike.some(is));
      this.astray = found < 0;
      if (found >= 0) this.chosen = found;
      this.#remember();
    }
    return before[0] !== this.chosen || before[1] !== this.astray;
  }

  #choose(row: number): void {
    this.chosen = row;
    this.astray = false;
    this.#remember();
    this.shown();
    const alike = this.#kernels[row]?.alike;
    const node = alike?.find((one) => one >= 0);
    const { node: now } = this.store.cursor;
    if (node !== undefined && !(now !== undefined && alike?.includes(now))) this.store.move({ node, value: undefined, position: undefined });
  }

  #remember(): void {
    this.table.select(this.chosen);
    const kernel = this.#kernels[this.chosen];
    this.#name = kernel ? this.#strings[kernel.name] : "";
  }
}
