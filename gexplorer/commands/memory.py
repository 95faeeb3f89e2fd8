"""Commands about memory: planners side by side, plans of benchmark files, what lives where in a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gexplorer.commands.flags import SETTINGS, compile_model, compile_options, examples
from gexplorer.commands.results import require_one_output, require_targets, write_json, write_text
from gexplorer.errors import OptionError

if TYPE_CHECKING:
    from gexplorer.memory.stage import Memory

# Execution orders that --order takes.
_ORDERS = ("as_written", "bfs", "dfs", "rdfs", "stable_rdfs", "memory_aware")
# More digits than any device's memory has.
_MOST_DIGITS = 15
# An alignment beyond it is a slip of the keyboard.
_LARGEST_ALIGNMENT = 1 << 30


@click.command(
    context_settings=SETTINGS,
    epilog=examples("planners model.onnx", "planners model.onnx --never-reuse gelu", "planners buffers.csv"),
)
@compile_options
@click.option("--never-reuse", multiple=True, metavar="NAME", help="What if nobody got the memory of this tensor?")
@click.option("--pin", "pins", multiple=True, metavar="NAME=OFFSET", help="What if this tensor lay at this offset?")
@click.option("--apart", multiple=True, metavar="A,B", help="What if these two tensors could not share a byte?")
@click.option("--order", type=click.Choice(_ORDERS), help="What if the operators ran in this order?")
@click.option("--json", "json_to", metavar="FILE|-", help="Write all planners' numbers as JSON.")
@click.option("--csv", "csv_to", metavar="FILE|-", help="Write the buffers and their offsets as CSV.")
def planners(
    never_reuse: tuple[str, ...],
    pins: tuple[str, ...],
    apart: tuple[str, ...],
    order: str | None,
    json_to: str | None,
    csv_to: str | None,
    **common: Any,
) -> None:
    """Let all planners place the same buffers.

    Prints pool, distance from the bound, verdict of the verifier and time of each.

    MODEL may also be a CSV file with the columns id,lower,upper,size; see gexplorer plan.
    """
    require_one_output(json_to, csv_to)
    require_targets(json_to, csv_to)
    if common["model"].lower().endswith(".csv"):
        if never_reuse or pins or apart or order or csv_to:
            raise OptionError("what if, and --csv, want a model: a CSV file names no operators")
        if any(value not in (None, ()) for name, value in common.items() if name != "model"):
            raise OptionError("a CSV file is not compiled: nothing says how to; gexplorer plan takes --memory")
        _compare_file(Path(common["model"]), json_to)
        return
    compiled = compile_model(**common)
    before = compiled.memory
    wished = [
        *(f"nobody got the memory of {name}" for name in never_reuse),
        *(f"a tensor lay at an offset: {pin}" for pin in pins),
        *(f"two tensors could not share a byte: {pair}" for pair in apart),
        *([f"the operators ran in the order {order}"] if order else []),
    ]
    after = _wished(before, never_reuse, pins, apart, order) if wished else before
    from gexplorer.memory.standalone import compare_planners
    from gexplorer.views.planners import changes, comparison, planner_rows

    if csv_to is not None:
        from gexplorer.memory.csv_file import problem_csv

        write_text(problem_csv(after.plan.problem, after.plan.placement.offsets), csv_to)
        if json_to is None:
            return
    rows = planner_rows(compare_planners(after.plan.problem), whole=not after.program.unsized)
    moved = changes(before, after) if wished else ()
    if json_to is not None:
        write_json(comparison(after.plan.problem, rows, moved), json_to)
        return
    from gexplorer.render.terminal_memory import print_changes, print_planners, print_unsized
    from gexplorer.views.binding import cure

    print_unsized(after, cure(compiled.graph))
    if wished:
        print_changes(wished, moved)
    print_planners(rows, after.plan.problem)


@click.command(context_settings=SETTINGS)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--memory", default="balanced", metavar="MODE", help="fast, balanced, exact, safe, or a planner.")
@click.option(
    "--alignment",
    type=click.IntRange(1, _LARGEST_ALIGNMENT),
    default=1,
    metavar="BYTES",
    help="Round sizes up to it, and place buffers at its multiples; 1 if left out.",
)
@click.option("--ignore-offsets", is_flag=True, help="Place every buffer anew, also those that have an offset.")
@click.option("-o", "--output", metavar="OUT.csv|-", help="Write the plan: the file's columns and an offset.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write the plan's numbers and offsets as JSON.")
def plan(
    file: Path, memory: str, alignment: int, ignore_offsets: bool, output: str | None, json_to: str | None
) -> None:
    """Plan the buffers of a CSV file.

    The file has the columns id,lower,upper,size; buffers with an offset stay there, unless --ignore-offsets. A buffer
    is alive at the points from lower to before upper, as in the field's benchmark files.
    """
    require_one_output(output, json_to)
    require_targets(output, json_to)
    from gexplorer.memory.csv_file import problem_csv, read_problem
    from gexplorer.memory.modes import find_mode
    from gexplorer.memory.standalone import plan_problem
    from gexplorer.views.memory import plan_summary

    find_mode(memory)  # a wrong name is told before a large file is read
    problem = read_problem(file, alignment_bytes=alignment, pinned=not ignore_offsets)
    try:
        made = plan_problem(problem, memory)
    except OptionError as error:
        if not problem.is_constrained:
            raise
        raise OptionError(f"{error}; --ignore-offsets places every buffer anew") from None
    if json_to is not None:
        write_json(plan_summary(made, memory), json_to)
    if not made.is_sound:
        raise OptionError(f"{made.planner}: the plan is unsound: {made.findings[0].sentence}")
    if output is not None:
        write_text(problem_csv(problem, made.placement.offsets), output)
    if "-" not in (json_to, output):
        from gexplorer.render.terminal_memory import print_plan

        print_plan(made, memory)


@click.command(
    context_settings=SETTINGS,
    epilog=examples("memory model.onnx", "memory model.onnx --tensor layer_norm", "planners model.onnx"),
)
@compile_options
@click.option("--tensor", metavar="NAME", help="Only this tensor, with who has its bytes before and after it.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write plan, peak and every tensor as JSON.")
def memory(tensor: str | None, json_to: str | None, **common: Any) -> None:
    """Say what lives where and when, and who shares bytes.

    Prints pool and bound, who is alive at the peak, what shares bytes, the largest tensors, what has no size and why.
    """
    require_targets(json_to)
    compiled = compile_model(**common)
    planned = compiled.memory
    from gexplorer.views.memory_tensors import occupants, tensor_row, tensor_rows

    if tensor is not None:
        row, (earlier, later) = tensor_row(planned, tensor), occupants(planned, tensor)
        if json_to is not None:
            from dataclasses import asdict

            neighbours = {"before": list(map(asdict, earlier)), "after": list(map(asdict, later))}
            write_json({**asdict(row), **neighbours}, json_to)
            return
        from gexplorer.render.terminal_memory import print_tensor

        print_tensor(row, earlier, later)
        return
    if json_to is not None:
        from gexplorer.views.memory import memory_detail

        write_json(memory_detail(planned), json_to)
        return
    from gexplorer.render.terminal_memory import print_fit, print_memory
    from gexplorer.views.binding import cure

    print_memory(planned, tensor_rows(planned), cure(compiled.graph))
    print_fit(planned, compiled.cost.chip)


def _compare_file(path: Path, json_to: str | None) -> None:
    from gexplorer.memory.csv_file import read_problem
    from gexplorer.memory.standalone import compare_planners
    from gexplorer.views.planners import comparison, planner_rows

    problem = read_problem(path)
    rows = planner_rows(compare_planners(problem))
    if json_to is not None:
        write_json(comparison(problem, rows), json_to)
        return
    from gexplorer.render.terminal_memory import print_planners

    print_planners(rows, problem)


def _wished(
    before: Memory, never_reuse: tuple[str, ...], pins: tuple[str, ...], apart: tuple[str, ...], order: str | None
) -> Memory:
    """The memory as the flags wish it, on top of what the options ask for already."""
    wishes = before.wishes
    known = frozenset(before.program.tensors)
    _require_known(before, never_reuse)
    return before.what_if(
        order=order,
        never_reuse=(*wishes.never_reuse, *never_reuse),
        pins={**wishes.pins, **_pins(pins)},
        apart=(*wishes.apart, *(_pair(text, known) for text in apart)),
    )


def _require_known(memory: Memory, names: tuple[str, ...]) -> None:
    """Raises OptionError for what is no tensor, and no operator by name or type; GE would ignore it without a word."""
    if not names:
        return
    from gexplorer.views.memory_tensors import names_of_tensors_and_operators

    known = names_of_tensors_and_operators(memory)
    for name in names:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise OptionError(f"--never-reuse: no tensor or operator {name!r}{hint}")


def _pins(texts: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, offset in map(_pin, texts):
        if found.setdefault(name, offset) != offset:
            raise OptionError(f"--pin: {name} is pinned twice, at {found[name]} and at {offset}")
    return found


def _pin(text: str) -> tuple[str, int]:
    """A tensor and its offset; the name may hold an equals sign itself."""
    name, equals, offset = text.rpartition("=")
    if not equals or not name or not (offset.isascii() and offset.isdigit()) or len(offset) > _MOST_DIGITS:
        raise OptionError(f"--pin {text!r}: NAME=OFFSET is wanted, the offset in bytes from the start of the pool")
    return name, int(offset)


def _pair(text: str, known: frozenset[str]) -> tuple[str, str]:
    """Two tensors; names may hold commas: the one with a tensor on both sides parts them, else the last."""
    commas = [index for index, sign in enumerate(text) if sign == ","]
    if not commas:
        raise OptionError(f"--apart {text!r}: A,B is wanted, the names of two tensors")
    pairs = [(text[:index].strip(), text[index + 1 :].strip()) for index in commas]
    return next((pair for pair in pairs if known.issuperset(pair)), pairs[-1])
