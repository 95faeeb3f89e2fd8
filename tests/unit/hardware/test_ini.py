from __future__ import annotations

import pytest

from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip

# Written for this test in the form of CANN's platform files.
SPLIT = """
[version]
SoC_version=Ascend910X
Short_SoC_version=Ascend910X
AIC_version=AIC-C-220
[SoCInfo]
ai_core_cnt=12
cube_core_cnt=12
vector_core_cnt=24
ai_cpu_cnt=6
memory_size=34359738368
l2_size=100663296
cube_vector_combine=split
[AICoreSpec]
cube_freq=1600
cube_m_size=16
cube_n_size=16
cube_k_size=16
vec_calc_size=128
l0_a_size=65536
l0_b_size=65536
l0_c_size=131072
l1_size=524288
ub_size=196608
[AICoreMemoryRates]
ddr_rate=32
l1_to_ub_rate=128
[AICoreintrinsicDtypeMap]
Intrinsic_vrec=float16,float32
"""
COUPLED = (
    SPLIT.replace("split", "fuse")
    .replace("Ascend910X", "Ascend310X")
    .replace("l1_to_ub_rate=128", "l1_to_ub_rate=64\nub_to_l1_rate=96\nl0_c_to_ub_rate=512")
)


@pytest.fixture
def ini(tmp_path):
    def write(text: str):
        path = tmp_path / "Ascend910X.ini"
        path.write_text(text)
        return path

    return write


def test_a_platform_file_with_cores_apart(ini):
    chip = load_chip(ini(SPLIT))
    assert (chip.name, chip.clock_hz, chip.cube_cores, chip.vector_cores) == ("Ascend910X", 1.6e9, 12, 24)
    assert (chip.capacity.hbm_bytes, chip.capacity.l2_bytes) == (32 << 30, 96 << 20)
    assert (chip.capacity.l1_bytes, chip.capacity.l0c_bytes) == (512 << 10, 128 << 10)
    assert chip.cube_vector_path == "gm"
    assert "l1->ub" not in chip.paths
    assert chip.sources["capacity.l1"] == "Ascend910X.ini, [AICoreSpec] l1_size"
    # What it does not say is as on the built-in chip of its kind.
    assert chip.launch == load_chip("Ascend910B3").launch
    assert chip.sources["launch.cube"] == load_chip("Ascend910B3").sources["launch.cube"]


def test_rates_of_memory_are_a_core_s_and_scaled(ini):
    chip = load_chip(ini(SPLIT.replace("ddr_rate=32", "ddr_rate=32\nl2_read_rate=100")))
    assert chip.hbm.bytes_per_us == pytest.approx(32 * 12 * 1600)
    assert chip.paths["gm->l1"].bytes_per_us == pytest.approx(97 * 1600)
    assert chip.sources["hbm.rate"] == "Ascend910X.ini, [AICoreMemoryRates] ddr_rate, times 12"
    with pytest.raises(OptionError, match=r"hbm.rate: .* not 'slow B/cycle' \(\[AICoreMemoryRates\] ddr_rate\)"):
        load_chip(ini(SPLIT.replace("ddr_rate=32", "ddr_rate=slow")))


def test_a_file_of_a_built_in_chip_keeps_what_we_know_better(ini):
    chip, built_in = load_chip(ini(SPLIT.replace("Ascend910X", "Ascend910B4"))), load_chip("Ascend910B4")
    assert chip.hbm == built_in.hbm
    assert chip.sources["hbm.rate"] == built_in.sources["hbm.rate"]
    assert chip.cube_cores == 12


def test_a_platform_file_with_coupled_cores(ini):
    chip = load_chip(ini(COUPLED))
    assert chip.cube_vector_path == "direct"
    assert chip.vector_cores == chip.cube_cores == 12
    assert chip.paths["ub->l1"].bytes_per_us == pytest.approx(96 * 1600)
    assert chip.paths["l1->ub"].bytes_per_us == pytest.approx(64 * 1600)
    assert chip.paths["l0c->ub"].bytes_per_us == pytest.approx(512 * 1600)


def test_an_empty_entry_is_left_to_the_chip_that_it_builds_on(ini):
    chip = load_chip(ini(SPLIT.replace("memory_size=34359738368", "memory_size=")))
    assert chip.capacity.hbm_bytes == load_chip("Ascend910B3").capacity.hbm_bytes


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("l1_size=524288", "l1_size=big", r"capacity.l1: .* not 'big B' \(\[AICoreSpec\] l1_size\)"),
        ("cube_freq=1600", "cube_freq=0", r"clock: .* above 0 .* \(\[AICoreSpec\] cube_freq\)"),
        ("cube_freq=1600", "", r"\[AICoreSpec\] cube_freq: missing"),
        ("[version]", "[versions]", r"\[version\] SoC_version: missing"),
        ("[version]", "version", "not a platform file"),
        ("cube_core_cnt=12\nvector_core_cnt=24", "vector_core_cnt=", r"cores.vector: .* \(\[SoCInfo\] vector_core_cnt"),
    ],
)
def test_a_fault_names_file_section_and_key(ini, before, after, message):
    assert before in SPLIT
    with pytest.raises(OptionError, match=message) as caught:
        load_chip(ini(SPLIT.replace(before, after)))
    assert "Ascend910X.ini" in str(caught.value)
