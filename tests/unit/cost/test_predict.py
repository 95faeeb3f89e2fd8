from __future__ import annotations

import dataclasses

import pytest

from gexplorer.cost.naming import work_of
from gexplorer.cost.points import read_points
from gexplorer.cost.predict import device_of, predict
from gexplorer.cost.work import Attention, Gemm, Move, Vector
from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.dtypes import DType

POINT = read_points()[0]


def point(**changes):
    return dataclasses.replace(POINT, **{"tile": None, "out_dtype": None, **changes})


@pytest.mark.parametrize(
    ("device", "chip"),
    [
        ("A3 24 AIC", "Ascend910_9391"),
        ("A3 die 24 AIC", "Ascend910_9391"),
        ("910C", "Ascend910_9391"),
        ("20 AIC", "Ascend910B3"),
        ("24 AIC", "Ascend910B2"),
        ("910B2 24 AIC", "Ascend910B2"),
        ("Ascend910B4", "Ascend910B4"),
        ("Atlas 300I, 310P3", "Ascend310P3"),
        ("910A", "Ascend910A"),
        ("Atlas 800T A2", "Ascend910B3"),
        ("910B 24 AIC", "Ascend910B2"),
    ],
)
def test_devices_by_the_words_of_their_sources(device, chip):
    assert device_of(point(device=device)) == chip


def test_a_device_that_nobody_knows():
    with pytest.raises(OptionError, match="line 2: device: no chip is known as 'A100'; there are: Ascend310P3"):
        predict(point(device="A100"), load_chip)


@pytest.mark.parametrize(
    ("op", "shape", "family", "work"),
    [
        ("gemm", (4, 5, 6), "gemm", Gemm(4, 5, 6)),
        ("MatMulV2", (4, 5, 6), "gemm", Gemm(4, 5, 6)),
        ("conv3x3 as gemm", (4, 5, 18), "conv", Gemm(4, 5, 18, left_distinct=1 / 9, hf32=True)),
        ("Conv2D 1x1", (4, 5, 18), "conv", Gemm(4, 5, 18, left_distinct=1, hf32=True)),
        ("flash_attn pto", (256, 512, 128), "flash_attention", Attention(1, 256, 512, 128)),
        ("flash_attn torch_npu", (256, 512, 64), "flash_attention", Attention(1, 256, 512, 64, extra_passes=1)),
    ],
)
def test_operators_by_name(op, shape, family, work):
    assert work_of(point(op=op, shape=shape)) == (family, work)


@pytest.mark.parametrize(
    ("op", "kind", "inputs"),
    [
        ("RmsNorm", Vector, 1), ("AddRmsNorm", Vector, 2), ("LayerNormV4", Vector, 1), ("SoftmaxV2", Vector, 1),
        ("SwiGlu", Vector, 1), ("ReduceSum", Vector, 1), ("Add", Vector, 2), ("RealDiv", Vector, 2),
        ("Gelu", Vector, 1), ("TensorMove", Vector, 1), ("Exp", Vector, 1), ("aclnnRmsNorm", Vector, 1),
        ("add_rms_norm", Vector, 2), ("elementwise add (in network)", Vector, 2), ("rms norm, bf16", Vector, 1),
    ],
)  # fmt: skip
def test_vector_operators_by_name(op, kind, inputs):
    family, work = work_of(point(op=op, shape=(64, 1024)))
    assert family == "vector"
    assert isinstance(work, kind)
    assert work.read_bytes == pytest.approx(inputs * 64 * 1024 * 2, rel=0.05)


def test_moves_by_name_and_what_has_no_model():
    assert isinstance(work_of(point(op="Transpose", shape=(64, 1024)))[1], Move)
    assert isinstance(work_of(point(op="GatherV2", shape=(64, 1024)))[1], Move)
    assert work_of(point(op="AllReduce", shape=(64, 1024))) is None
    assert predict(point(op="AllReduce", shape=(64, 1024)), load_chip) is None


def test_an_unfit_shape_says_what_is_wanted():
    with pytest.raises(OptionError, match="line 2: gemm: M, N and K are wanted, not 2 sizes"):
        work_of(point(shape=(4, 5)))


def test_a_kernel_that_a_framework_ran_waits_for_the_host():
    chip = load_chip("Ascend910B2")
    by_hand, by_torch = (
        predict(point(op=op, shape=(1024, 1024, 128), device="910B2"), load_chip)
        for op in ("flash_attn pto", "flash_attn torch_npu")
    )
    assert by_torch.predicted_us > by_hand.predicted_us + chip.launch.dispatch_us
    assert by_torch.roofline_us == pytest.approx(by_hand.roofline_us + chip.launch.dispatch_us)


def test_a_known_tile_is_taken_and_a_result_of_eight_bit_inputs_is_sixteen_bits():
    found = predict(point(tile=(64, 128, 64)), load_chip)
    assert found.tile == (64, 128, 64)
    assert found.error == found.predicted_us / POINT.time_us - 1
    work = work_of(point(dtype=DType.INT8))[1]
    assert work.out_dtype is DType.FLOAT16
