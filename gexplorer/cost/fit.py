"""The fit of the few constants that no data sheet holds, to published points.

A parameter belongs to a group of chips, never to a shape or an operator. Each has a prior from elsewhere, a spread
that says how far we would believe a departure from it, and bounds that physics sets. The loss is robust, so that a
point that nothing explains does not bend the rest; the minimum is sought with Nelder and Mead's simplex, because
waves and tile choices make steps in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gexplorer.cost.accuracy import predict_all
from gexplorer.cost.points import Point
from gexplorer.cost.predict import Chips, Prediction
from gexplorer.cost.tile import Floats
from gexplorer.hardware.quantities import Quantity
from gexplorer.hardware.spec import Chip

A2 = ("Ascend910B1", "Ascend910B2", "Ascend910B3", "Ascend910B4")
A3 = ("Ascend910_9391",)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One constant to be fitted.

    Attributes:
        key: its dotted key in a chip file.
        chips: chips that share it.
        prior: where we expect it without looking at the points.
        unit: its unit.
        spread: relative standard deviation of the prior.
        low: the least that is possible.
        high: the most that is possible.
        why: where prior and bounds come from.
    """

    key: str
    chips: tuple[str, ...]
    prior: float
    unit: str
    spread: float
    low: float
    high: float
    why: str

    @property
    def name(self) -> str:
        """Key and group, for showing."""
        return self.key if len(self.chips) > len(A2) else f"{self.key} ({'A3' if self.chips == A3 else 'A2'})"


PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        *("paths.gm->l1.rate", A2 + A3, 110, "B/cycle", 0.1, 60, 128),
        "the ini's l2_read_rate; theory says 256 for one core alone",
    ),
    Parameter(
        *("hbm.cold_core_rate", A2 + A3, 85, "GB/s", 0.2, 40, 140),
        "half of what msKPP measures for 80 KB of a hot tensor: a miss waits about twice as long",
    ),
    Parameter(
        *("hbm.achievable", A2, 0.85, "", 0.15, 0.5, 0.97),
        "ini ddr_rate x clock x cores is 0.89 of the nominal rate; msModeling assumes 0.6",
    ),
    Parameter(
        *("hbm.achievable", A3, 0.85, "", 0.15, 0.5, 0.97),
        "the same",
    ),
    Parameter(
        *("launch.cube", A2 + A3, 5, "us", 0.3, 1, 15),
        "msModeling's static cost of a cube operator",
    ),
    Parameter(
        *("cube.gap_cycles", A2 + A3, 30, "", 0.5, 0, 128),
        "a wait and a set of two flags",
    ),
    Parameter(
        *("l2.usable", A2 + A3, 0.7, "", 0.3, 0.3, 1),
        "half where data is kept in both halves of L2, all of it at most",
    ),
    Parameter(
        *("launch.mixed", A2 + A3, 10, "us", 0.3, 2, 40),
        "a cube and a vector launch, and 72 cores that meet",
    ),
    Parameter(
        *("launch.dispatch", A2 + A3, 35, "us", 0.3, 5, 100),
        "the host's work for an operator of a framework in eager mode",
    ),
)

_PRIOR_WEIGHT = 0.01
_RATIO_WEIGHT = 0.25
_HUBER = 0.03


def fit(
    points: Sequence[Point], chips: Chips, parameters: Sequence[Parameter] = PARAMETERS, steps: int = 400
) -> dict[Parameter, float]:
    """The parameters' values that suit the points best, starting from their priors.

    Args:
        points: measurements.
        chips: gives a chip by name; only numbers that are not fitted matter.
        parameters: what is fitted.
        steps: most evaluations of the loss.
    """

    def loss(x: Floats) -> float:
        values = {p: float(p.prior * np.exp(v)) for p, v in zip(parameters, x, strict=True)}
        beyond = sum(max(p.low / v - 1, 0) + max(v / p.high - 1, 0) for p, v in values.items())
        held = {p: min(max(v, p.low), p.high) for p, v in values.items()}
        predictions, _ = predict_all(points, with_parameters(chips, held))
        departure = np.mean([(v / p.spread) ** 2 for p, v in zip(parameters, x, strict=True)])
        return misfit(predictions) + _PRIOR_WEIGHT * float(departure) + 10 * beyond

    spreads = np.array([p.spread for p in parameters])
    found = nelder_mead(loss, np.zeros(len(parameters)), -spreads, steps)
    return {p: float(np.clip(p.prior * np.exp(v), p.low, p.high)) for p, v in zip(parameters, found, strict=True)}


def misfit(predictions: Sequence[Prediction]) -> float:
    """Mean robust error of times and, with less weight, of the pipes' shares of them."""
    errors = np.log([p.predicted_us / p.point.time_us for p in predictions])
    robust = np.sqrt(errors**2 + _HUBER**2) - _HUBER
    shares = [abs(float(p.cost.ratio(pipe)[0]) - share) for p in predictions for pipe, share in p.point.ratios.items()]
    return float(robust.mean()) + _RATIO_WEIGHT * (float(np.mean(shares)) if shares else 0.0)


def with_parameters(chips: Chips, values: Mapping[Parameter, float]) -> Chips:
    """The same chips with some parameters set."""
    made: dict[str, Chip] = {}

    def chip(name: str) -> Chip:
        if name not in made:
            changes = {p.key: Quantity(v, p.unit) for p, v in values.items() if name in p.chips}
            made[name] = chips(name).with_values(changes)
        return made[name]

    return chip


def nelder_mead(loss: Callable[[Floats], float], start: Floats, edges: Floats, steps: int) -> Floats:
    """The minimum of a function by the simplex of Nelder and Mead (1965), no derivatives needed.

    Args:
        loss: the function, of an array of shape [n].
        start: where to begin, [n].
        edges: step along each axis to the first simplex's corners, [n].
        steps: most evaluations.
    """
    count = len(start)
    simplex = [start, *(start + edge for edge in np.diag(edges))]
    values = [loss(corner) for corner in simplex]
    done = len(values)
    while done < steps and max(values) - min(values) > 1e-7:
        order = np.argsort(values, kind="stable")
        simplex, values = [simplex[i] for i in order], [values[i] for i in order]
        centre = np.mean(simplex[:-1], axis=0)
        away = centre - simplex[-1]
        tried = centre + away
        value = loss(tried)
        done += 1
        if value < values[0]:
            further = centre + 2 * away
            beyond = loss(further)
            done += 1
            simplex[-1], values[-1] = (further, beyond) if beyond < value else (tried, value)
        elif value < values[-2]:
            simplex[-1], values[-1] = tried, value
        else:
            nearer = centre + (0.5 if value < values[-1] else -0.5) * away
            value = loss(nearer)
            done += 1
            if value < values[-1]:
                simplex[-1], values[-1] = nearer, value
            else:
                simplex = [simplex[0], *(simplex[0] + (corner - simplex[0]) / 2 for corner in simplex[1:])]
                values = [values[0], *(loss(corner) for corner in simplex[1:])]
                done += count
    return simplex[int(np.argmin(values))]
