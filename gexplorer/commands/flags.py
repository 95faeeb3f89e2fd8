"""The flags that say what to compile and how, and the compilation that they ask for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gexplorer.errors import OptionError
from gexplorer.progress import watched

if TYPE_CHECKING:
    from gexplorer.compiler import Compilation

Command = TypeVar("Command", bound=Callable[..., Any])

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def examples(*lines: str) -> str:
    """Lines to try, as the end of a command's help; click keeps them as they are."""
    return "\n".join(["\b", "Examples:", *(f"  gexplorer {line}" for line in lines)])


_switch_options = (
    click.option("--preset", default=None, metavar="NAME", help="ge (default), unconfigured, tensorrt-like or all."),
    click.option("--switch", type=click.Path(path_type=Path), help="A fusion switch file: text, JSON or INI."),
    click.option("--off", multiple=True, metavar="RULE[:NODE]", help="Switch a pass, a rule or one match off."),
    click.option("--on", multiple=True, metavar="RULE[:NODE]", help="Switch a pass, a rule or one match on."),
)


def with_switches(command: Command) -> Command:
    """The flags that say which passes and rules run."""
    for decorate in reversed(_switch_options):
        command = decorate(command)
    return command


def compile_options(command: Command) -> Command:
    """The flags that every command which compiles has."""
    for decorate in reversed(
        (
            click.argument("model"),
            click.option("--soc", default=None, metavar="NAME", help="The chip, such as Ascend910B3."),
            click.option("--shape", "shapes", multiple=True, metavar="NAME:1,3,224,224", help="Shape of an input."),
            *_switch_options,
            click.option("--memory", default=None, metavar="MODE", help="fast, balanced, exact, safe, or a planner."),
            click.option(
                "--disable_reuse_memory",
                type=click.IntRange(0, 1),
                metavar="0|1",
                help="1: plan no reuse, as GE's atc.",
            ),
            click.option(
                "--set",
                "settings",
                multiple=True,
                metavar="KEY=VALUE",
                help="Any other option; a KEY that is none lists all.",
            ),
        )
    ):
        command = decorate(command)
    return command


def compile_model(model: str, *, validate: str | None = "off", **flags: Any) -> Compilation:
    """Compiles what the common flags ask for, with progress when somebody watches.

    Args:
        model: the model.
        validate: how the result is checked; None for what the environment says, or as ``Options`` has it.
        **flags: the common flags.
    """
    from gexplorer.compiler import compile as compile_  # the heavy imports start here

    options = wanted_options(**flags)
    if validate is not None:
        options.setdefault("validate", validate)
    with watched() as tell:
        return compile_(model, tell=tell, **options)


def wanted_options(
    soc: str | None,
    shapes: tuple[str, ...],
    preset: str | None,
    switch: Path | None,
    off: tuple[str, ...],
    on: tuple[str, ...],
    memory: str | None,
    disable_reuse_memory: int | None,
    settings: tuple[str, ...],
) -> dict[str, object]:
    """The options that the common flags set, by name."""
    from gexplorer.options import parse_settings, parse_shapes

    options = parse_settings(settings)
    options["shapes"] = parse_shapes(shapes)
    options |= switches_of(switch, on, off)
    if preset is not None:
        options["preset"] = preset
    if soc is not None:
        options["soc"] = soc
    if memory is not None:
        options["memory"] = memory
    if disable_reuse_memory is not None:
        options["disable_reuse_memory"] = disable_reuse_memory
    return options


def switches_of(switch: Path | None, on: tuple[str, ...], off: tuple[str, ...]) -> dict[str, object]:
    """Options for what a switch file says, then what the flags say."""
    both = sorted({*on} & {*off})
    if both:
        raise OptionError(f"{both[0]} is switched both on and off")
    wanted = dict.fromkeys(on, True) | dict.fromkeys(off, False)
    if switch is None:
        return {"fusion": wanted}
    from gexplorer.passes.fusion.switch_file import read_switch_file
    from gexplorer.passes.manager import all_passes

    file = read_switch_file(switch, [name for p in all_passes() for name in (p.name, p.ge_name) if name])
    if file.unmodelled:
        shown = ", ".join(file.unmodelled[:5]) + (", ..." if len(file.unmodelled) > 5 else "")
        click.echo(f"{switch}: gexplorer has no rule for {len(file.unmodelled)} of the names: {shown}", err=True)
    priorities = {name: number for name, number in file.priorities.items() if name not in file.unmodelled}
    return {"fusion": {**file.switches, **wanted}, "allowed": file.limits, "priorities": priorities}
