"""Modelled and measured times point by point, for a picture of the two."""

from __future__ import annotations

from dataclasses import dataclass

from gexplorer.cost.accuracy import Accuracy
from gexplorer.views.validate_cost import Validation


@dataclass(frozen=True, slots=True)
class ParityPoint:
    """One measurement.

    Attributes:
        family: what kind of kernel it is.
        label: operator, shape and device.
        measured_us: what was measured.
        predicted_us: what the model says.
        error: predicted over measured, less 1.
    """

    family: str
    label: str
    measured_us: float
    predicted_us: float
    error: float


@dataclass(frozen=True, slots=True)
class Parity:
    """What the picture shows.

    Attributes:
        families: errors by family, in the order of the legend.
        points: one for each prediction.
    """

    families: tuple[Accuracy, ...]
    points: tuple[ParityPoint, ...]


def parity(found: Validation) -> Parity:
    """The points of a validation."""
    return Parity(
        found.families,
        tuple(
            ParityPoint(
                p.family,
                f"{p.point.op} {'x'.join(map(str, p.point.shape))} on {p.chip}",
                p.point.time_us,
                p.predicted_us,
                p.error,
            )
            for p in found.predictions
        ),
    )
