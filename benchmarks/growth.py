"""How CPU time grows with the number of nodes: ``python -m benchmarks.growth``."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.measure import Limits, measure
from benchmarks.prepare import prepare

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)


def measure_growth(folder: Path, limits: Limits) -> dict[int, float]:
    """CPU seconds of gexplorer by nodes of the synthetic model."""
    tiny = prepare("27", folder)
    found: dict[int, float] = {}
    for size in SIZES:
        model = prepare(str(size), folder)
        run = measure("gexplorer", model, tiny, limits)
        if run.cpu_seconds is None:
            raise RuntimeError(f"gexplorer on {size} nodes: {run.failure}")
        found[model.nodes] = run.cpu_seconds
    return found


def exponent(seconds: Mapping[int, float]) -> float:
    """The k of ``seconds = c * nodes**k`` that fits best: the slope of a line through the logarithms.

    >>> round(exponent({1: 2.0, 10: 20.0, 100: 200.0}), 6)
    1.0
    """
    xs = [math.log(nodes) for nodes in seconds]
    ys = [math.log(spent) for spent in seconds.values()]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        grown = measure_growth(Path(made), Limits())
    for count, spent in grown.items():
        print(f"{count:8,} nodes {spent:8.2f} s CPU {spent / count * 1e6:6.1f} us a node")
    print(f"CPU time grows as N^{exponent(grown):.2f}")
