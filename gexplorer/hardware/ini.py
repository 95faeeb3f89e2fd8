"""Reads a CANN platform file (``platform_config/Ascend910B3.ini``) as a chip.

Such a file holds counts, clocks, capacities and rates in bytes per cycle and core. What it does not hold (launch
costs, what the memory achieves) comes from the built-in chip of the same name, or else of the same kind: cores apart
or coupled.

Source of the key names: ``platform_config/*.ini`` of CANN 8.1.RC1.
"""

from __future__ import annotations

import configparser
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

from gexplorer.errors import OptionError, reason_of
from gexplorer.hardware.quantities import Quantity, read_quantity
from gexplorer.hardware.schema import ChipFile, Value, read_value

SPLIT_MODEL, COUPLED_MODEL = "Ascend910B3", "Ascend310P3"
# Share of the file's l2_read_rate that a core reaches when all read: 107 of 110 bytes a cycle, as fitted for 910B.
REACHED = 0.97

# Section and key of the ini file, our key, and the unit that the ini file leaves unsaid.
_KEYS: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType(
    {
        ("AICoreSpec", "cube_freq"): ("clock", "MHz"),
        ("AICoreSpec", "cube_m_size"): ("cube.m", ""),
        ("AICoreSpec", "cube_n_size"): ("cube.n", ""),
        ("AICoreSpec", "vec_calc_size"): ("vector.bytes_per_cycle", ""),
        ("SoCInfo", "memory_size"): ("capacity.hbm", "B"),
        ("SoCInfo", "l2_size"): ("capacity.l2", "B"),
        ("AICoreSpec", "l1_size"): ("capacity.l1", "B"),
        ("AICoreSpec", "l0_a_size"): ("capacity.l0a", "B"),
        ("AICoreSpec", "l0_b_size"): ("capacity.l0b", "B"),
        ("AICoreSpec", "l0_c_size"): ("capacity.l0c", "B"),
        ("AICoreSpec", "ub_size"): ("capacity.ub", "B"),
    }
)
_COUPLED_KEYS: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType(
    {
        ("AICoreMemoryRates", "ub_to_l1_rate"): ("paths.ub->l1.rate", "B/cycle"),
        ("AICoreMemoryRates", "l1_to_ub_rate"): ("paths.l1->ub.rate", "B/cycle"),
        ("AICoreMemoryRates", "l0_c_to_ub_rate"): ("paths.l0c->ub.rate", "B/cycle"),
    }
)


def read_ini(path: Path, known: Collection[str]) -> ChipFile:
    """What a platform file says, to be completed by the built-in chip that it is like.

    Args:
        path: the file.
        known: names of the built-in chips.

    Raises:
        OptionError: the file cannot be read, is no platform file, or a number in it is none; naming file and key.
    """
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OptionError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or reason_of(error)}") from None
    except configparser.Error as error:
        raise OptionError(f"{path}: not a platform file: {reason_of(error)}") from None
    for section, key in (("version", "SoC_version"), ("AICoreSpec", "cube_freq")):
        if not parser.get(section, key, fallback=""):
            raise OptionError(f"{path}: [{section}] {key}: missing; this is no CANN platform file")
    name = parser["version"]["SoC_version"]
    # 910A and 310P: one core does both. On later chips the two kinds of core are apart.
    split = parser.get("SoCInfo", "cube_vector_combine", fallback="").strip() == "split"
    named = name.lower() in {other.lower() for other in known}
    like = name if named else SPLIT_MODEL if split else COUPLED_MODEL
    return ChipFile(name, f"read from {path.name}", like, *_read(parser, path, name, split=split, named=named))


def _read(
    parser: configparser.ConfigParser, path: Path, name: str, *, split: bool, named: bool
) -> tuple[dict[str, Value], dict[str, str]]:
    """Values and sources. Rates of memory are taken for chips that are not ``named``: of those we know better."""
    values: dict[str, Value] = {}
    sources: dict[str, str] = {}

    def take(key: str, section: str, entry: str, unit: str, text: str) -> None:
        try:
            values[key] = read_value(key, f"{text} {unit}".rstrip(), str(path))
        except OptionError as error:
            raise OptionError(f"{error} ([{section}] {entry})") from None
        sources[key] = f"{name}.ini, [{section}] {entry}"

    for (section, entry), (key, unit) in {**_KEYS, **({} if split else _COUPLED_KEYS)}.items():
        text = parser.get(section, entry, fallback=None)
        if text:
            take(key, section, entry, unit, text)
    cores = parser.get("SoCInfo", "cube_core_cnt", fallback=None) or parser.get("SoCInfo", "ai_core_cnt", fallback="")
    take("cores.cube", "SoCInfo", "ai_core_cnt", "", cores)
    vector = parser.get("SoCInfo", "vector_core_cnt", fallback="")
    # A coupled core has a vector unit of its own; vector_core_cnt counts extra ones, of which kernels use none here.
    take("cores.vector", "SoCInfo", "vector_core_cnt", "", vector if split else cores)
    if not named:
        _read_rates(parser, path, name, values, sources)
    values["cube_vector_path"] = "gm" if split else "direct"
    sources["cube_vector_path"] = f"{name}.ini, [SoCInfo] cube_vector_combine"
    return values, sources


def _read_rates(
    parser: configparser.ConfigParser, path: Path, name: str, values: dict[str, Value], sources: dict[str, str]
) -> None:
    """Rates of HBM (the file's is a core's share) and of L2."""
    cores = values["cores.cube"]
    assert isinstance(cores, Quantity)
    wanted = (("hbm.rate", "ddr_rate", cores.number), ("paths.gm->l1.rate", "l2_read_rate", REACHED))
    for key, entry, factor in wanted:
        text = parser.get("AICoreMemoryRates", entry, fallback=None)
        if not text:
            continue
        try:
            value = read_quantity(f"{text} B/cycle", "rate")
        except ValueError as error:
            raise OptionError(f"{path}: {key}: {error} ([AICoreMemoryRates] {entry})") from None
        values[key] = Quantity(value.number * factor, value.unit)
        sources[key] = f"{name}.ini, [AICoreMemoryRates] {entry}, times {factor:g}"
