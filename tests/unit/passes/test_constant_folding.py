"""Operators on constants: evaluated within bounds, and only where the answer is the runtime's."""

import numpy as np
import pytest

from gexplorer.ir.constant import Constant, FileSource
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Value
from gexplorer.ir.types import TensorType
from gexplorer.passes.base import Limits
from gexplorer.passes.constant_folding import ConstantFolding
from tests.passes import check_codes, check_reject, check_rewrite, codes, graph_of, lines_of, near_misses, run

REWRITES = {
    "folded": (
        "input %x : float32[2,2]\nconstant %k = float32[2] {1.0, 2.0}\nconstant %s = int64[2] {2, 2}\n"
        "%a = Expand(%k, %s) #a\n%b = Neg(%a) #b\n%y = Add(%x, %b) #y\noutput %y",
        "constant %a@0 = float32[2,2] {1.0, 2.0, 1.0, 2.0}\nconstant %b@1 = float32[2,2] {-1.0, -2.0, -1.0, -2.0}\n"
        "constant %k = float32[2] {1.0, 2.0}\nconstant %s = int64[2] {2, 2}\n%y = Add(%x, %b@1) #y\noutput %y",
    ),
    "folded to a result": (
        "constant %k = float32[] {-0.0}\n%y = Identity(%k) #y\noutput %y",
        "constant %k = float32[] {-0.0}\nconstant %y@0 = float32[] {-0.0}\noutput %y@0 as y",
    ),
    "folded with an absent input and several outputs": (
        "constant %k = float32[3] {1.0, 3.0, 2.0}\nconstant %hi = float32[] {2.0}\nconstant %n = int64[1] {1}\n"
        "%c = Clip(%k, _, %hi) #c\n%v, %i = TopK(%c, %n) #t\noutput %i",
        "constant %c@0 = float32[3] {1.0, 2.0, 2.0}\nconstant %hi = float32[] {2.0}\nconstant %i@2 = int64[1] {1}\n"
        "constant %k = float32[3] {1.0, 3.0, 2.0}\nconstant %n = int64[1] {1}\nconstant %v@1 = float32[1] {2.0}\n"
        "output %i@2 as i",
    ),
    "folded in a branch, from what was folded around it": (
        """
        input %c : bool[]
        constant %k = int64[1] {2}
        %a = Neg(%k) #a
        %y = If(%c) #if
          else_branch = graph else
            %e = Abs(%a) #e
            output %e
          then_branch = graph then
            output %a
        output %y
        """,
        """
        constant %a@0 = int64[1] {-2}
        constant %k = int64[1] {2}
        %y = If(%c) #if
          else_branch = graph else
            constant %e@1 = int64[1] {2}
            output %e@1 as e
          then_branch = graph then
            output %a@0 as a
        output %y
        """,
    ),
}
LARGE = "constant %s = int64[1] {300000}\n"
REJECTS = {
    "too_large": (
        LARGE + "%a = ConstantOfShape(%s) #a\noutput %a",
        (
            "a",
            None,
            "folding a (ConstantOfShape) would add 1,200,000 bytes to the model, more than the limit of 1,048,576",
        ),
    ),
    "unknown_size": (
        "constant %k = float32[2] {1.0, 0.0}\n%a = NonZero(%k) #a\noutput %a",
        ("a", None, "the size of what a (NonZero) gives is not known beforehand"),
    ),
    "quantised": (
        "input %x : int8[2,2]\nconstant %w = int8[2,2] {1, 2, 3, 4}\nconstant %s = float32[] {0.5}\n"
        "%a = DequantizeLinear(%x, %s) #a\n%b = DequantizeLinear(%w, %s) #b\n%y = MatMul(%a, %b) #y\noutput %y",
        ("b", "y", "b (DequantizeLinear) gives y weights that a kernel for int8 reads as they are"),
    ),
    "unavailable": (
        "input %x : float32[64]\nconstant %w = float32[64] 256 bytes ...\n%a = Neg(%w) #a\n"
        "%y = Add(%x, %a) #y\noutput %y",
        ("a", "w", "w is not available, so a (Neg) cannot be folded"),
    ),
}
STAYS = {
    "an input": "input %x : float32[1]\nconstant %k = float32[] {2.0}\n%a = Mul(%x, %k) #a\noutput %a",
    "an input with a default": "input %x : float32[1] default float32[1] {2.0}\n%a = Neg(%x) #a\noutput %a",
    "random numbers": (
        "constant %k = float32[8] {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}\n%a = RandomUniformLike(%k) #a\noutput %a"
    ),
    "what nothing uses": "input %x : float32[1]\nconstant %k = float32[] {2.0}\n%a = Neg(%k) #a\noutput %x",
    "another domain's": "constant %k = float32[] {2.0}\n%a = Neg<own>(%k) #a\noutput %a",
    "a sequence": (
        "constant %k = float32[2] {2.0, 1.0}\n%a = SplitToSequence(%k) #a\n%n = SequenceLength(%a) #n\noutput %n"
    ),
}


def test_every_code_has_an_example():
    check_codes(ConstantFolding, REWRITES, REJECTS, {"reads_weights": "", "not_evaluated": ""})


@pytest.mark.parametrize("name", REWRITES)
def test_rewrites(name):
    check_rewrite(ConstantFolding, "folded", *REWRITES[name])


@pytest.mark.parametrize("name", REJECTS)
def test_near_misses(name):
    check_reject(ConstantFolding, name, *REJECTS[name])


@pytest.mark.parametrize("name", STAYS)
def test_stays(name):
    assert codes(run(ConstantFolding, STAYS[name])) == []


@pytest.mark.parametrize(("limit", "code"), [(15, "too_large"), (16, None)])
def test_growth_up_to_the_limit(limit, code):
    text = "constant %s = int64[1] {4}\n%a = ConstantOfShape(%s) #a\noutput %a"
    step = run(ConstantFolding, text, limits=Limits(fold_growth_bytes=limit))
    assert next(iter(near_misses(step)), None) == code


@pytest.mark.parametrize(("limit", "code"), [(7, "reads_weights"), (8, None)])
def test_reading_up_to_the_limit(limit, code):
    text = "constant %s = int64[1] {4}\n%a = ConstantOfShape(%s) #a\noutput %a"
    step = run(ConstantFolding, text, limits=Limits(fold_read_bytes=limit))
    assert next(iter(near_misses(step)), None) == code


def test_weights_beyond_the_limit_are_not_read(tmp_path):
    graph = graph_of(
        "input %x : float32[1]\nconstant %w = float32[1] {0.0}\n%a = Neg(%w) #a\n%y = Add(%x, %a) #y\noutput %y"
    )
    unreadable = FileSource(tmp_path / "no such file", "w", 0, 4, DType.FLOAT32, (1,), available=True)
    weight = Value("w", TensorType(DType.FLOAT32, (1,)), constant=Constant(DType.FLOAT32, (1,), unreadable))
    graph = replaced(graph, weight)
    from gexplorer.passes.base import Context
    from gexplorer.passes.manager import run_passes

    (step,) = run_passes(graph, [ConstantFolding], Context(Limits(fold_read_bytes=3)))
    (reject,) = step.rejects
    assert step.reason(reject) == "folding a (Neg) would read 4 bytes of weights, more than the limit of 3"


def replaced(graph, value):
    from gexplorer.ir.draft import Draft

    draft = Draft(graph)
    draft.put_value(value)
    return draft.finish()


@pytest.mark.parametrize("sides", ["%a, %b", "%b, %a"])
@pytest.mark.parametrize("op", ["Add", "MatMul"])
def test_weights_of_a_quantised_kernel_stay_on_either_side(op, sides):
    text = (
        "input %x : int8[2,2]\nconstant %w = int8[2,2] {1, 2, 3, 4}\nconstant %s = float32[] {0.5}\n"
        f"%a = DequantizeLinear(%x, %s) #a\n%b = DequantizeLinear(%w, %s) #b\n%y = {op}({sides}) #y\noutput %y"
    )
    assert codes(run(ConstantFolding, text)) == []
    assert codes(run(ConstantFolding, text.replace("DequantizeLinear(%x, %s)", "Cast(%x) {to = 1}"))) == ["folded"]


def test_what_cannot_be_evaluated_stays():
    text = K + "%y = Pad(%k) {pads = [0, 1, 0, -1]} #y\noutput %y"  # the reference refuses negative padding
    step = run(ConstantFolding, text, opset=10)
    assert step.rewrites == ()
    assert near_misses(step) == {"not_evaluated": ("y", None)}
    assert step.reason(step.rejects[0]).startswith("y (Pad) was not evaluated: ")


def test_equal_nodes_are_evaluated_once(monkeypatch):
    from gexplorer.passes import constant_folding

    calls = []
    real = constant_folding.evaluate
    monkeypatch.setattr(constant_folding, "evaluate", lambda *args: calls.append(1) or real(*args))
    text = "constant %k = int64[2] {1, 2}\n%a = Neg(%k) #a\n%b = Neg(%k) #b\noutput %a\noutput %b"
    assert codes(run(ConstantFolding, text)) == ["folded", "folded"]
    assert len(calls) == 1


# Operators that changed over the versions, or whose definition leaves room: what is folded is what onnxruntime gives.
K = "constant %k = float32[2,3] {1.0, -2.5, 0.0, 4.5, -0.0, 8.0}\n"
INTS = "constant %k = int32[5] {-7, 7, -8, 8, 0}\nconstant %d = int32[5] {2, -2, 3, 3, 5}\n"
VERSIONS = {
    "Softmax(%k) {axis = 0}": (K, (7, 11, 12, 13, 17, 23)),
    "Softmax(%k)": (K, (7, 12, 13, 23)),
    "Flatten(%k) {axis = 2}": (K, (7, 9, 13, 23)),
    "Slice(%k) {starts = [-1], ends = [99], axes = [1]}": (K, (7, 9)),
    "Pad(%k) {pads = [0, 1, 0, 2], value = 2.5}": (K, (7, 10)),
    "Clip(%k) {min = -1.0, max = 4.0}": (K, (7, 10)),
    "ReduceMean(%k) {axes = [1], keepdims = 0}": (K, (7, 11, 13, 17)),
    "ReduceSum(%k) {axes = [1]}": (K, (7, 11, 12)),
    "ReduceMax(%k)": (K, (7, 11, 13, 18, 20)),
    "Squeeze(%k)": (K, (7, 11, 13, 21)),
    "Unsqueeze(%k) {axes = [0, 3]}": (K, (7, 11, 12)),
    "Split(%k) {axis = 1}": (K, (7, 11, 13, 17)),
    "Round(%k)": (K, (11, 22)),
    "Sign(%k)": (K, (9, 13)),
    "Div(%k, %d)": (INTS, (7, 13, 14, 23)),
    "Mod(%k, %d)": (INTS, (10, 13)),
    "Pow(%k, %k)": ("constant %k = float32[3] {2.0, 0.5, 0.0}\n", (7, 12, 13, 15)),
    "Max(%k, %z)": ("constant %k = float32[3] {nan, 1.0, -0.0}\nconstant %z = float32[1] {0.5}\n", (8, 12, 13)),
    "Relu(%k)": ("constant %k = float32[3] {nan, -1.0, inf}\n", (7, 14)),
    "Cast(%k) {to = 6}": ("constant %k = float32[4] {2.9, -2.9, 0.5, -0.5}\n", (9, 13, 19, 23)),
    "Cast(%k) {to = 9}": ("constant %k = float32[4] {nan, 0.0, -0.0, 1e-40}\n", (9, 13, 19, 23)),
    "Cast(%k) {to = 10}": ("constant %k = float32[4] {70000.0, 1e-9, 1.00048828125, inf}\n", (9, 13, 19, 23)),
    "Gather(%k, %i) {axis = 1}": (K + "constant %i = int64[2] {-1, 0}\n", (11, 13)),
    "GatherElements(%k, %i) {axis = 1}": (K + "constant %i = int64[1,4] {-1, 0, 2, -3}\n", (11, 13)),
    "Slice(%k, %a, %b, %i, %s)": (
        K + "constant %a = int64[1] {-9}\nconstant %b = int64[1] {-99}\n"
        "constant %i = int64[1] {1}\nconstant %s = int64[1] {-1}\n",
        (10, 13),
    ),
    "DequantizeLinear(%q, %s)": (
        "constant %q = int8[3] {-128, 0, 127}\nconstant %s = float32[] {0.3}\n",
        (10, 13, 18, 19, 21, 23),
    ),
    "OneHot(%i, %d, %v)": (
        "constant %i = int64[2] {1, -1}\nconstant %d = int64[] {3}\nconstant %v = float32[2] {5.0, 2.0}\n",
        (9, 11),
    ),
    "CumSum(%k, %i) {exclusive = 1, reverse = 1}": (K + "constant %i = int64[] {1}\n", (11, 14)),
    "MatMul(%k, %j)": (K + "constant %j = float32[3] {1.0, 2.0, 0.5}\n", (7, 9, 13)),
}


@pytest.mark.parametrize(
    ("node", "head", "opset"), [(n, head, v) for n, (head, versions) in VERSIONS.items() for v in versions]
)
def test_every_version_gives_what_onnxruntime_gives(node, head, opset):
    results = "%y, %z" if node.startswith("Split") else "%y"
    head = head.replace("float32[2,3]", "float32[1,6]") if node.startswith(("Squeeze", "Split")) else head
    step = run(ConstantFolding, f"{head}{results} = {node} #y\noutput %y", opset=opset)
    assert codes(step) == ["folded"] * (not (node.startswith("Softmax") and opset < 13))


@pytest.mark.parametrize("opset", [1, 6])
def test_nothing_before_version_7(opset):
    assert codes(run(ConstantFolding, K + "%y = Neg(%k) #y\noutput %y", opset=opset)) == []


def test_text_is_neither_made_nor_lost():
    text = (
        'constant %k = string[2] {"1", "2"}\n%a = Cast(%k) {to = 7} #a\n%b = Cast(%a) {to = 8} #b\noutput %a\noutput %b'
    )
    step = run(ConstantFolding, text)
    assert near_misses(step) == {"unknown_size": ("b", None)}
    assert "constant %a@0 = int64[2] {1, 2}" in lines_of(step.after)


def test_scalars_and_empty_tensors_keep_their_shape():
    for shape, elements in (((), "{2.0}"), ((0, 3), "{}"), ((1, 1), "{2.0}")):
        text = f"constant %k = float32[{','.join(map(str, shape))}] {elements}\n%a = Neg(%k) #a\noutput %a"
        (after,) = run(ConstantFolding, text).after.outputs
        value = run(ConstantFolding, text).after.values[after]
        assert value.constant is not None
        assert value.constant.array().shape == shape
        assert value.constant.array().dtype == np.float32
