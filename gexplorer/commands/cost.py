"""Commands about cost: of a compiled model, the chips that are known, and how far the model is from measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gexplorer.commands.flags import SETTINGS, compile_model, compile_options, examples
from gexplorer.commands.results import require_targets, write_json
from gexplorer.errors import OptionError


@click.command(context_settings=SETTINGS)
@click.argument("chip", required=False)
@click.option("--json", "json_to", metavar="FILE|-", help="Write the list as JSON; - for standard output.")
def chips(chip: str | None, json_to: str | None) -> None:
    """List the chips, or every number of one with its source.

    CHIP is a CANN name (Ascend910B3), a YAML file in the form of the built-in ones, or a CANN platform .ini.
    """
    require_targets(json_to)
    from gexplorer.views.chips import chip_detail, chip_list

    if chip is not None:
        detail = chip_detail(chip)
        if json_to is not None:
            write_json(detail, json_to)
            return
        from gexplorer.render.terminal_cost import print_chip

        print_chip(detail)
        return
    rows = chip_list()
    if json_to is not None:
        write_json(rows, json_to)
        return
    from gexplorer.render.terminal_cost import print_chips

    print_chips(rows)


@click.command("validate-cost", context_settings=SETTINGS)
@click.option("--points", type=click.Path(path_type=Path), help="Measurements of yours, as CSV; else published ones.")
@click.option("--all", "every", is_flag=True, help="Show every point, not only those furthest off.")
@click.option("--hold-out", is_flag=True, help="Fit again without each source and predict it (half a minute).")
@click.option("--sensitivity", is_flag=True, help="Change each fitted constant by a fifth.")
@click.option("--plot", "plot_to", type=click.Path(path_type=Path), help="Draw model over measurement, .svg or .html.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write errors and points as JSON; - for standard output.")
def validate_cost(
    points: Path | None, every: bool, hold_out: bool, sensitivity: bool, plot_to: Path | None, json_to: str | None
) -> None:
    """Compare the cost model with measured kernels.

    Prints its errors by family, and the points that are furthest off.

    The CSV's columns: op, device, M_or_shape, N, K, dtype, tile_MxNxK, time_us, cube_ratio_pct, load_ratio_pct,
    store_ratio_pct, source; tile and ratios may be empty.
    """
    require_targets(json_to, plot_to)
    if plot_to is not None:
        from gexplorer.render.parity import require_ending

        require_ending(plot_to)
    from gexplorer.cost.points import PUBLISHED, read_points
    from gexplorer.views.validate_cost import validation, validation_json

    found = validation(read_points(points or PUBLISHED), held_out=hold_out, sensitive=sensitivity)
    if plot_to is not None:
        from gexplorer.render.parity import write_parity
        from gexplorer.views.parity import parity

        write_parity(parity(found), plot_to)
        click.echo(f"{plot_to}: model over measurement, {len(found.predictions)} points", err=True)
    if json_to is not None:
        write_json(validation_json(found), json_to)
        return
    from gexplorer.render.terminal_cost import print_validation

    print_validation(found, every=every)


@click.command(
    context_settings=SETTINGS,
    epilog=examples(
        "cost model.onnx", "cost model.onnx --savings", "cost bert-base:layers=2 --soc Ascend310P3 --json cost.json"
    ),
)
@compile_options
@click.option("--eager", is_flag=True, help="Set eager mode beside graph mode: the host dispatches every kernel.")
@click.option("--savings", "saved", is_flag=True, help="Say what each fusion step saved, in time and HBM traffic.")
@click.option("--tiling", metavar="MODE", help="Tiles of products: library (default), fast or exhaustive search.")
@click.option("--exhaustive", is_flag=True, help="The same as --tiling exhaustive.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write totals and every kernel as JSON.")
def cost(eager: bool, saved: bool, tiling: str | None, exhaustive: bool, json_to: str | None, **common: Any) -> None:
    """Say what a model costs: time, and bytes at every level.

    Prints every kernel's time, the pipe that bounds it, and how many bytes it moves at every level of memory. Times are
    of one stream. Beside each stands the error of the model on published measurements.
    """
    require_targets(json_to)
    if exhaustive and tiling not in (None, "exhaustive"):
        raise OptionError(f"--exhaustive and --tiling {tiling}: one of them is wanted")
    compiled = compile_model(**common)
    from gexplorer.cost.over_fusion import over_fusion
    from gexplorer.cost.saving import savings
    from gexplorer.hardware.catalogue import load_chip

    mode = "exhaustive" if exhaustive else tiling
    if mode is not None:
        compiled = compiled.replace(tiling_mode=mode)
    chip, found = load_chip(compiled.options.soc), compiled.cost
    warnings = over_fusion(found)
    steps = savings(tuple(compiled.steps), chip) if saved else ()
    if json_to is not None:
        from gexplorer.views.cost import cost_detail, saving_rows

        data = cost_detail(found, warnings)
        write_json({**data, "savings": saving_rows(steps)} if saved else data, json_to)
        return
    from gexplorer.render.terminal_graph_cost import print_cost
    from gexplorer.views.binding import cure

    print_cost(found, warnings, steps, eager=eager, cure=cure(compiled.graph, (row.reason for row in found.uncosted)))
