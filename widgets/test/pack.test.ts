import assert from "node:assert/strict";
import { test } from "node:test";
import { inflate, unpack, variantKey } from "../src/core/pack.ts";

/** What gexplorer.views.pack writes, columns as bytes. */
function pack(json: unknown, types: [string, number][] = [], ...columns: Uint8Array[]): Uint8Array {
  const text = new TextEncoder().encode(`${JSON.stringify(types)}\n${JSON.stringify(json)}`);
  const chunks = [new Uint8Array(8 + text.length), ...columns];
  chunks[0]?.set(new TextEncoder().encode("GXP3"));
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
  // pack({"10": {"a": np.array([7, 5, -(2**31), 2**31 - 1])}, "9": {"a": np.array([-1])}, "n": ["é", '{"$":[0,1]}'],
  //       "u": np.array([2**32 - 1, 3], np.uint32), "f": np.array([0.5, np.inf], np.float32)})
  const text =
    "R1hQM40AAABbWyJpMzIiLDVdLFsidTMyIiwyXSxbImYzMiIsMl1dCnsiMTAiOnsiYSI6eyIkIjpbMCw0XX19LCI5Ijp7ImEiOnsiJCI6WzAsMV19fSwi" +
    "biI6WyJcdTAwZTkiLCJ7XCIkXCI6WzAsMV19Il0sInUiOnsiJCI6WzEsMl19LCJmIjp7IiQiOlsyLDJdfX0AAAAOA/YB/wAA/wD/AAD/AP8AAP8A/wAA" +
    "AAABCAAAAAAAAAAAAD8AAIB/";
  assert.deepEqual(unpack(Uint8Array.from(Buffer.from(text, "base64"))), {
    10: { a: Int32Array.of(7, 5, -(2 ** 31), 2 ** 31 - 1) },
    9: { a: Int32Array.of(-1) },
    n: ["é", '{"$":[0,1]}'],
    u: Uint32Array.of(2 ** 32 - 1, 3),
    f: Float32Array.of(0.5, Infinity),
  });
});

test("rows and texts that Python wrote are read", () => {
  // rows = [{"n": 3 * n - 5, "x": n / 4, "a": np.arange(n % 3), "long": np.arange(40) + n % 2, "s": f"node_{n} of {n * 7}",
  //          "in": {"$": n, "b": n > 4}, "__proto__": n} for n in range(16)]
  // pack({"rows": rows, "none": [{}, {}],
  //       "strings": [*("</script>", "\ud800", "0"), *(f"a{n} {100 - n}" for n in range(20))]})
  const text =
    "R1hQM4wCAABbWyJpMzIiLDE2XSxbImY2NCIsMTZdLFsiaTMyIiwxNV0sWyJpMzIiLDE2XSxbImkzMiIsODBdLFsiaTMyIiwyXSxbImkzMiIsMTZdLFsi" +
    "aTMyIiwxNl0sWyJpMzIiLDMyXSxbImkzMiIsMTZdLFsiaTMyIiwxNl0sWyJpMzIiLDIzXSxbImkzMiIsNDFdXQp7InJvd3MiOnsiJHJvd3MiOlsxNix7" +
    "Im4iOnsiJCI6WzAsMTZdfSwieCI6eyIkIjpbMSwxNl19LCJhIjp7IiRlYWNoIjpbeyIkIjpbMiwxNV19LHsiJCI6WzMsMTZdfV19LCJsb25nIjp7IiRl" +
    "YWNoIjpbeyIkIjpbNCw4MF19LHsiJCI6WzUsMl19LHsiJCI6WzYsMTZdfV19LCJzIjp7IiR0ZXh0cyI6W1sibm9kZV9cdTAwN2Ygb2YgXHUwMDdmIl0s" +
    "eyIkIjpbNywxNl19LHsiJCI6WzgsMzJdfV19LCJpbiI6eyIkcm93cyI6WzE2LHsiJCQiOnsiJCI6WzksMTZdfSwiYiI6W2ZhbHNlLGZhbHNlLGZhbHNl" +
    "LGZhbHNlLGZhbHNlLHRydWUsdHJ1ZSx0cnVlLHRydWUsdHJ1ZSx0cnVlLHRydWUsdHJ1ZSx0cnVlLHRydWUsdHJ1ZV19XX0sIl9fcHJvdG9fXyI6eyIk" +
    "IjpbMTAsMTZdfX1dfSwibm9uZSI6eyIkcm93cyI6WzIse31dfSwic3RyaW5ncyI6eyIkdGV4dHMiOltbIjwvc2NyaXB0PiIsIlx1ZDgwMCIsIlx1MDA3" +
    "ZiIsImFcdTAwN2YgXHUwMDdmIl0seyIkIjpbMTEsMjNdfSx7IiQiOlsxMiw0MV19XX19AAAAAAkGBgYGBgYGBgYGBgYGBgYAAAAAAAAAAAAAAAAAAAAA" +
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAANA/AAAAAAAA4D8AAAAAAADoPwAAAAAAAPA/AAAAAAAA9D8AAAAAAAD4" +
    "PwAAAAAAAPw/AAAAAAAAAEAAAAAAAAACQAAAAAAAAARAAAAAAAAABkAAAAAAAAAIQAAAAAAAAApAAAAAAAAADEAAAAAAAAAOQAAAAgEAAgEAAgEAAgEA" +
    "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgIDAgIDAgIDAgIDAgIDAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAksCAgICAgICAgICAgICAgICAgIC" +
    "AgICAgICAgICAgICAgICAgICAgIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABQ" +
    "AAAAAAAAAAACAQIBAgECAQIBAgECAQIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAICAgICAgICAgICAgICAh0ODg4ODg4ODg4ODg4ODg4AAAAAAAAA" +
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
    "AAAAAgICAgICAgICAgICAgICAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAICAgICAgICAgICAgICAgAAAAAA" +
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACAgIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgICAgICAgICAgICAgICAgICAqIBAQEBAQEBAQEBAQEB" +
    "AQEBAQEBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==";
  const part = unpack<{ rows: Record<string, unknown>[]; none: unknown; strings: string[] }>(Uint8Array.from(Buffer.from(text, "base64")));
  const counts = Array.from({ length: 16 }, (_, n) => n);
  const range = (length: number, from = 0): Int32Array => Int32Array.from({ length }, (_, i) => i + from);
  const wanted = counts.map((n) => ({
    n: 3 * n - 5, x: n / 4, a: range(n % 3), long: range(40, n % 2), s: `node_${n} of ${n * 7}`, in: { $: n, b: n > 4 }, ["__proto__"]: n,
  }));
  assert.deepEqual(part.rows, wanted);
  assert.deepEqual(Object.keys(part.rows[3] ?? {}), ["n", "x", "a", "long", "s", "in", "__proto__"]);
  assert.equal((part.rows[0]?.long as Int32Array).buffer, (part.rows[2]?.long as Int32Array).buffer);
  assert.deepEqual(part.none, [{}, {}]);
  assert.deepEqual(part.strings, ["</script>", "\ud800", "0", ...Array.from({ length: 20 }, (_, n) => `a${n} ${100 - n}`)]);
});

test("rows, arrays and texts that are cut off are refused", () => {
  const ints = (...numbers: number[]): Uint8Array => Uint8Array.from([0, 1, 2, 3].flatMap((plane) => numbers.map((n) => ((n << 1) >> (8 * plane)) & 255)));
  const two: [string, number][] = [["i32", 2]];
  const first = { $: [0, 2] };
  assert.deepEqual(unpack(pack({ r: { $rows: [2, { n: first }] } }, two, ints(4, 3))), { r: [{ n: 4 }, { n: 7 }] });
  assert.throws(() => unpack(pack({ r: { $rows: [3, { n: first }] } }, two, ints(4, 3))), /cut off/);
  const four: [string, number][] = [["i32", 2], ["i32", 1]];
  const second = { $: [1, 1] };
  assert.throws(() => unpack(pack({ r: { $each: [first, second] } }, four, ints(4, 3), ints(1))), /cut off/);
  assert.throws(() => unpack(pack({ r: { $each: [first, second, second] } }, [["i32", 2], ["i32", 2]], ints(4, 3), ints(2, 3))), /cut off/);
  assert.throws(() => unpack(pack({ r: { $texts: [["a\u007f"], second, first] } }, four, ints(4, 3), ints(0))), /cut off/);
  assert.throws(() => unpack(pack({ r: { $texts: [["a\u007f"], second, first] } }, four, ints(4, 3), ints(1))), /cut off/);
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

test("what Python zipped is unpacked", async () => {
  // zipped(b"a part of a report, a part of a report")
  const text = "-*E,      !Hn.[d;EQs;!/z4M_3(RIj2XBc#FGd?.}X7Q_P    ";
  assert.equal(new TextDecoder().decode(await inflate(text)), "a part of a report, a part of a report");
});

test("a variant's key does not depend on the order", () => {
  assert.equal(variantKey({ memory: "safe", fusion: { b: false, a: true } }), '{"fusion":{"a":true,"b":false},"memory":"safe"}');
  assert.equal(variantKey({ shapes: { x: [1, "b"] }, soc: undefined }), '{"shapes":{"x":[1,"b"]}}');
  assert.equal(variantKey({}), "{}");
});
