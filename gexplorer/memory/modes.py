"""What ``--memory`` may say: a mode, or the name of a planner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from gexplorer.errors import OptionError
from gexplorer.memory.planners.base import Effort
from gexplorer.memory.planners.registry import all_planners


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to plan.

    Attributes:
        planner: name of the planner that it uses.
        effort: how hard that may try.
        cautious: whether sharing is cut down to what needs no trust: nothing in place, no touching lifetimes,
            nothing taken over from another stream.
        summary: a sentence for people.
    """

    planner: str
    effort: Effort
    cautious: bool
    summary: str


# Work that a search may do, in nodes of about a microsecond each.
BALANCED_NODES = 600_000
EXACT_NODES = 20_000_000

MODES: Mapping[str, Mode] = MappingProxyType(
    {
        "fast": Mode(
            "fast",
            Effort(),
            False,
            "one pass, O(N log N): a greedy order where few live together, else arena or skyline",
        ),
        "balanced": Mode(
            "portfolio", Effort(BALANCED_NODES), False, "several planners, until one meets the bound, which is a proof"
        ),
        "exact": Mode("exact", Effort(EXACT_NODES), False, "search at the bound first, then upward, within a budget"),
        "safe": Mode(
            "portfolio",
            Effort(BALANCED_NODES),
            True,
            "as balanced, but nothing in place, no touching lifetimes, no reuse across streams",
        ),
    }
)


def find_mode(name: str) -> Mode:
    """A mode by its name, or the mode that runs one planner by that planner's name (ours or GE's).

    Raises:
        OptionError: there is no such mode or planner.
    """
    if name in MODES:
        return MODES[name]
    for planner in all_planners():
        if name in (planner.name, planner.ge_name):
            effort = MODES["exact"].effort if planner.name in ("exact", "omnimalloc") else Effort()
            return Mode(planner.name, effort, False, planner.summary())
    known = [*MODES, *(planner.name for planner in all_planners())]
    near = get_close_matches(name, known, 1)
    cure = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
    raise OptionError(f"memory: no mode or planner {name!r}; {cure}")
