import assert from "node:assert/strict";
import { test } from "node:test";
import { apart, byteTicks, linear, logarithmic, logTicks, ticks, timeTicks } from "../src/tabs/scale.ts";
import { visible } from "../src/tabs/table.ts";
import { dragged, gripAt } from "../src/tabs/minimap.ts";
import { isWhole, panned, rescaled, showing, zoomed } from "../src/tabs/window.ts";

const whole = { low: 0, high: 100 };

test("a scale and its inverse agree, also upwards and on a logarithmic axis", () => {
  const up = linear({ low: 10, high: 30 }, 200, 0);
  assert.equal(up.to(10), 200);
  assert.equal(up.to(30), 0);
  assert.equal(up.from(up.to(17.5)), 17.5);
  const log = logarithmic({ low: 1, high: 1000 }, 0, 300);
  assert.equal(log.to(10), 100);
  assert.ok(Math.abs(log.from(log.to(42)) - 42) < 1e-9);
});

test("ticks are round, inside the range, and about as many as wanted", () => {
  assert.deepEqual(ticks({ low: 0, high: 95 }, 5), [0, 20, 40, 60, 80]);
  assert.deepEqual(ticks({ low: 3.2, high: 4.1 }, 4, true), [4]);
  for (const high of [7, 93, 1234, 99999, 3e9]) {
    const found = ticks({ low: 0, high }, 8);
    assert.ok(found.length >= 4 && found.length <= 9, `${high}: ${found.length}`);
    assert.ok(found.every((tick) => tick >= 0 && tick <= high));
  }
});

test("ticks of bytes are powers of two apart", () => {
  const mib = 2 ** 20;
  assert.deepEqual(byteTicks({ low: 0, high: 2.4 * mib }, 3), [0, mib, 2 * mib]);
  const step = byteTicks({ low: 0, high: 7e9 }, 6)[1];
  assert.equal(Math.log2(step) % 1, 0);
  assert.deepEqual(byteTicks({ low: 0, high: 0.5 }, 4), [0]);
});

test("two neighbouring ticks of time never read the same", () => {
  for (const [low, high] of [[0, 1130], [1130.1, 1130.2], [0, 0.004], [5e6, 6e6]]) {
    const { values, text } = timeTicks({ low, high }, 6);
    assert.equal(new Set(values.map(text)).size, values.length, `${low} to ${high}: ${values.map(text)}`);
  }
  assert.equal(timeTicks({ low: 0, high: 1130 }, 6).text(200), "0.2 ms");
});

test("logarithmic ticks are powers of ten, and more where there are few", () => {
  assert.deepEqual(logTicks({ low: 0.5, high: 2000 }), [1, 10, 100, 1000]);
  assert.deepEqual(logTicks({ low: 1.5, high: 7 }), [2, 5]);
});

test("places are moved apart and stay inside", () => {
  assert.deepEqual(apart([10, 12, 40], 13, 0, 100), [10, 23, 40]);
  assert.deepEqual(apart([95, 97], 13, 0, 100), [87, 100]);
});

test("zooming keeps the point under the mouse, and never leaves the whole", () => {
  const view = zoomed(whole, 25, 0.5, whole, 1);
  assert.deepEqual(view, { low: 12.5, high: 62.5 });
  assert.deepEqual(zoomed(view, 25, 1e6, whole, 1), whole);
  const least = zoomed(view, 99, 1e-9, whole, 4);
  assert.ok(Math.abs(least.high - least.low - 4) < 1e-9 && least.high <= 100);
});

test("panning stops at the ends", () => {
  assert.deepEqual(panned({ low: 10, high: 30 }, -50, whole), { low: 0, high: 20 });
  assert.deepEqual(panned({ low: 10, high: 30 }, 500, whole), { low: 80, high: 100 });
});

test("showing moves no more than needed", () => {
  const view = { low: 10, high: 30 };
  assert.equal(showing(view, 12, 20, whole), view);
  assert.deepEqual(showing(view, 60, 64, whole), { low: 52, high: 72 });
  assert.deepEqual(showing(view, 60, 99, whole), { low: 60, high: 80 }, "too long for the view: its beginning is shown");
  assert.ok(isWhole(whole, whole) && !isWhole(view, whole));
});

test("the minimap is dragged by its ends or as a whole", () => {
  const view = { low: 20, high: 40 };
  assert.equal(gripAt(101, 100, 300), "low");
  assert.equal(gripAt(299, 100, 300), "high");
  assert.equal(gripAt(200, 100, 300), "all");
  assert.deepEqual(dragged(view, "low", 39.9, 0, whole, 2), { low: 38, high: 40 });
  assert.deepEqual(dragged(view, "high", 500, 0, whole, 2), { low: 20, high: 100 });
  assert.deepEqual(dragged(view, "all", 5, 10, whole, 2), { low: 0, high: 20 });
});

test("the rows in view are never a negative number, also when a table has become shorter than it is scrolled", () => {
  assert.deepEqual(visible(0, 240, 1000), [0, 16]);
  assert.deepEqual(visible(2400, 240, 1000), [94, 116]);
  assert.deepEqual(visible(18_000, 240, 2), [2, 2]);
  assert.deepEqual(visible(0, 240, 0), [0, 0]);
});

test("a view of what has another length now is the same share of it; a view of all stays one of all", () => {
  const whole = { low: 0, high: 50 };
  assert.deepEqual(rescaled({ low: 20, high: 40 }, { low: 0, high: 100 }, whole), { low: 10, high: 20 });
  assert.deepEqual(rescaled({ low: 0, high: 100 }, { low: 0, high: 100 }, whole), whole);
  assert.deepEqual(rescaled({ low: 10, high: 20 }, whole, whole), { low: 10, high: 20 });
  assert.deepEqual(rescaled({ low: 0, high: 0 }, { low: 0, high: 0 }, whole), whole);
});
