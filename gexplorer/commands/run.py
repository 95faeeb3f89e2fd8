"""The command that runs an offline model."""

from __future__ import annotations

import re
from pathlib import Path

import click

from gexplorer.commands.flags import SETTINGS, examples
from gexplorer.commands.results import require_file, require_targets, write_json
from gexplorer.errors import OptionError


@click.command(
    context_settings=SETTINGS,
    epilog=examples(
        "run model.om --random 0",
        "run model.om --inputs inputs.npz --outputs results.npz",
        "compile model.onnx -o model.om",
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--inputs", "inputs_from", type=click.Path(path_type=Path), help="A .npz file, one array an input.")
@click.option("--random", "seed", type=click.IntRange(min=0), metavar="SEED", help="Make up the inputs.")
@click.option("--size", "sizes", multiple=True, metavar="NAME=N", help="With --random: size of a free dimension.")
@click.option("--outputs", "outputs_to", type=click.Path(path_type=Path), help="Write the results to this .npz file.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, help="Run so often; the times are the last run's.")
@click.option("--poison", is_flag=True, help="Fill dead memory with a pattern: what is read too late shows.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write timings as JSON.")
def run(
    file: Path,
    inputs_from: Path | None,
    seed: int | None,
    sizes: tuple[str, ...],
    outputs_to: Path | None,
    repeat: int,
    poison: bool,
    json_to: str | None,
) -> None:
    """Run an offline model on the CPU, in its planned memory."""
    require_targets(outputs_to, json_to)
    if (inputs_from is None) == (seed is None):
        raise OptionError("give the inputs with --inputs FILE.npz, or have some made up with --random SEED")
    if sizes and seed is None:
        raise OptionError("--size goes with --random; the arrays of --inputs have sizes of their own")
    require_file(file)
    from gexplorer.offline.arguments import random_arguments
    from gexplorer.offline.arrays import read_arrays, write_arrays
    from gexplorer.offline.session import Session

    session = Session(file, poison=poison)
    if inputs_from is not None:
        inputs = read_arrays(inputs_from, session.program)
    else:
        rows = {row["name"]: row["index_rows"] for row in session.inputs if "index_rows" in row}
        inputs = random_arguments(session.program, rows, seed or 0, _sizes(sizes))
    outputs = session.run_batch([inputs] * repeat)[-1]
    timings = session.timings
    assert timings is not None
    left = write_arrays(outputs_to, outputs) if outputs_to is not None else []
    if json_to is not None:
        rows = [{"name": name, "op": op, "us": us} for name, op, us in timings.instructions]
        write_json(
            {
                "total_us": timings.total_us,
                "planning_us": timings.planning_us,
                "pool_bytes": session.pool_bytes,
                "instructions": rows,
            },
            json_to,
        )
        return
    from gexplorer.render.terminal_offline import print_run

    print_run(outputs, timings, session.pool_bytes, left)


def _sizes(texts: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not equals or not name or not re.fullmatch("[0-9]{1,9}", number):
            raise OptionError(f"--size {text!r}: NAME=N is wanted")
        found[name] = int(number)
    return found
