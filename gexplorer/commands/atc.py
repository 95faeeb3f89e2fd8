"""The real tool's spelling: ``atc --mode=1 --om=…`` shows an offline model, ``--mode=0`` compiles one."""

from __future__ import annotations

from pathlib import Path

import click

from gexplorer.commands.flags import SETTINGS, compile_model, examples
from gexplorer.commands.results import require_file, require_targets, require_valid, write_json
from gexplorer.errors import OptionError

# What atc calls the frontends; of these, ONNX is read.
_FRAMEWORKS = {0: "Caffe", 1: "MindSpore", 3: "TensorFlow", 5: "ONNX"}


@click.command(
    context_settings=SETTINGS,
    epilog=examples("atc --model=model.onnx --framework=5 --output=model", "atc --mode=1 --om=model.om"),
)
@click.option("--mode", type=click.IntRange(0, 1), default=0, help="0: compile to an offline model; 1: show one.")
@click.option("--om", type=click.Path(path_type=Path), help="Mode 1: the offline model.")
@click.option("--json", "json_to", metavar="FILE", help="Mode 1: write it as JSON; - for standard output.")
@click.option("--model", help="Mode 0: the model, a path or a name of the zoo.")
@click.option("--framework", type=int, default=5, help="Mode 0: 5 for ONNX, the only one.")
@click.option("--output", type=click.Path(path_type=Path), help="Mode 0: the offline model, without its .om.")
@click.option("--soc_version", help="Mode 0: the chip.")
@click.option("--input_shape", help='Mode 0: shapes, such as "x:1,3,224,224;mask:1,128".')
@click.option("--fusion_switch_file", type=click.Path(path_type=Path), help="Mode 0: a fusion switch file.")
@click.option("--disable_reuse_memory", type=click.IntRange(0, 1), help="Mode 0: 1 plans no reuse.")
def atc(
    mode: int,
    om: Path | None,
    json_to: str | None,
    model: str | None,
    framework: int,
    output: Path | None,
    soc_version: str | None,
    input_shape: str | None,
    fusion_switch_file: Path | None,
    disable_reuse_memory: int | None,
) -> None:
    """Compile or show an offline model with flags of CANN's atc."""
    if mode == 1:
        _show(om, json_to)
        return
    if model is None or output is None:
        raise OptionError("atc --mode=0 wants --model=FILE and --output=NAME")
    if framework != 5:
        named = _FRAMEWORKS.get(framework, f"framework {framework}")
        raise OptionError(f"--framework={framework}: {named} is not read, only ONNX (5)")
    target = output.with_name(f"{output.name}.om")
    require_targets(target)
    compiled = compile_model(
        model,
        validate=None,
        soc=soc_version,
        shapes=tuple(filter(None, (input_shape or "").split(";"))),
        preset=None,
        switch=fusion_switch_file,
        off=(),
        on=(),
        memory=None,
        disable_reuse_memory=disable_reuse_memory,
        settings=(),
    )
    compiled.save(target)
    require_valid(compiled)
    click.echo(f"ATC run success, {target}")


def _show(om: Path | None, json_to: str | None) -> None:
    if om is None:
        raise OptionError("atc --mode=1 wants --om=FILE.om")
    require_targets(json_to)
    require_file(om)
    from gexplorer.views.offline import om_info

    found = om_info(om)
    if json_to is None:  # as article A3 calls it; the real tool wants --json
        from gexplorer.render.terminal_offline import print_info

        print_info(found)
        return
    write_json(found, json_to)
    if json_to != "-":
        click.echo(f"ATC run success, {json_to}")
