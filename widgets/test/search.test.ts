import assert from "node:assert/strict";
import { test } from "node:test";
import { Search } from "../src/core/search.ts";
import { nodesOf, valuesOf } from "./document.ts";

const nodes = nodesOf([
  { name: "/layers.0/attn/MatMul", type: "MatMul", scope: "layers.0.attn", unit: 0, bytes: 4 << 20, outputs: [0] },
  { name: "/layers.0/mlp/Gelu", type: "Gelu", scope: "layers.0.mlp", bytes: 1 << 10, body: ["Erf", "Mul"], outputs: [1] },
  { name: "MatMul", type: "MatMulBias", unit: 0 },
  { name: "</script><b>", type: "Relu" },
  { name: "/layers.0/attn/MatMul", type: "MatMulBias", scope: "layers.0.attn", unit: 0, bytes: 4 << 20, outputs: [0] },
]);
const search = new Search(nodes, valuesOf(["hidden_states", "logits"]));
const all = (query: string, alive = (): boolean => true): number[] => search.find(query, 100, alive).nodes;

test("names, types, scopes, values and operators inside are found", () => {
  assert.deepEqual(all("gelu"), [1]);
  assert.deepEqual(all("layers.0.mlp"), [1]);
  assert.deepEqual(all("logits"), [1]);
  assert.deepEqual(all("erf"), [1]);
  assert.deepEqual(all("nothing of the kind"), []);
});

test("the best comes first: what is called so", () => {
  assert.equal(all("matmul")[0], 2);
});

test("of the versions of a node one is shown, of the present step if it can be", () => {
  assert.deepEqual(all("attn", ((node: number) => node === 0) as never), [0]);
  assert.deepEqual(all("attn", ((node: number) => node === 4) as never), [4]);
});

test("words are joined by and; fields and sizes can be asked for", () => {
  assert.deepEqual(all("layers matmul"), [0]); // of two versions the one whose type is the word
  assert.deepEqual(all("type:gelu scope:mlp"), [1]);
  assert.deepEqual(all("op:erf"), [1]);
  assert.deepEqual(all("value:hidden"), [4]);
  assert.deepEqual(all("bytes>1MiB"), [4]);
  assert.deepEqual(all("bytes<2kib"), [1]);
  assert.deepEqual(all("unit:cube name:matmul").sort(), [2, 4]);
});

test("hostile texts are texts", () => {
  assert.deepEqual(all("</script>"), [3]);
  assert.deepEqual(all("(.*"), []);
});

test("a hundred thousand nodes take no time", () => {
  const many = nodesOf(Array.from({ length: 500 }, (_, i) => ({ name: `/model/layers.${i}/self_attn/q_proj/MatMul_${i}`, type: "MatMul" })));
  const large = { ...many, strings: [] as string[], name: new Int32Array(100_000), type: new Int32Array(100_000).fill(0) };
  for (let i = 0; i < 100_000; i++) {
    large.name[i] = i + 1;
    large.strings[i + 1] = `/model/layers.${i}/self_attn/q_proj/MatMul_${i}`;
  }
  large.strings[0] = "MatMul";
  for (const key of ["onnx_type", "scope", "detail"] as const) large[key] = new Int32Array(100_000);
  large.bytes = new Float64Array(100_000);
  large.unit = new Uint8Array(100_000);
  for (const key of ["inputs_at", "outputs_at", "origin_at", "body_at"] as const) large[key] = new Int32Array(100_001);
  const one = new Search(large);
  const began = process.cpuUsage();
  assert.equal(one.find("layers.99999", 10, () => true).total, 1);
  const spent = process.cpuUsage(began);
  assert.ok((spent.user + spent.system) / 1000 < 250, `${(spent.user + spent.system) / 1000} ms`);
});
