"""The command that takes rules away and says what each was worth."""

from __future__ import annotations

from typing import Any

import click

from gexplorer.commands.flags import SETTINGS, compile_model, compile_options, examples
from gexplorer.commands.results import require_targets, write_json


@click.command(
    context_settings=SETTINGS,
    epilog=examples("ablate model.onnx", "ablate model.onnx --sets"),
)
@compile_options
@click.option("--sets", "only_sets", is_flag=True, help="Only the presets, no rule left out by itself.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write all builds as JSON; - for standard output.")
def ablate(only_sets: bool, json_to: str | None, **common: Any) -> None:
    """Say what each rule is worth: build without it, and presets.

    MODEL is built with each preset, and without each rule in turn.

    Kernels, HBM traffic, modelled time, memory for activations, and time to compile of each build.
    """
    require_targets(json_to)
    from gexplorer.views.ablation import ablation, ablation_data

    compiled = compile_model(**common)
    found = ablation(compiled, leave_out=not only_sets)
    if json_to is not None:
        write_json(ablation_data(found), json_to)
        return
    from gexplorer.render.terminal_ablation import print_ablation
    from gexplorer.views.binding import cure

    print_ablation(found, cure(compiled.graph))
