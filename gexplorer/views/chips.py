"""The chips that are built in, as plain data."""

from __future__ import annotations

from gexplorer.hardware.catalogue import chip_names, load_chip
from gexplorer.hardware.spec import Chip


def chip_list() -> list[dict[str, object]]:
    """One row a chip with the numbers that one asks for first."""
    return [_main_numbers(load_chip(name)) for name in chip_names()]


def chip_detail(name_or_path: str) -> dict[str, object]:
    """One chip: its main numbers, and under ``values`` every number as written, with its source.

    Raises:
        OptionError: there is no such chip.
    """
    chip = load_chip(name_or_path)
    values = {key: {"value": str(value), "source": chip.sources[key]} for key, value in chip.values.items()}
    return {**_main_numbers(chip), "values": values}


def _main_numbers(chip: Chip) -> dict[str, object]:
    size = chip.capacity
    return {
        "name": chip.name,
        "summary": chip.summary,
        "clock_hz": chip.clock_hz,
        "cube_cores": chip.cube_cores,
        "vector_cores": chip.vector_cores,
        "fp16_flops_per_s": chip.cube.flops_per_cycle(16) * chip.cube_cores * chip.clock_hz,
        "hbm_bytes": size.hbm_bytes,
        "hbm_bytes_per_s": chip.hbm.bytes_per_us * 1e6,
        "hbm_achievable": chip.hbm.achievable,
        "l2_bytes": size.l2_bytes,
        "l1_bytes": size.l1_bytes,
        "l0a_bytes": size.l0a_bytes,
        "l0b_bytes": size.l0b_bytes,
        "l0c_bytes": size.l0c_bytes,
        "ub_bytes": size.ub_bytes,
        "cube_vector_path": chip.cube_vector_path,
    }
