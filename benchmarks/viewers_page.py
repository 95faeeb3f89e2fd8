"""The page of results of the viewers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.viewers_tools import OURS, VIEWERS

DOT = "Graphviz dot -Tsvg"
BEATEN = "not tried, a smaller one was too much"
HEAD = (
    "viewer",
    "before the page, CPU s",
    "browser until shown, CPU s",
    "together",
    "/ ours",
    "opened again / ours",
    "boxes then",
    "all opened, more CPU s (boxes)",
    "browser's peak, MB (over an empty page)",
    "program's peak, MB",
    "requests outside",
)


@dataclass(frozen=True)
class Shown:
    """One viewer on one model.

    Attributes:
        viewer: name of the row.
        nodes: of the model.
        fault: why its graph was not shown, "" where it was.
        over: it took more than it might.
        before_s: CPU time of the program that writes the page or serves it, until the graph is shown.
        browser_s: CPU time of all processes of the browser, from an empty page until the graph is shown.
        unfold_s: the browser's from then until all is open, None where nothing is folded.
        unfold_fault: why not all was opened.
        boxes: drawn when it is shown, None where the page does not tell.
        unfolded_boxes: drawn when all is open.
        empty_bytes: resident memory of the browser's processes with an empty page.
        browser_bytes: their peak until the graph is shown.
        before_bytes: peak of the program's processes.
        requests: attempts to reach a host outside, by host: the page's and the program's.
    """

    viewer: str
    nodes: int
    fault: str = ""
    over: bool = False
    before_s: float | None = None
    browser_s: float | None = None
    unfold_s: float | None = None
    unfold_fault: str = ""
    boxes: int | None = None
    unfolded_boxes: int | None = None
    empty_bytes: int = 0
    browser_bytes: int = 0
    before_bytes: int = 0
    requests: Mapping[str, int] = field(default_factory=dict)

    @property
    def together_s(self) -> float | None:
        """From the model's file to the graph."""
        return None if self.fault else (self.before_s or 0) + (self.browser_s or 0)

    @property
    def again_s(self) -> float | None:
        """Opening the same model once more: a report lies there; a server's program starts anew."""
        return self.browser_s if self.viewer.startswith(OURS) else self.together_s


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _ratio(value: float | None, ours: float | None) -> str:
    return f"{value / ours:.1f}" if value is not None and ours else "-"


def _megabytes(value: int) -> str:
    return f"{value / 1e6:,.0f}" if value else "-"


def cells(one: Shown, ours: Shown | None) -> list[str]:
    """The row of one viewer beside ours."""
    in_browser = one.viewer != DOT
    over_empty = f" (+{_megabytes(one.browser_bytes - one.empty_bytes)})" if one.browser_bytes else ""
    opened = one.unfold_fault or "-"
    if one.unfold_s is not None:
        opened = f"{one.unfold_s:.1f}" + (f" ({one.unfolded_boxes:,})" if one.unfolded_boxes else "")
    asked = ", ".join(f"{host} {times}" for host, times in sorted(one.requests.items()))
    return [
        one.viewer,
        _seconds(one.before_s),
        (one.fault and f"**{one.fault}**") or _seconds(one.browser_s),
        _seconds(one.together_s),
        _ratio(one.together_s, ours and ours.together_s),
        _ratio(one.again_s, ours and ours.again_s) if in_browser else "-",
        "-" if one.boxes is None else f"{one.boxes:,}",
        opened,
        _megabytes(one.browser_bytes) + over_empty,
        _megabytes(one.before_bytes),
        f"{sum(one.requests.values())}" + (f" ({asked})" if asked else "") if in_browser and one.browser_bytes else "-",
    ]


def _table(found: Sequence[Shown]) -> list[str]:
    ours = next((one for one in found if one.viewer == OURS and not one.fault), None)
    rows = [list(HEAD), ["---"] * len(HEAD), *(cells(one, ours) for one in found)]
    return ["| " + " | ".join(row) + " |" for row in rows]


def page_text(found: Sequence[Shown], facts: Mapping[str, str], limit_s: float, jobs: int) -> str:
    """The page of results."""
    lines = [
        "# Viewers beside each other",
        "",
        "Written by `python -m benchmarks.viewers --write` on " + ", ".join(f"{k} {v}" for k, v in facts.items()) + ".",
        "",
        "The same ONNX files, decoders of the zoo without their weights, one run each, in the same headless Chromium,",
        f"which draws in software; {jobs} at a time. The machine is shared, so CPU seconds are told, not the clock's.",
        "Each row is a fresh browser with a profile of its own, and a fresh program.",
        "All layers of these models read one mask and one pair of rotary tables, so some edges run the whole length of",
        "the graph, which a layout of the flat graph has to route.",
        "",
        "- *Before the page*: the program that comes first, with starting Python. Ours compiles the model: the page",
        "  then holds every step, rewrite and near miss, memory plan, timeline and cost, and by default as many",
        "  switches as add 1 MB; `--variants none` leaves those out. Its loops were compiled by an earlier run, as",
        "  they are once an installation. The others' servers read the model, no more.",
        "- *Browser until shown*: all of its processes, from an empty page on.",
        "- */ ours*: to the row `gexplorer report`; below 1 is less work than ours.",
        "- *Opened again*: ours is a file and needs the browser alone; the others start anew.",
        "- *All opened*: the model as read with every layer opened, counted from the moment of *shown*.",
        "- *Peak*: resident memory of all processes added up, so pages that they share count more than once.",
        "- *Requests outside*: attempts by the page and by the program; a proxy refused every one. What the browser",
        "  asks for on its own is not counted.",
        f"- Limit: {limit_s:g} CPU s for the program and for the browser each.",
        "",
        "What each shows, and when it counts as shown. A picture is taken at that moment in each case, and where the",
        "middle of the graph's area is of one colour, the viewer gets more time:",
        "",
        *(f"- {viewer.name}: {viewer.shows}; {viewer.says}." for viewer in VIEWERS),
        f"- {DOT}: all nodes and edges, boxes with the operator's name, no weights or Constant nodes. The time ends",
        "  with the file; what a browser needs to show it is not in it. It is here because many people do this.",
        "",
        "tinygrad's VIZ is left out: it shows its own compiler's graphs of programs that it traces, not an ONNX file.",
    ]
    for nodes in dict.fromkeys(one.nodes for one in found):
        lines += ["", f"## {nodes:,} nodes", "", *_table([one for one in found if one.nodes == nodes])]
    return "\n".join(lines) + "\n"
