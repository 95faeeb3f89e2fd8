"""The headline: a few numbers, each with what it was before all passes and what it cannot be below."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gexplorer.schedule.kernels import computes
from gexplorer.views.explorer.accuracy import error_of, measured_share
from gexplorer.views.explorer.course import by_step, is_before_planning, is_comparable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gexplorer.cost.graph import GraphCost
    from gexplorer.ir.graph import Graph, Node
    from gexplorer.ir.types import Type
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject

Unit = Literal["count", "bytes", "us", "s", "ratio"]


def figures(subject: Subject, numbering: Numbering) -> list[dict[str, object]]:
    """The figures, each as ``Figure`` of the front end; those that do not apply are there with null and the reason."""
    return [
        _kernels(subject, numbering),
        _traffic(subject),
        _pool(subject),
        _latency(subject),
        _launches(subject),
        _seconds(subject),
        _weights(subject),
    ]


def beside(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """A figure of one compilation with that of another as its first; a sum over other kernels is none."""
    left = first["unpriced"]
    value = first["value"] if left == second["unpriced"] else None
    return {**second, "first": value, "first_unpriced": left, "series": None}


def kernels_by_step(subject: Subject, numbering: Numbering) -> NDArray[np.float64]:
    """[steps] kernels that the graph after each step launches, nested graphs left out (see ``computes``).

    From the first step after the passes on it is what the memory plan leaves of them: a Concat whose parts lie in
    place launches nothing, and a view that must be copied does. O(nodes + steps), as every node is counted by the
    steps between which it is there.
    """
    steps = len(numbering.steps)
    change = np.zeros(steps + 1, np.int64)
    for node, born, gone, holder in zip(numbering.nodes, numbering.born, numbering.gone, numbering.holder, strict=True):
        if not holder and computes(node, _types(node, numbering)):
            change[max(born, 0)] += 1
            change[gone] -= 1
    counts = np.cumsum(change)[:steps].astype(np.float64)
    if subject.schedule is not None:
        planned = [position for position, step in enumerate(numbering.steps) if not is_before_planning(step)]
        counts[planned] = subject.schedule.kernels.launches
    return counts


def _types(node: Node, numbering: Numbering) -> list[Type | None]:
    values = [numbering.typed[numbering.value(name)] for name in node.outputs if name]
    return [value.type if value is not None else None for value in values]


def _figure(
    key: str,
    label: str,
    unit: Unit,
    value: float | None,
    *,
    first: float | None = None,
    bound: float | None = None,
    error: float | None = None,
    series: NDArray[np.float64] | None = None,
    modelled: bool = False,
    unpriced: tuple[int | None, int] = (None, 0),
    lower_is_better: bool | None = True,
    note: str = "",
) -> dict[str, object]:
    return {
        "key": key,
        "label": label,
        "unit": unit,
        "value": value,
        "first": first,
        "bound": bound,
        "error": error,
        "modelled": modelled,
        "first_unpriced": unpriced[0],
        "unpriced": unpriced[1],
        "series": series,
        "lower_is_better": lower_is_better,
        "note": note,
    }


def _kernels(subject: Subject, numbering: Numbering) -> dict[str, object]:
    series = kernels_by_step(subject, numbering)
    parsed = _parsed(subject)
    return _figure(
        "kernels",
        "kernels",
        "count",
        series[-1] if len(series) else None,
        first=series[parsed] if parsed is not None else None,
        series=series,
        note="nodes of the outermost graph that launch a kernel; a view launches none, nor does what lies in place",
    )


def _at_least(label: str, left_out: Collection[object]) -> str:
    """The label of a sum, which is a lower bound where something could not be counted."""
    return f"{label}, at least" if left_out else label


def _traffic(subject: Subject) -> dict[str, object]:
    cost, unfused = subject.cost, subject.unfused
    if cost is None or not cost.rows:
        return _figure("hbm_bytes", "HBM", "bytes", None, note=_no_price(subject))
    return _figure(
        "hbm_bytes",
        _at_least("HBM", cost.uncosted),
        "bytes",
        cost.hbm_bytes,
        first=unfused.hbm_bytes if unfused is not None and _is_compared(subject) else None,
        bound=cost.compulsory_bytes,
        modelled=True,
        unpriced=_unpriced(subject),
        series=_course(subject, lambda cost: cost.hbm_bytes),
        note="; ".join(("modelled; the bound is what any implementation moves", *_left_out(subject))),
    )


def _pool(subject: Subject) -> dict[str, object]:
    memory = subject.memory
    if memory is None:
        return _figure("pool_bytes", "pool", "bytes", None, note="no memory was planned")
    unsized = len(memory.program.unsized)
    if unsized and not len(memory.plan.problem):
        note = f"no tensor can be placed: {unsized:,} have no known size"
        return _figure("pool_bytes", "pool", "bytes", None, note=note)
    left_out = f"; {unsized:,} tensors without a size are not in it" if unsized else ""
    return _figure(
        "pool_bytes",
        _at_least("pool", memory.program.unsized),
        "bytes",
        memory.pool_bytes,
        bound=memory.plan.lower_bound_bytes,
        note="bytes that the planned buffers need in all; the bound is the max live load, or what a planner proved"
        f" beyond it; {memory.plan.problem.unplanned_bytes:,} bytes if nothing shared its place{left_out}",
    )


def _latency(subject: Subject) -> dict[str, object]:
    cost, unfused, schedule = subject.cost, subject.unfused, subject.schedule
    if cost is None or not cost.rows:
        return _figure("latency_us", "latency", "us", None, note=_no_price(subject))
    share = measured_share(cost)
    notes = (
        f"modelled; the error is that of kernels with published measurements, {100 * share:.0f} % of the time"
        if share
        else "modelled; nobody has published measurements of such kernels",
    )
    return _figure(
        "latency_us",
        _at_least("latency", cost.uncosted),
        "us",
        cost.latency_us if schedule is None else schedule.makespan_us,
        first=unfused.latency_us if unfused is not None and _is_compared(subject) else None,
        bound=None if schedule is None else schedule.critical_path_us,
        error=error_of(cost),
        modelled=True,
        unpriced=_unpriced(subject),
        series=_course(subject, lambda cost: cost.latency_us),
        note="; ".join((*notes, *_left_out(subject), "the bound is the longest path of what must come before what")),
    )


def _launches(subject: Subject) -> dict[str, object]:
    cost, unfused = subject.cost, subject.unfused
    if cost is None or not cost.latency_us:
        return _figure("launch_share", "launches", "ratio", None, note=_no_price(subject))
    return _figure(
        "launch_share",
        "launches",
        "ratio",
        cost.launch_us / cost.latency_us,
        first=unfused.launch_us / unfused.latency_us if unfused is not None and _is_compared(subject) else None,
        modelled=True,
        unpriced=_unpriced(subject),
        lower_is_better=None,  # the share grows, too, where all else takes less
        note="modelled; share of the kernels' time that starting them takes",
    )


def _seconds(subject: Subject) -> dict[str, object]:
    seconds = sum(step.seconds for step in subject.steps)
    return _figure("compile_seconds", "compile", "s", seconds, note="time of all steps; taken-over ones as they were")


def _weights(subject: Subject) -> dict[str, object]:
    parsed = _parsed(subject)
    if not len(subject.steps):
        return _figure("weight_bytes", "weights", "bytes", None, note="there is no graph")
    return _figure(
        "weight_bytes",
        "weights",
        "bytes",
        constant_bytes(subject.steps[-1].after),
        first=constant_bytes(subject.steps[parsed].after) if parsed is not None else None,
        note="bytes of all constants: weights and what was folded",
    )


def constant_bytes(graph: Graph) -> int:
    """Bytes of all constants, those of nested graphs too."""
    graphs, total = [graph], 0
    for one in graphs:  # grows while it is walked
        total += sum(value.constant.nbytes for value in one.values.values() if value.constant is not None)
        for name in one.nested:
            graphs += one.nodes[name].graphs
    return total


def _parsed(subject: Subject) -> int | None:
    """Position of the last step before any pass; None in a trace that does not say."""
    found = [position for position, step in enumerate(subject.steps) if step.stage == "parse"]
    return found[-1] if found else None


def _is_compared(subject: Subject) -> bool:
    """Whether sums over kernels can be compared with those before all passes."""
    cost, unfused = subject.cost, subject.unfused
    return cost is not None and unfused is not None and unfused.latency_us > 0 and is_comparable(unfused, cost)


def _unpriced(subject: Subject) -> tuple[int | None, int]:
    """How many kernels have no price before all passes, None where nobody counted, and now."""
    cost, unfused = subject.cost, subject.unfused
    return None if unfused is None else len(unfused.uncosted), 0 if cost is None else len(cost.uncosted)


def _course(subject: Subject, number: Callable[[GraphCost], float]) -> NDArray[np.float64] | None:
    """[steps] a sum after each step; NaN where it is over other kernels than the last."""
    last = subject.cost
    return by_step(
        subject.course, lambda cost: number(cost) if last is None or is_comparable(cost, last) else float("nan")
    )


def _left_out(subject: Subject) -> list[str]:
    """What is not in a sum over kernels, and what is not compared."""
    found: list[str] = []
    if subject.cost is not None and subject.cost.uncosted:
        found.append(f"kernels without a price, left out: {len(subject.cost.uncosted):,}")
    then, now = _unpriced(subject)
    if then is not None and not _is_compared(subject):
        found.append(
            "not compared with the graph before all passes, as other kernels have no price there:"
            f" {then:,} then, {now:,} now"
        )
    return found


def _no_price(subject: Subject) -> str:
    if subject.cost is None:
        return "the graph was not costed"
    if subject.cost.uncosted:
        return f"no kernel has a price: {subject.cost.uncosted[0].reason}"
    return "there are no kernels"
