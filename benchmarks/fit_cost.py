"""Fits the cost model's constants to the published points and prints them beside those that ship.

    python -m benchmarks.fit_cost              the fit, half a minute at most
    python -m benchmarks.fit_cost --hold-out   and once more for each source, without it

What it prints belongs into ``gexplorer/hardware/chips/*.yaml``, rounded; a test compares the two.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from gexplorer.cost.accuracy import accuracy, by_family, predict_all
from gexplorer.cost.fit import PARAMETERS, fit, misfit, with_parameters
from gexplorer.cost.holdout import hold_out, mean_error
from gexplorer.cost.points import PUBLISHED, read_points
from gexplorer.hardware.catalogue import load_chip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=Path, default=PUBLISHED, help="another CSV of measurements")
    parser.add_argument("--steps", type=int, default=400, help="most evaluations of a fit")
    parser.add_argument("--hold-out", action="store_true", help="leave each source out once")
    options = parser.parse_args()
    points = read_points(options.points)

    start = time.process_time()
    found = fit(points, load_chip, PARAMETERS, options.steps)
    seconds = time.process_time() - start
    print(f"{'constant':<26} {'prior':>8} {'fitted':>8} {'ships':>14}   why so far")
    for parameter, value in found.items():
        ships = load_chip(parameter.chips[0]).values[parameter.key]
        print(f"{parameter.name:<26} {parameter.prior:>8g} {value:>8.4g} {ships!s:>14}   {parameter.why}")

    for title, chips in (("as fitted", with_parameters(load_chip, found)), ("as shipped", load_chip)):
        predictions, _ = predict_all(points, chips)
        products = [p for p in predictions if p.family in ("gemm", "conv")]
        print(f"\n{title}: misfit {misfit(predictions):.4f}")
        for row in (*by_family(predictions), accuracy("gemm and conv", products)):
            print(
                f"  {row.name:<16} n {row.n:>3}  mean {row.mape:6.1%}  p90 {row.p90:6.1%}  worst {row.worst:6.1%}"
                f"  roofline + launch {row.roofline_mape:6.1%}"
            )
    print(f"\n{seconds:.1f} s of CPU time")
    if options.hold_out:
        held = tuple(hold_out(points, load_chip, options.steps))
        print(f"\nleft out of the fit: mean {mean_error(held):.1%}")
        for row in held:
            values = " ".join(f"{value:.4g}" for value in row.fitted.values())
            print(f"  {row.mape:6.1%}  n {len(row.errors):>2}  {row.source}\n          {values}")


if __name__ == "__main__":
    main()
