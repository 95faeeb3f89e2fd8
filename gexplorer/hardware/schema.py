"""What a chip file may say: every key, what it measures, and whether it may be left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from gexplorer.errors import OptionError
from gexplorer.hardware.quantities import Kind, Quantity, read_quantity

# The moves between buffers that a chip may have.
PATHS = (
    *("gm->l1", "l1->l0a", "l1->l0b", "l0c->gm"),
    *("gm->ub", "ub->gm", "ub->l1", "l1->ub", "l0c->ub"),
)
# By these cube and vector unit hand data over directly; a chip without them lets them meet in memory only.
DIRECT_PATHS = ("ub->l1", "l0c->ub")
OPTIONAL_PATHS = frozenset({*DIRECT_PATHS, "l1->ub"})

KEYS: Mapping[str, Kind] = MappingProxyType(
    {
        "clock": "frequency",
        "cores.cube": "count",
        "cores.vector": "count",
        "cube.m": "count",
        "cube.n": "count",
        "cube.k_bytes": "count",
        "cube.float32_cycles": "count",
        "cube.hf32_cycles": "count",
        "cube.head_cycles": "number",
        "cube.gap_cycles": "number",
        "vector.bytes_per_cycle": "number",
        "vector.reduce_passes": "number",
        "vector.divide_passes": "number",
        "vector.exp_passes": "number",
        "vector.row_cycles": "number",
        **{f"capacity.{name}": "bytes" for name in ("hbm", "l2", "l1", "l0a", "l0b", "l0c", "ub")},
        "hbm.rate": "rate",
        "hbm.achievable": "fraction",
        "hbm.cold_core_rate": "rate",
        "l2.usable": "share",
        **{f"paths.{path}.rate": "rate" for path in PATHS},
        **{f"paths.{path}.startup": "time" for path in PATHS},
        "launch.cube": "time",
        "launch.vector": "time",
        "launch.mixed": "time",
        "launch.dispatch": "time",
        "cube_vector_path": "word",
    }
)
WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType({"cube_vector_path": ("gm", "direct")})

Value = Quantity | str


@dataclass(frozen=True, slots=True)
class ChipFile:
    """What one chip file says, checked key by key; a chip that it builds on is not looked up yet.

    Attributes:
        name: the chip's name.
        summary: one line about it.
        like: the chip whose numbers hold where the file has none; "" where it must have all.
        values: quantity or word by dotted key.
        sources: where each value is from, by dotted key.
    """

    name: str
    summary: str
    like: str
    values: Mapping[str, Value]
    sources: Mapping[str, str]


def check_chip(data: object, file: str) -> ChipFile:
    """Checks what a YAML file holds.

    A leaf is ``{value: 64 KiB, source: ini}``; the top-level table ``sources`` spells the source's short name out.

    Raises:
        OptionError: naming file and key.
    """
    if not isinstance(data, Mapping):
        raise OptionError(f"{file}: a mapping with the numbers of a chip is wanted")
    table = data.get("sources", {})
    if not isinstance(table, Mapping):
        raise OptionError(f"{file}: sources: a mapping from short names to sources is wanted")
    spelled = {str(name): str(text) for name, text in table.items()}
    values: dict[str, Value] = {}
    sources: dict[str, str] = {}
    numbers = {name: part for name, part in data.items() if name not in ("name", "summary", "like", "sources")}
    for key, leaf in _leaves(numbers, file):
        values[key] = read_value(key, leaf["value"], file)
        source = leaf.get("source")
        if not isinstance(source, str) or not source.strip():
            raise OptionError(f"{file}: {key}: source: every number says where it is from")
        sources[key] = spelled.get(source, source)
    return ChipFile(_text(data, "name", file), _text(data, "summary", file), _text(data, "like", file), values, sources)


def require_complete(values: Mapping[str, Value], file: str) -> None:
    """Raises OptionError for the first key that a chip needs and the file (with what it builds on) lacks."""
    for key in KEYS:
        path = key.split(".")[1] if key.startswith("paths.") else ""
        optional = path in OPTIONAL_PATHS and not any(k.startswith(f"paths.{path}.") for k in values)
        if key not in values and not optional:
            raise OptionError(f"{file}: {key}: missing (add it, or build on another chip with like: NAME)")
    for path in DIRECT_PATHS:
        there = f"paths.{path}.rate" in values
        if values["cube_vector_path"] == "direct" and not there:
            raise OptionError(f"{file}: paths.{path}.rate: missing; cube_vector_path is direct")
        if values["cube_vector_path"] == "gm" and there:
            raise OptionError(f"{file}: paths.{path}: there is no such path where cube_vector_path is gm")


def read_value(key: str, value: object, file: str) -> Value:
    """One value by its key. Raises OptionError naming file and key."""
    if key not in KEYS:
        raise OptionError(f"{file}: {key}: no such key{_near(key)}")
    if KEYS[key] == "word":
        if value not in WORDS[key]:
            raise OptionError(f"{file}: {key}: {' or '.join(WORDS[key])} is wanted, not {value!r}")
        return str(value)
    try:
        return read_quantity(value, KEYS[key])
    except ValueError as error:
        raise OptionError(f"{file}: {key}: {error}") from None


def _leaves(data: Mapping[object, object], file: str, above: str = "") -> Iterator[tuple[str, Mapping[str, object]]]:
    """Every ``{value:, source:}`` under its dotted key."""
    for name, part in data.items():
        key = f"{above}{name}"
        if not isinstance(part, Mapping):
            raise OptionError(f"{file}: {key}: {{value: ..., source: ...}} is wanted, not {part!r}{_near(key)}")
        if "value" not in part:
            yield from _leaves(part, file, f"{key}.")
            continue
        extra = [str(word) for word in part if word not in ("value", "source")]
        if extra:
            raise OptionError(f"{file}: {key}: value and source are wanted, not {extra[0]}")
        yield key, {str(word): item for word, item in part.items()}


def _text(data: Mapping[object, object], key: str, file: str) -> str:
    text = data.get(key, "")
    if not isinstance(text, str) or (key == "name" and not text):
        raise OptionError(f"{file}: {key}: a text is wanted, not {text!r}")
    return text


def _near(key: str) -> str:
    near = get_close_matches(key, KEYS, 1)
    return f"; did you mean {near[0]}?" if near and near[0] != key else ""
