import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decoded } from "../src/core/base91.ts";

// Written by Python: tests/unit/render/test_base91.py holds that they are what it writes today.
const cases = JSON.parse(readFileSync("test/base91.json", "utf8")) as { bytes: number[]; text: string }[];

test("what Python wrote is read", () => {
  assert.ok(cases.length > 20);
  for (const { bytes, text } of cases) assert.deepEqual(decoded(text), Uint8Array.from(bytes));
});

test("the page's loader reads the same", () => {
  const loader = readFileSync("../gexplorer/render/loader.js", "utf8");
  const found = /const bytesOf = (\(text\) => \{.*?\n {2}\});/s.exec(loader);
  assert.ok(found);
  const bytesOf = new Function(`return ${found[1]}`)() as typeof decoded;
  for (const { bytes, text } of cases) assert.deepEqual(bytesOf(text), Uint8Array.from(bytes));
});

test("what no bytes give is refused", () => {
  for (const text of ['a"', "<<", "a\\", "&b", "aé", "a\n", "a\ud800", "~~", "aa~", " !", "  !", "a ", "aad", " ", "      "]) {
    assert.throws(() => decoded(text), /data is damaged/, text);
  }
});
