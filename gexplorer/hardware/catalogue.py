"""Finds chips: every YAML file in ``chips/`` is one, a user's own YAML or CANN platform ``.ini`` is another."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from pathlib import Path

import yaml

from gexplorer.errors import OptionError, reason_of
from gexplorer.hardware.ini import read_ini
from gexplorer.hardware.schema import OPTIONAL_PATHS, ChipFile, check_chip, require_complete
from gexplorer.hardware.spec import Chip, make_chip

CHIPS = Path(__file__).parent / "chips"


def chip_names() -> tuple[str, ...]:
    """Names of the chips that are built in, in alphabetical order."""
    return tuple(sorted(_built_in()))


def load_chip(name_or_path: str | Path) -> Chip:
    """A chip by its CANN name (upper or lower case), from a YAML file, or from a CANN platform ``.ini`` file.

    Raises:
        OptionError: there is no such chip or file, or the file says something that cannot be used.
    """
    text = str(name_or_path)
    known = {name.lower(): name for name in _built_in()}
    if text.lower() in known:
        return _load_built_in(known[text.lower()])
    path = Path(text)
    if path.suffix.lower() in (".yaml", ".yml", ".ini"):
        file = read_ini(path, chip_names()) if path.suffix.lower() == ".ini" else _read_yaml(path)
        return _complete(file, str(path), ())
    near = get_close_matches(text.lower(), known, 2)
    hint = f"did you mean {' or '.join(known[n] for n in near)}?" if near else f"there are: {', '.join(chip_names())}"
    raise OptionError(f"no chip {text!r}; {hint}")


@cache
def _built_in() -> dict[str, Path]:
    return {path.stem: path for path in CHIPS.glob("*.yaml")}


@cache
def _load_built_in(name: str) -> Chip:
    path = _built_in()[name]
    return _complete(_read_yaml(path), path.name, ())


def _complete(file: ChipFile, path: str, below: tuple[str, ...]) -> Chip:
    """The chip of a file, with what it leaves out taken from the chip that it is like."""
    values, sources = dict(file.values), dict(file.sources)
    if file.like:
        if file.like in below:
            raise OptionError(f"{path}: like: {' -> '.join((*below, file.like))} goes in a circle")
        base = _base(file, path, (*below, file.like))
        # A chip whose cube and vector cores meet otherwise than its model's does not inherit the paths between them.
        other = values.get("cube_vector_path", base.cube_vector_path) != base.cube_vector_path
        within = tuple(f"paths.{path}." for path in OPTIONAL_PATHS)
        kept = {key for key in base.values if not (other and key.startswith(within))}
        values = {key: base.values[key] for key in base.values if key in kept} | values
        sources = {key: base.sources[key] for key in base.sources if key in kept} | sources
    require_complete(values, path)
    return make_chip(file.name, file.summary, values, sources)


def _base(file: ChipFile, path: str, below: tuple[str, ...]) -> Chip:
    known = {name.lower(): name for name in _built_in()}
    name = known.get(file.like.lower())
    if name is None:
        raise OptionError(f"{path}: like: no chip {file.like!r}; there are: {', '.join(chip_names())}")
    base = _built_in()[name]
    return _complete(_read_yaml(base), base.name, below)


def _read_yaml(path: Path) -> ChipFile:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OptionError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or reason_of(error)}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise OptionError(f"{path}: not YAML: {reason_of(error)}") from None
    return check_chip(data, path.name if path.parent == CHIPS else str(path))
