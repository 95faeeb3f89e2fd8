"""Two compilations side by side, from their summaries: what is another number, which rule fuses less, and why."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gexplorer.errors import OptionError
from gexplorer.views.summary import graph_summary

if TYPE_CHECKING:
    from gexplorer.ir.graph import Graph

# Where a figure stands in a summary, how it is measured, and whether less of it is better; None where neither is.
_FIGURES = (
    ("graph.kernels", "kernels", "count", True),
    ("graph.nodes", "nodes", "count", None),
    ("graph.fused_kernels", "fused kernels", "count", None),
    ("cost.latency_us", "latency, modelled", "us", True),
    ("cost.launch_us", "of it launches", "us", True),
    ("cost.hbm_bytes", "HBM traffic, modelled", "bytes", True),
    ("cost.l2_bytes", "L2 traffic, modelled", "bytes", True),
    ("cost.flops", "operations", "count", True),
    ("memory.pool_bytes", "memory pool", "bytes", True),
    ("memory.lower_bound_bytes", "its lower bound", "bytes", True),
    ("memory.weight_bytes", "weights", "bytes", True),
    ("schedule.makespan_us", "makespan, modelled", "us", True),
    ("schedule.critical_path_us", "critical path, modelled", "us", True),
    ("schedule.streams", "streams", "count", None),
    ("schedule.unpriced", "kernels without a time", "count", True),
)
# What is 0 in a summary where no kernel has a price, and means that nobody knows.
_PRICED = frozenset(key for key, *_ in _FIGURES if key.startswith(("cost.", "schedule."))) - {
    "schedule.streams",
    "schedule.unpriced",
}
_LIMIT = re.compile(r"\s*([\w.]+)\s*([<>])\s*([+-]?)\s*([0-9]+(?:\.[0-9]+)?(?:[eE][0-9]+)?)\s*(%?)\s*")


@dataclass(frozen=True, slots=True)
class FigureChange:
    """One figure of two compilations.

    Attributes:
        key: where it stands in a summary.
        label: in words.
        unit: ``count``, ``bytes`` or ``us``.
        before: in the first; None where it is not known.
        after: in the second.
        less_is_better: which way is good; None where neither way is. Fused kernels are such: there are more of them
            because more is fused, or because less went into each. So are sums that leave out other kernels on each
            side, as they have no price.
    """

    key: str
    label: str
    unit: str
    before: float | None
    after: float | None
    less_is_better: bool | None

    @property
    def change(self) -> float | None:
        """Relative change, 0.02 for 2 % more; None where one is not known or the first is 0."""
        if self.before is None or self.after is None or not self.before:
            return None
        return self.after / self.before - 1

    @property
    def is_better(self) -> bool | None:
        """Whether the second is better; None where neither is, or nobody knows."""
        if self.before is None or self.after is None or self.before == self.after or self.less_is_better is None:
            return None
        return (self.after < self.before) == self.less_is_better


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A pass or rule that does another number of rewrites.

    Attributes:
        name: its name.
        before: rewrites in the first.
        after: rewrites in the second.
        switched: ``on`` or ``off`` where the second has it switched otherwise, else "".
        reasons: why near misses of the second were left alone that the first did not have, with how many.
    """

    name: str
    before: int
    after: int
    switched: str
    reasons: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """What is different between two compilations.

    Attributes:
        names: the two models.
        options: options that differ: value in the first and in the second.
        figures: all figures, also those that are equal.
        rules: the passes and rules that do another number of rewrites.
    """

    names: tuple[str, str]
    options: Mapping[str, tuple[object, object]]
    figures: tuple[FigureChange, ...]
    rules: tuple[RuleChange, ...]

    @property
    def is_empty(self) -> bool:
        """True where all figures and rules are equal."""
        return not self.rules and all(figure.before == figure.after for figure in self.figures)


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on a figure or on its change.

    Attributes:
        text: as it was given.
        key: the figure.
        above: whether more than the bound is a failure; else less is.
        kind: ``value``, ``difference`` or ``percent``.
        bound: the number.
    """

    text: str
    key: str
    above: bool
    kind: str
    bound: float


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    """Compares two summaries of schema ``gexplorer.summary/1``."""
    options = {
        name: (before["options"].get(name), after["options"].get(name))
        for name in sorted({*before["options"], *after["options"]})
        if before["options"].get(name) != after["options"].get(name)
    }
    apart = _number(before, "schedule.unpriced") != _number(after, "schedule.unpriced")
    figures = tuple(
        FigureChange(
            key, label, unit, _number(before, key), _number(after, key), None if apart and key in _PRICED else less
        )
        for key, label, unit, less in _FIGURES
    )
    names = (str(before["model"]["name"]), str(after["model"]["name"]))
    return Difference(names, options, figures, tuple(_rule_changes(before["rules"], after["rules"])))


def difference_of_graphs(before: Graph, after: Graph, names: tuple[str, str]) -> Difference:
    """Compares two graphs: how many nodes, kernels and fused kernels they have."""
    first, second = ({"graph": graph_summary(graph)} for graph in (before, after))
    figures = tuple(
        FigureChange(key, label, unit, _number(first, key), _number(second, key), less)
        for key, label, unit, less in _FIGURES
        if key.startswith("graph.")
    )
    return Difference(names, {}, figures, ())


def parse_limit(text: str) -> Limit:
    """A limit from text: ``pool_bytes>+2%``, ``latency_us>+10``, ``kernels>100``, ``cost.hbm_bytes<-1%``.

    With a sign the change is meant, without the figure itself.

    Raises:
        OptionError: it is no limit, or there is no such figure.
    """
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise OptionError(f"limit {text!r}: FIGURE>+2% is wanted, or FIGURE>NUMBER")
    name, sign, side, number, percent = match.groups()
    keys = [key for key, *_ in _FIGURES if name in (key, key.partition(".")[2])]
    if not keys:
        known = ", ".join(key.partition(".")[2] for key, *_ in _FIGURES)
        raise OptionError(f"limit {text!r}: no figure {name}; there are: {known}")
    if percent and not side:
        raise OptionError(f"limit {text!r}: a change in per cent has a sign, such as +{number}%")
    kind = "percent" if percent else "difference" if side else "value"
    bound = float(number) * (-1 if side == "-" else 1) / (100 if percent else 1)
    return Limit(text.strip(), keys[0], sign == ">", kind, bound)


def broken_limits(found: Difference, limits: Sequence[Limit]) -> list[tuple[Limit, FigureChange]]:
    """The limits that the second compilation does not keep. A figure that is not known keeps none of its limits."""
    by_key = {figure.key: figure for figure in found.figures}
    return [(limit, by_key[limit.key]) for limit in limits if not _keeps(by_key[limit.key], limit)]


def _keeps(figure: FigureChange, limit: Limit) -> bool:
    if figure.after is None or (limit.kind != "value" and figure.before is None):
        return False
    value = figure.after
    if limit.kind != "value":
        before = figure.before or 0.0
        value = figure.after - before
        if limit.kind == "percent":
            value = value / before if before else math.copysign(math.inf, value) if value else 0.0
    return not (value > limit.bound if limit.above else value < limit.bound)


def _number(summary: Mapping[str, Any], key: str) -> float | None:
    section, _, name = key.partition(".")
    value = (summary.get(section) or {}).get(name)
    if not value and key in _PRICED and (summary.get("schedule") or {}).get("unpriced"):
        return None
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def _rule_changes(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> list[RuleChange]:
    earlier = {row["name"]: row for row in before}
    changes: list[RuleChange] = []
    for row in after:
        old = earlier.get(row["name"], {"effective": 0, "enabled": False, "rejects": []})
        if row["effective"] == old["effective"]:
            continue
        switched = "" if row["enabled"] == old["enabled"] else "on" if row["enabled"] else "off"
        new = Counter(r["code"] for r in row["rejects"]) - Counter(r["code"] for r in old["rejects"])
        sentence = {r["code"]: r["reason"] for r in reversed(row["rejects"])}
        reasons = tuple((str(sentence[code]), count) for code, count in new.most_common())
        changes.append(RuleChange(str(row["name"]), int(old["effective"]), int(row["effective"]), switched, reasons))
    gone = [r for name, r in earlier.items() if name not in {row["name"] for row in after} and r["effective"]]
    changes += [RuleChange(str(row["name"]), int(row["effective"]), 0, "off", ()) for row in gone]
    return changes
