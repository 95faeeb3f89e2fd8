"""The command line: every command is a thin shell around the Python API."""

from __future__ import annotations

import errno
import json
import re
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from gexplorer.errors import GexplorerError, OptionError

if TYPE_CHECKING:
    from gexplorer.compiler import Compilation
    from gexplorer.passes.manager import Progress

Command = TypeVar("Command", bound=Callable[..., Any])


_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Group(click.Group):
    """Turns every error that a user can cause into one line on stderr and exit status 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except GexplorerError as error:
            click.echo(f"gexplorer: {error}", err=True)
            ctx.exit(1)
        except MemoryError:
            click.echo("gexplorer: out of memory", err=True)
            ctx.exit(1)
        except RecursionError:
            click.echo("gexplorer: the model's graphs are nested too deeply", err=True)
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo("gexplorer: interrupted", err=True)
            ctx.exit(130)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # whoever read our output has seen enough; click ends quietly
            click.echo(f"gexplorer: {error.filename or 'output'}: {error.strerror or error}", err=True)
            ctx.exit(1)


@click.group(cls=_Group, context_settings=_SETTINGS)
@click.version_option(package_name="gexplorer")
def cli() -> None:
    """Watch a graph compiler turn an ONNX model into an offline NPU program.

    MODEL is the path of an ONNX file or the name of a model of the zoo (gexplorer zoo).
    """


# The flags that say which passes and rules run.
switch_options = (
    click.option("--preset", default=None, metavar="NAME", help="ge (default), unconfigured, tensorrt-like or all."),
    click.option("--switch", type=click.Path(path_type=Path), help="A fusion switch file: text, JSON or INI."),
    click.option("--off", multiple=True, metavar="RULE[:NODE]", help="Switch a pass, a rule or one match off."),
    click.option("--on", multiple=True, metavar="RULE[:NODE]", help="Switch a pass, a rule or one match on."),
)


def _with_switches(command: Command) -> Command:
    for decorate in reversed(switch_options):
        command = decorate(command)
    return command


def compile_options(command: Command) -> Command:
    """The flags that every command which compiles has."""
    for decorate in reversed(
        (
            click.argument("model"),
            click.option("--soc", default=None, metavar="NAME", help="The chip, such as Ascend910B3."),
            click.option("--shape", "shapes", multiple=True, metavar="NAME:1,3,224,224", help="Shape of an input."),
            *switch_options,
            click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any other option."),
        )
    ):
        command = decorate(command)
    return command


def compile_model(
    model: str,
    soc: str | None,
    shapes: tuple[str, ...],
    preset: str | None,
    switch: Path | None,
    off: tuple[str, ...],
    on: tuple[str, ...],
    settings: tuple[str, ...],
) -> Compilation:
    """Compiles what the common flags ask for, with progress when somebody watches."""
    from gexplorer.compiler import compile as compile_  # the heavy imports start here
    from gexplorer.options import parse_settings, parse_shapes

    options = parse_settings(settings)
    options["shapes"] = parse_shapes(shapes)
    options |= _switches(switch, on, off)
    if preset is not None:
        options["preset"] = preset
    if soc is not None:
        options["soc"] = soc
    with _progress() as tell:
        return compile_(model, tell=tell, **options)


def _switches(switch: Path | None, on: tuple[str, ...], off: tuple[str, ...]) -> dict[str, object]:
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


@contextmanager
def _progress() -> Generator[Callable[[Progress], None] | None]:
    """A progress line on stderr, only on a terminal and only for work longer than a second."""
    if not sys.stderr.isatty():
        yield None
        return
    from gexplorer.render.terminal import ProgressLine

    line = ProgressLine()
    try:
        yield line.tell
    finally:
        line.clear()


@cli.command(context_settings=_SETTINGS)
@compile_options
@click.option("--json", "json_to", metavar="FILE|-", help="Write the summary as JSON; - for standard output.")
@click.option("--log", "log_to", metavar="FILE|-", help="Write log lines as CANN does; - for standard error.")
def compile(json_to: str | None, log_to: str | None, **common: Any) -> None:
    """Compile a model and print what each stage did."""
    _require_writable(json_to, log_to)
    compiled = compile_model(**common)
    if log_to is not None:
        _write_log(compiled, log_to)
    if json_to is not None:
        _write_json(compiled.summary(), json_to)
    if json_to != "-":
        from gexplorer.render.terminal import print_compilation

        print_compilation(compiled)


@cli.command(context_settings=_SETTINGS)
@compile_options
@click.option("--step", metavar="N|NAME", help="Show one step: what it rewrote and what nearly.")
@click.option("--onnx", "onnx_to", type=click.Path(path_type=Path), help="Write the graph after the step as ONNX.")
@click.option("--text", "as_text", is_flag=True, help="Print the graph after the step in text form.")
@click.option("--all", "every", is_flag=True, help="List the steps that found nothing to do as well.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write the step's rewrites and near misses as JSON.")
def steps(
    step: str | None, onnx_to: Path | None, as_text: bool, every: bool, json_to: str | None, **common: Any
) -> None:
    """List the steps of a compilation, show one, or write its graph as a runnable ONNX model."""
    _require_writable(onnx_to, json_to)
    compiled = compile_model(**common)
    chosen = _step(compiled, step)
    if onnx_to is not None:
        from gexplorer.ir.to_onnx import save_onnx

        save_onnx(chosen.after, onnx_to)
        click.echo(f"{onnx_to}: the graph after step {chosen.index} ({chosen.name})", err=True)
        return
    if as_text:
        from gexplorer.ir.text import to_text

        click.echo(to_text(chosen.after), nl=False)
        return
    if json_to is not None:
        from gexplorer.views.steps import step_detail, step_list

        _write_json(step_detail(chosen) if step is not None else step_list(compiled.steps), json_to)
        return
    from gexplorer.render.terminal import print_step, print_steps

    if step is None:
        print_steps(compiled.steps, every=every)
    else:
        print_step(chosen)


@cli.command(context_settings=_SETTINGS)
@compile_options
@click.option("--rule", metavar="RULE", help="Only this rule or pass.")
@click.option("--node", metavar="NODE", help="Only places at this node, or blocked by it.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write near misses and blockers as JSON.")
def why(rule: str | None, node: str | None, json_to: str | None, **common: Any) -> None:
    """Say why operators were not fused: every near miss, what blocked it, what would cure it."""
    _require_writable(json_to)
    compiled = compile_model(**common)
    misses = compiled.why(rule, node)
    from dataclasses import asdict

    from gexplorer.views.why import ranked_blockers

    blockers = ranked_blockers(compiled.steps)
    if json_to is not None:
        _write_json({"near_misses": [asdict(m) for m in misses], "blockers": [asdict(b) for b in blockers]}, json_to)
        return
    from gexplorer.render.terminal_why import print_why

    if rule is not None and all(rule not in (p.name, p.ge_name) for p in compiled.plan.passes):
        click.echo(f"{rule} is switched off; --on {rule} switches it on.")
        return
    print_why(misses, blockers if rule is None and node is None else [])


@cli.command(context_settings=_SETTINGS)
@_with_switches
@click.option("--json", "json_to", metavar="FILE|-", help="Write the list as JSON; - for standard output.")
@click.option("--write", "write_to", type=click.Path(path_type=Path), help="Write a fusion switch file that says so.")
@click.option("--form", type=click.Choice(["text", "json", "ini"]), default="text", help="Form of that file.")
def rules(
    preset: str | None,
    switch: Path | None,
    off: tuple[str, ...],
    on: tuple[str, ...],
    json_to: str | None,
    write_to: Path | None,
    form: str,
) -> None:
    """List all passes and rules: order, name, the real GE's name, on or off, what they do."""
    if write_to is not None:
        from gexplorer.output import write_file
        from gexplorer.passes.fusion.switch_file import switch_file_text
        from gexplorer.passes.manager import all_passes, plan

        switches = cast("dict[str, bool]", _switches(switch, on, off)["fusion"])
        running = {p.name for p in plan(switches, preset or "ge").passes}
        write_file(write_to, switch_file_text(all_passes(), running, form))
        click.echo(f"{write_to}: {len(running)} passes and rules on", err=True)
        return
    from gexplorer.views.rules import rule_list

    rows = rule_list()
    if json_to is not None:
        _write_json(rows, json_to)
        return
    from gexplorer.render.terminal import print_rules

    print_rules(rows)


@cli.command(context_settings=_SETTINGS)
@click.option("--json", "json_to", metavar="FILE|-", help="Write the list as JSON; - for standard output.")
def zoo(json_to: str | None) -> None:
    """List the models that are built in, with the options that change them."""
    from gexplorer.views.zoo import zoo_list

    rows = zoo_list()
    if json_to is not None:
        _write_json(rows, json_to)
        return
    from gexplorer.render.terminal import print_zoo

    print_zoo(rows)


@cli.command(context_settings=_SETTINGS)
@compile_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The page; MODEL's name with .html if left out.")
def report(output: Path | None, **common: Any) -> None:
    """Write one self-contained HTML page about the compilation."""
    _require_writable(output)
    compiled = compile_model(**common)
    path = output or Path(Path(compiled.source.name.partition(":")[0]).name).with_suffix(".html")
    compiled.report(path)
    click.echo(f"{path.resolve()}")


def main() -> None:
    """The ``gexplorer`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name may hold what the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="gexplorer")


def _step(compiled: Compilation, wanted: str | None) -> Any:
    if wanted is None:
        return compiled.steps[-1]
    try:
        return compiled.steps[int(wanted) if re.fullmatch("-?[0-9]{1,9}", wanted) else wanted]
    except (KeyError, IndexError):
        names = ", ".join(step.name for step in compiled.steps)
        raise OptionError(f"no step {wanted!r}; there are 0 to {len(compiled.steps) - 1}: {names}") from None


def _write_log(compiled: Compilation, target: str) -> None:
    import os
    from datetime import datetime

    from gexplorer.views.log import framed, log_lines

    now, pid = datetime.now(), os.getpid()
    text = "".join(f"{framed(line, now, pid)}\n" for line in log_lines(compiled.steps))
    if target == "-":
        sys.stderr.write(text)
    else:
        from gexplorer.output import write_file

        write_file(target, text)


def _write_json(data: object, target: str) -> None:
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    if target == "-":
        sys.stdout.buffer.write(text.encode())  # JSON is UTF-8 whatever the terminal is
    else:
        from gexplorer.output import write_file

        write_file(target, text)


def _require_writable(*targets: str | Path | None) -> None:
    """Says before the work starts when its results cannot be written."""
    from gexplorer.output import require_writable

    for target in targets:
        if target is not None and target != "-":
            require_writable(Path(target))
