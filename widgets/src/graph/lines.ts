/** Draws what flows between boxes: edges, and stubs where they are not drawn through. */

import { INNER, shown } from "../core/diff.ts";
import { MOST_STUBS, STUB_LENGTH, stubOffset, stubsShown } from "../core/stubs.ts";
import { shortestEdge } from "../core/lod.ts";
import type { Palette } from "../core/palette.ts";
import type { Scene } from "../core/scene.ts";
import type { Picture } from "./paint.ts";

export class Lines {
  constructor(private readonly context: CanvasRenderingContext2D) {}

  edges(picture: Picture, palette: Palette, left: number, top: number, right: number, bottom: number, k: number): void {
    const { context } = this;
    const { scene, index, litEdges } = picture;
    index.edges.query(left, top, right, bottom);
    const { hits, found } = index.edges;
    const least = shortestEdge(found, k) / k;
    const straight = k < 0.36;
    const dim = picture.quiet || (scene.differs && picture.mode === "both");
    // One path a kind of edge: unchanged, removed, added, lit, standing in the way.
    for (let kind = 0; kind < 5; kind++) {
      context.beginPath();
      let any = false;
      for (let n = 0; n < found; n++) {
        const e = hits[n];
        const status = scene.edge_status[e];
        if (!shown(status, picture.mode)) continue;
        const which = kindOf(status, litEdges[e]);
        if (which !== kind) continue;
        if (least && kind === 0) {
          const height = index.edges.bottom[e] - index.edges.top[e];
          if (height < least * 6 && index.edges.right[e] - index.edges.left[e] < least * 6) continue;
        }
        this.#route(scene, e, straight);
        any = true;
      }
      if (!any) continue;
      const width = kind >= 3 ? 2.2 : kind ? 1.7 : 1.15;
      context.lineWidth = Math.max(width, (kind ? 1.2 : 0.7) / k);
      context.strokeStyle = [dim ? palette.line : palette["line-strong"], palette.removed, palette.added, palette.accent, palette.near][kind];
      context.setLineDash(kind === 1 ? [5, 4] : []);
      context.stroke();
      context.setLineDash([]);
      if (!straight && k > 0.5) this.#arrows(picture, kind, context.strokeStyle);
    }
  }

  #route(scene: Scene, e: number, straight: boolean): void {
    const { context } = this;
    const { route } = scene;
    const from = scene.route_at[e];
    const to = scene.route_at[e + 1];
    let x = route[2 * from];
    let y = route[2 * from + 1];
    context.moveTo(x, y);
    for (let i = from + 1; i < to; i++) {
      const nx = route[2 * i];
      const ny = route[2 * i + 1];
      if (straight || nx === x) context.lineTo(nx, ny);
      else {
        const half = (ny - y) * 0.5;
        context.bezierCurveTo(x, y + half, nx, ny - half, nx, ny);
      }
      x = nx;
      y = ny;
    }
  }

  #arrows(picture: Picture, kind: number, colour: string): void {
    const { context } = this;
    const { scene, index, litEdges } = picture;
    const { hits, found } = index.edges;
    context.beginPath();
    for (let n = 0; n < found; n++) {
      const e = hits[n];
      const status = scene.edge_status[e];
      if (!shown(status, picture.mode)) continue;
      const which = kindOf(status, litEdges[e]);
      if (which !== kind) continue;
      const end = 2 * (scene.route_at[e + 1] - 1);
      const x = scene.route[end];
      const y = scene.route[end + 1];
      context.moveTo(x, y);
      context.lineTo(x - 3.2, y - 6);
      context.lineTo(x + 3.2, y - 6);
      context.closePath();
    }
    context.fillStyle = colour;
    context.fill();
  }

  /** Something comes in or goes out that is not drawn through: a short line with a dot. */
  stubs(picture: Picture, palette: Palette, k: number): void {
    const { context } = this;
    const { scene } = picture;
    if (!stubsShown(scene, k)) return;
    context.beginPath();
    for (let i = 0; i < scene.stubs; i++) {
      const box = scene.stub_box[i];
      if (scene.stub_nth[i] >= MOST_STUBS || !shown(scene.status[box], picture.mode)) continue;
      const [dx, dy] = stubOffset(scene, i);
      const x = picture.x[box] + dx;
      const y = picture.y[box] + dy;
      const tip = y + Math.sign(dy) * STUB_LENGTH;
      context.moveTo(x, y);
      context.lineTo(x, tip);
      context.moveTo(x + 2, tip);
      context.arc(x, tip, 2, 0, 6.3);
    }
    context.lineWidth = 1.1;
    context.strokeStyle = palette["line-strong"];
    context.stroke();
    const { litStub } = picture;
    if (litStub < 0 || litStub >= scene.stubs) return;
    const box = scene.stub_box[litStub];
    const [dx, dy] = stubOffset(scene, litStub);
    context.beginPath();
    context.arc(picture.x[box] + dx, picture.y[box] + dy + Math.sign(dy) * STUB_LENGTH, 4, 0, 6.3);
    context.fillStyle = palette.accent;
    context.fill();
  }
}

/** 0 unchanged, 1 removed, 2 added, 3 lit, 4 standing in the way. */
function kindOf(status: number, lit: number): number {
  if (lit) return 2 + lit;
  if (status & INNER) return 0;
  return (status & 3) === 1 ? 1 : (status & 3) === 2 ? 2 : 0;
}
