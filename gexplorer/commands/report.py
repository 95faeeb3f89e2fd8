"""The command that writes the explorer as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gexplorer.commands.flags import SETTINGS, compile_options, examples, wanted_options
from gexplorer.commands.results import require_targets
from gexplorer.errors import PassError
from gexplorer.progress import watched


@click.command(
    context_settings=SETTINGS,
    epilog=examples("report model.onnx", "report model.onnx -o page.html --variants rules"),
)
@compile_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The page; MODEL's name with .html if left out.")
@click.option(
    "--variants",
    default="fitting",
    metavar="WHICH",
    show_default=True,
    help="Switches that work in the page: as many as add 1 MB, none, rules (all), or a number of rules.",
)
def report(model: str, output: Path | None, variants: str, **common: Any) -> None:
    """Write the explorer as one HTML page.

    The page needs nothing else: no server, no network.

    Where a pass fails, the page shows what came before it, and the exit status is 1.
    """
    from gexplorer.compiler import compile_source, options_from
    from gexplorer.frontends.load import load
    from gexplorer.render.report import write_failure, write_report
    from gexplorer.render.variants import parse_wanted

    require_targets(output)
    wanted, options = parse_wanted(variants), options_from(wanted_options(**common))
    source = load(model)
    path = output or Path(Path(source.name.partition(":")[0]).name).with_suffix(".html")
    with watched() as tell:
        try:
            compiled = compile_source(source, options, tell=tell)
        except PassError as error:
            write_failure(error, source, options, path)
            raise
        write_report(compiled, path, variants=wanted, tell=tell)
    click.echo(f"{path.resolve()}")
