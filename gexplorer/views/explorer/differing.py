"""What two compilations differ in besides their graphs: the words of the page of a difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from gexplorer.ir.signature import signature
from gexplorer.ops.traits import is_view
from gexplorer.views.describe import type_text

if TYPE_CHECKING:
    from gexplorer.ir.graph import Graph
    from gexplorer.views.difference import Difference

# Options that are a switch for each rule: only those that differ are told.
_SWITCHED = {True: "on", False: "off"}


def differing(found: Difference, before: Graph, after: Graph, *, compiled: bool) -> dict[str, object]:
    """``Head.difference`` of the front end.

    Args:
        found: the difference of the summaries, or of two graphs.
        before: the first graph.
        after: the second.
        compiled: whether the graphs are what a compilation ended with, so that their nodes are kernels.
    """
    return {
        "sides": list(sides(found)),
        "options": option_rows(found),
        "inputs": _inputs(before, after),
        "figures": [
            {
                "key": figure.key,
                "label": figure.label,
                "unit": figure.unit,
                "before": figure.before,
                "after": figure.after,
                "less_is_better": figure.less_is_better,
            }
            for figure in found.figures
            if figure.before != figure.after
        ],
        "rules": [
            {
                "name": rule.name,
                "before": rule.before,
                "after": rule.after,
                "switched": rule.switched,
                "reasons": [{"text": text, "count": count} for text, count in rule.reasons],
            }
            for rule in found.rules
        ],
        "kernels": _fresh_kernels(before, after) if compiled else None,
    }


def option_rows(found: Difference) -> list[dict[str, str]]:
    """The options that differ, in words; "" where a side has nothing there."""
    pairs = ((name, _option_pair(*pair)) for name, pair in found.options.items())
    return [{"name": name, "before": was, "after": now} for name, (was, now) in pairs]


def sides(found: Difference) -> tuple[str, str]:
    """The two sides by what tells them apart: the models' names, or else the options that differ."""
    first, second = found.names
    if first != second or not found.options:
        return first, second
    pairs = {name: _option_pair(*pair) for name, pair in found.options.items()}
    told = [", ".join(_said(name, pair[side]) for name, pair in pairs.items() if pair[side]) for side in (0, 1)]
    return (f"{first} ({told[0]})" if told[0] else first, f"{second} ({told[1]})" if told[1] else second)


def _said(name: str, value: str) -> str:
    return value if name == "fusion" else f"{name} {value}"


def _option_pair(was: object, now: object) -> tuple[str, str]:
    """Two values of an option in words; of tables only the rows that differ."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        first, second = cast("Mapping[str, object]", was), cast("Mapping[str, object]", now)
        return _rows(first, second), _rows(second, first)
    return _word(was), _word(now)


def _rows(table: Mapping[str, object], other: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {_word(held)}" for key, held in table.items() if key not in other or other[key] != held)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return _SWITCHED[value]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " × ".join(map(_word, cast("Sequence[object]", value)))
    return "none" if value is None else str(value)


def _inputs(before: Graph, after: Graph) -> list[dict[str, str]]:
    """Inputs whose dtype or shape is another, and those of one side only, which is "" on the other."""
    types = [{name: _type(graph, name) for name in graph.inputs} for graph in (before, after)]
    names = dict.fromkeys((*before.inputs, *after.inputs))
    rows = [(name, types[0].get(name, ""), types[1].get(name, "")) for name in names]
    return [{"name": name, "before": was, "after": now} for name, was, now in rows if was != now]


def _type(graph: Graph, name: str) -> str:
    value = graph.values.get(name)
    return type_text(value.type) if value is not None else ""


def _fresh_kernels(before: Graph, after: Graph) -> dict[str, object]:
    """Kernels of the second by what they are compiled for, and those among them that the first has not compiled.

    O(nodes), as ``ir.signature`` is O(body). Constants count by what they hold only where they are small.
    """
    known = {signature(before, node) for node in before if not is_view(node)}
    distinct = {signature(after, node): node.op for node in after if not is_view(node)}
    fresh = Counter(op for key, op in distinct.items() if key not in known)
    types = [{"type": op, "count": count} for op, count in fresh.most_common(12)]
    return {"distinct": len(distinct), "fresh": fresh.total(), "types": types}
