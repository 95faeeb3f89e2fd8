"""Numbers as people read them: three digits and a unit."""

from __future__ import annotations

from math import ceil, floor


def count_text(count: int) -> str:
    """A count with thousands separators: ``4,296``."""
    return f"{count:,}"


def bytes_text(size_bytes: float) -> str:
    """A size in B, KiB, MiB, GiB or TiB with three digits: ``95.8 MiB``."""
    return f"{size_bytes:.0f} B" if size_bytes < 1024 else _scaled(size_bytes, 1024, ("KiB", "MiB", "GiB", "TiB"))


def time_text(seconds: float) -> str:
    """A time in ns, µs, ms or s with three digits: ``1.52 ms``."""
    if seconds == 0:
        return "0 s"
    for unit, scale in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if seconds * scale < 999.5:
            return f"{_three_digits(seconds * scale)} {unit}"
    return f"{_three_digits(seconds)} s"


def operations_text(operations: float) -> str:
    """Floating-point operations in FLOP, kFLOP to TFLOP with three digits: ``22.5 GFLOP``."""
    if operations < 999.5:
        return f"{operations:.0f} FLOP"
    return _scaled(operations, 1000, ("kFLOP", "MFLOP", "GFLOP", "TFLOP"))


def plural_text(number: int, noun: str, several: str = "") -> str:
    """A count with its noun: ``1 node``, ``2 nodes``."""
    return f"{count_text(number)} {noun if number == 1 else several or noun + 's'}"


def change_text(before: float, after: float) -> str:
    """A change in per cent: ``−52.4 %``; "" where there was nothing before."""
    if before == after:
        return "unchanged"
    if not before:
        return ""
    percent = (after - before) / before * 100
    digits = f"{abs(percent):.1f}" if abs(percent) < 99.95 else f"{abs(percent):,.0f}"
    return f"{'−' if percent < 0 else '+'}{'<0.1' if digits == '0.0' else digits} %"


def percent_text(share: float) -> str:
    """A share in per cent with one digit behind the point, which is not rounded to nothing or to all."""
    if 0 < share < 0.0005:
        return "<0.1 %"
    return ">99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.1f} %"


def ratio_text(ratio: float) -> str:
    """A ratio with four digits behind the point; rounded away from 1, so that only what is 1 reads 1.0000."""
    if ratio >= 10:
        return f"{ratio:,.1f}"
    return f"{(ceil if ratio > 1 else floor)(ratio * 1e4) / 1e4:.4f}"


def shortened(text: str, length: int) -> str:
    """Text cut in the middle, so that both where it begins and how it ends can be read."""
    if len(text) <= length:
        return text
    head = (length - 1) // 3
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def _scaled(value: float, step: int, units: tuple[str, ...]) -> str:
    """In the first unit, each so many times the one before it, in which it has three digits; else in the last."""
    for unit in units[:-1]:
        value /= step
        if value < 999.5:
            return f"{_three_digits(value)} {unit}"
    return f"{_three_digits(value / step)} {units[-1]}"


def _three_digits(number: float) -> str:
    if number >= 99.95:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"
