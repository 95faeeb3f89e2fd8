import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { inflate, unpack, variantKey } from "../src/core/pack.ts";

/** What gexplorer.views.pack writes, columns as bytes. */
function pack(json: unknown, types: [string, number][] = [], ...columns: Uint8Array[]): Uint8Array {
  const text = new TextEncoder().encode(`${JSON.stringify(types)}\n${JSON.stringify(json)}`);
  const chunks = [new Uint8Array(8 + text.length), ...columns];
  chunks[0]?.set(new TextEncoder().encode("GXP2"));
  new DataView((chunks[0] as Uint8Array).buffer).setUint32(4, text.length, true);
  chunks[0]?.set(text, 8);
  return Uint8Array.from(chunks.flatMap((chunk) => [...chunk, ...new Uint8Array(-chunk.length & 7)]));
}

const doubles = new Uint8Array(Float64Array.of(1.5, NaN, -2).buffer);

test("arrays come back where their places stood", () => {
  const part = unpack<{ a: Float64Array; rows: { b: Uint8Array }[]; name: string }>(
    pack({ a: { $: [0, 3] }, rows: [{ b: { $: [1, 2] } }], name: "x" }, [["f64", 3], ["u8", 2]], doubles, Uint8Array.of(7, 9)),
  );
  assert.deepEqual([...part.a], [1.5, NaN, -2]);
  assert.ok(part.a instanceof Float64Array);
  assert.deepEqual(part.rows[0]?.b, Uint8Array.of(7, 9));
  assert.equal(part.name, "x");
});

test("what Python wrote is read", () => {
  // pack({"10": {"a": np.array([7, 5, -(2**31), 2**31 - 1])}, "9": [{"a": np.array([-1])}], "n": ["é", '{"$":[0,1]}'],
  //       "u": np.array([2**32 - 1, 3], np.uint32), "f": np.array([0.5, np.inf], np.float32)})
  const text =
    "R1hQMo8AAABbWyJpMzIiLDVdLFsidTMyIiwyXSxbImYzMiIsMl1dCnsiMTAiOnsiYSI6eyIkIjpbMCw0XX19LCI5IjpbeyJhIjp7IiQiOlswLDFdfX1d" +
    "LCJuIjpbIlx1MDBlOSIsIntcIiRcIjpbMCwxXX0iXSwidSI6eyIkIjpbMSwyXX0sImYiOnsiJCI6WzIsMl19fQAH/vv/AAD///8AAP///wAA/3//gAAA" +
    "AAD/BP8A/wD/AAAAAD8AAIB/";
  assert.deepEqual(unpack(Uint8Array.from(Buffer.from(text, "base64"))), {
    10: { a: Int32Array.of(7, 5, -(2 ** 31), 2 ** 31 - 1) },
    9: [{ a: Int32Array.of(-1) }],
    n: ["é", '{"$":[0,1]}'],
    u: Uint32Array.of(2 ** 32 - 1, 3),
    f: Float32Array.of(0.5, Infinity),
  });
});

test("bytes that do not lie on a multiple of eight are read too", () => {
  const packed = pack({ a: { $: [0, 3] } }, [["f64", 3]], doubles);
  const shifted = new Uint8Array(packed.length + 3);
  shifted.set(packed, 3);
  assert.deepEqual([...unpack<{ a: Float64Array }>(shifted.subarray(3)).a], [1.5, NaN, -2]);
});

test("a key that begins with $ is no array", () => {
  assert.deepEqual(unpack(pack({ shapes: { $$: [0, 2], $$$x: 1 } })), { shapes: { $: [0, 2], $$x: 1 } });
});

test("an empty array needs no room", () => {
  assert.deepEqual(unpack(pack({ a: { $: [0, 0] } }, [["i32", 0]])), { a: new Int32Array(0) });
});

test("what is cut off or foreign is refused in words", () => {
  const three: [string, number][] = [["f64", 3]];
  assert.throws(() => unpack(pack({ a: { $: [0, 3] } }, three, doubles.slice(0, 8))), /cut off/);
  assert.throws(() => unpack(pack({ a: { $: [0, 2] } }, three, doubles)), /cut off/);
  assert.throws(() => unpack(pack({ a: { $: [0, 4] } }, three, doubles)), /cut off/);
  assert.throws(() => unpack(pack({ a: { $: [1, 3] } }, three, doubles)), /cut off/);
  assert.throws(() => unpack(pack({ a: { $: [0, 1] } }, [["i64", 1]], doubles)), /unknown type i64/);
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
