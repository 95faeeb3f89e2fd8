import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { inflate, unpack, variantKey } from "../src/core/pack.ts";

/** What gexplorer.views.pack writes. */
function pack(json: unknown, arrays: Uint8Array = new Uint8Array(0)): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(json));
  const begin = (8 + text.length + 7) & ~7;
  const bytes = new Uint8Array(begin + arrays.length);
  bytes.set(new TextEncoder().encode("GXP1"));
  new DataView(bytes.buffer).setUint32(4, text.length, true);
  bytes.set(text, 8);
  bytes.set(arrays, begin);
  return bytes;
}

const doubles = new Uint8Array(Float64Array.of(1.5, NaN, -2).buffer);

test("arrays come back where their places stood", () => {
  const part = unpack<{ a: Float64Array; rows: { b: Uint8Array }[]; name: string }>(
    pack({ a: { $: ["f64", 0, 3] }, rows: [{ b: { $: ["u8", 0, 2] } }], name: "x" }, doubles),
  );
  assert.deepEqual([...part.a], [1.5, NaN, -2]);
  assert.ok(part.a instanceof Float64Array);
  assert.deepEqual(part.rows[0]?.b, Uint8Array.of(0, 0));
  assert.equal(part.name, "x");
});

test("bytes that do not lie on a multiple of eight are read too", () => {
  const packed = pack({ a: { $: ["f64", 8, 2] } }, doubles);
  const shifted = new Uint8Array(packed.length + 3);
  shifted.set(packed, 3);
  assert.deepEqual([...unpack<{ a: Float64Array }>(shifted.subarray(3)).a], [NaN, -2]);
});

test("a key that begins with $ is no array", () => {
  assert.deepEqual(unpack(pack({ shapes: { $$: ["f64", 1, 2], $$$x: 1 } })), { shapes: { $: ["f64", 1, 2], $$x: 1 } });
});

test("an empty array needs no room", () => {
  assert.deepEqual(unpack(pack({ a: { $: ["i32", 64, 0] } })), { a: new Int32Array(0) });
});

test("what is cut off or foreign is refused in words", () => {
  assert.throws(() => unpack(pack({ a: { $: ["f64", 0, 3] } }, doubles.slice(0, 8))), /cut off/);
  assert.throws(() => unpack(pack({ a: { $: ["f64", -8, 1] } }, doubles)), /cut off/);
  assert.throws(() => unpack(pack({ a: { $: ["i64", 0, 1] } }, doubles)), /unknown type i64/);
  assert.throws(() => unpack(new TextEncoder().encode("PK\u0003\u0004 something")), /no part/);
  assert.throws(() => unpack(pack({ long: "x".repeat(50) }).subarray(0, 30)), /cut off/);
});

test("hostile names stay what they are", () => {
  const names = ["</script>", 'quote"', "line\nbreak", "\u202eright to left", "🜁", "__proto__"];
  assert.deepEqual(unpack(pack({ strings: names })), { strings: names });
});

test("gzip in base64 is unpacked", async () => {
  const bytes = pack({ a: 1 });
  assert.deepEqual(await inflate(gzipSync(bytes).toString("base64")), bytes);
});

test("a variant's key does not depend on the order", () => {
  assert.equal(variantKey({ memory: "safe", fusion: { b: false, a: true } }), '{"fusion":{"a":true,"b":false},"memory":"safe"}');
  assert.equal(variantKey({ shapes: { x: [1, "b"] }, soc: undefined }), '{"shapes":{"x":[1,"b"]}}');
  assert.equal(variantKey({}), "{}");
});
