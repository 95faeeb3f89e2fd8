"""Numbers as people read them: sizes in KiB and MiB, times in ns to s, counts with thousands separators."""

from __future__ import annotations

MINUS = "−"
NARROW_SPACE = "\u202f"

_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def count_text(number: int) -> str:
    """A count, such as ``1,336``."""
    return f"{number:,}"


def plural_text(number: int, noun: str, several: str = "") -> str:
    """A count with its noun, such as ``1 node`` and ``2 nodes``."""
    return f"{count_text(number)} {noun if number == 1 else several or noun + 's'}"


def size_text(nbytes: int) -> str:
    """Bytes with three digits, such as ``12.3 MiB``."""
    amount = float(nbytes)
    unit = 0
    # 999.5 would print as 1,000: the next unit takes over before it does.
    while amount >= 999.5 and unit < len(_SIZES) - 1:
        amount /= 1024
        unit += 1
    return f"{nbytes} B" if unit == 0 else f"{_three_digits(amount)} {_SIZES[unit]}"


def time_text(seconds: float) -> str:
    """A time with three digits, such as ``41.7 ms``."""
    if seconds <= 0:
        return "0 s"
    for scale, unit in _TIMES:
        if seconds >= 0.9995 * scale:
            return f"{_three_digits(seconds / scale)} {unit}"
    return "<1 ns"


def change_text(before: float, after: float) -> str:
    """A change in per cent, such as ``−52.4 %``; nothing where there is nothing to compare with."""
    if before == after:
        return "unchanged"
    if not before:
        return ""
    percent = (after - before) / before * 100
    sign = MINUS if percent < 0 else "+"
    digits = f"{abs(percent):.1f}" if abs(percent) < 99.95 else f"{abs(percent):,.0f}"
    return f"{sign}{'<0.1' if digits == '0.0' else digits}{NARROW_SPACE}%"


def shortened(text: str, length: int) -> str:
    """Text cut in the middle, so that both its path and its last part can be told."""
    if len(text) <= length:
        return text
    head = (length - 1) // 3
    return f"{text[:head]}…{text[len(text) - (length - 1 - head):]}"


def _three_digits(amount: float) -> str:
    if amount < 9.995:
        return f"{amount:.2f}"
    return f"{amount:.1f}" if amount < 99.95 else f"{amount:,.0f}"
