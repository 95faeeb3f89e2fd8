"""The command about kernels: what each computes, who does it, how it is cut, and its tile program."""

from __future__ import annotations

from typing import Any

import click

from gexplorer.commands.flags import SETTINGS, compile_model, compile_options, examples
from gexplorer.commands.results import require_targets, write_json


@click.command(
    context_settings=SETTINGS,
    epilog=examples("kernels model.onnx", "kernels model.onnx --node node_linear_4", "cost model.onnx"),
)
@compile_options
@click.option("--node", metavar="NODE", help="All about one node's kernel: units, landscape of tiles, program.")
@click.option("--tiling", metavar="MODE", help="library (default), fast or exhaustive.")
@click.option("--flags", is_flag=True, help="Show the program with the flags between its pipes.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write the kernels, or the one, as JSON.")
def kernels(node: str | None, tiling: str | None, flags: bool, json_to: str | None, **common: Any) -> None:
    """Say which kernels a model has, and what falls back.

    Prints a line for each design (kernels that are alike): unit, tile, buffers, and what bounds it; then what falls
    back to the host or the AI CPU, in branches and loops too; then kernels without a tile program, and why.
    """
    require_targets(json_to)
    compiled = compile_model(**common)
    from gexplorer.views.kernels import kernels_detail, node_detail

    if tiling is not None:
        compiled = compiled.replace(tiling_mode=tiling)
    found, cost = compiled.kernels, compiled.cost
    if node is not None:
        from gexplorer.views.lookup import require_name

        require_name(compiled.steps, node)
        node = found.node_with(node)
    if json_to is not None:
        write_json(kernels_detail(found, cost) if node is None else node_detail(found, node), json_to)
        return
    from gexplorer.render.terminal_kernels import print_kernel, print_kernels

    if node is None:
        from gexplorer.views.binding import cure
        from gexplorer.views.memory import unsized_rows

        print_kernels(found, cost, unsized_rows(compiled.memory), cure(compiled.graph))
    else:
        print_kernel(found, node, flags=flags)
