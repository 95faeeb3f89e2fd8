"""The command that shows an offline model."""

from __future__ import annotations

from pathlib import Path

import click

from gexplorer.commands.flags import SETTINGS, examples
from gexplorer.commands.results import require_file, require_targets, write_json
from gexplorer.errors import OptionError


@click.command(
    context_settings=SETTINGS,
    epilog=examples("info model.om", "info model.om --tiles", "compile model.onnx -o model.om"),
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Read and check every byte; else the manifest is enough.")
@click.option("--tiles", is_flag=True, help="Print the tile programs instead.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write it as JSON.")
def info(file: Path, check: bool, tiles: bool, json_to: str | None) -> None:
    """Say what an offline model (.om) holds.

    Prints inputs and outputs, instructions, constants, and the plan of its memory.

    Of a real offline model of CANN, header and partitions are shown.
    """
    require_targets(json_to)
    require_file(file)
    if tiles:
        from gexplorer.offline.model import OfflineModel

        text = OfflineModel(file).tiles
        if not text:
            raise OptionError(f"{file}: there are no tile programs in it")
        from gexplorer.render.terminal_program import print_program

        print_program(text)
        return
    from gexplorer.views.offline import om_info

    found = om_info(file, check=check)
    if json_to is not None:
        write_json(found, json_to)
        return
    from gexplorer.render.terminal_offline import print_info

    print_info(found)
