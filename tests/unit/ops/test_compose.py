"""Composed operators compute what the operator does, by onnx's own test cases and reference evaluator."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import onnx
import onnx.parser
import pytest
from immutables import Map
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from gexplorer.frontends.onnx import read
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Ints, Node
from gexplorer.ir.to_onnx import to_onnx
from gexplorer.ir.types import TensorType
from gexplorer.ops.compose import compose
from gexplorer.ops.function_body import read_function
from gexplorer.ops.row import Outcome
from gexplorer.ops.table import entries, lookup
from gexplorer.ops.work import types_of

COMPOSED = sorted(entry.row.op for _, entry in entries() if entry.lowering.outcome is Outcome.COMPOSED)
# Mapped, but with a body of their own too: so many more bodies to check the reader with.
ALSO = ("Attention", "LayerNormalization", "Clip", "Celu", "Softmax", "GroupNormalization", "Gelu")


@cache
def cases():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    by_op = {}
    for case in found:
        if len(case.model.graph.node) == 1:
            by_op.setdefault(case.model.graph.node[0].op_type, []).append(case)
    return by_op


def plain(value):
    """Test data as the evaluator wants it: arrays, or lists of arrays."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return value


def run(body, node, case, inputs):
    env = dict(zip((entry.name for entry in case.model.graph.input), map(plain, inputs), strict=True))
    present = [name for name in node.inputs if name]
    feeds = {formal: env[actual] for formal, actual in zip(body.inputs, present, strict=True)}
    return ReferenceEvaluator(to_onnx(body)).run(None, feeds)


def bodies(op):
    for case in cases()[op]:
        graph = read(case.model).graph
        (node,) = graph
        yield case, node, compose(node, types_of(graph, node)[0], graph.opsets)


def check(got, expected, case):
    if isinstance(expected, list):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            check(a, b, case)
        return
    expected = np.asarray(plain(expected))
    assert got.dtype == expected.dtype
    if expected.dtype.kind in "OUS":
        assert got.tolist() == expected.tolist()
    else:
        got, expected = got.astype(np.float64), expected.astype(np.float64)
        np.testing.assert_allclose(got, expected, max(case.rtol, 1e-3), max(case.atol, 1e-5))


@pytest.mark.parametrize("op", [*COMPOSED, *ALSO])
def test_the_body_equals_the_operator(op):
    ran = 0
    for case, node, body in bodies(op):
        assert body is not None, case.name
        for inputs, outputs in case.data_sets:
            results = run(body, node, case, inputs)
            assert len(results) == len(outputs)
            for got, expected in zip(results, outputs, strict=True):
                check(got, expected, case)
            ran += 1
    assert ran


def test_a_body_that_is_known_to_be_wrong_is_not_used():
    """onnx's body of Bernoulli draws 1 where a uniform number is greater than p: with probability 1 - p."""
    for _, _, body in bodies("Bernoulli"):
        assert body is None


def test_every_node_of_a_body_is_looked_up_in_turn():
    for op in COMPOSED:
        for _, _, body in bodies(op):
            for inner in body:
                # CastLike remains in bodies that convert to a type known at run time; it is composed again.
                assert lookup(inner).outcome in (Outcome.MAPPED, Outcome.COMPOSED), (op, inner)


def test_names_are_unique_and_the_origin_is_kept():
    for _, node, body in bodies("SequenceMap"):
        assert all(inner.origin == node.origin for inner in body)
        nested = [value for inner in body for graph in inner.graphs for value in graph.values]
        assert len(nested) == len(set(nested))
        assert not set(nested) & set(body.values)


def test_a_body_older_than_the_model_keeps_its_opset():
    """Pad has changed since CenterCropPad's body was written; onnx gives no body at the newer opset."""
    node = Node("c", "CenterCropPad", ("x", "shape"), ("y",), Map(axes=Ints((0,))))
    body = compose(node, (TensorType(DType.FLOAT32, (4, 2)), TensorType(DType.INT64, (1,))), {"": 22})
    assert body is not None
    assert body.opsets[""] == 18
    (got,) = ReferenceEvaluator(to_onnx(body)).run(
        None,
        dict(zip(body.inputs, (np.arange(8, dtype=np.float32).reshape(4, 2), np.array([2])), strict=True)),
    )
    np.testing.assert_array_equal(got, [[2, 3], [4, 5]])


FUNCTION = """
<domain: "here", opset_import: ["" : 18]>
F <scale> (a, b) => (y)
{
    four = Constant <value_int: int = @scale> ()
    kept = Clip (a, b, b)
    y = If (four) <
        then_branch = one () => (r) { four = Neg (kept)  r = Abs (four) },
        else_branch = two () => (r) { four = Abs (kept)  r = Neg (four) }
    >
}
"""


def test_absent_inputs_are_absent_inside_and_nested_names_get_numbers():
    call = Node("f", "F", ("x", ""), ("z",), Map(scale=4), "here")
    schema = onnx.defs.get_schema("Relu", 18)  # stands for a schema without defaults
    body = read_function(onnx.parser.parse_function(FUNCTION), call, (None, None), schema)
    assert body.inputs == ("a",)
    clip, choice = body
    assert clip.inputs == ("a", "", "")
    assert int(body.values["four"].constant.array()) == 4
    names = [n for graph in choice.graphs for n in graph.values] + list(body.values)
    assert len(names) == len(set(names)) == 8
    assert all(graph.captures == ("kept",) for graph in choice.graphs)


def test_left_out_inputs_and_attributes():
    data = TensorType(DType.FLOAT32, (2, 3))
    upper = Node("c", "Clip", ("x", "", "high"), ("y",))
    body = compose(upper, (data, None, TensorType(DType.FLOAT32, ())), {"": 13})
    assert body.inputs == ("input", "max")
    assert [inner.op for inner in body] == ["Less", "Where"]
    low, high = (
        to_onnx(compose(Node("c", "Celu", ("x",), ("y",), Map(attributes)), (data,), {"": 12}))
        for attributes in ({}, {"alpha": 2.0})
    )
    x = np.array([[-1.0, 0.5, 2.0]], np.float32)
    for model, alpha in ((low, 1.0), (high, 2.0)):
        (got,) = ReferenceEvaluator(model).run(None, {"X": x})
        np.testing.assert_allclose(got, np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)), 1e-6)


def test_there_is_no_body_for_what_onnx_has_none_for():
    assert compose(Node("m", "MatMul", ("a", "b"), ("y",)), (None, None), {"": 21}) is None
    assert compose(Node("m", "Fancy", ("a",), ("y",), domain="my.domain"), (None,), {"my.domain": 1}) is None
    assert compose(Node("r", "Relu", ("a",), ("y",)), (None,), {"": 14}) is None  # a function since 18
    assert compose(Node("r", "Relu", ("a",), ("y",)), (None,), {"": 18}) is not None
