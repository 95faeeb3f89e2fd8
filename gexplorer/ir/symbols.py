"""Symbolic dimensions: polynomials with integer coefficients over named atoms.

A dimension of a shape is an ``int``, a ``Symbol`` (an expression such as ``s + past + 1``) or ``None``
(unknown). Symbols are canonical: two expressions that are equal as polynomials are the same object, so ``is``
and ``==`` agree and printing is deterministic. What is not a polynomial (``floor(a / b)``, ``max(a, b)``)
becomes an atom named by its own text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import gcd
from weakref import WeakValueDictionary

Monomial = tuple[str, ...]  # atoms in sorted order, repeated for powers; () is the constant term


class Symbol:
    """A canonical polynomial that is not a plain integer. Make one with ``symbol`` or by arithmetic."""

    __slots__ = ("__weakref__", "_text", "terms")
    terms: tuple[tuple[Monomial, int], ...]

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._text: str = _print(terms)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Symbol({self._text!r})"

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _intern, (self.terms,)

    def __add__(self, other: int | Symbol) -> int | Symbol:
        return _combine(_terms(self), _terms(other), 1)

    __radd__ = __add__

    def __sub__(self, other: int | Symbol) -> int | Symbol:
        return _combine(_terms(self), _terms(other), -1)

    def __rsub__(self, other: int | Symbol) -> int | Symbol:
        return _combine(_terms(other), _terms(self), -1)

    def __neg__(self) -> int | Symbol:
        return _combine((), self.terms, -1)

    def __mul__(self, other: int | Symbol) -> int | Symbol:
        product: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in _terms(other):
                key = tuple(sorted(left + right))
                product[key] = product.get(key, 0) + a * b
        return _canonical(product)

    __rmul__ = __mul__

    @property
    def atoms(self) -> frozenset[str]:
        """The names that the expression is made of."""
        return frozenset(atom for monomial, _ in self.terms for atom in monomial)

    def substitute(self, values: Mapping[str, Dim]) -> Dim:
        """The expression with atoms replaced; an unknown (None) atom makes the whole unknown."""
        total: Dim = 0
        for monomial, coefficient in self.terms:
            product: Dim = coefficient
            for atom in monomial:
                factor = _resolve(atom, values)
                if factor is None:
                    return None
                product = product * factor
            total = total + product
        return total


Dim = int | Symbol | None
Shape = tuple[Dim, ...]
Terms = tuple[tuple[Monomial, int], ...]

_interned: WeakValueDictionary[Terms, Symbol] = WeakValueDictionary()


@dataclass(frozen=True, slots=True)
class _Operator:
    """What an atom such as ``max(a, b)`` stands for."""

    name: str
    left: int | Symbol
    right: int | Symbol
    least: int | None  # its lower bound, worked out once: operators nest

    @property
    def operands(self) -> tuple[int | Symbol, int | Symbol]:
        return self.left, self.right


_operators: dict[str, _Operator] = {}


def symbol(name: str) -> Symbol:
    """The symbol of one atom. The name may be any non-empty text (a file's ``dim_param``)."""
    return _intern((((name,), 1),))


def parse_dim(text: str) -> int | Symbol:
    """The dimension that a text means; ``parse_dim(str(x)) is x``.

    Text that is not an expression as ``str`` prints it is one atom of that very name.
    """
    found = _parse(text)
    return symbol(text) if found is None else found


def floor_div(a: Dim, b: Dim) -> Dim:
    """``floor(a / b)``: an atom where b does not divide a; None where either is unknown."""
    if a is None or b is None or b == 0:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    quotient = exact_div(a, b)
    if quotient is not None:
        return quotient
    if not isinstance(b, int) or b < 0:
        return _operator("floor", a, b)
    # What b divides comes out of the floor, so that floor((2*h + 1)/2) is h.
    whole = _canonical({m: c // b for m, c in _terms(a) if c % b == 0 or not m})
    rest = a - whole * b
    return whole + (rest // b if isinstance(rest, int) else _floor(rest, b))


def _floor(a: Symbol, b: int) -> int | Symbol:
    """The atom; ``floor((floor(n/m) + c)/b)`` is ``floor((n + c*m)/(m*b))``: halved twice is quartered."""
    varying = [(monomial, coefficient) for monomial, coefficient in a.terms if monomial]
    common = gcd(b, *(coefficient for _, coefficient in varying))
    if common > 1:
        reduced = _canonical({monomial: coefficient // common for monomial, coefficient in a.terms})
        return floor_div(reduced, b // common)  # pyright: ignore[reportReturnType]
    if len(varying) == 1 and varying[0][1] == 1 and len(varying[0][0]) == 1:
        (atom,) = varying[0][0]
        inner = _operators.get(atom)
        if inner is not None and inner.name == "floor" and isinstance(inner.right, int) and inner.right > 0:
            merged = floor_div(inner.left + (a - symbol(atom)) * inner.right, inner.right * b)
            assert merged is not None
            return merged
    return _operator("floor", a, b)


def exact_div(a: Dim, b: Dim) -> Dim:
    """``a / b`` where it is a polynomial with integer coefficients, else None."""
    if a is None or b is None or b == 0:
        return None
    lead_atoms, lead = max(_terms(b), key=_degree)
    quotient: int | Symbol = 0
    rest: int | Symbol = a
    while rest != 0:
        monomial, coefficient = max(_terms(rest), key=_degree)
        left = _remove(monomial, lead_atoms)
        if left is None or coefficient % lead:
            return None
        part = _canonical({left: coefficient // lead})
        quotient = quotient + part
        rest = rest - part * b
    return quotient


def maximum(a: Dim, b: Dim) -> Dim:
    """``max(a, b)``; an atom where it cannot be decided, None where either is unknown."""
    if a is None or b is None:
        return None
    if at_least(a, b):
        return a
    return b if at_least(b, a) else _operator("max", *sorted((a, b), key=str))


def minimum(a: Dim, b: Dim) -> Dim:
    """``min(a, b)``; an atom where it cannot be decided, None where either is unknown."""
    if a is None or b is None:
        return None
    if at_least(a, b):
        return b
    return a if at_least(b, a) else _operator("min", *sorted((a, b), key=str))


def simplify(dim: Dim) -> Dim:
    """A dimension of one atom without ``max`` and ``min``, where those only matter for the atom's value 0.

    Slicing and joining leave such as ``max(0, min(1, s) + s - 1)``, which is ``s`` for every natural ``s``.
    """
    if not isinstance(dim, Symbol) or dim.atoms.isdisjoint(_operators):
        return dim
    bases = base_atoms(dim)
    if len(bases) != 1:
        return dim
    (name,) = bases
    later = dim.substitute({name: symbol(name) + 1})
    if isinstance(later, Symbol) and not later.atoms.isdisjoint(_operators):
        return dim
    candidate = substitute(later, {name: symbol(name) - 1})
    return candidate if substitute(candidate, {name: 0}) == dim.substitute({name: 0}) else dim


def base_atoms(dim: Dim) -> frozenset[str]:
    """The atoms that are no operators, those within operators' operands included."""
    if not isinstance(dim, Symbol):
        return frozenset()
    found: set[str] = set()
    for atom in dim.atoms:
        if atom in _operators:
            found.update(*(base_atoms(operand) for operand in _operators[atom].operands))
        else:
            found.add(atom)
    return frozenset(found)


def lower_bound(dim: Dim) -> int | None:
    """A number that the dimension is never below, given that no atom is negative; None where unknown."""
    if dim is None or isinstance(dim, int):
        return dim
    total = 0
    for monomial, coefficient in dim.terms:
        bounds = [_atom_bound(atom) for atom in monomial]
        if (coefficient < 0 and monomial) or any(bound is None or bound < 0 for bound in bounds):
            return None
        for bound in bounds:
            coefficient *= bound or 0
        total += coefficient
    return total


def at_least(a: int | Symbol, b: int | Symbol) -> bool:
    """True where ``a >= b`` is certain."""
    least = lower_bound(a - b)
    return least is not None and least >= 0


def operands(dim: Dim) -> tuple[str, int | Symbol, int | Symbol] | None:
    """The operator (``floor``, ``max``, ``min``) and its operands where a dimension is one, else None."""
    if not isinstance(dim, Symbol) or len(dim.terms) != 1:
        return None
    found = _operators.get(str(dim))
    return None if found is None else (found.name, found.left, found.right)


def product(dims: Iterable[Dim]) -> Dim:
    """The product of dimensions: 0 if any is 0, else None if any is unknown."""
    total: int | Symbol = 1
    unknown = False
    for dim in dims:
        if dim is None:
            unknown = True
        else:
            total = total * dim
    if isinstance(total, int) and total == 0:
        return 0
    return None if unknown else total


def substitute(dim: Dim, values: Mapping[str, Dim]) -> Dim:
    """A dimension with its atoms replaced by ``values``."""
    return dim.substitute(values) if isinstance(dim, Symbol) else dim


def dim_text(dim: Dim) -> str:
    """A dimension as printed in the text form: ``4``, ``s + 1`` or ``?``."""
    return "?" if dim is None else str(dim)


def _operator(name: str, a: int | Symbol, b: int | Symbol) -> Symbol:
    left, right = _print(_terms(a), nested=True), _print(_terms(b), nested=True)
    text = f"floor(({left})/({right}))" if name == "floor" else f"{name}({left}, {right})"
    if len(text) > _LONGEST_OPERATOR:
        return symbol(f"{name}#{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}")
    if text not in _operators:
        _operators[text] = _Operator(name, a, b, _bound_of_operator(name, a, b))
    return symbol(text)


def _resolve(atom: str, values: Mapping[str, Dim]) -> Dim:
    if atom in values:
        return values[atom]
    if atom not in _operators:
        return symbol(atom)
    found = _operators[atom]
    return _OPERATORS[found.name](substitute(found.left, values), substitute(found.right, values))


def _atom_bound(atom: str) -> int | None:
    """The lower bound of an atom; None for an operator without one, or too long to be known."""
    found = _operators.get(atom)
    if found is not None:
        return found.least
    return None if _OPAQUE.fullmatch(atom) else 0


def _bound_of_operator(name: str, a: int | Symbol, b: int | Symbol) -> int | None:
    low, high = lower_bound(a), lower_bound(b)
    if name == "max":
        return max((bound for bound in (low, high) if bound is not None), default=None)
    if low is None or high is None:
        return None
    if name == "min":
        return min(low, high)
    return low // b if isinstance(b, int) and b > 0 else 0 if low >= 0 and high >= 0 else None


def _degree(term: tuple[Monomial, int]) -> tuple[int, Monomial]:
    """A monomial order: it is kept by multiplication, which polynomial division needs."""
    return len(term[0]), term[0]


def _intern(terms: Terms) -> Symbol:
    found = _interned.get(terms)
    if found is None:
        found = _interned[terms] = Symbol(terms)
    return found


def _terms(dim: int | Symbol) -> Terms:
    return dim.terms if isinstance(dim, Symbol) else (((), dim),)


def _combine(left: Terms, right: Terms, sign: int) -> int | Symbol:
    total = dict(left)
    for monomial, coefficient in right:
        total[monomial] = total.get(monomial, 0) + sign * coefficient
    return _canonical(total)


def _canonical(terms: Mapping[Monomial, int]) -> int | Symbol:
    kept = sorted((m, c) for m, c in terms.items() if c)
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    return _intern(tuple(kept))


def _remove(monomial: Monomial, atoms: Monomial) -> Monomial | None:
    rest = list(monomial)
    for atom in atoms:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _print(terms: Terms, *, nested: bool = False) -> str:
    alone = not nested and len(terms) == 1 and len(terms[0][0]) == 1 and terms[0][1] == 1
    parts: list[str] = []
    for monomial, coefficient in sorted(terms, key=lambda term: (not term[0], term[0])):
        factors = [str(abs(coefficient))] if abs(coefficient) != 1 or not monomial else []
        factors += [_atom_text(atom, alone) for atom in monomial]
        sign = "-" if coefficient < 0 else "+"
        parts.append(f"{sign} {'*'.join(factors)}")
    text = " ".join(parts)
    return text[2:] if text.startswith("+ ") else "-" + text[2:]


def _atom_text(atom: str, alone: bool) -> str:
    """An atom as printed: in quotes where the bare text would be read as something else."""
    if atom in _operators or _IDENTIFIER.fullmatch(atom):
        return atom
    meaning = _parse(atom)
    if (alone and meaning is None) or (isinstance(meaning, Symbol) and meaning.terms == (((atom,), 1),)):
        return atom
    return json.dumps(atom)


# Characters. What is longer is an atom named by its digest: else text grows without bound as operators nest.
_LONGEST_OPERATOR = 2000
_OPAQUE = re.compile(r"(?:max|min|floor)#[0-9a-f]{16}")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_PIECE = re.compile(
    r"""(?P<open>max\(|min\(|floor\(\() | (?P<sign>[ ][+-][ ]|-) | (?P<times>\*)
    | (?P<number>[0-9]{1,1000}) | (?P<atom>[^\W\d]\w*) | (?P<quoted>"(?:[^"\\]|\\.)*")""",
    re.VERBOSE,
)
# What ends the first and the second operand.
_ENDS = {"floor": (")/(", "))"), "max": (", ", ")"), "min": (", ", ")")}


class _Sum:
    """A sum of products while it is read."""

    def __init__(self, operator: str, start: int) -> None:
        self.operator = operator
        self.start = start
        self.left: int | Symbol | None = None
        self.restart()

    def restart(self) -> None:
        self._terms: dict[Monomial, int] = {}
        self.number: int | None = None
        self.atoms: list[str] = []
        self.sign = 1

    def end_product(self) -> None:
        if self.atoms or self.number is not None:
            key = tuple(sorted(self.atoms))
            factor = 1 if self.number is None else self.number
            self._terms[key] = self._terms.get(key, 0) + self.sign * factor
        self.number, self.atoms = None, []

    def total(self) -> int | Symbol:
        self.end_product()
        return _canonical(self._terms)


def _parse(text: str) -> int | Symbol | None:
    """The expression that prints as exactly this text, None where there is none."""
    position = 0
    current = _Sum("", 0)
    around: list[_Sum] = []
    while position < len(text):
        if around:
            end = _ENDS[current.operator][current.left is not None]
            if text.startswith(end, position):
                position += len(end)
                operand = current.total()
                if current.left is None:
                    current.left = operand
                    current.restart()
                    continue
                atom = text[current.start : position]
                if len(atom) > _LONGEST_OPERATOR:
                    return None
                if atom not in _operators:
                    made = _OPERATORS[current.operator](current.left, operand)
                    if not isinstance(made, Symbol) or made.terms != (((atom,), 1),):
                        return None
                current = around.pop()
                current.atoms.append(atom)
                continue
        piece = _PIECE.match(text, position)
        if piece is None:
            return None
        found = piece.group()
        match piece.lastgroup:
            case "open":
                around.append(current)
                current = _Sum(found.rstrip("("), position)
            case "sign":
                current.end_product()
                current.sign = -1 if "-" in found else 1
            case "number":
                if current.number is not None:
                    return None
                current.number = int(found)
            case "atom":
                current.atoms.append(found)
            case "quoted":
                try:
                    current.atoms.append(json.loads(found))
                except ValueError:
                    return None
            case _:
                pass
        position = piece.end()
    if around:
        return None
    total = current.total()
    return total if str(total) == text else None


_OPERATORS = {"floor": floor_div, "max": maximum, "min": minimum}
