/** Where the nodes of a picture are, also those inside closed containers: what has to be opened to see one. */

import type { NodeId, NodesPart, ScenesPart } from "./document.ts";
import { childPaths, instances, type Openness } from "./scene.ts";

interface Room {
  path: string;
  container: number;
  /** Which of those that are alike. */
  instance: number;
  parent: Room | null;
}

export class Places {
  #rooms: Room[] = [];
  /** By the text of a name, as all versions of a node share it: room + 1, 0 where the picture does not have it. */
  #room: Int32Array;

  constructor(
    scenes: ScenesPart,
    root: number,
    private readonly nodes: NodesPart,
  ) {
    this.#room = new Int32Array(nodes.strings.length);
    const stack: Room[] = [];
    const enter = (container: number, path: string, parent: Room | null): void => {
      const one = scenes.containers[container];
      if (!one) return;
      // Last first, so that the first is taken from the stack first.
      const alike = instances(one, container);
      for (let k = alike.length - 1; k >= 0; k--) stack.push({ path, container: alike[k], instance: k, parent });
    };
    enter(root, "", null);
    for (let room = stack.pop(); room; room = stack.pop()) {
      const container = scenes.containers[room.container];
      if (!container) continue;
      this.#rooms.push(room);
      const number = this.#rooms.length;
      const paths = childPaths(scenes, container.members, room.path);
      for (let box = 0; box < container.members.length; box++) {
        const member = container.members[box];
        if (member >= 0) {
          const name = nodes.name[member];
          if (!this.#room[name]) this.#room[name] = number;
          continue;
        }
        const path = paths.get(box);
        if (path !== undefined) enter(-1 - member, path, room);
      }
    }
  }

  has(node: NodeId): boolean {
    return this.#of(node) > 0;
  }

  #of(node: NodeId): number {
    return this.#room[this.nodes.name[node] ?? -1] ?? 0;
  }

  /** Rooms from the outermost to the one that a node is in: "" first. */
  way(node: NodeId): { path: string; container: number; instance: number }[] {
    const way: Room[] = [];
    let room: Room | null = this.#rooms[this.#of(node) - 1] ?? null;
    for (; room; room = room.parent) way.push(room);
    return way.reverse();
  }

  /** Opens what holds a node, and leafs to the right ones of those that are alike. Says whether anything changed. */
  reveal(node: NodeId, openness: Openness, isOpen: (path: string, container: number) => boolean): boolean {
    let changed = false;
    for (const room of this.way(node)) {
      if (room.path && !isOpen(room.path, room.container)) {
        openness.open.set(room.path, true);
        changed = true;
      }
      if ((openness.instance.get(room.path) ?? 0) !== room.instance) {
        openness.instance.set(room.path, room.instance);
        changed = true;
      }
    }
    return changed;
  }
}
