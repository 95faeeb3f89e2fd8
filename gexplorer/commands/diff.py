"""The command that puts two compilations side by side, also as a gate for continuous integration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gexplorer.commands.flags import SETTINGS, compile_options, examples, wanted_options
from gexplorer.commands.results import require_targets, write_json
from gexplorer.errors import OptionError
from gexplorer.progress import watched

if TYPE_CHECKING:
    from gexplorer.compiler import Compilation

_SIDE = "An option of this side only: soc=, memory=, preset=, off=, on=, shape=, or any KEY=VALUE."


@click.command(
    context_settings=SETTINGS,
    epilog=examples(
        "diff old.onnx new.onnx",
        "diff model.onnx model.onnx --b off=matmul_bias",
        "diff old.onnx new.onnx --fail-on 'latency_us>+2%'",
    ),
)
@compile_options
@click.argument("other")
@click.option("--a", "first", multiple=True, metavar="OPTION=VALUE", help=f"MODEL's. {_SIDE}")
@click.option("--b", "second", multiple=True, metavar="OPTION=VALUE", help="OTHER's, as --a.")
@click.option("--fail-on", "limits", multiple=True, metavar="LIMIT", help="Exit with 1 on 'pool_bytes>+2%', ...")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the difference as one HTML page.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write the difference as JSON.")
def diff(
    model: str,
    other: str,
    first: tuple[str, ...],
    second: tuple[str, ...],
    limits: tuple[str, ...],
    output: Path | None,
    json_to: str | None,
    **common: Any,
) -> None:
    """Say what is different between two compilations.

    Prints their figures, the rules that did more or less and why, and the options.

    MODEL and OTHER are models, or summaries that compile --json has written. What the common flags say is for both.
    """
    from gexplorer.views.difference import broken_limits, difference, parse_limit

    require_targets(json_to, output)
    wanted = [parse_limit(text) for text in limits]
    sides = [_side(name, common, extra) for name, extra in ((model, first), (other, second))]
    found = difference(*(_summary(side) for side in sides))
    broken = broken_limits(found, wanted)
    if output is not None:
        a, b = sides
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            raise OptionError("a page is made of two models, not of summaries: a summary has no graph")
        from gexplorer.render.difference import write_difference

        write_difference(a, b, output)
        click.echo(f"{output.resolve()}")
    if json_to is not None:
        rows = [{**asdict(figure), "change": figure.change} for figure in found.figures]
        failed = [limit.text for limit, _ in broken]
        write_json({**asdict(found), "figures": rows, "broken_limits": failed}, json_to)
    elif output is None:
        from gexplorer.render.terminal_difference import print_difference

        print_difference(found)
    for limit, figure in broken:
        click.echo(
            f"gexplorer: {limit.text}: {figure.label} {_shown(figure.before)} -> {_shown(figure.after)}", err=True
        )
    if broken:
        raise click.exceptions.Exit(1)


def _side(name: str, common: Mapping[str, Any], extra: tuple[str, ...]) -> Compilation | dict[str, Any]:
    if name.endswith(".json") and Path(name).is_file():
        summary = _read_summary(Path(name))
        if summary is not None:
            if extra:
                raise OptionError(f"{name}: a summary takes no options")
            return summary
    from gexplorer.compiler import compile as compile_

    flags = dict(common)
    for text in extra:
        key, equals, value = text.partition("=")
        if not equals:
            raise OptionError(f"{text!r}: OPTION=VALUE is wanted")
        if key in ("soc", "memory", "preset"):
            flags[key] = value
        elif key in ("off", "on", "shape"):
            name_of = {"shape": "shapes"}.get(key, key)
            flags[name_of] = (*flags[name_of], value)
        else:
            flags["settings"] = (*flags["settings"], text)
    with watched() as tell:
        return compile_(name, tell=tell, **wanted_options(**flags))


def _read_summary(path: Path) -> dict[str, Any] | None:
    """A summary from a file; None where the file holds something else, such as a model as JSON."""
    from gexplorer.views.summary import SCHEMA

    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise OptionError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(data, dict) or "schema" not in data:
        return None
    sections = ("model", "options", "rules", "graph", "memory", "schedule", "cost")
    if data["schema"] != SCHEMA or any(section not in data for section in sections):
        raise OptionError(f"{path}: no summary of schema {SCHEMA}")
    return data


def _summary(side: Compilation | dict[str, Any]) -> dict[str, Any]:
    return side if isinstance(side, dict) else side.summary()


def _shown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.6g}"
