"""How far predictions are from measurements, by family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np

from gexplorer.cost.points import Point, read_points
from gexplorer.cost.predict import Chips, Prediction, predict
from gexplorer.hardware.catalogue import load_chip


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Errors of a family of points; all but ``n`` are shares, 0.05 for 5 per cent.

    Attributes:
        name: the family.
        n: its points.
        mape: mean absolute relative error.
        p90: absolute error that nine points of ten stay within.
        worst: the largest absolute error.
        roofline_mape: the mean absolute error of roofline plus launch on the same points.
    """

    name: str
    n: int
    mape: float
    p90: float
    worst: float
    roofline_mape: float


def predict_all(points: Sequence[Point], chips: Chips) -> tuple[tuple[Prediction, ...], tuple[Point, ...]]:
    """Predictions, and the points whose operator has no model."""
    answers = [(point, predict(point, chips)) for point in points]
    return tuple(a for _, a in answers if a is not None), tuple(p for p, a in answers if a is None)


def accuracy(name: str, predictions: Sequence[Prediction]) -> Accuracy:
    """Errors of some predictions together, at least one."""
    errors = np.abs([p.error for p in predictions])
    baseline = np.abs([p.roofline_error for p in predictions])
    return Accuracy(
        name=name,
        n=len(errors),
        mape=float(errors.mean()),
        p90=float(np.quantile(errors, 0.9)),
        worst=float(errors.max()),
        roofline_mape=float(baseline.mean()),
    )


def by_family(predictions: Sequence[Prediction]) -> tuple[Accuracy, ...]:
    """One row a family, in order of first appearance."""
    families = dict.fromkeys(p.family for p in predictions)
    return tuple(accuracy(family, [p for p in predictions if p.family == family]) for family in families)


@cache
def published_accuracy() -> Mapping[str, Accuracy]:
    """Errors on the published points by family: what stands beside every time that the model gives.

    Vector operators and moves are missing: nobody has published points that their model could be held against.
    """
    predictions, _ = predict_all(read_points(), load_chip)
    return MappingProxyType({row.name: row for row in by_family(predictions)})
