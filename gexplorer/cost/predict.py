"""From a measured point to the model's word for it: which chip, which work, which tile, which launch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from gexplorer.cost.attention import attention_cost
from gexplorer.cost.kernel import KernelCost
from gexplorer.cost.library import library_gemm
from gexplorer.cost.naming import Family, ran_by_framework, work_of
from gexplorer.cost.points import Point
from gexplorer.cost.roofline import baseline_us
from gexplorer.cost.vector import move_cost, vector_cost
from gexplorer.cost.work import Attention, Gemm, Move, Vector, Work
from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import chip_names
from gexplorer.hardware.spec import Chip

Chips = Callable[[str], Chip]

# Words by which sources call a device, after the CANN names themselves. CATLASS names only the number of cores.
_DEVICES = (
    (re.compile(r"a3|910c|9391|9392", re.IGNORECASE), "Ascend910_9391"),
    (re.compile(r"\b20 ?aic", re.IGNORECASE), "Ascend910B3"),
    (re.compile(r"\b24 ?aic", re.IGNORECASE), "Ascend910B2"),
    (re.compile(r"910b|\ba2\b", re.IGNORECASE), "Ascend910B3"),
)


@dataclass(frozen=True, slots=True)
class Prediction:
    """The model's word for a point.

    Attributes:
        point: the measurement.
        family: what kind of kernel it is.
        work: what it has to do.
        chip: the chip's name.
        predicted_us: the model's time.
        roofline_us: the baseline: roofline plus launch.
        cost: pipes and bytes behind the prediction, for one tile.
        tile: tile_m, tile_n, tile_k of a product.
    """

    point: Point
    family: Family
    work: Work
    chip: str
    predicted_us: float
    roofline_us: float
    cost: KernelCost
    tile: tuple[int, int, int] | None

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted_us / self.point.time_us - 1

    @property
    def roofline_error(self) -> float:
        """The same for the baseline."""
        return self.roofline_us / self.point.time_us - 1


def predict(point: Point, chips: Chips) -> Prediction | None:
    """What the model says of a point; None where it has no model of the operator.

    Args:
        point: the measurement.
        chips: gives a chip by name.

    Raises:
        OptionError: nobody knows the device, or the shape does not suit the operator.
    """
    found = work_of(point)
    if found is None:
        return None
    family, work = found
    chip = chips(device_of(point))
    tile = None
    match work:
        case Gemm():
            tiled = library_gemm(work, chip, point.tile)
            cost, t = tiled.cost, tiled.tile
            tile = (int(t.m[0]), int(t.n[0]), int(t.k[0]))
        case Attention():
            cost = attention_cost(work, chip)
        case Vector():
            cost = vector_cost(work, chip)
        case Move():
            cost = move_cost(work, chip)
    dispatch = chip.launch.dispatch_us if ran_by_framework(point.op) else 0.0
    total = float(cost.total_us[0]) + dispatch
    return Prediction(point, family, work, chip.name, total, baseline_us(work, chip) + dispatch, cost, tile)


def device_of(point: Point) -> str:
    """The chip that a source calls ``A3 24 AIC`` or ``910B2``. Raises OptionError where none is meant."""
    text = point.device.lower()
    for name in sorted(chip_names(), key=len, reverse=True):
        if name.lower() in text or name.lower().removeprefix("ascend") in text:
            return name
    for pattern, name in _DEVICES:
        if pattern.search(text):
            return name
    raise OptionError(
        f"line {point.line}: device: no chip is known as {point.device!r}; there are: {', '.join(chip_names())}"
    )
