"""The command that finds the rewrite after which a model's numbers are wrong."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

import click

from gexplorer.commands.flags import SETTINGS, compile_model, compile_options, examples
from gexplorer.commands.results import require_targets, write_json
from gexplorer.errors import OptionError


@click.command(
    context_settings=SETTINGS,
    epilog=examples("bisect model.onnx", "bisect model.onnx -o smallest.onnx"),
)
@compile_options
@click.option("--tolerance", type=click.FloatRange(min=0), metavar="T", help="Relative error that is still rounding.")
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="S", help="Seed of the random inputs.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the smallest model that shows it.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write the result as JSON; - for standard output.")
@click.pass_context
def bisect(
    context: click.Context,
    tolerance: float | None,
    seed: int,
    output: Path | None,
    json_to: str | None,
    **common: Any,
) -> None:
    """Find the one rewrite after which the numbers are wrong.

    First the pass, then the single rewrite in it, by running the graphs between.

    The default tolerance is that of an output's type, of its largest value: 1e-5 for float32, 2e-3 for float16.
    The exit status is 0 whether something is wrong or not; the JSON object says which.
    """
    if tolerance is not None and isnan(tolerance):
        raise OptionError("--tolerance nan: a number from 0 is wanted")
    require_targets(output, json_to)
    compiled = compile_model(**common)
    from gexplorer.validation.bisection import bisect as search
    from gexplorer.views.validation import bisection_data

    found = search(compiled.steps, tolerance=tolerance, seed=seed)
    written = None
    if output is not None and found.culprit is not None:
        from gexplorer.ir.to_onnx import save_onnx

        save_onnx(found.culprit.graph(), output)
        written = output
    if json_to is not None:
        write_json(bisection_data(found, written), json_to)
    if json_to != "-":
        from gexplorer.render.terminal_validation import print_bisection

        print_bisection(found, written)
