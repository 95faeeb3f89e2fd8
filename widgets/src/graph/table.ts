/** The visible nodes as a table: what a screen reader reads in place of the canvas; can be shown too. */

import type { Store } from "../core/panel.ts";
import { mark, shown } from "../core/diff.ts";
import { MARK_WORDS } from "../core/glyphs.ts";
import { fill, focused, h } from "../shell/dom.ts";
import { count } from "../core/units.ts";
import type { GraphView } from "./view.ts";

const MOST = 200;
const IDLE = 300;

export class NodeTable {
  readonly element = h("div", { class: "gx-hidden" });
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: Store,
    private readonly view: GraphView,
  ) {}

  destroy(): void {
    clearTimeout(this.#timer);
  }

  /** Shows or hides it. */
  toggle(): boolean {
    const show = this.element.className === "gx-hidden";
    this.element.className = show ? "gx-node-table" : "gx-hidden";
    this.#write();
    return show;
  }

  /** Written when nothing has moved for a moment: it costs nothing while panning. */
  changed(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#write(), IDLE);
  }

  /** Chooses or opens a box, wherever it is by now. */
  #press(member: number): void {
    const { scene } = this.view.stage;
    const box = scene.member.indexOf(member);
    if (box < 0) return;
    if (scene.path[box] && member < 0) this.view.open(box);
    else this.view.choose(box);
  }

  #write(): void {
    const { stage, camera, labels } = this.view;
    const { scene, index } = stage;
    const { nodes } = this.store.parts;
    if (!nodes) return;
    const [left, top] = camera.world(0, 0);
    const [right, bottom] = camera.world(camera.width, camera.height);
    const found = [...index.boxes.hits.subarray(0, index.boxes.query(left, top, right, bottom))];
    const visible = found.filter((i) => shown(scene.status[i], this.store.mode)).sort((a, b) => scene.y[a] - scene.y[b] || scene.x[a] - scene.x[b]);
    this.view.canvas.setAttribute("aria-label", `Graph: ${count(visible.length)} of ${count(scene.count)} boxes visible; a table of them follows`);
    const rows = visible.slice(0, MOST).map((i) => {
      const member = scene.member[i];
      const name = member >= 0 ? (nodes.strings[nodes.name[member]] ?? "") : "";
      const end = scene.end[i];
      const press = (): void => this.#press(member);
      const hidden = this.element.className === "gx-hidden";
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, h("button", { class: "gx-link", type: "button", "data-member": member, tabindex: hidden ? "-1" : "0", onclick: press, text: labels.full(i) })),
        h("td", { text: name }),
        h("td", { text: end >= 0 ? labels.says(i) : member >= 0 ? (nodes.strings[nodes.detail[member]] ?? "") : labels.times(i) }),
        h("td", { text: MARK_WORDS[mark(scene.status[i])] ?? "" }),
      );
    });
    const head = h("tr", {}, ...["Type", "Name", "Output", "This step"].map((text) => h("th", { scope: "col", text })));
    const caption = visible.length > MOST ? `The first ${MOST} of ${count(visible.length)} visible boxes` : "Visible boxes";
    const active = focused(this.element);
    const held = active instanceof HTMLElement && this.element.contains(active) ? active.dataset.member : undefined;
    fill(this.element, h("table", {}, h("caption", { text: caption }), h("thead", {}, head), h("tbody", {}, ...rows)));
    // Whoever goes through the rows by key stays in them.
    if (held !== undefined) (this.element.querySelector<HTMLElement>(`[data-member="${held}"]`) ?? this.element.querySelector("button"))?.focus({ preventScroll: true });
  }
}
