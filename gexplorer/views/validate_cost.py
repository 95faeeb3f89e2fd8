"""The cost model beside measurements, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from gexplorer.cost.accuracy import Accuracy, accuracy, by_family, predict_all
from gexplorer.cost.holdout import HeldOut, hold_out, mean_error
from gexplorer.cost.points import Point
from gexplorer.cost.predict import Prediction
from gexplorer.cost.sensitivity import Sensitivity, sensitivity
from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip

# How far a pipe's share of the time may be from the measured one: the goal that the model was built for.
NEAR = 0.07


@dataclass(frozen=True, slots=True)
class Shares:
    """How far the pipes' shares of the time are from measured ones.

    Attributes:
        n: measured shares.
        within: those that the model meets within ``NEAR``.
        worst: the pipe, operator and shape of the one furthest off.
        apart: how far that is, 0.26 for 26 points.
    """

    n: int
    within: int
    worst: str
    apart: float


@dataclass(frozen=True, slots=True)
class Validation:
    """Predictions beside measurements.

    Attributes:
        families: errors by family.
        together: errors of all products and convolutions; None unless there are both.
        shares: the pipes' shares of the time beside measured ones; None where none were measured.
        predictions: one for each point that has a model.
        unmodelled: points of operators that have none.
        held_out: errors on each source by constants fitted without it; () where nobody asked.
        sensitivity: what a fifth more or less of each constant does; () where nobody asked.
    """

    families: tuple[Accuracy, ...]
    together: Accuracy | None
    shares: Shares | None
    predictions: tuple[Prediction, ...]
    unmodelled: tuple[Point, ...]
    held_out: tuple[HeldOut, ...] = ()
    sensitivity: tuple[Sensitivity, ...] = ()


def validation(points: Sequence[Point], *, held_out: bool = False, sensitive: bool = False) -> Validation:
    """The built-in chips' predictions of some points.

    Args:
        points: measurements.
        held_out: true to fit once for each source without it (half a minute for the published points).
        sensitive: true to change each constant by a fifth.

    Raises:
        OptionError: a device is not known, or no point has an operator with a model.
    """
    predictions, unmodelled = predict_all(points, load_chip)
    if not predictions:
        raise OptionError(f"no point has an operator that the cost model knows; the first one is {points[0].op!r}")
    return Validation(
        families=by_family(predictions),
        together=_together(predictions),
        shares=_shares(predictions),
        predictions=predictions,
        unmodelled=unmodelled,
        held_out=tuple(hold_out(points, load_chip)) if held_out else (),
        sensitivity=sensitivity(points, load_chip) if sensitive else (),
    )


def _together(predictions: Sequence[Prediction]) -> Accuracy | None:
    products = [p for p in predictions if p.family in ("gemm", "conv")]
    return accuracy("gemm and conv", products) if len({p.family for p in products}) == 2 else None


def _shares(predictions: Sequence[Prediction]) -> Shares | None:
    apart = [
        (abs(float(p.cost.ratio(pipe)[0]) - share), f"{pipe} of {p.point.op} {'x'.join(map(str, p.point.shape))}")
        for p in predictions
        for pipe, share in p.point.ratios.items()
    ]
    if not apart:
        return None
    most, worst = max(apart, key=lambda row: row[0])
    return Shares(len(apart), sum(difference <= NEAR for difference, _ in apart), worst, most)


def validation_json(found: Validation) -> dict[str, object]:
    """Everything for a file; errors and ratios are shares, 0.05 for 5 per cent."""
    data: dict[str, object] = {
        "families": [asdict(family) for family in found.families],
        "points": sorted([*map(_predicted, found.predictions), *map(_unmodelled, found.unmodelled)], key=_line),
    }
    if found.held_out:
        rows = [{"source": row.source, "n": len(row.errors), "mape": row.mape} for row in found.held_out]
        data["hold_out"] = {"mape": mean_error(found.held_out), "sources": rows}
    if found.sensitivity:
        data["sensitivity"] = [asdict(row) for row in found.sensitivity]
    return data


def _predicted(p: Prediction) -> dict[str, object]:
    return {
        **p.point.row,
        "line": p.point.line,
        "family": p.family,
        "chip": p.chip,
        "tile": list(p.tile) if p.tile else None,
        "bound": p.cost.bound[0],
        "ratios": {pipe: float(p.cost.ratio(pipe)[0]) for pipe in p.cost.pipes},
        "roofline_us": p.roofline_us,
        "predicted_us": p.predicted_us,
        "error": p.error,
    }


def _unmodelled(point: Point) -> dict[str, object]:
    return {**point.row, "line": point.line, "family": None, "predicted_us": None, "error": None}


def _line(row: Mapping[str, object]) -> int:
    line = row["line"]
    assert isinstance(line, int)
    return line
