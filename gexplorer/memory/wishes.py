"""What the memory stage is asked for, checked once and never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import cast

from gexplorer.errors import OptionError
from gexplorer.memory.modes import find_mode
from gexplorer.memory.program import MOST_BYTES


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the memory stage is asked for.

    Attributes:
        mode: fast, balanced, exact, safe, or the name of a planner.
        reuse: False plans no reuse at all, neither of free bytes nor in place: no tensor gets bytes that another had
            (the articles' enable_mem_reuse, GE's disable_reuse_memory).
        limit_bytes: a larger pool is an error; 0 for no limit (the articles' mem_workspace_size).
        alignment: ``ge`` for GE's sizes and blocks, ``none`` for none.
        never_reuse: tensors, or operators by name or type, whose memory nobody else gets (GE's OP_NO_REUSE_MEM).
        pins: offset that a tensor's buffer must have.
        apart: pairs of tensors that must not share a byte.
        search_nodes: how many nodes a search may visit; None for what the mode says.

    Raises:
        OptionError: a wish is of another form.
    """

    mode: str = "balanced"
    reuse: bool = True
    limit_bytes: int = 0
    alignment: str = "ge"
    never_reuse: tuple[str, ...] = ()
    pins: Mapping[str, int] = field(default_factory=dict)
    apart: tuple[tuple[str, str], ...] = ()
    search_nodes: int | None = None

    def __post_init__(self) -> None:
        mode = cast("object", self.mode)
        if not isinstance(mode, str):
            raise OptionError(f"memory: the name of a mode or planner is wanted, not {mode!r}")
        find_mode(mode)
        if self.reuse not in (True, False):
            raise OptionError(f"reuse: true or false is wanted, not {self.reuse!r}")
        if self.alignment not in ("ge", "none"):
            raise OptionError(f"memory_alignment: ge or none is wanted, not {self.alignment!r}")
        if not _is_count(self.limit_bytes):
            raise OptionError(f"mem_workspace_size: a number of bytes is wanted, not {self.limit_bytes!r}")
        if self.search_nodes is not None and not _is_count(self.search_nodes):
            raise OptionError(f"search_nodes: a number from 0 is wanted, not {self.search_nodes!r}")
        object.__setattr__(self, "never_reuse", _names(self.never_reuse))
        object.__setattr__(self, "pins", _pins(self.pins))
        object.__setattr__(self, "apart", _pairs(self.apart))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _names(given: object) -> tuple[str, ...]:
    names = _strings(given)
    if names is None:
        raise OptionError(f"never_reuse: names of tensors or operators are wanted, not {given!r}")
    return names


def _pins(given: object) -> Mapping[str, int]:
    if not isinstance(given, Mapping):
        raise OptionError(f"pins: an offset by the name of a tensor is wanted, not {given!r}")
    pins = dict(cast("Mapping[str, int]", given))
    for name, offset in pins.items():
        if _strings((name,)) is None or not _is_count(offset) or offset > MOST_BYTES:
            raise OptionError(f"pins: {name!r}: an offset in bytes, from 0 to {MOST_BYTES}, is wanted, not {offset!r}")
    return MappingProxyType(pins)


def _pairs(given: object) -> tuple[tuple[str, str], ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise OptionError(f"apart: pairs of two tensors are wanted, not {given!r}")
    pairs: list[tuple[str, str]] = []
    for pair in cast("Sequence[object]", given):
        match _strings(pair):
            case (first, second):
                pairs.append((first, second))
            case _:
                raise OptionError(f"apart: pairs of two tensors are wanted, not {pair!r}")
    return tuple(pairs)


def _strings(given: object) -> tuple[str, ...] | None:
    """A sequence of names; None for anything else, one name alone too."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        return None
    items = cast("Sequence[object]", given)
    names = tuple(item for item in items if isinstance(item, str))
    return names if len(names) == len(items) else None
