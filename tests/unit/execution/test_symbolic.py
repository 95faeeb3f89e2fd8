"""Sizes that the inputs of a run give: found from dimensions, and never trusted further than symbols go."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

import gexplorer as gx
from gexplorer.execution.machine import Machine
from gexplorer.execution.placing import place
from gexplorer.execution.sizes import bound, determined, solve
from gexplorer.execution.symbolic import needs_shapes
from gexplorer.ir.symbols import parse_dim


def dims(*pairs):
    return [(parse_dim(text) if isinstance(text, str) else text, value) for text, value in pairs]


@pytest.mark.parametrize(
    ("pairs", "values"),
    [
        ([("b", 3), ("s", 5)], {"b": 3, "s": 5}),
        ([("past + s", 7), ("s", 5)], {"s": 5, "past": 2}),
        ([("2*b + 1", 7)], {"b": 3}),
        ([("b*s", 12), ("b", 3)], {"b": 3, "s": 4}),
        ([("b*s", 12)], {}),
        ([(3, 3), (None, 9)], {}),
        ([("b", 0)], {"b": 0}),
    ],
)
def test_values_are_found_in_any_order(pairs, values):
    assert solve(dims(*pairs)) == values
    assert solve(dims(*reversed(pairs))) == values
    assert determined(dim for dim, _ in dims(*pairs)) == values.keys()


@pytest.mark.parametrize(
    "pairs", [[("b", 3), ("b", 4)], [(3, 4)], [("2*b", 7)], [("b + 5", 3)], [("b", 3), ("b + s", 2)]]
)
def test_contradictions(pairs):
    assert solve(dims(*pairs)) is None


def test_bound():
    shape = (parse_dim("b"), 3, parse_dim("b*s + 1"))
    assert bound(shape, {"b": 2, "s": 5}) == (2, 3, 11)
    assert bound(shape, {"b": 2}) is None
    assert bound((None,), {}) is None
    assert bound(None, {}) is None
    assert bound((), {}) == ()


CHAIN = """
<ir_version: 10, opset_import: ["": 21]>
chain (float[b, 4, s] x, float[4, 4] w) => (float[b, s, 4] y)
{
    t = Transpose<perm = [0, 2, 1]>(x)
    m = MatMul(t, w)
    r = Sqrt(m)
    q = Exp(r)
    y = MatMul(q, w)
}
"""


def program(text, **options):
    return gx.compile(parser.parse_model(text), **options).program


def test_a_plan_for_every_size_over_the_same_buffers():
    made = program(CHAIN, preset="unconfigured")
    assert not made.is_fixed
    assert made.pool_bytes == 0
    sizes = [place(made, {"b": b, "s": s}) for b, s in ((1, 1), (3, 50), (64, 128))]
    for placing in sizes:
        inside = made.buffers.in_pool
        ends = placing.offset_bytes[inside] + placing.size_bytes[inside]
        assert ends.max() == placing.pool_bytes
        assert (placing.size_bytes[inside] % made.alignment_bytes == 0).all()
    assert sizes[0].pool_bytes < sizes[1].pool_bytes < sizes[2].pool_bytes
    assert sizes[1].shapes["t"] == (3, 50, 4)
    # Exp may write over Sqrt's result at every size: their symbols are the same.
    assert made.tensors["q"].buffer == made.tensors["r"].buffer


def test_no_reuse_holds_for_later_sizes_too():
    made = program(CHAIN, preset="unconfigured", enable_mem_reuse=False)
    placing = place(made, {"b": 3, "s": 50})
    assert placing.pool_bytes == placing.size_bytes[made.buffers.in_pool].sum()


def test_sizes_that_are_equal_by_chance_share_nothing():
    """Two symbols: a view of one shape as the other holds for some sizes only, so it is a copy."""
    made = program(
        """
        <ir_version: 10, opset_import: ["": 21]>
        two (float[a] x, float[b] y) => (float[a] p, float[b] q)
        {
            p = Relu(x)
            q = Relu(y)
        }
        """
    )
    assert made.tensors["p"].buffer != made.tensors["q"].buffer
    machine = Machine(made, poison=True)
    found = machine.run({"x": np.float32([1, -1]), "y": np.float32([-3, 4])}).outputs
    assert found["p"].tolist() == [1, 0]
    assert found["q"].tolist() == [0, 4]


def test_what_depends_on_data_is_outside():
    made = program(
        """
        <ir_version: 10, opset_import: ["": 21]>
        found (float[n] x) => (int64[1, k] y, float[n] z)
        {
            y = NonZero(x)
            z = Relu(x)
        }
        """
    )
    assert made.outside == ("y",)
    assert Machine(made).run({"x": np.float32([0, 5, 0, 7])}).outputs["y"].tolist() == [[1, 3]]


def test_a_fixed_graph_needs_no_shapes():
    assert not needs_shapes(gx.compile("mlp:small=true").graph)
    assert needs_shapes(gx.compile("mlp:small=true,batch=b").graph)


def test_plans_are_kept_by_size():
    machine = Machine(program(CHAIN))
    w = np.eye(4, dtype=np.float32)
    first = machine.run({"x": np.ones((2, 4, 3), np.float32), "w": w})
    again = machine.run({"x": np.ones((2, 4, 3), np.float32), "w": w})
    other = machine.run({"x": np.ones((2, 4, 5), np.float32), "w": w})
    assert first.planning_seconds > 0
    assert again.planning_seconds == 0
    assert again.placing is first.placing
    assert other.planning_seconds > 0


def test_a_view_that_holds_for_some_sizes_only_is_a_copy():
    """211 * floor(s / 211) is s at the size that stands for s while buffers are formed, and at few others."""
    from immutables import Map

    from gexplorer.execution.symbolic import live_by_symbols
    from gexplorer.ir.dtypes import DType
    from gexplorer.ir.graph import Node, Value, make_graph
    from gexplorer.ir.types import TensorType
    from gexplorer.memory.policy import Policy

    def buffers(dim):
        s, other = (TensorType(DType.FLOAT32, (parse_dim(text),)) for text in ("s", dim))
        graph = make_graph(
            "chance",
            inputs=[Value("x", s)],
            nodes=[
                Node("a", "Exp", ("x",), ("r",), position=0),
                Node("b", "Squeeze", ("r",), ("v",), position=1),
                Node("c", "Exp", ("v",), ("y",), position=2),
            ],
            values=[Value("r", other, "a"), Value("v", s, "b"), Value("y", s, "c")],
            outputs=("y",),
            opsets=Map({"": 21}),
        )
        live = live_by_symbols(graph, Policy())
        index = {name: number for number, name in enumerate(live.program.tensors)}
        return live.buffer[index["r"]], live.buffer[index["v"]]

    shared, apart = buffers("s"), buffers("211*floor((s)/(211))")
    assert shared[0] == shared[1]
    assert apart[0] != apart[1]
