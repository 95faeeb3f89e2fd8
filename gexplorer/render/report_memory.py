"""The report's memory section in words: numbers and their meaning, the pool's picture, planners, the peak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from gexplorer.memory.plan import DEFINITIONS
from gexplorer.render.html import Child, h
from gexplorer.render.pool import pool_figure
from gexplorer.render.report_tables import table
from gexplorer.units import (
    bytes_text,
    change_text,
    count_text,
    percent_text,
    plural_text,
    ratio_text,
    time_text,
)
from gexplorer.views.memory import SharingRow, UnsizedRow
from gexplorer.views.memory_report import MemoryReport
from gexplorer.views.memory_tensors import TensorRow
from gexplorer.views.planners import PlannerRow

# Rows of the list of the peak, and of what has no size, before the rest is only counted.
MOST_ALIVE = 12
MOST_UNSIZED = 50
_SHARED = {
    "view": "views: the same bytes under another shape",
    "in_place": "written over an input that nobody needs any more",
    "concat": "written where a Concat wants them: it copies nothing",
    "split": "read where a Split has them: it copies nothing",
}


def memory_section(data: MemoryReport, *, closely: bool = False) -> Element:
    """The whole section.

    Args:
        data: what it says.
        closely: for a page that has no explorer: whoever points at the curve is told the operator; the largest tensors
            as a table.
    """
    nothing = h("p", "Nothing to place: no intermediate result of a known size lives in the pool.", class_="waiting")
    told = data.picture.buffers or not data.unsized
    figures = h("dl", list(_figures(data)), class_="figures") if told else None
    operators = data.operators if closely else ()
    picture = pool_figure(data.picture, operators) if data.picture.buffers else h("div", nothing, class_="card")
    return h(
        "section",
        h("h2", "Memory: what lives where, from when to when"),
        _not_whole(data) if data.unsized else None,
        (picture, figures, _findings(data.findings)) if closely else (figures, _findings(data.findings), picture),
        h(
            "div",
            _peak(data),
            h("div", _kinds(data), _shared(data.sharing) if data.sharing else None, class_="stack"),
            class_="columns",
        ),
        _unsized(data.unsized) if data.unsized else None,
        _planners(data) if data.planners and data.picture.buffers else None,
        _largest(data.largest) if data.largest and closely else None,
        aria_label="Memory",
    )


def _not_whole(data: MemoryReport) -> Element:
    """Said before any number: the plan leaves tensors out."""
    left = sum(row.tensors for row in data.unsized)
    return h(
        "p",
        h("b", f"{plural_text(left, 'tensor')} not planned: "),
        data.unsized[0].reason,
        ". The numbers are those of the rest." if data.picture.buffers else ".",
        class_="notice",
    )


def _figures(data: MemoryReport) -> Iterator[Element]:
    numbers = data.numbers
    checked = "checked by the verifier" if numbers.verified else h("b", "UNSOUND", class_="bad")
    proved = DEFINITIONS["proved"] if numbers.proved_optimal else f"{ratio_text(numbers.ratio)} × bound"
    yield _figure(
        "Pool",
        bytes_text(numbers.pool_bytes),
        (
            h(
                "b",
                change_text(numbers.unplanned_bytes, numbers.pool_bytes),
                class_="better" if numbers.verified else None,
            ),
            f" from {bytes_text(numbers.unplanned_bytes)} if nothing shared its place",
        ),
        ("proved optimal: " if numbers.proved_optimal else None, proved, "; ", checked),
    )
    alive = f"{plural_text(len(data.peak), 'buffer')} alive at {data.peak_at}" if data.peak else "nothing is alive"
    yield _figure("Bound", bytes_text(numbers.lower_bound_bytes), h("span", alive, class_="name"), DEFINITIONS["bound"])
    padding = bytes_text(numbers.alignment_cost_bytes or 0)
    yield _figure(
        "Fragmentation",
        percent_text(numbers.fragmentation),
        f"internal {percent_text(numbers.internal_fragmentation or 0)}: alignment costs {padding}",
        f"{DEFINITIONS['fragmentation']}; internal: {DEFINITIONS['internal']}",
    )
    yield _figure(
        "Reuse rate",
        percent_text(numbers.reuse_rate),
        f"reach_theory_rate {percent_text(numbers.reach_theory_rate)}",
        f"{DEFINITIONS['reuse_rate']}; reach_theory_rate: {DEFINITIONS['reach_theory_rate']}",
    )
    yield _figure(
        "Occupancy",
        percent_text(numbers.occupancy),
        f"{plural_text(numbers.buffers, 'buffer')}, {plural_text(data.picture.points, 'operator')}",
        DEFINITIONS["occupancy"],
    )
    yield _figure(
        "Besides the pool",
        bytes_text(numbers.weight_bytes + numbers.persistent_bytes),
        f"weights {bytes_text(numbers.weight_bytes)}",
        f"inputs, outputs and state {bytes_text(numbers.persistent_bytes)}; these share with nobody",
    )


def _figure(label: str, value: str, delta: Child, note: Child) -> Element:
    return h(
        "div",
        h("dt", label),
        h("dd", value, class_="big"),
        h("dd", delta, class_="delta"),
        h("dd", note, class_="note"),
        class_="figure card",
    )


def _findings(findings: Sequence[str]) -> Element | None:
    if not findings:
        return None
    return h(
        "div",
        h("p", h("b", "The plan is unsound. ", class_="bad"), "What the verifier found:"),
        h("ul", [h("li", sentence) for sentence in findings[:MOST_ALIVE]], class_="sentences"),
        class_="notice",
    )


def _peak(data: MemoryReport) -> Element:
    total = max(data.numbers.lower_bound_bytes, 1)
    rows = [
        h(
            "tr",
            h("td", row.tensor, _others(row.others), class_="name"),
            h("td", bytes_text(row.size_bytes), class_="number"),
            h("td", percent_text(row.size_bytes / total), class_="number soft"),
            h("td", f"{row.first}–{row.last}", class_="number"),
            h("td", row.producer, class_="name"),
        )
        for row in data.peak[:MOST_ALIVE]
    ]
    left = data.peak[MOST_ALIVE:]
    more = f"… {count_text(len(left))} more, {bytes_text(sum(row.size_bytes for row in left))}"
    return h(
        "div",
        h("h3", "Alive at the peak", h("span", f" {data.peak_at}", class_="name soft") if data.peak else None),
        table(("buffer", "#bytes", "#share", "#alive", "made by"), rows, "Alive at the peak"),
        h("p", more, class_="waiting") if left else None,
        class_="card",
    )


def _others(others: int) -> Element | None:
    return h("span", f" +{count_text(others)} in the same bytes", class_="soft") if others else None


def _kinds(data: MemoryReport) -> Element:
    rows = [
        h("tr", h("td", kind), h("td", count_text(number), class_="number"), h("td", bytes_text(size), class_="number"))
        for kind, number, size in data.kinds
    ]
    return h(
        "div",
        h("h3", "All buffers by kind"),
        table(("kind", "#buffers", "#bytes, aligned"), rows, "Buffers by kind"),
        class_="card",
    )


def _shared(sharing: Sequence[SharingRow]) -> Element:
    rows = [
        h(
            "tr",
            h("td", _SHARED[row.sharing]),
            h("td", count_text(row.tensors), class_="number"),
            h("td", bytes_text(row.size_bytes), class_="number"),
        )
        for row in sharing
    ]
    return h(
        "div",
        h("h3", "Tensors that need no bytes of their own"),
        table(("why", "#tensors", "#bytes spared"), rows, "Tensors without bytes of their own"),
        class_="card",
    )


def _planners(data: MemoryReport) -> Element:
    rows = [_planner(row, chosen=row.name == data.numbers.planner) for row in data.planners]
    return h(
        "div",
        h("h3", "The same buffers, placed by every planner"),
        h(
            "div",
            table(("planner", "#pool", "#× bound", "verdict", "#time", "how"), rows, "Planners"),
            class_="card",
        ),
    )


def _planner(row: PlannerRow, *, chosen: bool) -> Element:
    name = h("td", row.name, h("span", " this plan", class_="soft") if chosen else None, class_="name")
    if row.declined:
        return h("tr", name, h("td"), h("td"), h("td", f"declined: {row.declined}"), h("td"), h("td"), class_="planner")
    unsound = "" if row.verified else " unsound"
    return h(
        "tr",
        name,
        h("td", bytes_text(row.pool_bytes), class_="number"),
        h("td", ratio_text(row.ratio), class_="number"),
        h("td", _verdict(row)),
        h("td", time_text(row.seconds), class_="number"),
        h("td", row.summary, class_="wide"),
        class_=f"planner{' chosen' if chosen else ''}{unsound}",
    )


def _verdict(row: PlannerRow) -> Element:
    if row.verified:
        return h("span", "proved optimal", class_="better") if row.proved_optimal else h("span", "sound")
    counts = dict(row.findings)
    overlaps = counts.get("overlap", 0)
    told = plural_text(overlaps, "overlap") if overlaps else plural_text(sum(counts.values()), "defect")
    return h("b", f"unsound: {told}", class_="bad", title=row.example)


def _largest(rows: Sequence[TensorRow]) -> Element:
    lines = [
        h(
            "tr",
            h("td", row.name, class_="name"),
            h("td", bytes_text(row.size_bytes or 0), class_="number"),
            h("td", count_text(row.address or 0), class_="number"),
            h("td", _alive(row), class_="number"),
            h("td", row.producer, class_="name"),
            h("td", ", ".join(row.readers[:3]), " …" if len(row.readers) > 3 else None, class_="name"),
            h("td", row.why or "–", class_="wide"),
        )
        for row in rows
    ]
    heads = ("tensor", "#bytes", "#address", "#alive", "made by", "read by", "shares")
    return h(
        "details",
        h("summary", f"The {plural_text(len(rows), 'largest tensor')} of the pool, as a table"),
        h("div", table(heads, lines, "Largest tensors of the pool"), class_="card"),
        class_="more",
    )


def _alive(row: TensorRow) -> str:
    return f"{row.first_write}–{row.first_write if row.last_read is None else row.last_read}"


def _unsized(rows: Sequence[UnsizedRow]) -> Element:
    lines = [
        h(
            "tr",
            h("td", row.reason),
            h("td", count_text(row.tensors), class_="number"),
            h("td", ", ".join(row.examples), " …" if row.tensors > len(row.examples) else None, class_="name"),
        )
        for row in rows[:MOST_UNSIZED]
    ]
    left = len(rows) - len(lines)
    return h(
        "div",
        h("h3", f"{plural_text(sum(row.tensors for row in rows), 'tensor')} not planned, and why"),
        h(
            "div",
            table(("why it has no size", "#tensors", "such as"), lines, "Tensors without a size"),
            h("p", f"… {plural_text(left, 'more reason')}", class_="waiting") if left > 0 else None,
            class_="card",
        ),
    )
