"""What a notebook shows of a result: a line of text, and a static page in a frame, without kernel and network.

Programs of the page would add 100 kB to every output, so it has none; it opens and closes all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import islice
from xml.etree.ElementTree import Element

from gexplorer.compared import Compared
from gexplorer.compiler import Compilation
from gexplorer.cost.graph import GraphCost
from gexplorer.kernels.generated import Generated
from gexplorer.kernels.landscape import Landscape
from gexplorer.kernels.stage import DistinctKernel, Kernels
from gexplorer.memory.stage import Memory
from gexplorer.render.difference import difference_words
from gexplorer.render.display_kernels import kernel_page, landscape_page, program_page
from gexplorer.render.html import Child, h
from gexplorer.render.lanes import lanes_figure
from gexplorer.render.page import framed, plain_page
from gexplorer.render.report import headline
from gexplorer.render.report_memory import memory_section
from gexplorer.render.report_steps import stages_table, step_section
from gexplorer.render.report_tables import table
from gexplorer.schedule.stage import Schedule
from gexplorer.trace.records import Step, Steps
from gexplorer.units import bytes_text, count_text, percent_text, plural_text, time_text
from gexplorer.validation.record import Validation
from gexplorer.views.explorer.differing import sides
from gexplorer.views.memory_report import memory_report
from gexplorer.views.report import report_data, step_report
from gexplorer.views.validation import cure_of
from gexplorer.views.why import Misses

BUDGET_BYTES = 300_000
MOST_DRAWN = 200
MOST_ROWS = 200
DEAREST = 20
_MOST_PX = 560


def bundle(result: object) -> dict[str, str]:
    """Text and HTML of a result; the HTML is left out where it would take more than ``BUDGET_BYTES``."""
    words = f"Steps({len(result)})" if isinstance(result, Steps) else repr(result)  # print(steps) lists them all
    made = list(shown(result))
    html = framed(plain_page(words[:200], made), words[:200], height_of(result, made))
    return {"text/plain": words} | ({"text/html": html} if len(html) <= BUDGET_BYTES else {})


def height_of(result: object, page: Sequence[Element]) -> int:
    """How much room its page is given, in px: what it needs, up to a limit beyond which it scrolls."""
    if isinstance(result, Memory | Compilation):
        return _MOST_PX
    if isinstance(result, Schedule):
        return 180 + 38 * result.streams
    if isinstance(result, Landscape):
        return 200 + max(_drawn(page), default=0)
    if isinstance(result, Step):
        grouped = sum("group" in (part.get("class") or "").split() for one in page for part in one.iter())
        return min(150 + 90 * grouped + (100 + max(islice(_drawn(page), 2), default=0) if result.rewrites else 0), 660)
    rows = sum(1 for one in page for _ in one.iter("tr"))
    return min(130 + (64 if isinstance(result, Misses) else 36) * rows, _MOST_PX)


def _drawn(page: Iterable[Element]) -> Iterator[int]:
    """Heights of its pictures, in px."""
    for one in page:
        yield from (round(float(height)) for svg in one.iter("svg") if (height := svg.get("height", "")).isnumeric())


@singledispatch
def shown(result: object) -> Iterable[Element]:
    """The page of a result."""
    raise TypeError(f"{type(result).__name__} has no display")


@shown.register
def _(result: Compilation) -> Iterable[Element]:
    data = report_data(result, with_memory=False)
    head = headline(data)
    for own in list(head)[:2]:  # its heading is a page's, too large for a cell
        head.remove(own)
    yield h("h2", h("span", result.source.name, class_="name"))
    yield head
    yield h("section", stages_table(data), aria_label="Steps")


@shown.register
def _(result: Step) -> Iterable[Element]:
    data = step_report(result)
    changed = f"{count_text(result.nodes_before)} → {plural_text(result.nodes_after, 'node')}"
    nodes = changed if result.changed else plural_text(result.nodes_after, "node")
    did = f"{plural_text(data.rewrites, 'rewrite')}, {plural_text(data.rejects, 'near miss', 'near misses')}"
    yield _title(f"{result.index} {result.name}", f"{did}, {nodes}, {time_text(result.seconds)}")
    yield step_section(data)


@shown.register
def _(result: Steps) -> Iterable[Element]:
    busy = [step for step in result if step.rewrites or step.rejects or step.stage != "passes"]
    rows = [
        h(
            "tr",
            h("td", count_text(step.index), class_="number"),
            h("td", step.stage),
            h("td", step.name, class_="name"),
            _count(len(step.rewrites)),
            _count(len(step.rejects)),
            _count(step.nodes_after),
            h("td", time_text(step.seconds), class_="number"),
        )
        for step in busy[:MOST_ROWS]
    ]
    heads = ("#step", "stage", "name", "#rewrites", "#near misses", "#nodes after", "#time")
    quiet = f"; {count_text(len(result) - len(busy))} passes found nothing to do" if len(busy) < len(result) else ""
    yield _title(plural_text(len(result), "step"), f"{time_text(sum(step.seconds for step in result))}{quiet}")
    yield h("div", table(heads, rows, "Steps"), _more(len(busy) - len(rows), "step"), class_="card")


@shown.register
def _(result: Misses) -> Iterable[Element]:
    near = all(miss.near for miss in result)
    rules = plural_text(len({miss.rule for miss in result}), "rule")
    what = ("near miss", "near misses") if near else ("place that was not fused", "places that were not fused")
    yield _title(plural_text(len(result), *what), f"of {rules}" if result else "nothing was nearly fused")
    rows = [
        h(
            "tr",
            h("td", miss.rule),
            h("td", h("code", miss.node)),
            h("td", miss.reason, h("div", h("b", "Cure: "), miss.hint, class_="cure") if miss.hint else None),
            h("td", "–" if miss.saved_bytes is None else bytes_text(int(miss.saved_bytes)), class_="number"),
        )
        for miss in result[:MOST_ROWS]
    ]
    heads = ("rule", "place", "what stood in the way", "#HBM to save")
    if rows:
        yield h("div", table(heads, rows, "Misses"), _more(len(result) - len(rows), "miss"), class_="card")


@shown.register
def _(result: Memory) -> Iterable[Element]:
    yield memory_section(memory_report(result, MOST_DRAWN, with_planners=False), closely=True)


@shown.register
def _(result: Schedule) -> Iterable[Element]:
    critical = time_text(result.critical_path_us / 1e6)
    yield _title(
        f"{plural_text(len(result.kernels), 'kernel')} on {plural_text(result.streams, 'stream')}",
        f"makespan {time_text(result.makespan_us / 1e6)}, critical path {critical}, modelled",
    )
    yield lanes_figure(result)


@shown.register
def _(result: GraphCost) -> Iterable[Element]:
    total = result.latency_us or 1
    yield _title(
        f"{time_text(result.latency_us / 1e6)} on {result.chip.name}, modelled",
        f"{plural_text(len(result.rows), 'kernel')}, launches {percent_text(result.launch_us / total)} of the time, "
        f"{bytes_text(result.hbm_bytes)} to and from HBM (at least {bytes_text(result.compulsory_bytes)})",
    )
    families = [
        h(
            "tr",
            h("td", one.name),
            _count(one.kernels),
            h("td", time_text(one.total_us / 1e6), class_="number"),
            h("td", percent_text(one.total_us / total), class_="number"),
            h("td", bytes_text(one.hbm_bytes), class_="number"),
        )
        for one in result.by_op()[:MOST_ROWS]
    ]
    heads = ("operator", "#kernels", "#time", "#share", "#HBM")
    yield h("div", table(heads, families, "By operator"), class_="card")
    dearest = [
        h(
            "tr",
            h("td", row.node, class_="name"),
            h("td", row.op),
            h("td", time_text(row.total_us / 1e6), class_="number"),
            h("td", "–" if (p90 := result.p90(row.family)) is None else f"±{percent_text(p90)}", class_="number"),
            h("td", row.bound),
        )
        for row in sorted(result.rows, key=lambda row: -row.total_us)[:DEAREST]
    ]
    yield h("h3", "The dearest kernels")
    yield h("div", table(("kernel", "operator", "#time", "#error", "bound by"), dearest, "Kernels"), class_="card")
    if result.uncosted:
        yield h("p", f"{plural_text(len(result.uncosted), 'kernel')} without a price: {result.uncosted[0].reason}")


@shown.register
def _(result: Kernels) -> Iterable[Element]:
    rows = [
        h(
            "tr",
            h("td", kernel.op),
            _count(kernel.count),
            h("td", kernel.unit),
            h("td", kernel.nodes[0], class_="name"),
            h("td", kernel.text if kernel.missing is None else f"no tile program: {kernel.missing.reason}"),
        )
        for kernel in result.distinct[:MOST_ROWS]
    ]
    yield _title(
        f"{plural_text(len(result), 'kernel')} on {result.chip.name}", plural_text(len(result.distinct), "design")
    )
    heads = ("operator", "#kernels", "unit", "such as", "what it computes")
    yield h("div", table(heads, rows, "Kernels"), _more(len(result.distinct) - len(rows), "kernel"), class_="card")


shown.register(DistinctKernel, kernel_page)
shown.register(Generated, program_page)
shown.register(Landscape, landscape_page)


@shown.register
def _(result: Validation) -> Iterable[Element]:
    yield _title(result.status, f"{result.reason}; {time_text(result.seconds)}".removeprefix("; "))
    rows = [
        h(
            "tr",
            h("td", check.name, class_="name"),
            h("td", h("b", check.status, class_={"passed": "better", "failed": "bad"}.get(check.status))),
            h("td", check.detail, _cures(check.notes), class_="wide"),
            h("td", time_text(check.seconds), class_="number"),
        )
        for check in result.checks
    ]
    yield h("div", table(("check", "verdict", "what it says", "#time"), rows, "Checks"), class_="card")


@shown.register
def _(result: Compared) -> Iterable[Element]:
    first, second = sides(result.found)
    _, *words = difference_words(result.found)  # its heading is a page's, too large for a cell
    yield _title("What is different", f"{first} → {second}")
    yield from words


def _cures(notes: Iterable[object]) -> list[Element]:
    cures = dict.fromkeys(cure_of(note) for note in notes)  # pyright: ignore[reportArgumentType]
    return [h("div", h("b", "Cure: "), cure, class_="cure") for cure in cures if cure]


def _title(name: str, said: str) -> Element:
    return h("header", h("h2", name), h("p", said, class_="soft"), class_="result")


def _count(number: int) -> Element:
    return h("td", count_text(number), class_="number")


def _more(left: int, noun: str) -> Child:
    return h("p", f"… {plural_text(left, f'more {noun}')}", class_="waiting") if left > 0 else None
