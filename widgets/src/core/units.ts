/** Numbers as people read them: three digits, a unit, thousands separated. */

const NONE = "–";
const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function three(x: number): string {
  const size = Math.abs(x);
  if (size >= 99.95) return grouped(Math.round(x));
  return size >= 9.995 ? x.toFixed(1) : x.toFixed(2);
}

function grouped(x: number): string {
  const digits = Math.abs(x).toFixed(0);
  let text = "";
  for (let i = 0; i < digits.length; i++) {
    if (i && (digits.length - i) % 3 === 0) text += ",";
    text += digits[i];
  }
  return x < 0 ? `-${text}` : text;
}

/** 1,336. */
export function count(x: number | null | undefined): string {
  return x == null || !Number.isFinite(x) ? NONE : grouped(Math.round(x));
}

/** 96.0 MiB; below one KiB exact. */
export function bytes(x: number | null | undefined): string {
  if (x == null || !Number.isFinite(x)) return NONE;
  let size = x;
  let unit = 0;
  while (Math.abs(size) >= 999.5 && unit < BYTES.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit ? three(size) : grouped(Math.round(size))} ${BYTES[unit]}`;
}

/** Microseconds as ns, µs, ms or s. */
export function time(us: number | null | undefined): string {
  if (us == null || !Number.isFinite(us)) return NONE;
  const size = Math.abs(us);
  if (size === 0) return "0 µs";
  if (size < 0.9995) return `${three(us * 1e3)} ns`;
  if (size < 999.5) return `${three(us)} µs`;
  if (size < 999.5e3) return `${three(us / 1e3)} ms`;
  return `${three(us / 1e6)} s`;
}

/** Seconds of the host, as time. */
export function seconds(s: number | null | undefined): string {
  return s == null ? NONE : time(s * 1e6);
}

/** 0.123 as 12.3 %. */
export function percent(x: number | null | undefined, digits = 1): string {
  return x == null || !Number.isFinite(x) ? NONE : `${(x * 100).toFixed(digits)} %`;
}

/** A change with its sign: +2.3 %, −81 %; "±0 %" where nothing changed. */
export function change(now: number | null, then: number | null): string {
  if (now == null || then == null || !Number.isFinite(now) || !Number.isFinite(then)) return "";
  if (now === then) return "±0 %";
  if (then === 0) return now > 0 ? "new" : "";
  const ratio = now / then - 1;
  if (Math.abs(ratio) < 5e-4) return "±0 %"; // less than can be seen
  const size = Math.abs(ratio) * 100;
  const digits = size < 9.95 ? 1 : 0;
  if (ratio > 9) return `×${three(now / then)}`;
  return `${ratio < 0 ? "−" : "+"}${size.toFixed(digits)} %`;
}

/** By the unit of a figure of the document. */
export function measure(x: number | null | undefined, unit: "count" | "bytes" | "us" | "s" | "ratio"): string {
  switch (unit) {
    case "count":
      return count(x);
    case "bytes":
      return bytes(x);
    case "us":
      return time(x);
    case "s":
      return seconds(x);
    case "ratio":
      return percent(x);
  }
}
