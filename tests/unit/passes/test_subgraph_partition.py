"""The parts: what cuts the graph, and that parts never wait for each other in a circle."""

from collections import defaultdict
from graphlib import TopologicalSorter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gexplorer.passes.subgraph_partition import SubgraphPartition
from tests.passes import check_codes, codes, graph_of, run

BRANCH = """
  else_branch = graph else
    output %a
  then_branch = graph then
    output %x
"""
CUT = f"""
input %x : float32[4,4]
input %c : bool[]
%a = MatMul(%x, %x) #a
%i = If(%c) #i
{BRANCH.strip(chr(10))}
%h = Strange<own>(%a) #h
%d = Det(%i) #d
%r = Reshape(%a, %t) #r
constant %t = int64[1] {{-1}}
%y = Add(%d, %r) #y
output %y
output %h
"""


def parts(step):
    return {node.name: node.partition for node in step.after}


def test_every_code_has_an_example():
    step = run(SubgraphPartition, CUT)
    check_codes(SubgraphPartition, dict.fromkeys([*codes(step), *(reject.code for reject in step.rejects)]))


def test_control_flow_and_fallbacks_cut():
    step = run(SubgraphPartition, CUT)
    assert parts(step) == {
        "a": "aicore_0", "r": "aicore_0", "i": "control_1", "h": "host_1", "d": parts(step)["d"], "y": parts(step)["y"],
    }  # fmt: skip
    assert [step.reason(reject) for reject in step.rejects if reject.code != "fallback" or reject.node == "h"] == [
        "i (If) cuts the graph: nothing is fused across control flow",
        "h (Strange) runs on the host: CANN's ONNX parser knows no operator Strange in the domain own (GE: E19010)",
    ]


def test_a_graph_without_cuts_is_not_marked():
    step = run(SubgraphPartition, "input %x : float32[4,4]\n%a = MatMul(%x, %x) #a\n%y = Relu(%a) #y\noutput %y")
    assert codes(step) == []
    assert not any(parts(step).values())


def test_what_launches_nothing_goes_with_what_feeds_it():
    text = (
        "input %x : float32[4,4]\n%h = Strange<own>(%x) #h\n%i = Identity(%h) #i\n%y = Relu(%x) #y\n"
        "output %i\noutput %y"
    )
    assert parts(run(SubgraphPartition, text)) == {"h": "host_0", "i": "host_0", "y": "aicore_0"}


def test_nodes_keep_all_else():
    step = run(SubgraphPartition, CUT)
    for name, node in step.after.nodes.items():
        old = step.before.nodes[name]
        assert (node.inputs, node.outputs, node.origin, node.position) == (
            old.inputs,
            old.outputs,
            old.origin,
            old.position,
        )


def waits(step):
    """The parts that each part waits for."""
    found = defaultdict(set)
    for node in step.after:
        for name in node.uses:
            producer = step.after.producer(name)
            if producer is not None and producer.partition != node.partition:
                found[node.partition].add(producer.partition)
    return found


@given(
    st.lists(
        st.tuples(st.sampled_from(("Add", "Strange<own>", "Reshape", "Det")), st.integers(0), st.integers(0)),
        max_size=12,
    )
)
def test_no_circle(picks):
    lines, names = ["input %v0 : float32[4,4]"], ["v0"]
    for number, (op, a, b) in enumerate(picks, 1):
        lines.append(f"%v{number} = {op}(%{names[a % number]}, %{names[b % number]}) #n{number}")
        names.append(f"v{number}")
    from gexplorer.ir.text import from_text
    from gexplorer.passes.base import Context
    from gexplorer.passes.manager import run_passes

    graph = from_text("\n  ".join(["graph g opset(17)", *lines, f"output %{names[-1]}"]))
    (step,) = run_passes(graph, [SubgraphPartition], Context())
    tuple(TopologicalSorter(waits(step)).static_order())


@pytest.mark.parametrize("first", ["c, %h", "h, %c"])
def test_attached_nodes_between_two_engines(first):
    """Each view reads both parts; if one joined the first and one the second, both would wait for each other."""
    a, b = "%" + first, "%" + ", %".join(reversed(first.split(", %")))
    text = (
        "input %x : float32[4]\ninput %s : int64[1]\n%c = Neg(%s) #c\n%h = Strange<own>(%x) #h\n"
        f"%v = Reshape({a}) #v\n%w = Reshape({b}) #w\noutput %v\noutput %w"
    )
    step = run(SubgraphPartition, graph_of(text))
    tuple(TopologicalSorter(waits(step)).static_order())


def test_the_type_of_a_result_says_where_a_node_runs_too():
    lines = ("input %x : float32[4]", "%a = Relu(%x) #a", "%y : float64[4] = Cast(%a) {to = 11} #y", "output %y")
    assert parts(run(SubgraphPartition, "\n".join(lines))) == {"a": "aicore_0", "y": "aicpu_1"}
