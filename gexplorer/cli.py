"""The command line: every command is a thin shell around the Python API."""

from __future__ import annotations

import errno
import re
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from gexplorer.commands.discovery import all_commands
from gexplorer.commands.flags import SETTINGS, compile_model, compile_options, examples, switches_of, with_switches
from gexplorer.commands.results import require_targets, require_valid, write_json
from gexplorer.errors import GexplorerError, OptionError

if TYPE_CHECKING:
    from gexplorer.compiler import Compilation


# Below the list of commands; \b keeps click from filling the lines.
_FIRST_HOUR = """\b
A first hour:
  gexplorer report MODEL    the explorer as one page, for a browser
  gexplorer why MODEL       why was this not fused, and what would it save?
  gexplorer memory MODEL    does it fit, and what lives where?
  gexplorer cost MODEL      what is slow, and what bounds it?
  gexplorer kernels MODEL   which operators fall back to the host?
  gexplorer lab             the same in notebooks, a tour first
"""


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


@click.group(cls=_Group, context_settings=SETTINGS, epilog=_FIRST_HOUR)
@click.version_option(package_name="gexplorer")
def cli() -> None:
    """Watch a graph compiler turn an ONNX model into an offline NPU program.

    MODEL is the path of an ONNX file or the name of a model of the zoo (gexplorer zoo).
    """


@cli.command(
    context_settings=SETTINGS,
    epilog=examples(
        "compile model.onnx",
        "compile model.onnx -o model.om --shape x:1,3,224,224",
        "compile bert-base --off matmul_bias --set verify=per-step",
    ),
)
@compile_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the offline model (.om), which run runs.")
@click.option(
    "--weights",
    type=click.Choice(["inline", "reference"]),
    default="inline",
    help="With -o: copy weights that lie in a file of their own, or only name them.",
)
@click.option(
    "--validate",
    type=click.Choice(["quick", "full", "off"]),
    help="How the result is checked: within two seconds (default), in full, or not at all.",
)
@click.option("--json", "json_to", metavar="FILE|-", help="Write the summary as JSON; - for standard output.")
@click.option("--log", "log_to", metavar="FILE|-", help="Write log lines as CANN does; - for standard error.")
def compile(
    output: Path | None,
    weights: Literal["inline", "reference"],
    validate: str | None,
    json_to: str | None,
    log_to: str | None,
    **common: Any,
) -> None:
    """Compile a model and print what each stage did. A result that fails its checks ends with status 1."""
    require_targets(output, json_to, log_to)
    compiled = compile_model(validate=validate, **common)
    if output is not None:
        compiled.save(output, weights=weights)
    if log_to is not None:
        _write_log(compiled, log_to)
    if json_to is not None:
        write_json(compiled.summary(), json_to)
    if json_to != "-":
        from gexplorer.render.terminal import print_compilation

        print_compilation(compiled)
    require_valid(compiled)


@cli.command(
    context_settings=SETTINGS,
    epilog=examples(
        "steps model.onnx",
        "steps model.onnx --step matmul_bias",
        "steps model.onnx --step matmul_bias --onnx after.onnx",
    ),
)
@compile_options
@click.option("--step", metavar="N|NAME", help="Show one step: what it rewrote and what nearly.")
@click.option("--onnx", "onnx_to", type=click.Path(path_type=Path), help="Write the graph after the step as ONNX.")
@click.option("--text", "as_text", is_flag=True, help="Print the graph after the step in text form.")
@click.option("--all", "every", is_flag=True, help="List the steps that found nothing to do as well.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write the step's rewrites and near misses as JSON.")
def steps(
    step: str | None, onnx_to: Path | None, as_text: bool, every: bool, json_to: str | None, **common: Any
) -> None:
    """List the steps of a compilation, or show one.

    Or write the graph after it as a runnable ONNX model.
    """
    require_targets(onnx_to, json_to)
    compiled = compile_model(**common)
    if _wants_checks(compiled, step, listed=onnx_to is None and not as_text):
        compiled = _checked(compiled)
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

        write_json(step_detail(chosen) if step is not None else step_list(compiled.steps), json_to)
        return
    from gexplorer.render.terminal import print_step, print_steps

    if step is None:
        print_steps(compiled.steps, every=every)
    else:
        print_step(chosen)


@cli.command(
    context_settings=SETTINGS,
    epilog=examples("why model.onnx", "why model.onnx --rule matmul_bias --all", "why model.onnx --node node_linear_4"),
)
@compile_options
@click.option("--rule", metavar="RULE", help="Only this rule or pass: how its places add up, and near misses.")
@click.option("--node", metavar="NODE", help="What every rule did with this node, or says of it.")
@click.option("--all", "every", is_flag=True, help="Each place that a rule tried, not only near misses.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write misses, tallies and blockers as JSON.")
def why(rule: str | None, node: str | None, every: bool, json_to: str | None, **common: Any) -> None:
    """Say why operators were not fused, and what would cure it.

    Prints every near miss of every rule: the place, what blocked it, the edit that would cure it, the bytes to save.
    """
    require_targets(json_to)
    compiled = compile_model(**common)
    closer = rule is not None or node is not None
    misses = compiled.why(rule, node, every=every or closer)
    from gexplorer.views.node_story import node_story, why_data
    from gexplorer.views.why import ranked_blockers, tallies

    shown = misses if every or node is not None else [miss for miss in misses if miss.near]
    counted = tallies(compiled.steps, misses, rule) if node is None else []
    blockers = ranked_blockers(compiled.steps, between=compiled.between)
    story = node_story(compiled.steps, misses, node, rule) if node is not None else None
    if json_to is not None:
        write_json(why_data(shown, counted, blockers, story), json_to)
        return
    from gexplorer.render.terminal_why import print_story, print_why

    if rule is not None and all(rule not in (p.name, p.ge_name) for p in compiled.plan.passes):
        click.echo(f"{rule} is switched off; --on {rule} switches it on.")
    elif story is not None:
        print_story(story)
    else:
        counted = counted if every or closer else [tally for tally in counted if tally.near]
        print_why(shown, counted, [] if closer else blockers, every=every)


@cli.command(
    context_settings=SETTINGS,
    epilog=examples("rules", "rules --off matmul_bias --write fusion.cfg", "compile model.onnx --switch fusion.cfg"),
)
@with_switches
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
    """List all passes and rules, and GE's names for them.

    Prints order, name, on or off, and what they do; or writes a fusion switch file.
    """
    if write_to is not None:
        from gexplorer.output import write_file
        from gexplorer.passes.fusion.switch_file import switch_file_text
        from gexplorer.passes.manager import all_passes, plan

        switches = cast("dict[str, bool]", switches_of(switch, on, off)["fusion"])
        running = {p.name for p in plan(switches, preset or "ge").passes}
        write_file(write_to, switch_file_text(all_passes(), running, form))
        click.echo(f"{write_to}: {len(running)} passes and rules on", err=True)
        return
    from gexplorer.views.rules import rule_list

    rows = rule_list()
    if json_to is not None:
        write_json(rows, json_to)
        return
    from gexplorer.render.terminal import print_rules

    print_rules(rows)


@cli.command(context_settings=SETTINGS)
@click.option("--json", "json_to", metavar="FILE|-", help="Write the list as JSON; - for standard output.")
def zoo(json_to: str | None) -> None:
    """List the models that are built in, and their options."""
    from gexplorer.views.zoo import zoo_list

    rows = zoo_list()
    if json_to is not None:
        write_json(rows, json_to)
        return
    from gexplorer.render.terminal import print_zoo

    print_zoo(rows)


for _command in all_commands():
    cli.add_command(_command)


def main() -> None:
    """The ``gexplorer`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name may hold what the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="gexplorer")


def _wants_checks(compiled: Compilation, wanted: str | None, *, listed: bool) -> bool:
    """Whether the steps of the validation are asked for, which ``compile`` counts: all of them, or one further on."""
    if wanted is None:
        return listed
    if re.fullmatch("-[0-9]{1,9}", wanted):  # counted from the end
        return True
    return wanted not in {name for step in compiled.steps for name in (step.name, step.ge_name, str(step.index))}


def _checked(compiled: Compilation) -> Compilation:
    """The same with the steps of its validation, as ``compile`` has them."""
    import os

    from gexplorer.options import from_environment

    level = from_environment(os.environ).get("validate", "quick")
    return compiled if compiled.options.validate != "off" else compiled.replace(validate=level)


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
    text = "".join(
        f"{framed(line, now, pid)}\n" for line in log_lines(compiled.steps, compiled.memory, compiled.options.order)
    )
    if target == "-":
        sys.stderr.write(text)
    else:
        from gexplorer.output import write_file

        write_file(target, text)
