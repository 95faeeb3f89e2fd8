"""What a compilation is asked to do, checked once and never changed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, get_args

from gexplorer.errors import OptionError

Verify = Literal["off", "per-step"]
FusionMode = Literal["full", "fast"]
DimText = int | str

_NUMBER = re.compile(r"[0-9]{1,18}")
_LIKE_A_NUMBER = re.compile(r"[+-]?[0-9]+$|[+-]")


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that a compilation depends on besides the model.

    Attributes:
        soc: the chip, by its CANN name.
        shapes: shape of an input by its name; text names a symbolic dimension.
        preset: which fusion rules run unless switched: ``ge``, ``unconfigured``, ``tensorrt-like`` or ``all``.
        fusion: passes and rules switched on or off, by our name or GE's; a single match as ``rule:node``; ``ALL``.
        allowed: for a rule, the values that attributes of its kernel may have.
        priorities: rules (by our name or GE's) that run before all others, lower numbers first.
        fusion_mode: ``fast`` leaves out costly rules; the articles' GE_FUSION_PASS_MODE.
        fold_read_bytes: constant folding reads at most so many bytes for one fold.
        fold_growth_bytes: one fold may add at most so many bytes to the model.
        verify: ``per-step`` runs the model after every step and compares it with the model as read.
        seeds: seeds of the random inputs for ``verify``.
    """

    soc: str = "Ascend910B3"
    shapes: Mapping[str, tuple[DimText, ...]] = field(default_factory=dict)
    preset: str = "ge"
    fusion: Mapping[str, bool] = field(default_factory=dict)
    allowed: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=dict)
    fusion_mode: FusionMode = "full"
    fold_read_bytes: int = 1 << 20
    fold_growth_bytes: int = 1 << 20
    verify: Verify = "off"
    seeds: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        given: dict[str, object] = {f.name: getattr(self, f.name) for f in fields(self)}  # of any type, as yet
        for name in ("fold_read_bytes", "fold_growth_bytes"):
            value = given[name]
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise OptionError(f"{name}: a number of bytes is wanted, not {value!r}")
        for name in ("shapes", "fusion", "allowed", "priorities"):
            if not isinstance(given[name], Mapping):
                raise OptionError(f"{name}: a mapping by name is wanted, not {given[name]!r}")
        seeds = given["seeds"]
        if not isinstance(seeds, tuple) or not all(isinstance(seed, int) and seed >= 0 for seed in seeds):
            raise OptionError(f"seeds: whole numbers from 0 are wanted, not {seeds!r}")
        if self.verify not in get_args(Verify):
            raise OptionError(f"verify: one of {', '.join(get_args(Verify))} is wanted, not {self.verify!r}")
        if self.fusion_mode not in get_args(FusionMode):
            raise OptionError(f"fusion_mode: full or fast is wanted, not {self.fusion_mode!r}")
        if not isinstance(given["soc"], str) or not self.soc:
            raise OptionError("soc: the name of a chip is wanted")

    def with_changes(self, changes: Mapping[str, object]) -> Options:
        """Options with some fields replaced; mappings are merged. Raises OptionError for an unknown field."""
        known = {f.name for f in fields(self)}
        merged: dict[str, object] = {}
        for name, value in changes.items():
            if name not in known:
                raise OptionError(f"no option {name!r}; there are: {', '.join(sorted(known))}")
            old = getattr(self, name)
            merged[name] = {**old, **value} if isinstance(old, Mapping) and isinstance(value, Mapping) else value
        return replace(self, **merged)

    def as_dict(self) -> dict[str, object]:
        """Plain data that repeats the compilation."""
        result: dict[str, object] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Mapping):
                value = {k: list(v) if isinstance(v, tuple) else v for k, v in value.items()}
            result[f.name] = list(value) if isinstance(value, tuple) else value
        return result


def from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    """Options that the articles set by environment variables (the real GE has none of these, see A1).

    Raises:
        OptionError: a variable has a value that means nothing.
    """
    mode = environment.get("GE_FUSION_PASS_MODE")
    if mode is None:
        return {}
    if mode not in ("fast", "full"):
        raise OptionError(f"GE_FUSION_PASS_MODE: fast or full is wanted, not {mode!r}")
    return {"fusion_mode": mode}


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[DimText, ...]]:
    """Shapes from ``NAME:1,3,224,224`` texts; a name may itself hold colons. Raises OptionError."""
    shapes: dict[str, tuple[DimText, ...]] = {}
    for text in texts:
        name, colon, dims = text.rpartition(":")
        if not colon or not name:
            raise OptionError(f"--shape {text!r}: NAME:1,3,224,224 is wanted")
        parts = [part.strip() for part in dims.split(",")] if dims.strip() else []
        if not all(_NUMBER.fullmatch(part) or (part and not _LIKE_A_NUMBER.match(part)) for part in parts):
            raise OptionError(f"--shape {text!r}: dimensions are numbers from 0 or names")
        if name in shapes:
            raise OptionError(f"--shape: input {name!r} is given twice")
        shapes[name] = tuple(int(part) if _NUMBER.fullmatch(part) else part for part in parts)
    return shapes


def parse_settings(texts: Sequence[str]) -> dict[str, object]:
    """Option values from ``KEY=VALUE`` texts, converted to the type of the option. Raises OptionError."""
    defaults = Options()
    settings: dict[str, object] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or key not in {f.name for f in fields(defaults)}:
            known = ", ".join(f.name for f in fields(defaults))
            raise OptionError(f"--set {text!r}: KEY=VALUE is wanted, with a KEY of {known}")
        default = getattr(defaults, key)
        try:
            if isinstance(default, int):
                settings[key] = int(value, 0)
            elif isinstance(default, tuple):
                settings[key] = tuple(int(item) for item in value.split(","))
            elif isinstance(default, str):
                settings[key] = value
            else:
                raise OptionError(f"--set {key}: this option has a flag of its own")
        except ValueError:
            raise OptionError(f"--set {key}: {value!r} is not a number") from None
    return settings
