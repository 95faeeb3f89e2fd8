"""What every test of a pass does: a small model in text, one run, and the checks that hold for any pass."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from textwrap import dedent, indent

from gexplorer.errors import ModelError
from gexplorer.ir.graph import Graph
from gexplorer.ir.text import from_text, to_text
from gexplorer.ir.verify import verify
from gexplorer.ops.shapes import infer_graph, with_types
from gexplorer.ops.shapes.inference import known_contents
from gexplorer.passes.base import Context, Limits, Pass
from gexplorer.passes.manager import run_passes
from gexplorer.trace.records import Step
from gexplorer.validation.equality import compare_steps

SEEDS = (0, 1)
SIZES = {"n": 3}
_TYPE = r'(seq\(|optional\()*\w+\[("[^"]*"|[^]])*\](:\w+)?\)*'


def graph_of(text: str, opset: int = 17) -> Graph:
    """The graph of some lines of text form, without the first, with inferred types."""
    graph = from_text(f"graph g opset({opset})\n" + indent(dedent(text).strip("\n"), "  "))
    verify(graph)
    return with_types(graph, infer_graph(graph))


def lines_of(graph: Graph) -> str:
    """The graph as such lines again, inputs and types left out."""
    text = re.sub(rf" : {_TYPE}| declared( {_TYPE})?", "", to_text(graph, locations=False).partition("\n")[2])
    lines = [line for line in dedent(text).splitlines() if not line.lstrip().startswith("input")]
    return "\n".join(lines)


def run(pass_class: type[Pass], model: str | Graph, *, opset: int = 17, limits: Limits | None = None) -> Step:
    """One run of a pass, with all that must hold whatever it did."""
    graph = graph_of(model, opset) if isinstance(model, str) else model
    context = Context(limits or Limits(), known_contents(infer_graph(graph)))
    (step,) = run_passes(graph, [pass_class], context)
    (again,) = run_passes(step.after, [pass_class], context)
    assert again.rewrites == ()
    assert step.changed == bool(step.rewrites)
    assert step.after.output_names == graph.output_names
    assert to_text(step.graph_after(0)) == to_text(step.before)
    assert to_text(step.graph_after(len(step.rewrites))) == to_text(step.after)
    _check_sentences(step)
    _check_numbers(step)
    return step


def codes(step: Step) -> list[str]:
    """Codes of the rewrites."""
    return [rewrite.code for rewrite in step.rewrites]


def near_misses(step: Step) -> dict[str, tuple[str, str | None]]:
    """Node and blocker of what was left alone, by code."""
    return {reject.code: (reject.node, reject.blocker) for reject in step.rejects}


def check_rewrite(pass_class: type[Pass], code: str, before: str, after: str, *, opset: int = 17) -> Step:
    """The pass makes one text of another, by rewrites of this code alone."""
    step = run(pass_class, before, opset=opset)
    assert lines_of(step.after) == dedent(after).strip("\n")
    assert set(codes(step)) == {code}
    return step


def check_reject(
    pass_class: type[Pass], code: str, model: str, said: tuple[str, str | None, str], opset: int = 17
) -> None:
    """The pass rewrites nothing and says why: node, blocker, sentence."""
    step = run(pass_class, model, opset=opset)
    assert step.rewrites == ()
    (reject,) = step.rejects
    assert (reject.code, reject.node, reject.blocker, step.reason(reject)) == (code, *said)


def check_codes(pass_class: type[Pass], *tables: Mapping[str, object]) -> None:
    """The tables have an example for every code of the pass (what follows a space tells examples of one code apart)."""
    assert {name.split(" ")[0] for table in tables for name in table} == set(pass_class.messages)


def _check_sentences(step: Step) -> None:
    for record in (*step.rewrites, *step.rejects):
        sentence = step.reason(record)
        assert sentence != record.code
        assert not re.search(r"[{}]|None", sentence)
    for reject in step.rejects:
        assert not re.search(r"[{}]|None", step.hint(reject) or "")


def _check_numbers(step: Step) -> None:
    """After each rewrite the graph is valid, and where it runs at all, it gives what it gave."""
    graphs = [step.graph_after(count) for count in range(1, len(step.rewrites) + 1)]
    for graph in graphs:
        verify(graph)
    try:
        found = compare_steps([step, *(replace(step, after=graph) for graph in graphs)], seeds=SEEDS, sizes=SIZES)
    except ModelError:
        assert not _runs(step.before), "the model runs before the pass and not after"
        return
    assert [f"{c.output}: {c.fault}" for c in found if c.fault] == []


def _runs(graph: Graph) -> bool:
    step = Step(0, "passes", "", None, graph, graph, 0.0)
    try:
        compare_steps([step], seeds=SEEDS, sizes=SIZES)
    except ModelError:
        return False
    return True
