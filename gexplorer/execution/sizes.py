"""What the dimensions of a run's inputs say of symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gexplorer.ir.symbols import Dim, Symbol, base_atoms


def solve(dims: Iterable[tuple[Dim, int]]) -> dict[str, int] | None:
    """The values of all symbols that some dimensions determine; None where they contradict each other.

    Args:
        dims: dimensions as the model says them, each with its value. Those that no value of one symbol solves are
            left alone until others give what they lack.
    """
    known: dict[str, int] = {}
    waiting = list(dims)
    while True:
        left: list[tuple[Dim, int]] = []
        for dim, value in waiting:
            now = dim.substitute(known) if isinstance(dim, Symbol) else dim
            if now is None or now == value:
                continue
            if not isinstance(now, Symbol):
                return None
            atom = _only_atom(now)
            if atom is None:
                left.append((dim, value))
                continue
            solution = _solution(now, atom, value)
            if solution is None:
                return None
            known[atom] = solution
        if len(left) == len(waiting):
            return known
        waiting = left


def determined(dims: Iterable[Dim]) -> frozenset[str]:
    """The symbols that ``solve`` will find the values of, whatever the dimensions are."""
    known: set[str] = set()
    waiting = [dim for dim in dims if isinstance(dim, Symbol)]
    while True:
        values: dict[str, Dim] = dict.fromkeys(known, 1)
        found: set[str] = set()
        for dim in waiting:
            now = dim.substitute(values)
            if isinstance(now, Symbol) and (atom := _only_atom(now)) is not None:
                found.add(atom)
        if not found:
            return frozenset(known)
        known |= found


def bound(dims: tuple[Dim, ...] | None, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    """Dimensions as numbers; None where one stays unknown."""
    if dims is None:
        return None
    values = [dim.substitute(sizes) if isinstance(dim, Symbol) else dim for dim in dims]
    return tuple(values) if all(isinstance(value, int) for value in values) else None  # pyright: ignore[reportReturnType]


def _only_atom(dim: Symbol) -> str | None:
    """The atom of ``k * atom + c``; None for any other expression."""
    if len(dim.atoms) != 1:
        return None
    (atom,) = dim.atoms
    if base_atoms(dim) != frozenset((atom,)):
        return None
    zero, one, two = (dim.substitute({atom: value}) for value in (0, 1, 2))
    if not isinstance(zero, int) or not isinstance(one, int) or not isinstance(two, int):
        return None
    return atom if two - one == one - zero != 0 else None


def _solution(dim: Symbol, atom: str, value: int) -> int | None:
    zero, one = (dim.substitute({atom: place}) for place in (0, 1))
    assert isinstance(zero, int)
    assert isinstance(one, int)
    found, rest = divmod(value - zero, one - zero)
    return found if rest == 0 and found >= 0 else None
