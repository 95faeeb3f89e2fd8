"""What a kernel around a matrix product computes, and how it is cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from gexplorer.cost.tile import Order
from gexplorer.cost.work import Gemm
from gexplorer.hardware.spec import Chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.formula import Formula, Instruction
from gexplorer.kernels.program import BIAS_TABLE_BYTES

_RELU = (Instruction("max", (0, 0.0)),)
Rider = TypeVar("Rider")
TABLE_BYTES = 4  # an element of the bias table is as wide as a sum


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that an epilogue reads besides the product: [batch or 1, m or 1, n or 1]."""

    name: str
    shape: tuple[int, int, int]
    dtype: DType


@dataclass(frozen=True, slots=True)
class GemmKernel:
    """A product and what follows it.

    Attributes:
        work: the product.
        left_transposed: true where the left matrix lies as [k, m].
        right_transposed: true where the right one lies as [n, k].
        left_shared: true where the whole batch has one left matrix.
        right_shared: true where it has one right matrix.
        bias: element type of a row [1, n] that is added; None for no bias.
        epilogue: what follows on every element: its input 0 is the product with the bias, the others are
            ``operands``; one output.
        operands: the other inputs of the epilogue.
    """

    work: Gemm
    left_transposed: bool = False
    right_transposed: bool = False
    left_shared: bool = False
    right_shared: bool = False
    bias: DType | None = None
    epilogue: Formula | None = None
    operands: tuple[Operand, ...] = ()

    @property
    def sum_dtype(self) -> DType:
        """What L0C sums in."""
        return DType.FLOAT32 if self.work.dtype.is_float else DType.INT32

    @property
    def out_dtype(self) -> DType:
        """Element type of the result."""
        return self.work.out_dtype or self.work.dtype


@dataclass(frozen=True, slots=True)
class GemmTile:
    """How a product is cut.

    Attributes:
        m: rows of a block; a multiple of the cube's.
        n: columns of a block; the same.
        k: length of the sum that one MMAD takes.
        order: ``rows`` or ``columns``, as in the cost model.
        double: true where L1, L0A and L0B hold two panels each, so that loading and computing overlap.
    """

    m: int
    n: int
    k: int
    order: Order = "rows"
    double: bool = True


@dataclass(frozen=True, slots=True)
class Assignment(Generic[Rider]):
    """Who does what behind the sums.

    Attributes:
        table: true where the bias row starts the accumulator, from the bias table.
        fixpipe: what the fixpipe does on the way out.
        vector: what is left to the vector unit; None for nothing.
        operands: its inputs besides the product.
    """

    table: bool
    fixpipe: tuple[str, ...]
    vector: Formula | None
    operands: tuple[Rider, ...]


def assign(kernel: GemmKernel, tile_n: int, chip: Chip) -> Assignment[Operand]:
    """Gives each part of an epilogue to the unit that does it at least cost."""
    bias = Operand("bias", (1, 1, kernel.work.n), kernel.bias) if kernel.bias is not None else None
    return assign_riders(bias, kernel.epilogue, kernel.operands, tile_n, chip)


def assign_riders(
    bias: Rider | None, epilogue: Formula | None, operands: tuple[Rider, ...], tile_n: int, chip: Chip
) -> Assignment[Rider]:
    """The same for what rides on any work of the cube.

    A split cube core has a bias table and a fixpipe with relu; a coupled core has its vector unit beside L0C.

    Args:
        bias: a number for each column of a block, as the vector unit would read it; None for none.
        epilogue: what follows; None for nothing.
        operands: its inputs besides the sums.
        tile_n: columns of a block.
        chip: the chip.
    """
    split = chip.cube_vector_path == "gm"
    table = bias is not None and split and tile_n * TABLE_BYTES <= BIAS_TABLE_BYTES
    if bias is not None and not table:
        epilogue, operands = with_bias(epilogue), (bias, *operands)
    if split and epilogue is not None and epilogue.instructions == _RELU and not operands:
        return Assignment(table, ("relu",), None, ())
    return Assignment(table, (), epilogue, operands)


def with_bias(formula: Formula | None) -> Formula:
    """The same behind an addition, whose other side becomes input 1."""
    add = Instruction("add", (0, 1))
    if formula is None:
        return Formula(("product", "bias"), (add,), (2,))
    inputs = len(formula.inputs) + 1

    def moved(value: int) -> int:
        return inputs if value == 0 else value + 1 if value < inputs - 1 else value + 2

    shifted = [
        replace(step, inputs=tuple(moved(x) if isinstance(x, int) else x for x in step.inputs))
        for step in formula.instructions
    ]
    names = (formula.inputs[0], "bias", *formula.inputs[1:])
    return Formula(names, (add, *shifted), tuple(map(moved, formula.outputs)))


def bias_taken(
    formula: Formula | None, operands: tuple[Operand, ...]
) -> tuple[DType | None, Formula | None, tuple[Operand, ...]]:
    """Takes a row that is added to the product first out of an epilogue.

    Returns:
        The row's element type, None where there is no such row; what is left of the formula, and of its operands.
    """
    first = formula.instructions[0] if formula is not None and formula.instructions else None
    if formula is None or first is None or first.op != "add":
        return None, formula, operands
    inputs, total = len(formula.inputs), len(formula.inputs)
    values = [value for value in first.inputs if isinstance(value, int)]
    row = next((value for value in values if 0 < value < inputs), None)
    rest = formula.instructions[1:]
    if row is None or 0 not in values or operands[row - 1].shape[:2] != (1, 1) or operands[row - 1].shape[2] == 1:
        return None, formula, operands
    used = {value for step in rest for value in step.inputs if isinstance(value, int)} | {*formula.outputs}
    if used & {0, row}:
        return None, formula, operands

    def moved(value: int) -> int:
        return 0 if value == total else value - (value > row) if value < inputs else value - 2

    names = tuple(name for index, name in enumerate(formula.inputs) if index != row)
    steps = tuple(
        replace(step, inputs=tuple(moved(x) if isinstance(x, int) else x for x in step.inputs)) for step in rest
    )
    kept = tuple(operand for index, operand in enumerate(operands, 1) if index != row)
    left = Formula(names, steps, tuple(map(moved, formula.outputs)))
    return operands[row - 1].dtype, left if steps or left.outputs != (0,) else None, kept
