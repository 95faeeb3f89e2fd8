"""Leave one source out: each publication predicted by constants that were fitted without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gexplorer.cost.accuracy import predict_all
from gexplorer.cost.fit import PARAMETERS, fit, with_parameters
from gexplorer.cost.naming import work_of
from gexplorer.cost.points import Point
from gexplorer.cost.predict import Chips
from gexplorer.cost.work import Gemm


@dataclass(frozen=True, slots=True)
class HeldOut:
    """One source that the fit did not see.

    Attributes:
        source: the source.
        errors: errors on its points.
        fitted: value of each parameter as fitted without it, by name.
    """

    source: str
    errors: tuple[float, ...]
    fitted: dict[str, float]

    @property
    def mape(self) -> float:
        """Mean absolute error."""
        return float(np.mean(np.abs(self.errors)))


def hold_out(points: Sequence[Point], chips: Chips, steps: int = 400) -> Iterator[HeldOut]:
    """Each source of matrix products in turn; a fit a source, so some seconds each.

    Attention has one source only, so that its launch cannot be fitted without it; it stays in all fits.
    """
    sources = dict.fromkeys(point.source for point in points if _is_product(point))
    for source in sources:
        seen = [point for point in points if point.source != source]
        if not any(_is_product(point) for point in seen):
            return
        fitted = fit(seen, chips, PARAMETERS, steps)
        predictions, _ = predict_all(
            [point for point in points if point.source == source], with_parameters(chips, fitted)
        )
        values = {parameter.name: value for parameter, value in fitted.items()}
        yield HeldOut(source, tuple(p.error for p in predictions), values)


def mean_error(held: Sequence[HeldOut]) -> float:
    """Mean absolute error over all points of all sources."""
    return float(np.mean(np.abs([error for row in held for error in row.errors])))


def _is_product(point: Point) -> bool:
    found = work_of(point)
    return found is not None and isinstance(found[1], Gemm)
