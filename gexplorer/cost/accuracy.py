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
from gexplorer.hardware.spec import Chip


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
        p90=float(np.quantile(errors, 0.9, method="higher")),  # one that is there: nine of ten do stay within
        worst=float(errors.max()),
        roofline_mape=float(baseline.mean()),
    )


def by_family(predictions: Sequence[Prediction]) -> tuple[Accuracy, ...]:
    """One row a family, in order of first appearance."""
    families = dict.fromkeys(p.family for p in predictions)
    return tuple(accuracy(family, [p for p in predictions if p.family == family]) for family in families)


@cache
def _published() -> tuple[Prediction, ...]:
    return predict_all(read_points(), load_chip)[0]


@cache
def published_accuracy() -> Mapping[str, Accuracy]:
    """Errors on the published points by family: what stands beside every time that the model gives.

    Vector operators and moves are missing: nobody has published points that their model could be held against.
    """
    return MappingProxyType({row.name: row for row in by_family(_published())})


@cache
def _measured_paths() -> frozenset[str]:
    return frozenset(load_chip(prediction.chip).cube_vector_path for prediction in _published())


def published_p90(family: str, chip: Chip) -> float | None:
    """The error that nine of ten published points of a family stay within.

    Args:
        family: of a kernel.
        chip: the chip that it runs on.

    Returns:
        A share; None where no points of the family are published, or none of chips built like this one, whose cube and
        vector cores meet in the same way.
    """
    found = published_accuracy().get(family)
    return found.p90 if found is not None and chip.cube_vector_path in _measured_paths() else None
