"""Elementwise integer arithmetic on symbolic elements, as ONNX's operators compute it."""

from __future__ import annotations

from collections.abc import Callable

from gexplorer.ir.symbols import Dim, Symbol, exact_div, floor_div, lower_bound, maximum, minimum


def add(a: Dim, b: Dim) -> Dim:
    """``a + b``."""
    return None if a is None or b is None else a + b


def subtract(a: Dim, b: Dim) -> Dim:
    """``a - b``."""
    return None if a is None or b is None else a - b


def multiply(a: Dim, b: Dim) -> Dim:
    """``a * b``; zero even where the other factor is unknown."""
    if a is None or b is None:
        return 0 if a == 0 or b == 0 else None
    return a * b


def divide(a: Dim, b: Dim) -> Dim:
    """``a / b`` rounded towards zero; a symbolic quotient only where that is the same as the floor."""
    if a is None or b is None or b == 0:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b) if (a < 0) != (b < 0) else a // b
    exact = exact_div(a, b)
    if exact is not None:
        return exact
    return floor_div(a, b) if is_natural(a) and is_natural(b) else None


def modulo(a: Dim, b: Dim) -> Dim:
    """``a % b`` with the sign of b."""
    if a is None or b is None or b == 0:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if exact_div(a, b) is not None:
        return 0
    quotient = floor_div(a, b)
    return None if quotient is None else a - quotient * b


def remainder(a: Dim, b: Dim) -> Dim:
    """``fmod(a, b)``: the sign of a."""
    if isinstance(a, int) and isinstance(b, int) and b:
        return abs(a) % abs(b) * (1 if a >= 0 else -1)
    return modulo(a, b) if is_natural(a) and is_natural(b) else None


def negate(a: Dim) -> Dim:
    """``-a``."""
    return None if a is None else -a


def absolute(a: Dim) -> Dim:
    """``|a|``."""
    if isinstance(a, int):
        return abs(a)
    if is_natural(a):
        return a
    return -a if isinstance(a, Symbol) and is_natural(-a) else None


def sign(a: Dim) -> Dim:
    """-1, 0 or 1."""
    if isinstance(a, int):
        return (a > 0) - (a < 0)
    return 1 if (lower_bound(a) or 0) > 0 else None


def equal(a: Dim, b: Dim) -> Dim:
    """1 or 0, None where it depends on the run."""
    difference = subtract(a, b)
    if isinstance(difference, int):
        return int(difference == 0)
    return 0 if is_positive(difference) or is_positive(negate(difference)) else None


def less(a: Dim, b: Dim) -> Dim:
    """1 or 0, None where it depends on the run."""
    difference = subtract(b, a)
    if is_positive(difference):
        return 1
    return 0 if is_natural(negate(difference)) else None


def invert(a: Dim) -> Dim:
    """Logical not."""
    return 1 - a if isinstance(a, int) else None


def both(a: Dim, b: Dim) -> Dim:
    """Logical and."""
    return 0 if a == 0 or b == 0 else 1 if a == 1 and b == 1 else None


def either(a: Dim, b: Dim) -> Dim:
    """Logical or."""
    return 1 if a == 1 or b == 1 else 0 if a == 0 and b == 0 else None


def is_natural(a: Dim) -> bool:
    """Whether the element is certainly 0 or more."""
    least = lower_bound(a)
    return least is not None and least >= 0


def is_positive(a: Dim) -> bool:
    """Whether the element is certainly 1 or more."""
    least = lower_bound(a)
    return least is not None and least > 0


BINARY: dict[str, Callable[[Dim, Dim], Dim]] = {
    "Add": add,
    "Sub": subtract,
    "Mul": multiply,
    "Div": divide,
    "Mod": modulo,
    "Max": maximum,
    "Min": minimum,
    "Sum": add,
    "Equal": equal,
    "Less": less,
    "Greater": lambda a, b: less(b, a),
    "LessOrEqual": lambda a, b: invert(less(b, a)),
    "GreaterOrEqual": lambda a, b: invert(less(a, b)),
    "And": both,
    "Or": either,
    "Xor": lambda a, b: invert(equal(a, b)),
}

UNARY: dict[str, Callable[[Dim], Dim]] = {"Neg": negate, "Abs": absolute, "Sign": sign, "Not": invert}
