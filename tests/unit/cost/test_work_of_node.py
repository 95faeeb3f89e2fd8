"""What nodes ask of the chip: sizes by hand, against what the operator table and the bodies say."""

from __future__ import annotations

import pytest

import gexplorer as gx
from gexplorer.cost import vector_work
from gexplorer.cost.instructions import vector_of
from gexplorer.cost.kernel_work import HostWork, KernelWork, NoKernel, Uncosted
from gexplorer.cost.work import Attention, Gemm, Move, Vector
from gexplorer.cost.work_of_node import work_of_node
from gexplorer.ir.dtypes import DType
from gexplorer.ops.work import bytes_moved, types_of
from gexplorer.passes.base import Context
from gexplorer.passes.format_assignment import FormatAssignment
from gexplorer.passes.fusion.rules.flash_attention import FlashAttention
from gexplorer.passes.fusion.rules.matmul_activation import MatMulActivation
from gexplorer.passes.fusion.rules.matmul_bias import MatMulBias
from gexplorer.passes.fusion.rules.matmul_residual import MatMulResidual
from gexplorer.passes.fusion.rules.norm_matmul import NormMatMul
from gexplorer.passes.fusion.rules.quantised_matmul import QuantisedMatMul
from gexplorer.passes.manager import run_passes
from tests.passes import graph_of


def work(text, node="y", *rules, opset=18):
    graph = graph_of(text, opset)
    if rules:
        graph = run_passes(graph, [*rules], Context())[-1].after
    return work_of_node(graph, graph.nodes[node])


def main(text, node="y", *rules, opset=18):
    found = work(text, node, *rules, opset=opset)
    assert isinstance(found, KernelWork), found
    assert len(found.stages) == 1
    return found.stages[0].main


def inputs(**types):
    return "".join(f"input %{name} : {type_}\n" for name, type_ in types.items())


def y(call):
    return f"%y = {call} #y\noutput %y"


PRODUCTS = {
    "two matrices": (inputs(a="float16[64,96]", b="float16[96,128]") + y("MatMul(%a, %b)"), Gemm(64, 128, 96)),
    "rows of a batch are rows": (
        inputs(a="float16[2,5,64,96]", b="float16[96,128]") + y("MatMul(%a, %b)"),
        Gemm(640, 128, 96),
    ),
    "a batch on both sides": (
        inputs(a="float16[2,5,64,96]", b="float16[2,5,96,128]") + y("MatMul(%a, %b)"),
        Gemm(64, 128, 96, batch=10),
    ),
    "a vector on the right": (inputs(a="float16[64,96]", b="float16[96]") + y("MatMul(%a, %b)"), Gemm(64, 1, 96)),
    "transposed operands": (
        inputs(a="float32[96,64]", b="float32[128,96]") + y("Gemm(%a, %b) {transA = 1, transB = 1}"),
        Gemm(64, 128, 96, DType.FLOAT32),
    ),
    "Einsum": (
        inputs(a="float32[3,8,16]", b="float32[3,16,24]") + y('Einsum(%a, %b) {equation = "bij,bjk->bik"}'),
        Gemm(8, 24, 16, DType.FLOAT32, batch=3),
    ),
    "8 bits": (
        inputs(a="int8[64,96]", b="int8[96,128]") + y("MatMulInteger(%a, %b)"),
        Gemm(64, 128, 96, DType.INT8, DType.INT32),
    ),
    "3x3 convolution": (
        inputs(x="float16[2,32,10,12]", w="float16[64,32,3,3]") + y("Conv(%x, %w) {pads = [1, 1, 1, 1]}"),
        Gemm(240, 64, 288, left_distinct=1 / 9),
    ),
    "depthwise convolution": (
        inputs(x="float16[1,32,10,12]", w="float16[32,1,3,3]") + y("Conv(%x, %w) {group = 32, pads = [1, 1, 1, 1]}"),
        Gemm(120, 1, 9, batch=32, left_distinct=1 / 9),
    ),
    "grouped convolution": (
        inputs(x="float16[1,32,10,12]", w="float16[64,8,1,1]") + y("Conv(%x, %w) {group = 4}"),
        Gemm(120, 16, 8, batch=4),
    ),
    "transposed convolution": (
        inputs(x="float16[1,32,10,12]", w="float16[32,16,2,2]") + y("ConvTranspose(%x, %w) {strides = [2, 2]}"),
        Gemm(120, 64, 32),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    text, wanted = PRODUCTS[name]
    found = main(text)
    assert isinstance(found, Gemm)
    assert (found.out_dtype or found.dtype) is (wanted.out_dtype or wanted.dtype)
    assert (found.m, found.n, found.k, found.batch, found.dtype) == (
        wanted.m, wanted.n, wanted.k, wanted.batch, wanted.dtype,
    )  # fmt: skip
    assert found.left_distinct == pytest.approx(wanted.left_distinct)
    # The table counts the same operations.
    assert work(text).flops == found.flops


def test_a_recurrent_layer_is_a_product_of_all_steps_and_one_step_after_the_other():
    text = inputs(x="float16[7,2,10]", w="float16[1,64,10]", r="float16[1,64,16]")
    found = work(text + "%s, %y = LSTM(%x, %w, %r) {hidden_size = 16} #y\noutput %s\noutput %y")
    first, again = found.stages
    assert (first.main.m, first.main.n, first.main.k, first.times) == (14, 64, 10, 1)
    assert (again.main.m, again.main.n, again.main.k, again.times) == (2, 64, 16, 7)


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("Softmax(%x) {axis = -1}", vector_work.softmax(50, 200, DType.FLOAT16)),
        ("LayerNormalization(%x, %g, %h) {axis = -1}", vector_work.layer_norm(50, 200, DType.FLOAT16)),
        ("ReduceSum(%x, %axis) {keepdims = 0}", vector_work.reduction(50, 200, DType.FLOAT16)),
        ("Add(%x, %x2)", vector_work.elementwise((50, 200), DType.FLOAT16, inputs=2)),
        ("Relu(%x)", vector_work.elementwise((50, 200), DType.FLOAT16)),
    ],
)
def test_vector_operators_are_what_the_formulas_by_hand_say(call, wanted):
    text = inputs(x="float16[50,200]", x2="float16[50,200]", g="float16[200]", h="float16[200]")
    found = main(text + "constant %axis = int64[1] {1}\n" + y(call))
    assert isinstance(found, Vector)
    assert (found.rows, found.width, found.row_wise) == (wanted.rows, wanted.width, wanted.row_wise)
    # ReduceSum reads its axes too
    assert found.compulsory_bytes == pytest.approx(wanted.compulsory_bytes, abs=8)

    def weight(vector, name):
        return getattr(vector.instructions, name) * vector.element_bytes

    for name in ("simple", "exp", "divide", "reduce"):
        assert weight(found, name) == pytest.approx(weight(wanted, name)), name


def test_moves_know_how_long_their_runs_are():
    x = inputs(x="float16[4,6,8,10]")
    kept = main(x + y("Transpose(%x) {perm = [0, 2, 1, 3]}"))
    assert kept == Move(3840, 3840, 20)
    turned = main(x + y("Transpose(%x) {perm = [0, 1, 3, 2]}"))
    assert turned.run_bytes == 16
    picked = main(inputs(t="float16[1000,64]", i="int64[3,5]") + y("Gather(%t, %i)"))
    assert (picked.read_bytes, picked.write_bytes, picked.run_bytes) == (15 * 128 + 120, 15 * 128, 128)
    joined = main(inputs(a="float32[4,3]", b="float32[4,5]") + y("Concat(%a, %b) {axis = 1}"))
    assert (joined.read_bytes, joined.run_bytes) == (128, 12)


def test_views_and_shapes_launch_nothing():
    text = inputs(x="float16[4,6]") + "constant %s = int64[1] {24}\n"
    assert work(text + y("Reshape(%x, %s)")) == NoKernel()
    assert work(text + y("Shape(%x)")) == NoKernel()


def test_what_cannot_be_costed_says_why():
    free = work(inputs(x="float16[n,64]", w="float16[64,64]") + y("MatMul(%x, %w)"))
    assert free == Uncosted("the size of x is not known before run time")
    arm = work(inputs(x="float64[4]") + y("Exp(%x)"))
    assert isinstance(arm, Uncosted)
    assert "AI CPU" in arm.reason
    branch = work(inputs(x="float32[4,4]") + y("NonZero(%x)"))
    assert isinstance(branch, Uncosted)


def test_a_fallback_is_a_trip_to_the_host():
    found = work(inputs(x="string[8]") + y("StringNormalizer(%x)"))
    assert not isinstance(found, KernelWork)
    graph = graph_of(inputs(x="float32[8,4]") + y("Hardmax(%x)"))
    node = graph.nodes["y"]
    from dataclasses import replace

    strange = replace(node, op="Nobody", domain="some.where")
    host = work_of_node(graph, strange)
    assert isinstance(host, HostWork)
    assert (host.to_host_bytes, host.to_chip_bytes) == (128, 128)
    assert "some.where" in host.reason


def test_attention_is_read_off_its_pieces():
    text = inputs(q="float16[2,8,40,64]", k="float16[2,8,50,64]", v="float16[2,8,50,32]", m="float16[1,1,40,50]")
    text += "%t = Transpose(%k) {perm = [0, 1, 3, 2]} #t\n%s = MatMul(%q, %t) #s\n%a = Add(%s, %m) #a\n"
    text += "%p = Softmax(%a) {axis = -1} #p\n" + y("MatMul(%p, %v)")
    found = main(text, "y", FlashAttention)
    assert found == Attention(16, 40, 50, 64, 32, kv_heads=16, extra_passes=1, mask_bytes=2)
    row = main(text.replace("float16[1,1,40,50]", "float16[2,1,1,50]"), "y", FlashAttention)
    assert row == Attention(16, 40, 50, 64, 32, kv_heads=16, extra_passes=1)  # of a row for all queries little is read
    kernel = work(text, "y", FlashAttention)
    assert kernel.family == "flash_attention"
    assert kernel.border_bytes == found.compulsory_bytes + 40 * 50 * 2  # the mask is read too


def test_an_operator_of_attention_is_the_same_kernel():
    text = inputs(q="float16[1,6,512]", k="float16[1,9,128]", v="float16[1,9,128]")
    text += y("Attention(%q, %k, %v) {q_num_heads = 8, kv_num_heads = 2, is_causal = 1}")
    assert main(text, opset=23) == Attention(8, 6, 9, 64, 64, kv_heads=2, causal=True)
    masked = inputs(m="bool[6,9]") + text.replace("%v)", "%v, %m)")
    assert main(masked, opset=23) == Attention(8, 6, 9, 64, 64, kv_heads=2, causal=True, extra_passes=1, mask_bytes=1)


LINEAR = inputs(x="float16[64,96]", w="float16[96,128]", b="float16[128]")


def test_a_bias_is_added_while_the_product_is_stored_and_a_gelu_is_not():
    biased = work(LINEAR + "%a = MatMul(%x, %w) #a\n" + y("Add(%a, %b)"), "y", MatMulBias)
    (stage,) = biased.stages
    assert stage.main == Gemm(64, 128, 96, DType.FLOAT16, DType.FLOAT16)
    assert stage.on_the_way
    assert stage.behind.instructions.simple == pytest.approx(0.5)  # one pass of 16 bits, told as of 32
    text = LINEAR + "%a = MatMul(%x, %w) #a\n" + y("Gelu(%a)")
    (stage,) = work(text, "y", MatMulActivation, opset=20).stages
    assert not stage.on_the_way
    assert stage.behind.instructions.exp > 0
    assert stage.behind.elements == 64 * 128


def test_a_residual_is_a_tensor_of_its_own_and_takes_the_vector_unit():
    text = inputs(x="float16[64,96]", w="float16[96,128]", r="float16[64,128]")
    (stage,) = work(text + "%a = MatMul(%x, %w) #a\n" + y("Add(%a, %r)"), "y", MatMulResidual).stages
    assert not stage.on_the_way
    assert stage.behind.read_bytes == 64 * 128 * 2


def test_a_quantised_product_is_one_of_8_bits_whatever_its_body_says():
    text = inputs(x="int8[64,2]") + "constant %w = int8[2,3] {1, 2, 3, 4, 5, 6}\n"
    text += "constant %s = float32[] {0.5}\nconstant %z = int8[] {0}\n"
    text += "%a = DequantizeLinear(%x, %s, %z) #a\n%b = DequantizeLinear(%w, %s, %z) #b\n" + y("MatMul(%a, %b)")
    found = work(text, "y", QuantisedMatMul)
    (stage,) = found.stages
    assert stage.main == Gemm(64, 3, 2, DType.INT8, DType.FLOAT32)
    assert (stage.before, stage.behind) == (None, None)
    assert found.border_bytes == 64 * 2 + 2 * 3 + 64 * 3 * 4


def test_storage_formats_change_what_is_moved_and_not_what_is_computed():
    text = inputs(x="float16[1,20,8,8]", w="float16[40,20,3,3]") + y("Conv(%x, %w) {pads = [1, 1, 1, 1]}")
    graph = run_passes(graph_of(text), [FormatAssignment], Context())[-1].after
    works = {node.op: work_of_node(graph, node) for node in graph.order}
    assert works["Conv"].stages[0].main == work(text).stages[0].main
    assert isinstance(works["TransData"].stages[0].main, Move)
    assert works["TransData"].stages[0].main.run_bytes == 32


def test_a_normalisation_rides_before_its_product():
    text = inputs(x="float16[64,96]", g="float16[96]", w="float16[96,128]")
    text += "%n = LayerNormalization(%x, %g, %g) {axis = -1} #n\n" + y("MatMul(%n, %w)")
    (stage,) = work(text, "y", NormMatMul).stages
    assert (stage.before.rows, stage.before.width, stage.before.row_wise) == (64, 96, True)
    assert (stage.before.read_bytes, stage.before.write_bytes) == (64 * 96 * 2 + 96 * 2, 64 * 96 * 2)
    assert stage.behind is None


@pytest.fixture(scope="module")
def decoder():
    return gx.compile("qwen2.5-7b:layers=1", memory="fast")


def test_projections_of_one_input_are_one_product_with_all_their_columns(decoder):
    works = {node.op: work_of_node(decoder.graph, node) for node in decoder.graph.order}
    (qkv,) = works["NormQkvMatMul"].stages
    assert (qkv.main.m, qkv.main.n, qkv.main.k) == (2048, 3584 + 512 + 512, 3584)
    (gate_up,) = works["GateUpMatMul"].stages
    assert (gate_up.main.n, gate_up.behind) == (2 * 18944, None)
    assert works["FlashAttentionScore"].stages[0].main.kv_heads == 4
    assert works["FlashAttentionScore"].stages[0].main.causal


def test_a_kernel_moves_what_crosses_its_border(decoder):
    """Except for the scalars in its body, which come with the launch."""
    for node in decoder.graph.order:
        found = work_of_node(decoder.graph, node)
        if isinstance(found, KernelWork):
            counted = bytes_moved(node, *types_of(decoder.graph, node))
            inside = sum(v.constant.nbytes for v in node.body.constants) if node.body is not None else 0
            assert counted - inside <= found.border_bytes <= counted


def test_experts_are_a_batch_of_products():
    graph = gx.compile("mixtral-8x7b:layers=1", memory="fast").graph
    first, second = (work_of_node(graph, node) for node in graph.order if node.op == "GroupedMatmul")
    assert (first.stages[0].main.m, first.stages[0].main.n, first.stages[0].main.k) == (512, 2 * 14336, 4096)
    assert first.stages[0].main.batch == second.stages[0].main.batch == 8
    assert (second.stages[0].main.n, second.stages[0].main.k) == (4096, 14336)
    assert first.stages[0].behind.instructions.exp > 0
    assert second.stages[0].behind is None
    assert "evenly" in first.note


def test_a_layer_in_one_kernel_has_its_products_in_order():
    graph = gx.compile("qwen2.5-7b:layers=1", fusion={"mega_kernel": True}, memory="fast").graph
    (node,) = (node for node in graph.order if node.op == "TransformerLayer")
    found = work_of_node(graph, node)
    products = [stage.main for stage in found.stages if isinstance(stage.main, Gemm | Attention)]
    assert [type(product) for product in products] == [Gemm, Attention, Gemm, Gemm, Gemm]
    assert [product.n for product in products if isinstance(product, Gemm)] == [4608, 3584, 37888, 3584]
    assert len(found.between_bytes) == len(found.stages) - 1
    hidden, wide = 2048 * 3584 * 2, 2048 * 18944 * 2
    assert [size for size in found.between_bytes if size] == [hidden, hidden, hidden, wide]


def test_rows_share_scale_and_shift_and_nothing_else():
    by_channel = inputs(x="float16[2,16,4,4]", s="float16[16]") + y("InstanceNormalization(%x, %s, %s)")
    assert main(by_channel).shared_bytes == 0  # sixteen channels of sixteen elements: a number a row, no row
    text = inputs(x="float16[64,64]", s="float16[64]", c="float16[64,1]")
    text += "%m = ReduceMax(%x) {axes = [-1], keepdims = 1} #m\n%t = Add(%s, %s) #t\n"
    text += "%d = Sub(%x, %m) #d\n%e = Mul(%t, %d) #e\n%f = Mul(%e, %c) #f\n" + y("Add(%s, %f)")
    graph = graph_of(text, 13)
    given = [(node, *types_of(graph, node)) for node in graph.order]
    read, written = 64 * 64 * 2 + 2 * 128, 64 * 64 * 2
    # Columns of 64 numbers, one for each row, are no row; a sum of rows is made where it is wanted.
    assert vector_of(given, read, written).shared_bytes == 128
    assert vector_of([g for g in given if g[0].name != "m"], read, written).shared_bytes == 0  # element by element
