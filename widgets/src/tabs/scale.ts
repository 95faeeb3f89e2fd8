/** From numbers to pixels and back, and the round numbers that an axis names. */

export interface Range {
  readonly low: number;
  readonly high: number;
}

export interface Scale {
  to(value: number): number;
  from(pixel: number): number;
}

/** `from` may lie above `to`: an axis that grows upwards. */
export function linear(range: Range, from: number, to: number): Scale {
  const size = range.high - range.low || 1;
  return {
    to: (value) => from + ((value - range.low) / size) * (to - from),
    from: (pixel) => range.low + ((pixel - from) / (to - from || 1)) * size,
  };
}

/** Equal ratios take equal room; both ends of the range must be above zero. */
export function logarithmic(range: Range, from: number, to: number): Scale {
  const inner = linear({ low: Math.log10(range.low), high: Math.log10(range.high) }, from, to);
  return { to: (value) => inner.to(Math.log10(value)), from: (pixel) => 10 ** inner.from(pixel) };
}

/** About `most` round numbers in a range: 1, 2 or 5 times a power of ten. */
export function ticks(range: Range, most: number, whole = false): number[] {
  const step = roundStep((range.high - range.low) / Math.max(1, most));
  return multiples(range, whole ? Math.max(1, step) : step);
}

/** Round times in µs, and how to write them so that two neighbours never read the same. */
export function timeTicks(range: Range, most: number): { values: number[]; text(us: number): string } {
  const values = ticks(range, most);
  const step = values.length > 1 ? values[1] - values[0] : range.high - range.low || 1;
  const [unit, size] = range.high >= 1e6 ? ["s", 1e6] : range.high >= 1e3 ? ["ms", 1e3] : range.high >= 1 ? ["µs", 1] : ["ns", 1e-3];
  const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / size) + 1e-9)));
  return { values, text: (us) => `${(us / size).toFixed(digits)} ${unit}` };
}

/** About `most` powers of two times a whole number: the round numbers of bytes. */
export function byteTicks(range: Range, most: number): number[] {
  const rough = (range.high - range.low) / Math.max(1, most);
  return multiples(range, 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(rough, 1)) - 1e-9)));
}

/** Powers of ten inside a range; where there are fewer than two, 2 and 5 times them as well. */
export function logTicks(range: Range): number[] {
  const found: number[] = [];
  if (!(range.low > 0) || !Number.isFinite(range.high)) return found;
  const add = (factors: readonly number[]): void => {
    for (let power = Math.floor(Math.log10(range.low)); power <= Math.ceil(Math.log10(range.high)); power++) {
      for (const factor of factors) {
        const value = factor * 10 ** power;
        if (value >= range.low && value <= range.high) found.push(value);
      }
    }
  };
  add([1]);
  if (found.length < 2) {
    found.length = 0;
    add([1, 2, 5]);
  }
  return found;
}

function roundStep(rough: number): number {
  if (!(rough > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough) + 1e-9);
  return power * ([1, 2, 5].find((factor) => factor * power >= rough * (1 - 1e-9)) ?? 10);
}

function multiples(range: Range, step: number): number[] {
  const found: number[] = [];
  const first = Math.ceil(range.low / step - 1e-9);
  const last = Math.floor(range.high / step + 1e-9);
  for (let i = first; i <= last && found.length < 200; i++) found.push(i * step + 0); // never -0
  return found;
}

/** Places (ascending) moved as little as this simple way allows, so that no two are closer than `gap`. */
export function apart(wanted: readonly number[], gap: number, low: number, high: number): number[] {
  const found: number[] = [];
  for (const at of wanted) found.push(Math.max(at, low, (found[found.length - 1] ?? -Infinity) + gap));
  for (let i = found.length - 1, room = high; i >= 0; i--, room = found[i + 1] - gap) found[i] = Math.min(found[i], room);
  return found;
}
