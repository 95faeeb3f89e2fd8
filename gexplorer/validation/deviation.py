"""How far one result is from another: absolute, relative and in direction, and whether that is more than rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

# Greatest error that is taken for rounding, relative to the largest magnitude of the output.
# A few units in the last place of each type: reordered sums of a whole network stay below these.
# bfloat16 has 8 bits of significand to float16's 11, so that 2e-3 there is 1.6e-2 here; torch.testing.assert_close
# takes the same 1.6e-2 (its table of precisions by type, pytorch.org/docs/stable/testing.html).
RELATIVE_TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}
# Half the distance from 1 to the next number (IEEE 754 half precision: 11 bits of significand, bfloat16: 8).
_UNIT_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
# For complex numbers, which onnx has in single precision only.
_COMPLEX_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Deviation:
    """One output beside what it should be. Only finite elements count towards the three errors.

    Attributes:
        absolute: greatest absolute difference.
        relative: the same, relative to the greatest finite magnitude of what it should be.
        cosine: one minus the cosine of the angle between the two, taken as vectors.
        limit: the relative error that is still rounding; 0 where elements must be equal.
        mismatch: what is wrong other than an error that is too large: another shape, dtype, NaN in other places.
        finite: whether there is any finite element, so that the numbers say something.
    """

    absolute: float = 0.0
    relative: float = 0.0
    cosine: float = 0.0
    limit: float = 0.0
    mismatch: str = ""
    finite: bool = True

    @property
    def fault(self) -> str:
        """What is wrong, as a phrase; "" where the difference is none, or rounding."""
        if self.mismatch:
            return self.mismatch
        if self.relative <= self.limit:
            return ""
        if not self.limit:
            return "elements differ"
        return f"relative error {self.relative:.2g} (absolute {self.absolute:.2g})"

    @property
    def badness(self) -> tuple[bool, bool, float]:
        """Sorts deviations, the worst last."""
        return bool(self.fault), bool(self.mismatch), self.absolute


def deviation_of(expected: object, actual: object, tolerance: float | None = None) -> Deviation:
    """How far a result is from what it should be; of a sequence, its worst element.

    Args:
        expected: an array, a list of them for a sequence, None for an absent optional.
        actual: the same.
        tolerance: relative error taken for rounding, of floats; None for ``RELATIVE_TOLERANCE``. Whole numbers,
            booleans and text must be equal, whatever it is.
    """
    import numpy as np

    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return Deviation(mismatch=f"{len(actual)} elements in a sequence of {len(expected)}")
        each = [deviation_of(a, b, tolerance) for a, b in zip(expected, actual, strict=True)]
        return max(each, key=lambda item: item.badness, default=Deviation())
    if expected is None or actual is None:
        return Deviation(mismatch="" if expected is actual else "an optional value is absent on one side")
    a, b = np.asarray(expected), np.asarray(actual)
    if a.shape != b.shape:
        return Deviation(mismatch=f"shape {b.shape}, not {a.shape}")
    if a.dtype != b.dtype:
        return Deviation(mismatch=f"dtype {b.dtype}, not {a.dtype}")
    limit = _COMPLEX_TOLERANCE if a.dtype.kind == "c" else RELATIVE_TOLERANCE.get(a.dtype.name)
    if limit is None:
        return Deviation(mismatch="" if np.array_equal(a, b) else "elements differ")
    return _of_floats(a, b, limit if tolerance is None else tolerance)


def limit_after(value: object, roundings: int) -> float | None:
    """The relative error that so many roundings one after the other may add up to; None for that of the type.

    Independent roundings of a unit u add up like a random walk, to about u sqrt(n). Source: N. J. Higham and T. Mary,
    A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41 (2019).
    """
    name = getattr(getattr(value, "dtype", None), "name", "")
    if name not in _UNIT_ROUNDOFF:
        return None
    return max(RELATIVE_TOLERANCE[name], _UNIT_ROUNDOFF[name] * roundings**0.5)


def difference(expected: object, actual: object) -> tuple[float, float, str]:
    """Absolute and relative error of one output, and what is wrong with it ("" for nothing)."""
    found = deviation_of(expected, actual)
    return found.absolute, found.relative, found.fault


def _of_floats(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], limit: float) -> Deviation:
    import numpy as np

    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    nan, infinite = float("nan"), float("inf")
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return Deviation(nan, nan, nan, limit, "NaN in other places")
    finite = np.isfinite(a)
    if not np.array_equal(np.where(finite, 0, a), np.where(finite, 0, b), equal_nan=True):
        return Deviation(infinite, infinite, 1.0, limit, "infinities in other places")
    if not finite.any():
        return Deviation(limit=limit, finite=not a.size)
    a, b = a[finite], b[finite]
    error = float(np.abs(a - b).max())
    scale = float(np.abs(a).max())
    relative = error / scale if scale else (0.0 if error == 0 else infinite)
    return Deviation(error, relative, _cosine_error(a, b), limit)


def _cosine_error(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """One minus the cosine of the angle between two vectors, 0 for equal ones; scaled first, so nothing overflows."""
    import numpy as np

    if np.array_equal(a, b):
        return 0.0
    tops = float(np.abs(a).max()), float(np.abs(b).max())
    if not all(tops):
        return 1.0
    a, b = a / tops[0], b / tops[1]
    cosine = float(np.real(np.vdot(a, b))) / float(np.sqrt(np.vdot(a, a).real * np.vdot(b, b).real))
    return max(0.0, 1.0 - cosine)
