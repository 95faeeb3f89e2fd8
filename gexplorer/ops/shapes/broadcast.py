"""ONNX's multidirectional broadcasting of symbolic shapes."""

from __future__ import annotations

from gexplorer.ir.symbols import Dim, Shape, lower_bound, operands


class ShapeMismatchError(Exception):
    """Two dimensions that no run can bring together."""


def broadcast_dim(a: Dim, b: Dim) -> Dim:
    """The result of two dimensions; None where it depends on the run. Raises ShapeMismatchError.

    Equal dimensions stay, 1 gives way, and a number above 1 wins over a symbol, which must be it or 1 then.
    """
    if a is b or a == 1 or a == b:
        return b
    if b == 1:
        return a
    if isinstance(a, int):
        if isinstance(b, int):
            raise ShapeMismatchError(f"dimensions {a} and {b} cannot be broadcast")
        return a
    if isinstance(b, int):
        return b
    if a is None or b is None:
        known = b if a is None else a
        return known if (lower_bound(known) or 0) > 1 else None
    if (lower_bound(a) or 0) > 1 or _is_clipped(b, a):
        return a
    return b if (lower_bound(b) or 0) > 1 or _is_clipped(a, b) else None


def _is_clipped(dim: Dim, whole: Dim) -> bool:
    """Whether ``dim`` is ``min(whole, c)`` with c above 1: then it is 1 only where ``whole`` is 1 too."""
    found = operands(dim)
    if found is None or found[0] != "min":
        return False
    _, a, b = found
    return (a is whole and (lower_bound(b) or 0) > 1) or (b is whole and (lower_bound(a) or 0) > 1)


def broadcast_shape(a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of an elementwise result; None where a rank is unknown. Raises ShapeMismatchError."""
    if a == b or b == ():
        return a
    if a == ():
        return b
    if a is None or b is None:
        return None
    extra = len(a) - len(b)
    if extra < 0:
        a, b, extra = b, a, -extra
    return a[:extra] + tuple(broadcast_dim(x, y) for x, y in zip(a[extra:], b, strict=True))


def broadcast_to(source: Shape | None, target: Shape | None) -> None:
    """Raises ShapeMismatchError where ``source`` certainly does not broadcast to ``target``."""
    if source is None or target is None:
        return
    if len(source) > len(target):
        raise ShapeMismatchError(f"rank {len(source)} cannot be broadcast to rank {len(target)}")
    for x, y in zip(reversed(source), reversed(target), strict=False):
        if isinstance(x, int) and isinstance(y, int) and x not in (1, y):
            raise ShapeMismatchError(f"dimension {x} cannot be broadcast to {y}")
