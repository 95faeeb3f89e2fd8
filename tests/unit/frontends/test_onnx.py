"""Reading ONNX: every file form, scopes, defaults, functions, types that are no tensors, weights that are not there."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from gexplorer.compiler import compile
from gexplorer.frontends.onnx import read
from gexplorer.ir.graph import Graph
from gexplorer.ir.text import to_text
from gexplorer.ir.types import OptionalType, SequenceType
from gexplorer.validation.run import run

HEAD = '<ir_version: 10, opset_import: ["": 18]>\n'


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD + text)


MODEL = parsed(
    "g (float[n, 4] x) => (float[n, 4] y) <float[4] b = {1, 2, 3, 4}> { [add] s = Add(x, b) [act] y = Relu(s) }"
)


@pytest.mark.parametrize(
    ("name", "form"),
    [("m.onnx", None), ("m.onnx.pbtxt", "textproto"), ("m.onnx.json", "json"), ("m.onnxtxt", "onnxtxt")],
)
def test_every_file_form_gives_the_same_graph(tmp_path, name, form):
    onnx.save(MODEL, tmp_path / name, format=form)
    source = read(tmp_path / name)
    assert to_text(source.graph, locations=False) == to_text(read(MODEL).graph, locations=False)
    assert (source.name, source.nodes, source.weight_bytes) == (name, 2, 16)


def test_an_onnx_ir_model_is_taken_too():
    assert to_text(read(onnx_ir.from_proto(MODEL)).graph) == to_text(read(MODEL).graph)


def test_dimensions_stay_symbolic_or_unknown():
    model = parsed("g (float[n, 2, ?] x) => (float[n, 2, ?] y) { y = Relu(x) }")
    assert [str(d) if d is not None else None for d in read(model).graph.tensor("x").shape] == ["n", "2", None]


def test_names_of_a_branch_that_shadow_outer_ones_are_renamed():
    model = parsed(
        """g (float[2] x, bool c) => (float[2] y) <float[2] k = {1, 1}> {
          a = Add(x, k)
          y = If(c) <
            then_branch: graph = t () => (float[2] y) <float[2] k = {5, 5}> { a = Neg(x) y = Add(a, k) },
            else_branch: graph = e () => (float[2] y) { y = Add(a, k) }
          >
        }"""
    )
    graph = read(model).graph
    (choice,) = [node for node in graph if node.op == "If"]
    inner = [name for nested in choice.graphs for name in nested.values]
    assert len({*inner, *graph.values}) == len(inner) + len(graph.values)
    for condition, expected in ((True, [4, 3]), (False, [3, 4])):
        (result,) = run(compile(model).graph, {"x": np.array([1, 2], np.float32), "c": np.array(condition)})
        np.testing.assert_array_equal(result, expected)


def test_an_initializer_that_is_an_input_is_a_default_and_may_be_given():
    model = parsed("g (float[2] x, float[2] k) => (float[2] y) { y = Add(x, k) }")
    model.graph.initializer.append(numpy_helper.from_array(np.array([5, 5], np.float32), "k"))
    graph = compile(model).graph
    assert graph.inputs == ("x", "k")
    x = np.array([1, 2], np.float32)
    np.testing.assert_array_equal(run(graph, {"x": x})[0], [6, 7])
    np.testing.assert_array_equal(run(graph, {"x": x, "k": x})[0], [2, 4])


def test_before_ir_version_4_initializers_are_constants_although_listed_as_inputs():
    model = parsed("g (float[2] x, float[2] k) => (float[2] y) { y = Add(x, k) }")
    model.graph.initializer.append(numpy_helper.from_array(np.array([5, 5], np.float32), "k"))
    model.ir_version = 3
    assert read(model).graph.inputs == ("x",)


def test_local_functions_are_inlined():
    text = """<ir_version: 10, opset_import: ["": 18, "own": 1]>
    g (float[2] x) => (float[2] y) { y = own.twice(x) }
    <domain: "own", opset_import: ["": 18]> twice (a) => (b) { s = Add(a, a) b = Identity(s) }"""
    graph = read(onnx.parser.parse_model(text)).graph
    assert [node.op for node in graph] == ["Add", "Identity"]


def test_foreign_operators_pass_through_to_the_export():
    text = """<ir_version: 10, opset_import: ["": 18, "own": 3, "com.microsoft": 1]>
    g (float[2] x) => (y) { a = own.Odd <level = 3> (x) b = com.microsoft.Gelu(a) y = Relu(b) }"""
    model = compile(onnx.parser.parse_model(text)).graph.to_onnx()
    nodes = {node.op_type: node for node in model.graph.node}
    assert {*nodes} >= {"Odd", "Gelu"}
    assert nodes["Odd"].domain == "own"
    assert {entry.domain: entry.version for entry in model.opset_import} == {"": 18, "own": 3, "com.microsoft": 1}


def test_sequence_optional_and_string_types_survive():
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
    inputs = [
        helper.make_value_info("s", sequence),
        helper.make_value_info("o", helper.make_optional_type_proto(sequence)),
        helper.make_tensor_value_info("t", TensorProto.STRING, [1]),
    ]
    nodes = [
        helper.make_node("Identity", ["s"], ["s2"]),
        helper.make_node("OptionalHasElement", ["o"], ["h"]),
        helper.make_node("Identity", ["t"], ["t2"]),
    ]
    outputs = [
        helper.make_value_info("s2", sequence),
        helper.make_tensor_value_info("h", TensorProto.BOOL, []),
        helper.make_tensor_value_info("t2", TensorProto.STRING, [1]),
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs), opset_imports=[helper.make_opsetid("", 18)], ir_version=10
    )
    graph = compile(model).graph
    assert isinstance(graph.values["s"].type, SequenceType)
    assert isinstance(graph.values["o"].type, OptionalType)
    again = {info.name: info.type for info in graph.to_onnx().graph.input}
    assert again == {info.name: info.type for info in model.graph.input}


@pytest.mark.parametrize("dtype", [TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT8E4M3FN, TensorProto.BFLOAT16])
def test_narrow_types_keep_their_bits(dtype):
    numbers = numpy_helper.to_array(helper.make_tensor("w", dtype, [3], [1, 2, 3]))
    tensor = numpy_helper.from_array(numbers, "w")
    graph = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["y"])],
        "g",
        [],
        [helper.make_tensor_value_info("y", dtype, [3])],
        [tensor],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    exported = compile(model).graph.to_onnx().graph.initializer[0]
    assert (exported.data_type, numpy_helper.to_array(exported).tobytes()) == (dtype, numbers.tobytes())


@pytest.mark.parametrize("opset", range(7, onnx.defs.onnx_opset_version() + 1))
def test_every_opset_is_read_and_compiled(opset):
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "t"], ["m"]),
        helper.make_node("Softmax", ["m"], ["y"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    compiled = compile(model)
    assert isinstance(compiled.graph, Graph)
    assert compiled.graph.tensor("y").shape == (2, 2)
