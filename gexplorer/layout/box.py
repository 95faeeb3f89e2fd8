"""Sizes of boxes. The front end draws by these numbers too (``widgets/src``): whoever changes one changes both.

A node's box has three lines: the operator in bold, the type of its first output, and one number of the reader's
choice. A closed container has its label in bold, how many nodes it holds, and the same number. In the explorer a
picture is laid out with its containers closed, and the front end makes room for those that are open; in a static
picture an open one has its label in a head of ``HEAD`` px above what is in it, and ``INSET`` px on the other sides. A
stub is a short line of ``STUB`` px above (what comes in) or below (what goes out) its box.

Widths are estimated, not measured: they must be the same on every machine. The estimate is on the wide side of
common system fonts at 12 px, so that a label that fits here fits there; what is longer than ``MAX_WIDTH`` allows is
shortened in the middle when drawn.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from math import ceil

FONT_PX = 12.0
LINE = 15.0
PADDING_X = 9.0
PADDING_Y = 6.0
GLYPH = 16.0
"""Room beside the title for the sign of the unit, or the badge of a repeated block."""
CHEVRON = 12.0
GAP = 6.0
"""Between a repeated block's label and its badge."""
MIN_WIDTH = 92.0
MAX_WIDTH = 220.0
NODE_HEIGHT = 3 * LINE + 2 * PADDING_Y
BOUNDARY_HEIGHT = 2 * LINE + 2 * PADDING_Y
"""Of an input's or output's box: its name and its type."""
CLOSED_HEIGHT = NODE_HEIGHT
HEAD = 26.0
INSET = 10.0
STUB = 12.0
MIDDLE = "…"

_DIGITS = re.compile(r"[0-9]+")
_NARROW = frozenset("iljI.,:;'|!()[]{}/ ftr`")
_WIDE = frozenset("mwMW@%&—…")
_BOLD = 1.09


@lru_cache(maxsize=65_536)
def text_width(text: str, *, bold: bool = False) -> float:
    """About how wide a text is at 12 px in a system font; in px."""
    width = 0.0
    for char in text:
        if char in _NARROW:
            width += 4.1
        elif char in _WIDE:
            width += 11.2
        elif char < "\x7f":
            width += 8.2 if char.isupper() else 7.2
        else:
            width += 12.4 if unicodedata.east_asian_width(char) in "WF" else 7.6
    return width * _BOLD if bold else width


def fitted(text: str, width: float, *, bold: bool = False) -> str:
    """A text that is at most so wide: the middle of a longer one is left out, its ends tell more."""
    if len(text) <= 400 and text_width(text, bold=bold) <= width:
        return text
    low, high = 0, min(len(text), int(width // 4) + 1)
    while low < high:
        keep = (low + high + 1) // 2
        if text_width(_without_middle(text, keep), bold=bold) <= width:
            low = keep
        else:
            high = keep - 1
    return _without_middle(text, low)


def node_size(title: str, detail: str, *, opens: bool = False) -> tuple[float, float]:
    """Width and height of a node's box, in px; ``opens``: a sign at its right says that there is more in it."""
    inside = max(_wide(title, bold=True) + GLYPH + (CHEVRON if opens else 0.0), _wide(detail))
    return _clamped(inside), NODE_HEIGHT


def boundary_size(name: str, detail: str) -> tuple[float, float]:
    """Width and height of an input's or output's box, in px; its ends are round.

    Names that differ by a number alone get boxes of one size: the caches of all layers look the same.
    """
    title = _DIGITS.sub("00", name) if len(name) <= 60 else name
    return _clamped(max(_wide(title, bold=True), _wide(detail)) + GLYPH + GAP + PADDING_X), BOUNDARY_HEIGHT


def closed_size(label: str, nodes: int, count: int) -> tuple[float, float]:
    """Width and height of a closed container's box, in px; ``count`` for repeated blocks, else 1."""
    badge = text_width(f"× {count:,}", bold=True) + GLYPH + GAP if count > 1 else GLYPH
    return _clamped(max(_wide(label, bold=True) + badge, text_width(f"{nodes:,} nodes"))), CLOSED_HEIGHT


def open_size(label: str, count: int, width: float, height: float) -> tuple[float, float]:
    """Width and height of an open container's box around a picture of that size, in px."""
    least = closed_size(label, 0, count)[0]
    return max(width + 2 * INSET, least), height + HEAD + INSET


def _wide(text: str, *, bold: bool = False) -> float:
    return text_width(text, bold=bold) if len(text) <= 60 else MAX_WIDTH


def _clamped(inside: float) -> float:
    return min(max(float(ceil(inside + 2 * PADDING_X)), MIN_WIDTH), MAX_WIDTH)


def _without_middle(text: str, keep: int) -> str:
    if keep >= len(text):
        return text
    return text[: (keep + 1) // 2] + MIDDLE + (text[-(keep // 2) :] if keep > 1 else "")
