"""The report's tables: operators and what becomes of them, parts of the graph, facts of the model."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from gexplorer.ops.row import Engine, Outcome
from gexplorer.render.chart import parts_bar
from gexplorer.render.html import Child, h
from gexplorer.units import bytes_text, change_text, count_text, plural_text
from gexplorer.views.operators import OperatorRow, Part
from gexplorer.views.report import ModelFacts, Report, Tensor

MOST_ROWS = 300
SHOWN_TENSORS = 12

# Units differ by a sign as well as by colour.
_UNITS = {
    "cube": ("■", "cube"),
    "vector": ("≡", "vector"),
    "mte": ("⇄", "data movement"),
    "scalar": ("·", "scalar"),
    "aicpu": ("◆", "AI CPU"),
    "host": ("▲", "host"),
    "none": ("○", "none: no kernel"),
}
_ENGINES = {
    Engine.AICORE: "AI Core",
    Engine.AICPU: "AI CPU",
    Engine.GE_LOCAL: "GE local",
    Engine.RTS: "runtime",
    Engine.HOST_CPU: "host CPU",
}


def operators_section(data: Report) -> Element:
    """Every operator before and after, and what becomes of it."""
    rows = data.operators[:MOST_ROWS]
    left = len(data.operators) - len(rows)
    return h(
        "section",
        h("h2", "Operators, and what becomes of them"),
        _units(data.units) if data.units else None,
        h(
            "div",
            table(
                (
                    "ONNX operator",
                    "#before",
                    "#after",
                    "#change",
                    "CANN operator",
                    "unit",
                    "engine",
                    "outcome",
                ),
                [_operator(row) for row in rows],
                "Operators",
            ),
            h("p", f"… {plural_text(left, 'more operator')}", class_="waiting") if left else None,
            class_="card",
        ),
        _uncertain(data.operators),
        _parts(data.parts) if data.parts else None,
        aria_label="Operators",
    )


def model_section(model: ModelFacts) -> Element:
    """The model as read."""
    opsets = ", ".join(f"{domain} {number}" for domain, number in model.opsets)
    missing = ", ".join(model.missing[:10]) + (" …" if len(model.missing) > 10 else "")
    facts = [
        ("name", model.name),
        ("SHA-256", model.sha256),
        ("nodes in the file", count_text(model.nodes)),
        ("weights", bytes_text(model.weight_bytes)),
        ("opset", opsets or "none"),
        ("missing data files", missing or "none"),
    ]
    return h(
        "section",
        h("h2", "The model as read"),
        h(
            "div",
            h(
                "div",
                h("h3", "File"),
                h("dl", [(h("dt", label), h("dd", value)) for label, value in facts], class_="pairs"),
                class_="card",
            ),
            h("div", _tensors("input", model.inputs), _tensors("output", model.outputs), class_="stack"),
            class_="columns",
        ),
        aria_label="The model as read",
    )


def _units(units: Sequence[tuple[str, int]]) -> Element:
    total = sum(n for _, n in units) or 1
    legend = [
        h(
            "span",
            h("span", sign, class_=f"glyph {unit}", aria_hidden="true"),
            f"{name} {count_text(n)} ({_percent(n / total)})",
        )
        for unit, n in units
        for sign, name in [_UNITS[unit]]
    ]
    return h(
        "div",
        parts_bar(units, "Nodes by the unit that runs them"),
        h("p", legend, class_="legend"),
        class_="units",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.005 else "<1 %"


def _operator(row: OperatorRow) -> Element:
    lowering = row.lowering
    sign, unit = _UNITS[lowering.unit]
    cann = lowering.cann or ("from basic operators" if lowering.outcome is Outcome.COMPOSED else "–")
    outcome: Child = lowering.outcome.value
    if lowering.reason:
        outcome = (h("b", lowering.outcome.value, class_="bad"), f": {lowering.reason}")
    delta = change_text(row.before, row.after)
    return h(
        "tr",
        h("td", f"{row.domain}::{row.op}" if row.domain else row.op, class_="name"),
        h("td", count_text(row.before), class_="number"),
        h("td", count_text(row.after), class_="number"),
        h("td", "" if delta == "unchanged" else delta or "new", class_="number"),
        h(
            "td",
            h("span", cann, class_="name" if lowering.cann else None),
            None if lowering.certain else h("span", " ?", title="not public knowledge", class_="soft"),
        ),
        h("td", h("span", sign, class_=f"glyph {lowering.unit}", aria_hidden="true"), unit.partition(":")[0]),
        h("td", h("span", _ENGINES[lowering.engine], title=lowering.engine.value)),
        h("td", outcome, class_="wide" if lowering.reason else None),
        class_=None if row.after else "gone",
    )


def _uncertain(rows: Sequence[OperatorRow]) -> Element | None:
    if all(row.lowering.certain for row in rows[:MOST_ROWS]):
        return None
    return h(
        "p",
        "? the CANN name, or that the ONNX operator arrives there, is not public knowledge.",
        class_="waiting",
    )


def _parts(parts: Sequence[Part]) -> Element:
    rows = [
        h("tr", h("td", part.name), h("td", part.engine), h("td", count_text(part.nodes), class_="number"))
        for part in parts[:MOST_ROWS]
    ]
    left = len(parts) - len(rows)
    return h(
        "details",
        h(
            "summary",
            f"The graph falls into {plural_text(len(parts), 'part')} that one engine each runs at a stretch",
        ),
        h("div", table(("part", "engine", "#nodes"), rows, "Parts"), class_="card"),
        h("p", f"… {plural_text(left, 'more part')}", class_="waiting") if left else None,
        class_="more",
        open="" if len(parts) <= SHOWN_TENSORS else None,
    )


def _tensors(noun: str, tensors: Sequence[Tensor]) -> Element:
    shown, rest = tensors[:SHOWN_TENSORS], tensors[SHOWN_TENSORS:MOST_ROWS]
    left = len(tensors) - len(shown) - len(rest)
    title = plural_text(len(tensors), noun)
    more = h(
        "details",
        h("summary", f"{count_text(len(tensors) - len(shown))} more"),
        table(("name", "type"), [_tensor(tensor) for tensor in rest], f"more {noun}s"),
        h("p", f"… {count_text(left)} more", class_="waiting") if left else None,
        class_="more",
    )
    return h(
        "div",
        h("h3", title),
        table(("name", "type"), [_tensor(tensor) for tensor in shown], title) if shown else None,
        more if rest else None,
        class_="card",
    )


def _tensor(tensor: Tensor) -> Element:
    return h("tr", h("td", tensor.name, class_="name"), h("td", tensor.type or "unknown", class_="name"))


def table(heads: Sequence[str], rows: Sequence[Element], label: str) -> Element:
    """A table that scrolls by itself when the page is narrow; a head that starts with # is a number's."""
    return h(
        "div",
        h(
            "table",
            h(
                "thead",
                h(
                    "tr",
                    [
                        h(
                            "th",
                            head.removeprefix("#"),
                            scope="col",
                            class_="number" if head.startswith("#") else None,
                        )
                        for head in heads
                    ],
                ),
            ),
            h("tbody", rows),
        ),
        class_="scroll",
        tabindex=0,
        role="group",
        aria_label=label,
    )
