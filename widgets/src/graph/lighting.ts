/** What the cursor lights: boxes and edges of the scene. */

import type { NodeId, Parts } from "../core/document.ts";
import type { Cursor } from "../core/panel.ts";
import { rewriteNodes } from "../core/events.ts";
import { Lit, type Picture } from "./paint.ts";
import type { Stage } from "./stage.ts";

/** The node that stands in the way of the near miss at the cursor, -1. */
export function blockerOf(parts: Partial<Parts>, cursor: Cursor): NodeId {
  if (cursor.step === undefined || cursor.reject === undefined) return -1;
  return parts.steps?.steps[cursor.step]?.rejects.blocker[cursor.reject] ?? -1;
}

/** Nodes that a person would want to see for a cursor: what it frames. */
export function focusNodes(parts: Partial<Parts>, cursor: Cursor): NodeId[] {
  const { steps } = parts;
  if (cursor.step !== undefined && cursor.rewrite !== undefined && steps) {
    const { about, removed, added, changed } = rewriteNodes(steps, cursor.step, cursor.rewrite);
    // What was rewired may lie all over the graph: it is lit, but not framed where something else tells the place.
    const all = [...removed, ...added];
    return all.length ? all : changed.length ? [...changed.subarray(0, 50)] : [about];
  }
  if (cursor.step !== undefined && cursor.reject !== undefined && steps) {
    const rejects = steps.steps[cursor.step]?.rejects;
    return [rejects?.node[cursor.reject] ?? -1, rejects?.blocker[cursor.reject] ?? -1].filter((node) => node >= 0);
  }
  return cursor.node !== undefined ? [cursor.node] : [];
}

/** Sets `lit`, `litEdges` and `quiet` of a picture. */
export function light(picture: Picture, stage: Stage, parts: Partial<Parts>, cursor: Cursor, found: readonly NodeId[], hover: number): void {
  const { scene, lit, litEdges } = picture;
  const { steps, nodes, rules } = parts;
  lit.fill(0);
  litEdges.fill(0);
  const set = (node: NodeId, flag: Lit): void => {
    const box = stage.box(node);
    // An open container stands for one of those alike that is not shown: it is not lit for each of them.
    if (box >= 0 && (!scene.open[box] || scene.member[box] >= 0)) lit[box] = lit[box] | flag;
  };
  for (const node of found) set(node, Lit.Found);
  const step = cursor.step ?? (cursor.rule !== undefined && rules ? (rules.step[rules.name.indexOf(cursor.rule)] ?? -1) : -1);
  const row = steps?.steps[step];
  if (row && steps) {
    if (cursor.rewrite !== undefined) {
      const { about, removed, added, changed } = rewriteNodes(steps, step, cursor.rewrite);
      for (const list of [removed, added, changed]) for (const node of list) set(node, Lit.Rewrite);
      if (!removed.length && !added.length) set(about, Lit.Rewrite);
    }
    for (const node of row.rejects.node) set(node, Lit.Near);
    const blocker = blockerOf(parts, cursor);
    if (blocker >= 0) set(blocker, Lit.Blocker);
    if (cursor.reject !== undefined) set(row.rejects.node[cursor.reject] ?? -1, Lit.Rewrite);
  }
  if (cursor.node !== undefined) {
    set(cursor.node, Lit.Chosen);
    const inside = stage.inside(cursor.node);
    if (inside >= 0) lit[inside] = lit[inside] | Lit.Chosen;
  }
  if (cursor.value !== undefined) for (const box of stage.ends(cursor.value)) lit[box] = lit[box] | Lit.Chosen;
  const chosen = cursor.node !== undefined ? stage.box(cursor.node) : -1;
  for (let e = 0; e < scene.edges; e++) {
    const value = scene.edge_value[e];
    if (cursor.value !== undefined ? value === cursor.value : chosen >= 0 && (scene.edge_from[e] === chosen || scene.edge_to[e] === chosen)) litEdges[e] = 1;
  }
  const standing = cursor.step !== undefined && cursor.reject !== undefined ? (steps?.steps[cursor.step]?.rejects.blocker_value[cursor.reject] ?? -1) : -1;
  if (standing >= 0) {
    // A value stands in the way: its lines are lit, and where it is a stub or a constant, what reads it.
    for (let e = 0; e < scene.edges; e++) if (scene.edge_value[e] === standing) litEdges[e] = 2;
    for (let i = 0; i < scene.stubs; i++) {
      const box = scene.stub_box[i];
      if (scene.stub_value[i] === standing) lit[box] = lit[box] | Lit.Blocker;
    }
  }
  if (cursor.value !== undefined && nodes) {
    // A value that is drawn as a stub still has ends.
    for (let i = 0; i < scene.stubs; i++) {
      if (scene.stub_value[i] !== cursor.value) continue;
      const box = scene.stub_box[i];
      lit[box] = lit[box] | Lit.Found;
    }
    for (let e = 0; e < scene.edges; e++) {
      if (!litEdges[e]) continue;
      for (const box of [scene.edge_from[e], scene.edge_to[e]]) lit[box] = lit[box] | Lit.Found;
    }
  }
  if (hover >= 0) lit[hover] = lit[hover] | Lit.Hover;
  picture.quiet = found.length > 0 || cursor.rewrite !== undefined || cursor.reject !== undefined;
}
