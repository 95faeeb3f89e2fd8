from __future__ import annotations

import pytest

from gexplorer.cost.roofline import baseline_us, peak_flops_per_us, roofline
from gexplorer.cost.vector_work import elementwise, transpose
from gexplorer.cost.work import Attention, Gemm
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.dtypes import DType

CHIP = load_chip("teaching")  # 4 x 8192 flops a cycle at 1 GHz, 100 GB/s


def test_two_roofs_by_hand():
    work = Gemm(1024, 1024, 1024)
    found = roofline(work, CHIP, l2_bytes=50e6)
    assert found.peak_flops_per_us == 4 * 8192 * 1000
    assert found.hbm_intensity == pytest.approx(2 * 1024**3 / (3 * 1024**2 * 2))
    assert found.l2_intensity == pytest.approx(2 * 1024**3 / 50e6)
    assert found.least_us == pytest.approx(max(2 * 1024**3 / 32.768e6, 3 * 1024**2 * 2 / 100e3))
    assert found.least_l2_us == pytest.approx(50e6 / 400e3)


def test_peaks_by_element_type_and_unit():
    assert peak_flops_per_us(Gemm(1, 1, 1, DType.INT8), CHIP) == 2 * peak_flops_per_us(Gemm(1, 1, 1), CHIP)
    assert peak_flops_per_us(Gemm(1, 1, 1, DType.FLOAT32), CHIP) == peak_flops_per_us(Gemm(1, 1, 1), CHIP) / 4
    rounded = Gemm(1, 1, 1, DType.FLOAT32, hf32=True)
    assert peak_flops_per_us(rounded, CHIP) == peak_flops_per_us(Gemm(1, 1, 1), CHIP) / 2
    assert peak_flops_per_us(Gemm(1, 1, 1, hf32=True), CHIP) == peak_flops_per_us(Gemm(1, 1, 1), CHIP)
    attention = Attention(1, 1, 1, 1, dtype=DType.FLOAT32)
    assert peak_flops_per_us(attention, CHIP) == peak_flops_per_us(Attention(1, 1, 1, 1), CHIP) / 4
    assert peak_flops_per_us(elementwise((4,), DType.FLOAT32), CHIP) == 8 * 1000 * 25
    assert peak_flops_per_us(transpose((4, 4), DType.FLOAT32, 4), CHIP) == 0


def test_the_baseline_is_launch_and_the_higher_roof():
    chip = load_chip("Ascend910_9391")
    decode = Gemm(16, 3200, 5120)
    assert baseline_us(decode, chip) == pytest.approx(
        chip.launch.cube_us + decode.compulsory_bytes / (1.6e6 * chip.hbm.achievable)
    )
    attention = Attention(1, 4096, 4096, 128)
    assert baseline_us(attention, chip) == pytest.approx(
        chip.launch.mixed_us + attention.flops / peak_flops_per_us(attention, chip)
    )
    assert baseline_us(transpose((1024, 1024), DType.FLOAT32, 32), chip) > chip.launch.vector_us
