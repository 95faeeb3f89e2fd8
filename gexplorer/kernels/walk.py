"""The order in which the cores issue a program's instructions, loops unrolled one turn at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from gexplorer.kernels.affine import Bindings
from gexplorer.kernels.program import Instruction, Loop, Program, Simple


@dataclass(frozen=True, slots=True)
class Issued:
    """One instruction at its turn.

    Attributes:
        core: the core.
        block: number of the block; None before the first and after the last.
        instruction: what is issued; None for the end of a turn of an innermost loop, or of a block.
        bindings: values of the loop variables; changed as the walk goes on, so copy what is to be kept.
    """

    core: int
    block: int | None
    instruction: Simple | None
    bindings: Bindings


def walk(program: Program) -> Iterator[Issued]:
    """Every instruction of every core, core after core; cores without a block issue nothing."""
    for core in range(min(program.cores, program.blocks)):
        bindings: dict[str, int] = {}
        yield from _issue(program.start, core, None, bindings)
        for block in range(core, program.blocks, program.cores):
            bindings = block_bindings(program, block)
            yield from _issue(program.body, core, block, bindings)
            yield Issued(core, block, None, bindings)
        yield from _issue(program.finish, core, None, {})


def block_bindings(program: Program, block: int) -> dict[str, int]:
    """The values of the grid's variables for one block."""
    bindings: dict[str, int] = {}
    for axis in reversed(program.axes):
        block, index = divmod(block, axis.blocks)
        bindings[axis.variable] = index * axis.step
    return bindings


def blocks_of(program: Program, core: int) -> range:
    """The numbers of the blocks that a core computes."""
    return range(core, prod(axis.blocks for axis in program.axes), program.cores)


def _issue(
    instructions: Sequence[Instruction], core: int, block: int | None, bindings: dict[str, int]
) -> Iterator[Issued]:
    for instruction in instructions:
        if not isinstance(instruction, Loop):
            yield Issued(core, block, instruction, bindings)
            continue
        innermost = not any(isinstance(inner, Loop) for inner in instruction.body)
        for start in range(0, instruction.extent.at(bindings), instruction.step):
            bindings[instruction.variable] = start
            yield from _issue(instruction.body, core, block, bindings)
            if innermost:
                yield Issued(core, block, None, bindings)
        bindings.pop(instruction.variable, None)
