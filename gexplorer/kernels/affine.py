"""Integers that depend on loop variables: affine expressions, and the least of several of them.

That is all a tile program needs. A variable of a loop counts elements (0, 128, 256, ...), so a tile starts at the
variable itself, and the last, ragged one is as long as ``min(128, length - variable)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Bindings = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Affine:
    """``constant + factor * variable + ...``; the terms in order of name, no factor 0.

    >>> str(Affine(300) - variable("m"))
    '300 - m'
    """

    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def at(self, bindings: Bindings) -> int:
        """The number for given values of the variables."""
        total = self.constant
        for name, factor in self.terms:
            total += factor * bindings[name]
        return total

    def __add__(self, other: Affine | int) -> Affine:
        other = affine(other)
        factors = dict(self.terms)
        for name, factor in other.terms:
            factors[name] = factors.get(name, 0) + factor
        terms = tuple(sorted((name, factor) for name, factor in factors.items() if factor))
        return Affine(self.constant + other.constant, terms)

    def __sub__(self, other: Affine | int) -> Affine:
        return self + affine(other) * -1

    def __mul__(self, factor: int) -> Affine:
        return Affine(self.constant * factor, tuple((name, f * factor) for name, f in self.terms if factor))

    def __str__(self) -> str:
        signed = [(self.constant, "")] if self.constant or not self.terms else []
        signed += [(factor, name) for name, factor in self.terms]
        text = ""
        for factor, name in signed:
            size = name if name and abs(factor) == 1 else f"{abs(factor)}*{name}" if name else str(abs(factor))
            sign = " - " if factor < 0 else " + "
            text += f"{sign}{size}" if text else f"-{size}" if factor < 0 else size
        return text


@dataclass(frozen=True, slots=True)
class Least:
    """The least of affine expressions, and no less than 0."""

    of: tuple[Affine, ...]

    def at(self, bindings: Bindings) -> int:
        """The number for given values of the variables."""
        return max(0, min(expression.at(bindings) for expression in self.of))

    @property
    def most(self) -> int | None:
        """The least constant among the expressions, which it never exceeds; None where all depend on variables."""
        constants = [expression.constant for expression in self.of if not expression.terms]
        return min(constants) if constants else None

    def __str__(self) -> str:
        return str(self.of[0]) if len(self.of) == 1 else f"min({', '.join(map(str, self.of))})"


@dataclass(frozen=True, slots=True)
class Clipped:
    """An expression within an axis: where a stretch that begins before it, or behind it, comes nearest to lying in it.

    Attributes:
        of: the expression.
        extent: how long the axis is.
    """

    of: Affine
    extent: int

    @property
    def terms(self) -> tuple[tuple[str, int], ...]:
        """Those of the expression."""
        return self.of.terms

    def at(self, bindings: Bindings) -> int:
        """The number for given values of the variables."""
        return min(self.extent, max(0, self.of.at(bindings)))

    def __str__(self) -> str:
        return f"clip({self.of}, 0, {self.extent})"


@dataclass(frozen=True, slots=True)
class Inside:
    """How many elements of a stretch lie in an axis of a given length.

    Attributes:
        start: where the stretch begins, before the axis or in it.
        length: how long it is.
        extent: how long the axis is.
    """

    start: Affine
    length: Least
    extent: int

    @property
    def most(self) -> int | None:
        """What it never exceeds."""
        most = self.length.most
        return self.extent if most is None else min(most, self.extent)

    def at(self, bindings: Bindings) -> int:
        """The number for given values of the variables."""
        start = self.start.at(bindings)
        return max(0, min(self.extent, start + self.length.at(bindings)) - max(0, start))

    def __str__(self) -> str:
        return f"inside({self.start} :+ {self.length}, {self.extent})"


def affine(number: Affine | int) -> Affine:
    """The expression itself, or the constant one."""
    return Affine(number) if isinstance(number, int) else number


def variable(name: str) -> Affine:
    """The expression that is one variable."""
    return Affine(0, ((name, 1),))


def least(*numbers: Affine | int) -> Least:
    """The least of expressions; doubles are dropped, and so is a constant that another one is below."""
    expressions = [affine(number) for number in numbers]
    constants = [e.constant for e in expressions if not e.terms]
    kept = [Affine(min(constants))] if constants else []
    return Least((*kept, *dict.fromkeys(e for e in expressions if e.terms)))
