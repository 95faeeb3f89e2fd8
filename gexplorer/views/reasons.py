"""Reasons that many kernels share but for the name of a tensor: counted together, one of them told whole."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# How a reason names a tensor: ``the size of <name> is not known``. The name may hold anything.
_NAMED = re.compile(r"(\bthe (?:size|shape) of ).+( is not known)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """Kernels that something is not known of for one kind of reason.

    Attributes:
        reason: what they have in common; the whole reason where they have it all in common.
        kernels: how many they are.
        names: what is told of each kernel, in the order given; each once.
    """

    reason: str
    kernels: int
    names: tuple[str, ...]


def reason_groups(reasons: Iterable[tuple[str, str, int]]) -> list[ReasonGroup]:
    """Groups by kind of reason, that of most kernels first.

    Args:
        reasons: a name, a reason, and how many kernels have it, for each kernel or each kind of kernel.
    """
    counts: dict[str, int] = {}
    names: dict[str, dict[str, None]] = {}
    told: dict[str, dict[str, None]] = {}
    for name, reason, kernels in reasons:
        kind = _NAMED.sub(r"\1a tensor\2", reason)
        counts[kind] = counts.get(kind, 0) + kernels
        names.setdefault(kind, {})[name] = None
        told.setdefault(kind, {})[reason] = None
    groups = [
        ReasonGroup(next(iter(told[kind])) if len(told[kind]) == 1 else kind, count, tuple(names[kind]))
        for kind, count in counts.items()
    ]
    return sorted(groups, key=lambda group: -group.kernels)
