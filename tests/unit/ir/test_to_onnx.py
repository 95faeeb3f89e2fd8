"""Export: any graph as a model that onnxruntime takes, weights of any size, names as the outside knows them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from immutables import Map
from onnx import TensorProto, helper, numpy_helper

from gexplorer.compiler import compile
from gexplorer.errors import ModelError
from gexplorer.frontends.onnx import read
from gexplorer.ir.constant import constant
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node, Value, make_graph
from gexplorer.ir.to_onnx import save_onnx, to_onnx
from gexplorer.ir.types import TensorType
from gexplorer.validation.run import run

VECTOR = TensorType(DType.FLOAT32, (3,))
OPSETS = {"": 18}


def graph_of(nodes, values, outputs, output_names=None, inputs=("x",)):
    return make_graph(
        "g",
        inputs=[Value(name, VECTOR) for name in inputs],
        nodes=nodes,
        values=values,
        outputs=outputs,
        output_names=output_names,
        opsets=OPSETS,
    )


def relu(name="relu", source="x", result="y"):
    return Node(name, "Relu", (source,), (result,)), Value(result, VECTOR, producer=name)


@pytest.mark.parametrize(
    ("outputs", "names"),
    [
        (("y",), ("out",)),
        (("y", "y"), ("a", "b")),
        (("y", "y"), ("b", "y")),
        (("y", "x"), ("a", "b")),
        (("x", "c"), ("a", "y")),
        (("x", "y"), ("y", "other")),
    ],
)
def test_results_keep_their_outside_names(outputs, names):
    node, value = relu()
    number = Value("c", VECTOR, constant=constant(np.array([7, 8, 9], np.float32)))
    graph = graph_of([node], [value, number], outputs, names)
    model = to_onnx(graph)
    onnx.checker.check_model(model)
    assert tuple(info.name for info in model.graph.output) == names
    x = np.array([-1, 0, 2], np.float32)
    known = {"x": x, "y": np.maximum(x, 0), "c": np.array([7, 8, 9], np.float32)}
    for evaluator in ("onnxruntime", "reference"):
        for name, result in zip(outputs, run(graph, {"x": x}, evaluator), strict=True):
            np.testing.assert_array_equal(result, known[name])


def test_a_fused_node_becomes_one_function_and_equal_bodies_share_it():
    inner, inner_value = relu("r", "a", "b")
    second = Node("n", "Neg", ("b",), ("c",), position=1)
    body = make_graph(
        "body",
        inputs=[Value("a", VECTOR)],
        nodes=[inner, second],
        values=[inner_value, Value("c", VECTOR, producer="n")],
        outputs=("c",),
        opsets=OPSETS,
    )
    fused = [
        Node("f1", "ReluNeg", ("x",), ("u",), body=body),
        Node("f2", "ReluNeg", ("u",), ("v",), position=1, body=body),
    ]
    values = [Value("u", VECTOR, producer="f1"), Value("v", VECTOR, producer="f2")]
    model = to_onnx(graph_of(fused, values, ("v",)))
    assert [(f.domain, f.name) for f in model.functions] == [("gexplorer", "ReluNeg")]
    onnx.checker.check_model(model)
    (result,) = run(graph_of(fused, values, ("v",)), {"x": np.array([-1, 0, 2], np.float32)})
    np.testing.assert_array_equal(result, [0, 0, 0])


def test_attributes_of_every_kind_come_back(tmp_path):
    tensor = numpy_helper.from_array(np.array([1, 2], np.int32))
    attributes = {
        "i": 3,
        "f": 0.5,
        "s": "text",
        "raw": b"\xff\xfe",
        "ints": [1, 2],
        "floats": [1.0],
        "strings": ["a", b"\xff"],
        "t": tensor,
        "tp": helper.make_tensor_type_proto(TensorProto.FLOAT, [2]),
    }
    node = helper.make_node("Odd", ["x"], ["y"], "odd", domain="own", **attributes)
    node.attribute.append(helper.make_attribute("none", [], attr_type=onnx.AttributeProto.INTS))
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    model = helper.make_model(
        helper.make_graph([node], "g", [info], [out]),
        opset_imports=[helper.make_opsetid(*o) for o in (("", 18), ("own", 1))],
    )
    (again,) = to_onnx(read(model).graph).graph.node
    before = {a.name: a for a in node.attribute}
    after = {a.name: a for a in again.attribute}
    assert before.keys() == after.keys()
    for name, attribute in before.items():
        assert helper.get_attribute_value(attribute) == helper.get_attribute_value(after[name]), name
        assert attribute.type == after[name].type


def big_model(folder: Path, size: int) -> Path:
    """A model whose two weights lie in a sparse file of ``size`` bytes each; only their ends are not zero."""
    rows = size // 4096
    weight = onnx.TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[rows, 1024], data_location=1)
    other = onnx.TensorProto(name="v", data_type=TensorProto.FLOAT, dims=[rows, 1024], data_location=1)
    with (folder / "weights.bin").open("wb") as file:
        for tensor, offset in ((weight, 0), (other, size)):
            for key, value in (("location", "weights.bin"), ("offset", offset), ("length", size)):
                tensor.external_data.add(key=key, value=str(value))
            file.seek(offset + size - 4)
            file.write(np.float32(3.0).tobytes())
    nodes = [
        helper.make_node("Gather", ["w", "i"], ["a"], "gather_w"),
        helper.make_node("Gather", ["v", "i"], ["b"], "gather_v"),
        helper.make_node("Add", ["a", "b"], ["y"], "add"),
    ]
    graph = helper.make_graph(
        nodes,
        "big",
        [helper.make_tensor_value_info("i", TensorProto.INT64, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1024])],
        [weight, other],
    )
    path = folder / "big.onnx"
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    return path


def test_more_than_2_gib_of_weights_go_to_a_file_beside_without_writing_the_zeros(tmp_path):
    import onnxruntime

    size = (1 << 30) + (1 << 20)  # more than 1 GiB each
    compiled = compile(big_model(tmp_path, size))
    assert compiled.source.weight_bytes == 2 * size
    with pytest.raises(ModelError, match="do not fit into one message"):
        to_onnx(compiled.graph)
    out = tmp_path / "out" / "step.onnx"
    out.parent.mkdir()
    save_onnx(compiled.graph, out)
    data = out.with_name("step.onnx.data")
    assert data.stat().st_size == 2 * size
    assert data.stat().st_blocks * 512 < 1 << 24
    session = onnxruntime.InferenceSession(out)
    (result,) = session.run(None, {"i": np.array([size // 4096 - 1])})
    assert result[0, -1] == 6.0
    assert not result[0, :-1].any()
    assert sorted(os.listdir(out.parent)) == ["step.onnx", "step.onnx.data"]


def test_missing_weights_stay_references(tmp_path):
    path = big_model(tmp_path, 1 << 20)
    (tmp_path / "weights.bin").unlink()
    compiled = compile(path)
    assert compiled.source.missing == ("weights.bin",)
    model = to_onnx(compiled.graph)
    assert {t.name: {e.key: e.value for e in t.external_data} for t in model.graph.initializer} == {
        "w": {"location": "weights.bin", "offset": "0", "length": str(1 << 20)},
        "v": {"location": "weights.bin", "offset": str(1 << 20), "length": str(1 << 20)},
    }


def test_a_body_with_constants_keeps_them():
    number = Value("c", VECTOR, constant=constant(np.array([1, 2, 3], np.float32)))
    body = make_graph(
        "body",
        inputs=[Value("a", VECTOR)],
        nodes=[Node("add", "Add", ("a", "c"), ("b",))],
        values=[number, Value("b", VECTOR, producer="add")],
        outputs=("b",),
        opsets=OPSETS,
    )
    node = Node("f", "AddOne", ("x",), ("y",), Map(), body=body)
    graph = graph_of([node], [Value("y", VECTOR, producer="f")], ("y",))
    (result,) = run(graph, {"x": np.zeros(3, np.float32)})
    np.testing.assert_array_equal(result, [1, 2, 3])
