"""The kernels stage as steps of the trace."""

from __future__ import annotations

from collections import Counter

from gexplorer.kernels.stage import EXPECTED, DistinctKernel, Kernels
from gexplorer.trace.records import Message, Reject, Step

MESSAGES = {
    "no_generator": Message(
        "no tile program for {kernel}{others}: {operator}: {reason}",
        "a file in gexplorer/kernels/generators that describes {operator} gives it one",
    ),
    "generator_failed": Message(
        "no tile program for {kernel}{others}: {operator}: {reason}", "this is an error of gexplorer: please report it"
    ),
    "does_not_fit": Message(
        "no tile of {kernel}{others} fits the chip: {reason}", "leave out the fusion that made it, or split it"
    ),
    "tiles_left_out": Message("{left_out} of {tiles} tiles of {kernel}{others} do not fit: {buffers}"),
}


def kernel_steps(kernels: Kernels, first_index: int) -> list[Step]:
    """Four steps that leave the graph as it is.

    What has no program is what the first rejects (nobody has written how, or a generator has an error) or the last (its
    buffers are too large for the chip); tiles that do not fit are what the search rejects, summed up for each kernel
    that differs.
    """
    distinct, seconds = kernels.distinct, kernels.seconds
    units = Counter[str]()
    for kernel in distinct:
        for *_, unit in kernel.operators:
            units[unit] += kernel.count
    shown = ", ".join(f"{unit} {number:,}" for unit, number in units.most_common())
    elsewhere = sum(k.count for k in distinct if k.missing is not None and k.missing.code in EXPECTED)
    wanting = [kernel for kernel in distinct if kernel.missing is not None]
    searched = [p for kernel in distinct for p in kernel.programs if p.found is not None]
    instructions = sum(1 for kernel in distinct for program in kernel.programs for _ in program.program.instructions())
    parts: tuple[tuple[str, str | None, str, list[Reject], int], ...] = (
        (
            "describe",
            None,
            f"Reads off what each of {_many(len(kernels), 'kernel')} computes: {_many(len(distinct), 'design')}"
            f"; {elsewhere:,} are not the AI Core's.",
            [_missing(k) for k in wanting if k.missing and k.missing.code in ("no_generator", "generator_failed")],
            len(distinct),
        ),
        (
            "tiling_search",
            None,
            f"Looks for the tiles of {_many(len(searched), 'product')} ({kernels.mode}):"
            f" {_many(kernels.evaluations, 'tile')} evaluated.",
            [found for kernel in distinct for found in _left_out(kernel)],
            kernels.evaluations,
        ),
        (
            "generate",
            None,
            f"Writes {_many(sum(len(k.programs) for k in distinct), 'tile program')} of"
            f" {_many(instructions, 'instruction')}, for {_many(kernels.generated, 'kernel')}.",
            [_missing(kernel) for kernel in wanting if kernel.missing and kernel.missing.code == "does_not_fit"],
            len(distinct),
        ),
        (
            "assign_units",
            None,
            f"Gives each operator in the kernels a unit: {shown or 'there are none'}.",
            [],
            0,
        ),
    )
    return [
        Step(
            index=first_index + number,
            stage="kernels",
            name=name,
            ge_name=ge_name,
            before=kernels.graph,
            after=kernels.graph,
            seconds=seconds[name],
            rejects=tuple(rejects),
            messages=MESSAGES,
            summary=summary,
            tried=tried,
        )
        for number, (name, ge_name, summary, rejects, tried) in enumerate(parts)
    ]


def _missing(kernel: DistinctKernel) -> Reject:
    assert kernel.missing is not None
    parameters = {**_named(kernel), "operator": kernel.missing.operator, "reason": kernel.missing.reason}
    return Reject(kernel.nodes[0], kernel.missing.code, parameters)


def _left_out(kernel: DistinctKernel) -> list[Reject]:
    found: list[Reject] = []
    for program in kernel.programs:
        if program.found is not None and (buffers := program.found.kept_out()):
            parameters = {
                **_named(kernel),
                "left_out": f"{sum(buffers.values()):,}",
                "tiles": f"{len(program.found.total_us):,}",
                "buffers": ", ".join(f"{name} {number:,}" for name, number in buffers.items()),
            }
            found.append(Reject(kernel.nodes[0], "tiles_left_out", parameters))
    return found


def _named(kernel: DistinctKernel) -> dict[str, object]:
    others = f" and {_many(kernel.count - 1, 'other')}" if kernel.count > 1 else ""
    return {"kernel": kernel.op, "others": others}


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
