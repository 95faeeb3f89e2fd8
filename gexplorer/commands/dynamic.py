"""The command about shapes that change: what each way to serve them costs over a workload."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gexplorer.commands.flags import SETTINGS, compile_model, compile_options, examples
from gexplorer.commands.results import require_targets, write_json
from gexplorer.errors import OptionError

if TYPE_CHECKING:
    from gexplorer.dynamic.free import FreeDims, Sizes
    from gexplorer.dynamic.workload import Workload

# A name may hold an equals sign itself.
_RANGE = re.compile(r"(.+)=([0-9]{1,9})(?:\.\.([0-9]{1,9}))?", re.DOTALL)


@click.command(
    context_settings=SETTINGS,
    epilog=examples(
        "dynamic model.onnx --range batch=1..16 --gears 3",
        "dynamic bert-base:batch=n --workload requests.csv --warmup '1;4'",
    ),
)
@compile_options
@click.option("--workload", type=click.Path(path_type=Path), help="CSV: arrival_us (or _ms, _s), and a column a dim.")
@click.option("--range", "ranges", multiple=True, metavar="DIM=LOW..HIGH", help="Make a workload up, with such sizes.")
@click.option("--requests", default=200, show_default=True, help="How many requests to make up.")
@click.option("--rate", default=10.0, show_default=True, help="How many come in a second, on average.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the workload that is made up."
)
@click.option("--dynamic_batch_size", metavar="1,4,8", help="Gears of the one free dimension, as GE's atc.")
@click.option("--dynamic_dims", metavar="1,128;8,512", help="Gears, a size for each free dimension, as GE's atc.")
@click.option(
    "--gears", type=click.IntRange(min=0), default=0, metavar="N", help="Find the best N gears for the workload."
)
@click.option(
    "--warmup", metavar="1,128;8,512", envvar="GE_WARMUP_SHAPES", help="Shapes seen before the first request."
)
@click.option(
    "--keep", type=click.IntRange(min=0), default=0, metavar="N", help="Static builds that are kept; 0 (default): all."
)
@click.option("--json", "json_to", metavar="FILE|-", help="Write everything as JSON, request by request.")
def dynamic(
    workload: Path | None,
    ranges: tuple[str, ...],
    requests: int,
    rate: float,
    seed: int,
    dynamic_batch_size: str | None,
    dynamic_dims: str | None,
    gears: int,
    warmup: str | None,
    keep: int,
    json_to: str | None,
    **common: Any,
) -> None:
    """Serve requests of many shapes, and say which compile again.

    Three ways side by side: a static build for each shape, one dynamic build, or a few builds (gears) with padding.
    """
    require_targets(json_to)
    compiled = compile_model(**common)
    from gexplorer.dynamic.at_sizes import Shaper
    from gexplorer.dynamic.gear_search import best_gears
    from gexplorer.dynamic.simulate import simulate
    from gexplorer.dynamic.strategies import Dynamic, Gears, Recompile, Strategy
    from gexplorer.render import terminal_dynamic as shown
    from gexplorer.views import dynamic as views

    shaper = Shaper(compiled)
    free = shaper.free
    by_data = views.data_dependent(compiled.memory)
    if not free.names:
        shown.print_data_dependent(by_data)
        raise OptionError(
            "no dimension of the inputs is free: export the model with dynamic axes (of the zoo: bert-base:batch=n)"
        )
    if dynamic_batch_size and dynamic_dims:
        raise OptionError("--dynamic_batch_size or --dynamic_dims, not both")
    if dynamic_batch_size and len(free.names) != 1:
        raise OptionError(
            f"--dynamic_batch_size sets one free dimension, and there are {len(free.names)}: {', '.join(free.names)};"
            " bind the others with --shape, or use --dynamic_dims"
        )
    wanted = _gears(free, dynamic_dims or (dynamic_batch_size or "").replace(",", ";"))
    load = _workload(free, workload, ranges, requests, rate, seed)
    choices = best_gears(load, shaper, gears) if gears else []
    warm = _gears(free, warmup or "")
    strategies: list[Strategy] = [Recompile(shaper, warm, keep=keep), Dynamic(shaper, warm)]
    chosen = wanted or (choices[-1].gears if choices else ())
    if chosen:
        strategies.append(Gears(shaper, chosen))
    timelines = [simulate(load, strategy, shaper) for strategy in strategies]
    if json_to is not None:
        data: dict[str, object] = {
            "free": list(free.names),
            "workload": {"origin": load.origin, "requests": len(load.requests), "shapes": len(load.distinct)},
            "strategies": [
                {**asdict(row), "held": views.build_rows(t, free), "timeline": views.timeline_rows(t, free, load)}
                for row, t in zip(views.strategy_rows(timelines), timelines, strict=True)
            ],
            "gears": views.gear_rows(choices, free),
            "data_dependent": [asdict(row) for row in by_data],
        }
        write_json(data, json_to)
        return
    shown.print_workload(load, free)
    shown.print_strategies(timelines)
    asked = {*load.distinct, *warm, *chosen}
    shown.print_too_large(views.too_large(shaper.at(sizes) for sizes in asked), len(asked), free)
    shown.print_builds(timelines[-1], free)
    if choices:
        shown.print_gears(choices, free)
    shown.print_data_dependent(by_data)


def _gears(free: FreeDims, text: str) -> list[Sizes]:
    return [free.parse(part) for part in text.split(";") if part.strip()]


def _workload(
    free: FreeDims, file: Path | None, ranges: tuple[str, ...], requests: int, rate: float, seed: int
) -> Workload:
    from gexplorer.dynamic.workload import generate, read_csv

    if file is not None:
        if ranges:
            raise OptionError("--workload or --range, not both")
        return read_csv(file, free)
    if not ranges:
        example = " ".join(f"--range {shlex.quote(f'{name}=1..8')}" for name in free.names)
        raise OptionError(f"a workload is wanted: --workload FILE.csv, or {example}")
    bounds: dict[str, tuple[int, int]] = {}
    for text in ranges:
        match = _RANGE.fullmatch(text.strip())
        if match is None:
            raise OptionError(f"--range {text}: DIM=LOW..HIGH is wanted")
        bounds[match[1]] = (int(match[2]), int(match[3] or match[2]))
    return generate(free, bounds, requests, rate, seed)
