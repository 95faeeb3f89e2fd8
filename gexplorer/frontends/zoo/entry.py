"""What the zoo knows about one model, and how chosen options become those that it is written with."""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx_ir as ir

Dim = int | str
"""A size: a number, or the name of a dimension that is known when the model runs."""

_CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dtype": ("float32", "float16", "bfloat16"),
        "mode": ("prefill", "decode"),
        "weights": ("none", "random"),
    }
)
_MAY_BE_ZERO = frozenset({"past", "seed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The options that every model has; a family adds its own as further fields.

    Attributes:
        batch: size or name of the batch dimension.
        dtype: element type of weights and activations: float32, float16 or bfloat16.
        weights: ``none`` (external tensors without a file) or ``random`` (seeded, in memory).
        seed: what the random weights grow from.
    """

    batch: Dim = 1
    dtype: str = "float32"
    weights: str = "none"
    seed: int = 0

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise ValueError if values do not fit each other."""

    @classmethod
    def implied(cls, defaults: Mapping[str, object], chosen: Mapping[str, object]) -> Mapping[str, object]:
        """Defaults that change because of what was chosen; a choice still overrides them."""
        del defaults, chosen
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooEntry:
    """One model of the zoo.

    Attributes:
        name: what `gexplorer.frontends.zoo.build` calls it.
        summary: one sentence.
        source: where the numbers of the architecture are published.
        options: the options at published size.
        small: the values that the preset ``small=True`` changes.
        write: writes the model, given its name and its options.
    """

    name: str
    summary: str
    source: str
    options: ModelOptions
    small: Mapping[str, object]
    write: Callable[[str, Any], ir.Model]

    @property
    def defaults(self) -> Mapping[str, object]:
        """Every option with its value at published size."""
        return MappingProxyType(_values(self.options) | {"small": False})


def resolve(entry: ZooEntry, chosen: Mapping[str, object]) -> ModelOptions:
    """The options to write a model with: published size, then the small preset, then what was chosen.

    Raises:
        ValueError: an option that the model does not have, or a value that does not fit.
    """
    for option, value in chosen.items():
        if option not in entry.defaults:
            known = ", ".join(entry.defaults)
            raise ValueError(f"{entry.name} has no option {option!r}; it has: {known}")
        _check_value(entry.name, option, value, entry.defaults[option])
    explicit = {option: value for option, value in chosen.items() if option != "small"}
    values: dict[str, Any] = _values(entry.options)
    if chosen.get("small"):
        values |= entry.small
    values |= entry.options.implied(values, explicit)
    values |= explicit
    try:
        return type(entry.options)(**values)
    except ValueError as error:
        raise ValueError(f"{entry.name}: {error}") from None


def check_divides(divisor: str, part: int, dividend: str, whole: int) -> None:
    """Raise a ValueError that names both options unless ``part`` divides ``whole``."""
    if whole % part:
        raise ValueError(f"{divisor}={part} does not divide {dividend}={whole}")


def check_distinct(**dims: Dim) -> None:
    """Raise ValueError if two named dimensions have the same name: their sizes would have to be equal."""
    named: dict[str, str] = {}
    for option, dim in dims.items():
        if isinstance(dim, str):
            if dim in named:
                raise ValueError(f"{option} and {named[dim]} are both named {dim!r}; give them different names")
            named[dim] = option


def _values(options: ModelOptions) -> dict[str, Any]:
    return {field.name: getattr(options, field.name) for field in fields(options)}


def _check_value(model: str, option: str, value: object, default: object) -> None:
    """Whether a value has the kind of its option, which the default and the option's declaration tell."""

    def refuse(wanted: str) -> ValueError:
        return ValueError(f"{model}: {option}={value!r} should be {wanted}")

    if option in _CHOICES:
        if value not in _CHOICES[option]:
            raise refuse("one of " + ", ".join(_CHOICES[option]))
    elif isinstance(default, bool):
        if not isinstance(value, bool):
            raise refuse("true or false")
    elif isinstance(value, str) and option in ("batch", "seq", "past"):
        if not value.isidentifier():
            raise refuse("a number or the name of a dimension")
    elif isinstance(value, bool) or not isinstance(value, int):
        raise refuse("a whole number")
    elif value < (0 if option in _MAY_BE_ZERO else 1):
        raise refuse("at least 0" if option in _MAY_BE_ZERO else "at least 1")
