import assert from "node:assert/strict";
import { test } from "node:test";
import type { Head } from "../src/core/document.ts";
import type { Changes, Topic } from "../src/core/panel.ts";
import { ExplorerStore } from "../src/core/store.ts";
import { fromHash, fromSelection, toHash, toSelection } from "../src/core/selection.ts";
import { blocked, savingText } from "../src/core/blocked.ts";
import { Events } from "../src/core/events.ts";
import { Mark, mark, sameSteps, shown } from "../src/core/diff.ts";
import { nodesOf, rejectsOf, stepsOf, valuesOf } from "./document.ts";

const head = (kernels: number): Head => ({ options: { memory: "balanced" }, figures: [{ key: "kernels", value: kernels }] }) as unknown as Head;
const rules = { name: ["gelu", "bias"], enabled: Uint8Array.of(1, 0) } as never;

function opened(canChange?: (changes: Changes) => boolean): { store: ExplorerStore; asked: Changes[] } {
  const asked: Changes[] = [];
  const store = new ExplorerStore({ change: (changes) => asked.push(changes), reset: () => asked.push({}), ...(canChange ? { canChange } : {}) });
  store.receive({ head: head(84), rules, steps: stepsOf([{}, {}]), nodes: nodesOf([{ name: "a" }, { name: "b" }]), values: valuesOf(["v"]) });
  return { store, asked };
}

test("a listener hears what changed, once, and not what did not", () => {
  const { store } = opened();
  const heard: Topic[][] = [];
  store.subscribe((changed) => heard.push([...changed]));
  store.move({ node: 1 });
  store.move({ node: 1 });
  store.setMode("both");
  store.setMode("after");
  store.batch(() => {
    store.move({ step: 1 });
    store.setTheme("dark");
  });
  assert.deepEqual(heard, [["cursor"], ["mode"], ["cursor", "theme"]]);
});

test("a broken listener does not silence the others", () => {
  const { store } = opened();
  const log = console.error;
  console.error = () => {};
  let heard = 0;
  store.subscribe(() => {
    throw new Error("broken");
  });
  store.subscribe(() => heard++);
  store.move({ node: 0 });
  console.error = log;
  assert.equal(heard, 1);
});

test("another step releases the rewrite, a near miss takes its place", () => {
  const { store } = opened();
  store.move({ step: 0, rewrite: 3, node: 1 });
  store.move({ step: 1 });
  assert.deepEqual(store.cursor, { step: 1, node: 1 });
  store.move({ rewrite: 1 });
  store.move({ reject: 0 });
  assert.deepEqual(store.cursor, { step: 1, node: 1, reject: 0 });
  store.move({ reject: undefined, node: undefined });
  assert.deepEqual(store.cursor, { step: 1 });
});

test("changes add up, and what is as it was falls out", () => {
  const { store, asked } = opened();
  store.change({ fusion: { gelu: false } });
  store.change({ memory: "safe" });
  store.change({ fusion: { bias: true } });
  assert.deepEqual(store.changes, { memory: "safe", fusion: { gelu: false, bias: true } });
  assert.equal(store.enabled("gelu"), false);
  assert.equal(store.enabled("bias"), true);
  store.change({ fusion: { gelu: true, bias: false }, memory: "balanced" });
  assert.deepEqual(store.changes, {});
  assert.equal(asked.length, 4);
  store.change({ fusion: { gelu: true } });
  assert.equal(asked.length, 4, "what is so already is not asked for");
});

test("a single match is turned off and on again", () => {
  const { store } = opened();
  store.change({ fusion: { "gelu:a": false } });
  assert.equal(store.enabled("gelu", "a"), false);
  assert.equal(store.enabled("gelu", "b"), true);
  store.change({ fusion: { "gelu:a": true } });
  assert.deepEqual(store.changes, {});
});

test("after a change the old figures stay beside the new ones, until dismissed or pinned", () => {
  const { store } = opened();
  store.change({ fusion: { gelu: false } });
  store.receive({ head: head(100) });
  assert.equal(store.baseline?.[0]?.value, 84);
  store.pin();
  store.change({ fusion: { bias: true } });
  store.receive({ head: head(120) });
  store.change({ memory: "safe" });
  store.receive({ head: head(130) });
  assert.equal(store.baseline?.[0]?.value, 100, "pinned: what was pinned");
  store.dismiss();
  assert.equal(store.baseline, null);
});

test("a wish that failed falls back to what is shown", () => {
  const { store } = opened();
  store.change({ fusion: { gelu: false } });
  store.receive({ head: head(100) });
  store.change({ memory: "impossible" });
  store.setFailure("no such mode");
  assert.deepEqual(store.changes, { fusion: { gelu: false } });
  assert.equal(store.failure, "no such mode");
  assert.equal(store.work, null);
});

test("changes that Python asked for are told like one's own", () => {
  const { store, asked } = opened();
  store.adopt({ fusion: { gelu: false } });
  store.receive({ head: head(100) });
  assert.equal(store.enabled("gelu"), false);
  assert.equal(store.baseline?.[0]?.value, 84);
  assert.deepEqual(asked, []);
  store.adopt({});
  assert.equal(store.baseline, null);
});

test("what the host cannot do is refused with a reason", () => {
  const { store, asked } = opened((changes) => !("memory" in changes));
  assert.match(store.refusal({ memory: "safe" }) ?? "", /does not carry/);
  assert.equal(store.refusal({ fusion: { gelu: false } }), null);
  store.change({ memory: "safe" });
  assert.deepEqual(asked, []);
  assert.match(new ExplorerStore().refusal({ memory: "safe" }) ?? "", /cannot compile/);
});

test("the cursor finds its node again in another document", () => {
  const { store } = opened();
  store.move({ node: 1, step: 1 });
  store.receive({ nodes: nodesOf([{ name: "new" }, { name: "c" }, { name: "b" }]), steps: stepsOf([{ name: "step_1" }]) });
  assert.deepEqual(store.cursor, { step: 0, node: 2 });
  store.receive({ nodes: nodesOf([{ name: "c" }]) });
  assert.equal(store.cursor.node, undefined);
});

test("rewrite, near miss and position are found again by their nodes, though a rule that is off has no step any more", () => {
  const { store } = opened();
  const nodes = nodesOf([{ name: "a" }, { name: "b" }, { name: "c" }]);
  const rewrites = (...node: number[]): never => ({ node: Int32Array.from(node) }) as never;
  const steps = stepsOf([{ name: "gone" }, { name: "kept", rewrites: rewrites(0, 2), rejects: rejectsOf([[0, -1, 0, 0], [1, -1, 0, 1]]) }], ["at a", "at b"]);
  const memory = { order: Int32Array.of(0, 2, 1) } as never;
  store.receive({ nodes, steps, memory });
  // Another order of nodes, of rewrites, of near misses and of the program.
  const next = {
    nodes: nodesOf([{ name: "c" }, { name: "b" }, { name: "new" }]),
    steps: stepsOf([{ name: "kept", rewrites: rewrites(2, 0), rejects: rejectsOf([[1, -1, 0, 1]]) }], ["", "at b"]),
    memory: { order: Int32Array.of(1, 0) } as never,
  };
  store.move({ step: 1, rewrite: 1, position: 2 });
  store.receive(next);
  assert.deepEqual(store.cursor, { step: 0, rewrite: 1, position: 0 });
  store.receive({ nodes, steps, memory });
  store.move({ step: 1, reject: 1, position: 0 });
  store.receive(next);
  assert.deepEqual(store.cursor, { step: 0, reject: 0 }, "position 0 was of a node that is gone");
  store.receive({ nodes, steps, memory });
  store.move({ step: 1, rewrite: 0 });
  store.receive(next);
  assert.deepEqual(store.cursor, { step: 0 }, "nothing rewrites that node any more");
});

test("steps of one name are told apart by their order", () => {
  const before = stepsOf(["a", "b", "a", "a"].map((name) => ({ name })));
  const after = stepsOf(["b", "a", "a"].map((name) => ({ name })));
  assert.deepEqual([...sameSteps(before, after)], [[0, 1], [1, 0], [2, 2]]);
  assert.deepEqual([...sameSteps(undefined, after)], []);
});

test("a selection goes through the address bar unharmed", () => {
  const { store } = opened();
  const parts = { ...store.parts, nodes: nodesOf([{ name: "a&b=c #1/</script>" }, { name: "б\n" }]) };
  for (const cursor of [{ step: 1, node: 0 }, { node: 1, value: 0, rule: "gelu" }, {}]) {
    assert.deepEqual(fromSelection(fromHash(`#${toHash(toSelection(cursor, parts))}`), parts), cursor);
  }
});

test("what the document does not have is no selection", () => {
  const { parts } = opened().store;
  assert.deepEqual(fromSelection(fromHash("#step=99&node=zz&rewrite=4&bad=%E0%A4%A&=&x"), parts), {});
  assert.deepEqual(fromSelection(fromHash("#step=step_1"), parts), { step: 1 });
});

test("marks follow the status", () => {
  assert.deepEqual([1, 2, 3, 7, 5].map(mark), [Mark.Removed, Mark.Added, Mark.Same, Mark.Changed, Mark.Removed]);
  assert.deepEqual([shown(1, "after"), shown(2, "after"), shown(1, "before"), shown(0, "both")], [false, true, true, false]);
});

test("what a rule would save counts a blocker once and what has a cure first, and is said with HBM's part", () => {
  const nodes = nodesOf([{ name: "r1", type: "Reshape" }, { name: "r2", type: "Reshape" }, { name: "t", type: "Transpose" }]);
  const steps = stepsOf(
    [{ rejects: rejectsOf([[0, 0, 100, 0], [1, 1, 50, 1], [2, 0, 70, 2]]) }, { rejects: rejectsOf([[2, 2, NaN, 4], [2, 2, 900, 5, -1]]) }, { rejects: rejectsOf([[0, 2, 30, 3, -1], [1, 1, 20, 2]]) }, {}],
    ["p0", "p1", "p2", "p3", "p4", "p5"],
  );
  const found = blocked(steps, nodes);
  assert.deepEqual(
    found.map(({ step, type, blockers, bytes, curable }) => [step, type, blockers, bytes, curable]),
    [[0, "Reshape", 2, 150, 3], [2, "", 2, 50, 1], [1, "Transpose", 1, 900, 0]],
  );
  assert.deepEqual(found.map(({ places }) => places), [[0, 2, 1], [1, 0], [1]]);
  const text = (bytes: number, hbm: number): string => savingText({ bytes, hbm });
  assert.equal(text(9, 4), "up to 9 B of memory traffic, 4 B of it HBM’s");
  assert.equal(text(9, 0), "up to 9 B of memory traffic, none of it HBM’s (L2 holds it)");
  assert.equal(text(9, NaN), "up to 9 B of memory traffic");
});

test("every step that looked at a node is told, versions being one", () => {
  const nodes = nodesOf([{ name: "a" }, { name: "a" }, { name: "b" }]);
  const i32 = Int32Array;
  const rewrites = { node: i32.of(1), reason: i32.of(0), removed_at: i32.of(0, 1), removed: i32.of(2), added_at: i32.of(0, 0), added: i32.of(), changed_at: i32.of(0, 1), changed: i32.of(1) };
  const events = new Events(stepsOf([{ rejects: rejectsOf([[0, 2, 5, 0]]) }, { rewrites }], ["p"]), nodes);
  assert.deepEqual(events.of(0), [
    { step: 0, kind: "reject", row: 0, role: "about" },
    { step: 1, kind: "rewrite", row: 0, role: "changed" },
  ]);
  assert.deepEqual(events.of(2).map((event) => event.role), ["blocker", "removed"]);
});

test("another document keeps what the cursor is at by name, releases what is gone, and tells the page around", () => {
  const { store } = opened();
  const told: string[] = [];
  store.host.moved = (cursor) => told.push(toHash(toSelection(cursor, store.parts)));
  store.move({ node: 1, value: 0 });
  store.receive({ nodes: nodesOf([{ name: "new" }, { name: "a" }, { name: "b" }]), values: valuesOf(["w", "v"]) });
  assert.deepEqual(store.cursor, { node: 2, value: 1 });
  store.receive({ nodes: nodesOf([{ name: "a" }]), values: valuesOf(["v"]) });
  assert.deepEqual(store.cursor, { value: 0 });
  assert.deepEqual(told, ["node=b&value=v", "node=b&value=v", "value=v"]);
});

test("what is on its way is so until it comes, or until another document, or a failure, says otherwise", () => {
  const { store } = opened();
  store.receive({ head: head(100), log: undefined }, ["log", "tiling"]);
  assert.deepEqual([...store.coming], ["log", "tiling"]);
  store.receive({ log: { lines: [] } as never });
  assert.deepEqual([...store.coming], ["tiling"]);
  store.receive({ head: head(120) }, ["log"]);
  assert.deepEqual([...store.coming], ["log"]);
  store.setFailure("it broke");
  assert.deepEqual([...store.coming], []);
});
