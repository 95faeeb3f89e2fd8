"""Numbers with units, as chip files write them: ``64 KiB``, ``1.85 GHz``, ``110 B/cycle``, ``4.4 us``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Kind = Literal["count", "number", "fraction", "share", "bytes", "frequency", "rate", "time", "word"]

# Unit and what one of it is in the kind's own unit: bytes, hertz, bytes per microsecond, microseconds.
UNITS: Mapping[Kind, Mapping[str, float]] = MappingProxyType(
    {
        "bytes": {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "GB": 1e9},
        "frequency": {"Hz": 1, "MHz": 1e6, "GHz": 1e9},
        "rate": {"B/s": 1e-6, "GB/s": 1e3, "TB/s": 1e6, "B/cycle": math.nan},  # the last one needs a clock
        "time": {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6},
        "count": {"": 1},
        "number": {"": 1},
        "fraction": {"": 1},
        "share": {"": 1},  # a fraction that may be none
    }
)

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z/]*)")
_LARGEST = 1e18


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a chip.

    Attributes:
        number: the number as written.
        unit: the unit as written; "" for counts and fractions.
    """

    number: float
    unit: str = ""

    def in_base(self, kind: Kind, clock_hz: float) -> float:
        """The number in the unit of its kind: bytes, hertz, bytes per microsecond or microseconds."""
        if self.unit == "B/cycle":
            return self.number * clock_hz / 1e6
        return self.number * UNITS[kind][self.unit]

    def __str__(self) -> str:
        return f"{self.number:.10g} {self.unit}".rstrip()


def read_quantity(value: object, kind: Kind) -> Quantity:
    """A quantity from what a file holds.

    Args:
        value: a number, or text with a number and a unit.
        kind: what it measures.

    Raises:
        ValueError: it is no such quantity; the message says what is wanted.

    >>> read_quantity("64 KiB", "bytes").in_base("bytes", 1e9)
    65536.0
    """
    wanted = _wanted(kind)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{wanted} is wanted, not {value!r}")  # noqa: TRY004 - all faults of a file are one kind
    match = _QUANTITY.fullmatch(str(value).strip())
    if match is None or match[2] not in UNITS[kind]:
        raise ValueError(f"{wanted} is wanted, not {value!r}")
    number = float(match[1])
    if number > _LARGEST or (number == 0 and kind not in ("time", "number", "share")):
        raise ValueError(f"{wanted} above 0 is wanted, not {value!r}")
    if kind == "count" and not number.is_integer():
        raise ValueError(f"a whole number is wanted, not {value!r}")
    if kind in ("fraction", "share") and number > 1:
        raise ValueError(f"a fraction of at most 1 is wanted, not {value!r}")
    return Quantity(number, match[2])


def _wanted(kind: Kind) -> str:
    units = [unit for unit in UNITS[kind] if unit]
    noun = "a size" if kind == "bytes" else f"a {kind}"
    return f"{noun} in {', '.join(units[:-1])} or {units[-1]}" if units else noun
