"""Two compilations as one page: the explorer over one step, from the one's last graph to the other's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from xml.etree.ElementTree import Element

from gexplorer.ir.draft import Change
from gexplorer.ir.graph import Graph, Graphs, Node
from gexplorer.output import write_file
from gexplorer.render.document import Document
from gexplorer.render.html import h
from gexplorer.render.page import carried, page
from gexplorer.render.report_tables import table
from gexplorer.trace.records import Message, Reject, Rewrite, Step, Steps
from gexplorer.units import bytes_text, change_text, count_text, plural_text, time_text
from gexplorer.views.difference import Difference, FigureChange, RuleChange, difference
from gexplorer.views.explorer.differing import differing, option_rows, sides
from gexplorer.views.explorer.figures import beside, figures
from gexplorer.views.explorer.head import head_part
from gexplorer.views.explorer.numbering import Numbering
from gexplorer.views.explorer.subject import Subject, subject_of
from gexplorer.views.pack import pack

if TYPE_CHECKING:
    from gexplorer.compiler import Compilation

NAME = "difference"
_MESSAGES = {
    "gone": Message("{node} ({op}) is in the first only"),
    "new": Message("{node} ({op}) is in the second only"),
    "other": Message("{node} ({op}) is in both, and not the same"),
}


def write_difference(a: Compilation, b: Compilation, path: Path) -> Path:
    """Writes what is different between two compilations as one HTML file; returns its path.

    Nodes that are alike on both sides (name, operator, inputs, outputs, attributes, types) count as unchanged. Of each
    headline figure the page shows a's, then b's. Memory, schedule, cost and tiling are b's.

    Raises:
        OptionError: it cannot be written.
    """
    found = difference(a.summary(), b.summary())
    return write_parts(*difference_parts(a, b, found), found, path)


def write_parts(own: Mapping[str, bytes], whole: Document, found: Difference, path: Path) -> Path:
    """Writes the page of a difference.

    Args:
        own: parts that are not as the document has them.
        whole: the document.
        found: the difference, for the words.
        path: of the file.
    """
    parts = {**carried(whole.parts, [name for name in whole.parts if name not in own]), **carried(own, own)}
    carries = {"parts": parts, "selection": {"step": 0}}
    write_file(path, page(f"{_name(found)}: gexplorer", [h("main", difference_words(found))], carries))
    return path


def difference_parts(a: Compilation, b: Compilation, found: Difference) -> tuple[dict[str, bytes], Document]:
    """What the explorer shows of two compilations: parts that are not as the document has them, and the document."""
    step = difference_step(a, b, found)
    whole = Document(
        replace(
            subject_of(b),
            name=_name(found),
            steps=Steps([step]),
            unfused=None,
            passes={},
            running=frozenset(),
            plan=None,
        )
    )
    head = head_part(whole.subject, whole.numbering)
    first = {row["key"]: row for row in _figures(a)}
    head["figures"] = [beside(first[row["key"]], row) for row in _figures(b)]
    head["stages"] = [row for row in cast("list[Mapping[str, object]]", head["stages"]) if row["steps"]]
    head["difference"] = differing(found, a.graph, b.graph, compiled=True)
    head["copy"] = dict.fromkeys(cast("Mapping[str, str]", head["copy"]), "")
    return {"head": pack(head)}, whole


def parts_of_graphs(before: Step, after: Step, found: Difference) -> tuple[dict[str, bytes], Document]:
    """The same of the graphs after two steps."""
    said = f"From the graph after {before.name} to the graph after {after.name}."
    step = step_of_graphs(before.after, after.after, said)
    whole = Document(Subject(" → ".join(found.names), Steps([step])))
    head = head_part(whole.subject, whole.numbering)
    head["difference"] = differing(found, before.after, after.after, compiled=False)
    return {"head": pack(head)}, whole


def difference_step(a: Compilation, b: Compilation, found: Difference) -> Step:
    """One step from a's last graph to b's, with the near misses that only b has."""
    misses, messages = _new_misses(a.steps, b.steps)
    before = sharing(a.graph, b.graph)
    told = "; ".join(map(_rule_text, found.rules)) or "every one does the same number of rewrites"
    return Step(
        index=0,
        stage="passes",
        name=NAME,
        ge_name=None,
        before=before,
        after=b.graph,
        seconds=0.0,
        rewrites=_changes(before, b.graph),
        rejects=misses,
        messages={**messages, **_MESSAGES},
        summary=f"From {sides(found)[0]} to {sides(found)[1]}. Rules: {told}.",
    )


def sharing(before: Graph, after: Graph) -> Graph:
    """A graph whose nodes are those of another where they are alike, so that these count as unchanged."""
    alike = {
        name: other
        for name, node in before.nodes.items()
        if (other := after.nodes.get(name)) is not None and _alike(node, other) and _typed_alike(node, before, after)
    }
    nodes = before.nodes.mutate()
    for name, node in alike.items():
        nodes[name] = node
    return replace(before, nodes=nodes.finish())


def step_of_graphs(before: Graph, after: Graph, summary: str) -> Step:
    """One step between two graphs of any origin."""
    shared = sharing(before, after)
    changes = _changes(shared, after)
    return Step(0, "passes", NAME, None, shared, after, 0.0, changes, messages=_MESSAGES, summary=summary)


def _changes(before: Graph, after: Graph) -> tuple[Rewrite, ...]:
    """One record a node that differs: those of the first graph in its order, then those that only the second has."""
    found: list[Rewrite] = []
    for node in before:
        other = after.nodes.get(node.name)
        if other is not node:
            code = "gone" if other is None else "other"
            found.append(Rewrite(node.name, code, {"op": node.op}, (Change("node", node.name, node, other),)))
    new = [node for node in after if node.name not in before.nodes]
    found += [Rewrite(node.name, "new", {"op": node.op}, (Change("node", node.name, None, node),)) for node in new]
    return tuple(found)


def difference_words(found: Difference) -> Iterator[Element]:
    """The difference in words."""
    first, second = sides(found)
    yield h("header", h("p", "gexplorer: what is different", class_="kicker"), h("h1", f"{first} → {second}"))
    rows = [
        h(
            "tr",
            h("td", figure.label),
            h("td", _value(figure.before, figure), class_="number"),
            h("td", _value(figure.after, figure), class_="number"),
            h("td", _change(figure), class_="number"),
        )
        for figure in found.figures
    ]
    yield h("section", h("h2", "Figures"), h("div", table(("figure", "#first", "#second", "#change"), rows, "Figures")))
    yield h(
        "section",
        h("h2", "Rules"),
        h("ul", [h("li", h("b", rule.name), ": ", _counts(rule), _reasons(rule)) for rule in found.rules])
        if found.rules
        else h("p", "Every pass and rule does the same number of rewrites."),
    )
    if found.options:
        changed = [
            h("li", f"{row['name']}: {row['before'] or '–'} → {row['after'] or '–'}") for row in option_rows(found)
        ]
        yield h("section", h("h2", "Options"), h("ul", changed))


def _figures(compilation: Compilation) -> list[dict[str, Any]]:
    return figures(subject_of(compilation), Numbering(compilation.steps))


def _alike(one: Node, other: Node) -> bool:
    """Whether two nodes compute the same of the same; where they stand and come from does not count."""
    if one is other:
        return True
    plain = (one.op, one.domain, one.inputs, one.outputs) == (other.op, other.domain, other.inputs, other.outputs)
    if not plain or set(one.attributes) != set(other.attributes) or (one.body is None) != (other.body is None):
        return False
    if one.body is not None and other.body is not None and not _graphs_alike(one.body, other.body):
        return False
    return all(_attributes_alike(held, other.attributes[name]) for name, held in one.attributes.items())


def _attributes_alike(one: object, other: object) -> bool:
    if isinstance(one, Graph) and isinstance(other, Graph):
        return _graphs_alike(one, other)
    if isinstance(one, Graphs) and isinstance(other, Graphs):
        return len(one) == len(other) and all(map(_graphs_alike, one, other))
    return one is other or (type(one) is type(other) and one == other)


def _graphs_alike(one: Graph, other: Graph) -> bool:
    if one is other:
        return True
    if (one.inputs, one.outputs) != (other.inputs, other.outputs) or set(one.nodes) != set(other.nodes):
        return False
    return all(_alike(node, other.nodes[name]) for name, node in one.nodes.items())


def _typed_alike(node: Node, before: Graph, after: Graph) -> bool:
    for name in node.outputs:
        was, now = before.values.get(name), after.values.get(name)
        if (was and was.type) != (now and now.type):
            return False
    return True


def _new_misses(before: Steps, after: Steps) -> tuple[tuple[Reject, ...], dict[str, Message]]:
    """Near misses of the second that the first has not; codes are told apart by the pass."""
    known = {(step.name, miss.code, miss.node, miss.path) for step in before for miss in step.rejects}
    found: list[Reject] = []
    messages: dict[str, Message] = {}
    for step in after:
        if step.stage != "passes":
            continue
        for reject in step.rejects:
            if (step.name, reject.code, reject.node, reject.path) in known:
                continue
            code = f"{step.name}: {reject.code}"
            if reject.code in step.messages:
                messages[code] = step.messages[reject.code]
            found.append(Reject(reject.node, code, reject.parameters, reject.blocker, reject.path))
    return tuple(found), messages


def _name(found: Difference) -> str:
    first, second = sides(found)
    return f"{first} → {second}"


def _rule_text(rule: RuleChange) -> str:
    return f"{rule.name} {_counts(rule)}"


def _counts(rule: RuleChange) -> str:
    switched = f", switched {rule.switched}" if rule.switched else ""
    return f"{count_text(rule.before)} → {plural_text(rule.after, 'rewrite')}{switched}"


def _reasons(rule: RuleChange) -> Element | None:
    if not rule.reasons:
        return None
    return h("ul", [h("li", f"{count_text(count)} × {reason}") for reason, count in rule.reasons])


def _value(value: float | None, figure: FigureChange) -> str:
    if value is None:
        return "–"
    if figure.unit == "bytes":
        return bytes_text(value)
    return time_text(value / 1e6) if figure.unit == "us" else count_text(round(value))


def _change(figure: FigureChange) -> Element | str:
    if figure.before is None or figure.after is None:
        return ""
    if figure.before == figure.after:
        return "unchanged"
    better = figure.is_better
    kind = None if better is None else "better" if better else "worse"
    return h("b", change_text(figure.before, figure.after) or "new", class_=kind)
