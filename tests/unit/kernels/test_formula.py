from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node, make_graph
from gexplorer.kernels.formula import OPERATORS, Formula, Instruction, Refusal, Writer, formula_of
from gexplorer.kernels.gemm_kernel import Operand, bias_taken, with_bias
from gexplorer.kernels.program import Slice, tile
from gexplorer.kernels.registers import Operand as Placed
from gexplorer.kernels.registers import place
from tests.kernels import evaluate_formula

POSITIVE = {"Log", "Sqrt", "Pow"}
INPUTS = {
    "Where": 3,
    "Clip": 3,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Max", "Min", "Mean", "Sum"), 2),
}
INPUTS |= dict.fromkeys(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or"), 2)
ATTRIBUTES = {
    "Gelu": {"approximate": "tanh"},
    "LeakyRelu": {"alpha": 0.3},
    "Elu": {"alpha": 0.7},
    "HardSigmoid": {"alpha": 0.3, "beta": 0.4},
}


def evaluated(op, arrays, attributes):
    names = [f"x{i}" for i in range(len(arrays))]
    types = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, arrays, strict=True)
    ]
    node = helper.make_node(op, names, ["y"], **({"to": TensorProto.FLOAT} if op == "Cast" else {}), **attributes)
    graph = helper.make_graph([node], "g", types, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24 if op == "Swish" else 20)])
    return ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))[0]


@pytest.mark.parametrize("op", sorted(OPERATORS))
@pytest.mark.parametrize("plain", [True, False])
def test_every_operator_computes_what_onnx_says(op, plain):
    random = np.random.default_rng(3)
    arrays = [random.normal(size=(5, 7)).astype(np.float32) * 3 for _ in range(INPUTS.get(op, 1))]
    if op in POSITIVE:
        arrays = [np.abs(array) / 3 for array in arrays]
    if op in ("And", "Or", "Not"):
        arrays = [array > 0 for array in arrays]
    if op == "Where":
        arrays[0] = arrays[0] > 0
    if op == "Clip":
        arrays[1:] = [np.float32(-1), np.float32(1.5)]
    attributes = {} if plain else ATTRIBUTES.get(op, {})
    names = tuple(f"x{i}" for i in range(len(arrays)))
    from immutables import Map

    node = Node("n", op, names, ("y",), Map(attributes))
    formula = formula_of(make_graph("g", inputs=[], nodes=[], values=[], outputs=(), opsets={}), names, (node,), ("y",))
    assert isinstance(formula, Formula)
    (got,) = evaluate_formula(formula, arrays)
    np.testing.assert_allclose(got, evaluated(op, arrays, attributes).astype(np.float32), rtol=1e-5, atol=1e-5)


def test_an_unknown_operator_is_refused_by_name():
    graph = make_graph("g", inputs=[], nodes=[], values=[], outputs=(), opsets={})
    found = formula_of(graph, ("x",), (Node("n", "Conv", ("x",), ("y",)),), ("y",))
    assert found == Refusal("Conv", "no vector instructions are known for it")


def test_a_formula_can_be_read():
    write = Writer(("x", "y"))
    formula = write.formula(write("add", write("mul", 0, 0.5), 1))
    assert str(formula) == "t0 = mul x, 0.5\nt1 = add t0, y\nreturn t1"


def test_tiles_are_used_again_once_nothing_reads_them():
    """A chain needs one tile; a value that is read later keeps its own."""
    spans = (tile("i", 8, 20),)
    x = Placed(Slice("x", (spans[0].local,)), DType.FLOAT32, (False,))
    write = Writer(("x",))
    chain = write.formula(write("exp", write("neg", write("abs", 0))))
    assert len(place(chain, (x,), (x.slice,), (8,), spans).buffers) == 1
    write = Writer(("x",))
    first = write("abs", 0)
    both = write.formula(write("add", write("exp", first), first))
    assert len(place(both, (x,), (x.slice,), (8,), spans).buffers) == 2


def test_a_bias_goes_in_front_and_comes_out_again():
    write = Writer(("product", "other"))
    formula = write.formula(write("mul", write("exp", 0), 1))
    row, other = Operand("bias", (1, 1, 8), DType.FLOAT32), Operand("other", (1, 8, 8), DType.FLOAT32)
    whole = with_bias(formula)
    assert whole.instructions[0] == Instruction("add", (0, 1))
    assert bias_taken(whole, (row, other)) == (DType.FLOAT32, formula, (other,))
    assert bias_taken(with_bias(None), (row,)) == (DType.FLOAT32, None, ())
    assert bias_taken(whole, (other, other)) == (None, whole, (other, other))
    assert bias_taken(formula, (other,)) == (None, formula, (other,))
    write = Writer(("product", "bias"))  # the product is read again behind the addition
    twice = write.formula(write("mul", write("add", 0, 1), 0))
    assert bias_taken(twice, (row,)) == (None, twice, (row,))
