"""How much each fitted constant matters: the errors when it is a fifth larger or smaller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gexplorer.cost.accuracy import predict_all
from gexplorer.cost.fit import PARAMETERS
from gexplorer.cost.points import Point
from gexplorer.cost.predict import Chips, Prediction
from gexplorer.hardware.spec import Chip

CHANGE = 0.2


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What a change of one constant does.

    Attributes:
        name: the constant.
        value: as shipped, with its unit.
        mape_less: mean absolute error over all points with the constant less by a fifth.
        mape_more: the same with a fifth more.
        moved: largest relative change of any predicted time, in either direction.
    """

    name: str
    value: str
    mape_less: float
    mape_more: float
    moved: float


def sensitivity(points: Sequence[Point], chips: Chips) -> tuple[Sensitivity, ...]:
    """One row a fitted constant, the one that moves predictions most first."""
    base, _ = predict_all(points, chips)
    rows: list[Sensitivity] = []
    for parameter in PARAMETERS:
        less, more = (_predict(points, chips, parameter.key, parameter.chips, f) for f in (1 - CHANGE, 1 + CHANGE))
        moved = max(
            abs(changed.predicted_us / p.predicted_us - 1)
            for changes in (less, more)
            for changed, p in zip(changes, base, strict=True)
        )
        value = str(chips(parameter.chips[0]).values[parameter.key])
        rows.append(Sensitivity(parameter.name, value, _mape(less), _mape(more), moved))
    return tuple(sorted(rows, key=lambda row: -row.moved))


def _predict(
    points: Sequence[Point], chips: Chips, key: str, names: tuple[str, ...], factor: float
) -> tuple[Prediction, ...]:
    changed: dict[str, Chip] = {}

    def chip(name: str) -> Chip:
        if name not in changed:
            changed[name] = chips(name).scaled({key: factor}) if name in names else chips(name)
        return changed[name]

    return predict_all(points, chip)[0]


def _mape(predictions: Sequence[Prediction]) -> float:
    return float(np.mean(np.abs([p.error for p in predictions])))
