from __future__ import annotations

import pytest
import yaml

from gexplorer.errors import OptionError
from gexplorer.hardware import catalogue
from gexplorer.hardware.catalogue import CHIPS, chip_names, load_chip
from gexplorer.hardware.quantities import Quantity
from gexplorer.hardware.schema import KEYS

SPLIT = ("Ascend910B1", "Ascend910B2", "Ascend910B3", "Ascend910B4", "Ascend910_9391")
COUPLED = ("Ascend310P3", "Ascend910A")


def test_every_file_is_a_chip_and_the_wanted_ones_are_there():
    assert {*SPLIT, *COUPLED, "teaching"} <= {*chip_names()}
    assert {path.stem for path in CHIPS.glob("*.yaml")} == {*chip_names()}


@pytest.mark.parametrize("name", chip_names())
def test_every_number_of_a_chip_has_a_source(name):
    chip = load_chip(name)
    assert chip.name == name
    assert {*chip.sources} == {*chip.values} <= {*KEYS}
    assert all(len(source) > 3 and source not in ("ini", "fit", "mskpp") for source in chip.sources.values())


@pytest.mark.parametrize(
    ("name", "tflops", "l2_mib"),
    [
        ("Ascend310P3", 69.5, 16),
        ("Ascend910A", 262.1, 32),
        ("Ascend910B1", 363.7, 192),
        ("Ascend910B2", 353.9, 192),
        ("Ascend910B3", 294.9, 192),
        ("Ascend910B4", 245.8, 96),
        ("Ascend910_9391", 363.7, 192),
    ],
)
def test_peaks_are_cores_times_clock_times_8192(name, tflops, l2_mib):
    chip = load_chip(name)
    m, n, k = chip.cube.shape(16)
    assert (m, n, k) == (16, 16, 16)
    assert chip.cube.shape(8)[2] == 32
    assert chip.cube_cores * chip.clock_hz * 2 * m * n * k / 1e12 == pytest.approx(tflops, abs=0.06)
    assert chip.capacity.l2_bytes == l2_mib << 20


@pytest.mark.parametrize(
    ("name", "float32", "hf32"),
    [("Ascend910B2", 88.5, 177), ("Ascend910B3", 73.7, 147.5), ("Ascend910_9391", 90.9, 181.9)],
)
def test_a_step_of_float32_takes_two_cycles_and_one_where_it_is_rounded_to_hf32(name, float32, hf32):
    chip = load_chip(name)
    tflops = [
        chip.cube_cores * chip.clock_hz * chip.cube.flops_per_cycle(32, hf32=rounded) / 1e12
        for rounded in (False, True)
    ]
    assert tflops == pytest.approx([float32, hf32], abs=0.06)
    assert [chip.cube.step_cycles(bits) for bits in (4, 8, 16, 32)] == [1, 1, 1, 2]
    assert chip.cube.step_cycles(16, hf32=True) == chip.cube.step_cycles(32, hf32=True) == 1
    assert "99.5 TFLOPS" in chip.sources["cube.float32_cycles"]
    assert chip.sources["cube.hf32_cycles"].startswith("estimate")


@pytest.mark.parametrize("name", COUPLED)
def test_what_a_cube_without_float32_costs_is_marked_a_guess(name):
    assert load_chip(name).sources["cube.float32_cycles"].startswith("guess")


def test_cube_and_vector_cores_meet_in_memory_only_where_they_are_apart():
    for name in SPLIT:
        assert load_chip(name).cube_vector_path == "gm"
        assert "ub->l1" not in load_chip(name).paths
        assert load_chip(name).vector_per_cube == 2
    for name in COUPLED:
        assert load_chip(name).cube_vector_path == "direct"
        assert load_chip(name).paths["ub->l1"].bytes_per_us > 0


def test_upper_and_lower_case_and_a_slip_of_the_keyboard():
    assert load_chip("ASCEND910b3") is load_chip("Ascend910B3")
    with pytest.raises(OptionError, match="no chip 'Ascend910B33'; did you mean Ascend910B3"):
        load_chip("Ascend910B33")
    with pytest.raises(OptionError, match="no chip 'tpu'; there are: Ascend310P3, "):
        load_chip("tpu")


def test_a_chip_of_ones_own_builds_on_another(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("""
name: mine
like: ascend910b3
sources: {me: my own measurement}
clock: {value: 2 GHz, source: me}
hbm:
  rate: {value: 900 GB/s, source: me}
""")
    mine, base = load_chip(path), load_chip("Ascend910B3")
    assert (mine.name, mine.clock_hz, mine.hbm.bytes_per_us) == ("mine", 2e9, 9e5)
    assert mine.sources["hbm.rate"] == "my own measurement"
    assert mine.sources["capacity.l1"] == base.sources["capacity.l1"]
    # What is written per cycle follows the clock.
    assert mine.paths["gm->l1"].bytes_per_us == pytest.approx(base.paths["gm->l1"].bytes_per_us * 2 / 1.8)


def test_paths_between_cube_and_vector_unit_are_not_inherited_where_they_cannot_be(tmp_path):
    path = tmp_path / "apart.yaml"
    path.write_text("{name: apart, like: Ascend910A, cube_vector_path: {value: gm, source: me}}")
    assert {*load_chip(path).paths}.isdisjoint({"ub->l1", "l1->ub", "l0c->ub"})
    path.write_text("{name: coupled, like: Ascend910B3, cube_vector_path: {value: direct, source: me}}")
    with pytest.raises(OptionError, match=r"paths.ub->l1.rate: missing; cube_vector_path is direct"):
        load_chip(path)


def test_a_new_file_is_a_new_chip(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "CHIPS", tmp_path)
    catalogue._built_in.cache_clear()
    try:
        for path in CHIPS.glob("teaching.yaml"):
            (tmp_path / "NewChip.yaml").write_text(path.read_text().replace("name: teaching", "name: NewChip"))
        assert chip_names() == ("NewChip",)
        assert load_chip("newchip").name == "NewChip"
    finally:
        monkeypatch.undo()
        catalogue._built_in.cache_clear()
        catalogue._load_built_in.cache_clear()
    assert "teaching" in chip_names()


def _broken(tmp_path, change):
    data = yaml.safe_load((CHIPS / "teaching.yaml").read_text())
    change(data)
    path = tmp_path / "broken.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: d["capacity"]["l1"].update(value="512 KB/s"),
            "capacity.l1: a size in B, KiB, MiB, GiB or GB is wanted, not '512 KB/s'",
        ),
        (lambda d: d["capacity"].pop("l0c"), "capacity.l0c: missing"),
        (lambda d: d["cube"].pop("float32_cycles"), "cube.float32_cycles: missing"),
        (lambda d: d["cube"]["hf32_cycles"].update(value=0), "cube.hf32_cycles: a count above 0 is wanted"),
        (lambda d: d["capacity"].update(l3={"value": "1 B", "source": "x"}), "capacity.l3: no such key"),
        (lambda d: d["clock"].pop("source"), "clock: source: every number says where it is from"),
        (lambda d: d.update(clock=5), "clock: {value: ..., source: ...} is wanted, not 5"),
        (lambda d: d["clock"].update(unit="GHz"), "clock: value and source are wanted, not unit"),
        (lambda d: d.update(name=7), "name: a text is wanted"),
        (lambda d: d.update(like="tpu"), "like: no chip 'tpu'; there are: "),
        (lambda d: d.update(cores={"cubes": {"value": 1, "source": "x"}}), "cores.cubes: no such key; did you mean"),
        (lambda d: d["cube_vector_path"].update(value="bus"), "cube_vector_path: gm or direct is wanted, not 'bus'"),
        (lambda d: d["cube_vector_path"].update(value="direct"), "paths.ub->l1.rate: missing; cube_vector_path"),
        (
            lambda d: d["paths"].update({"ub->l1": {k: {"value": "1 " + u, "source": "x"} for k, u in
                                                   (("rate", "GB/s"), ("startup", "ns"))}}),
            "paths.ub->l1: there is no such path where cube_vector_path is gm",
        ),
        (lambda d: d.update(sources=[1]), "sources: a mapping"),
    ],
)  # fmt: skip
def test_a_fault_in_a_file_names_file_and_key(tmp_path, change, message):
    with pytest.raises(OptionError) as caught:
        load_chip(_broken(tmp_path, change))
    text = str(caught.value)
    assert text.startswith(f"{tmp_path / 'broken.yaml'}: {message}")
    assert "\n" not in text


@pytest.mark.parametrize("text", ["", "[]", "just words", "a: [", "\x00"])
def test_what_is_no_chip_file_is_one_clear_line(tmp_path, text):
    path = tmp_path / "odd.yaml"
    path.write_text(text)
    with pytest.raises(OptionError, match=r"odd\.yaml"):
        load_chip(path)


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path):
    with pytest.raises(OptionError, match=r"none\.yaml: cannot be read: No such file"):
        load_chip(tmp_path / "none.yaml")


def test_with_values_and_scaled_leave_the_chip_alone():
    chip = load_chip("Ascend910B3")
    changed = chip.with_values({"launch.cube": Quantity(7, "us"), "clock": Quantity(2, "GHz")})
    assert (changed.launch.cube_us, changed.clock_hz) == (7, 2e9)
    assert changed.paths["l1->l0a"].bytes_per_us == pytest.approx(238 * 2000)
    assert chip.clock_hz == 1.8e9
    assert chip.scaled({"hbm.rate": 0.5}).hbm.bytes_per_us == chip.hbm.bytes_per_us / 2
    assert chip.number("capacity.l1") == 512 << 10
    with pytest.raises(TypeError):
        chip.values["clock"] = 1  # type: ignore[index]
