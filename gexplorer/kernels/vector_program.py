"""The tile program of a kernel of the vector unit: tiles through UB, in, computed, out, two of each under way.

A tile is a box of the tensors. What a tile does not cut (the scale of a normalisation, a scalar) is read once by each
core and stays in UB; what it cuts is read tile by tile, by every tile that needs it. Rows that are reduced are never
cut: all passes over them take place in UB, so memory sees each element once.
"""

from __future__ import annotations

from math import prod

from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.kernels import registers
from gexplorer.kernels.affine import Affine, least
from gexplorer.kernels.handover import Handover, finishes, starts
from gexplorer.kernels.program import Axis, Buffer, Instruction, Move, Program, Slice, Span, pipe_of, whole
from gexplorer.kernels.vector_kernel import Region, Tensor, VectorKernel

Spans = tuple[Span, ...]
_ONE = Span(Affine(), least(1))
_BLOCK_BYTES = 32  # UB is moved in blocks of so many bytes. Source: the platform files' ubblock_size


def vector_program(kernel: VectorKernel, tile: tuple[int, ...], chip: Chip, name: str = "Vector") -> Program:
    """The program of a kernel.

    Inputs and outputs have the kernel's names and the merged kernel's shapes; what lies in regions, those of the whole.

    Args:
        kernel: what is computed.
        tile: elements of a tile along each axis of ``kernel.merged``; see ``vector_tile``.
        chip: the chip.
        name: of the kernel.

    Raises:
        OptionError: the tile has another number of axes, or cuts rows that are reduced.
    """
    kernel = kernel.merged
    _require_fitting(kernel, tile, name)
    axes = tuple(Axis(f"i{j}", size, step) for j, (size, step) in enumerate(zip(kernel.shape, tile, strict=True)))
    spans = tuple(axis.span for axis in axes)
    mte2 = pipe_of("gm->ub", split=chip.cube_vector_path == "gm")
    memory: list[Buffer] = []
    resident: list[Handover] = []
    streamed: list[Handover] = []
    load: list[Instruction] = []
    once: list[Instruction] = []
    operands: list[registers.Operand] = []
    for tensor in kernel.inputs:
        memory.append(Buffer(tensor.buffer, "gm", tensor.memory_shape, tensor.dtype, role="input"))
        stays = not _cut(tensor, kernel, tile)
        place = tuple(min(size, step) for size, step in zip(tensor.shape, tile, strict=True))
        handover = Handover(Buffer(f"{tensor.name}_ub", "ub", place, tensor.dtype, 1 if stays else 2), mte2, "vector")
        repeated = _repeated(tensor, kernel)
        operand = _slice(handover.buffer.name, spans, repeated, local=True)
        move = _from_memory(tensor, spans, repeated, operand)
        operands.append(registers.Operand(operand, tensor.dtype, repeated))
        if stays:
            resident.append(handover)
            all_ = whole(*tensor.shape)
            once += handover.fill(_from_memory(tensor, all_, repeated, Slice(handover.buffer.name, all_)))
        else:
            streamed.append(handover)
            load += handover.fill(move)
    leaving: list[Handover] = []
    results: list[Slice] = []
    store: list[Instruction] = []
    for tensor in kernel.outputs:
        memory.append(Buffer(tensor.buffer, "gm", tensor.memory_shape, tensor.dtype, role="output"))
        place = tuple(min(size, step) for size, step in zip(tensor.shape, tile, strict=True))
        handover = Handover(Buffer(f"{tensor.name}_ub", "ub", place, tensor.dtype, 2), "vector", "mte3")
        repeated = _repeated(tensor, kernel)
        results.append(_slice(handover.buffer.name, spans, repeated, local=True))
        leaving.append(handover)
        store += handover.use(_to_memory(tensor, spans, repeated, results[-1]))
    placed = registers.place(kernel.formula, operands, results, tile, spans)
    handovers = (*resident, *streamed, *leaving)
    return Program(
        name=name,
        chip=chip.name,
        split=chip.cube_vector_path == "gm",
        cores=chip.vector_cores,
        buffers=(*dict.fromkeys(memory), *(handover.buffer for handover in handovers), *placed.buffers),
        axes=axes,
        start=(*starts(*handovers), *once, *(i for handover in resident for i in handover.get)),
        body=(
            *load,
            *(i for handover in streamed for i in handover.get),
            *(i for handover in leaving for i in handover.take),
            *placed.instructions,
            *(i for handover in leaving for i in handover.give),
            *(i for handover in streamed for i in handover.free),
            *store,
        ),
        finish=(*(i for handover in resident for i in handover.free), *finishes(*handovers)),
    )


def vector_tile(kernel: VectorKernel, chip: Chip) -> tuple[int, ...]:
    """The largest tile that UB holds, cut finer where cores would be idle; along the axes of ``kernel.merged``.

    Raises:
        OptionError: not even one row that is reduced fits.
    """
    kernel = kernel.merged
    fair = max(1, -(-prod(kernel.shape) // chip.vector_cores))
    budget = min(fair, chip.capacity.ub_bytes)
    while True:
        tile = _box(kernel, budget)
        need = ub_bytes(kernel, tile, chip)
        if need <= chip.capacity.ub_bytes:
            return tile
        if tile == _box(kernel, 1):
            raise OptionError(
                f"a row of {kernel.shape[-1]} elements needs {need} bytes of UB, "
                f"{chip.name} has {chip.capacity.ub_bytes}"
            )
        budget = min(budget - 1, int(budget * chip.capacity.ub_bytes / need))


def ub_bytes(kernel: VectorKernel, tile: tuple[int, ...], chip: Chip) -> int:
    """Bytes of UB that a tile takes."""
    program = vector_program(kernel, tile, chip)
    return sum(buffer.total_bytes for buffer in program.buffers if buffer.level == "ub")


def vector_bytes(kernel: VectorKernel, tile: tuple[int, ...], chip: Chip) -> dict[str, int]:
    """Bytes by path of ``vector_program``, of all cores together: the closed form."""
    kernel = kernel.merged
    blocks = [-(-size // step) for size, step in zip(kernel.shape, tile, strict=True)]
    cores = min(chip.vector_cores, prod(blocks))
    read = 0
    for tensor in kernel.inputs:
        if not _cut(tensor, kernel, tile):
            read += cores * tensor.nbytes
            continue
        again = [count for count, once in zip(blocks, _repeated(tensor, kernel), strict=True) if once]
        read += prod(again) * tensor.nbytes
    return {"gm->ub": read, "ub->gm": sum(tensor.nbytes for tensor in kernel.outputs)}


def _box(kernel: VectorKernel, elements: int) -> tuple[int, ...]:
    """A tile of about so many elements that lie together: the last axes whole, one cut, those before it by ones."""
    tile: list[int] = []
    left = max(1, elements)
    for axis in reversed(range(len(kernel.shape))):
        size = kernel.shape[axis]
        row = kernel.formula.reduces and axis == len(kernel.shape) - 1
        step = size if row else min(size, left)
        unit = _BLOCK_BYTES * 8 // min(tensor.dtype.bits for tensor in kernel.tensors)
        if not tile and not row and unit < step < size:
            step -= step % unit
        tile.insert(0, step)
        left = max(1, left // step) if step == size else 1
    return tuple(tile)


def _repeated(tensor: Tensor, kernel: VectorKernel) -> tuple[bool, ...]:
    return tuple(size == 1 and whole > 1 for size, whole in zip(tensor.shape, kernel.shape, strict=True))


def _cut(tensor: Tensor, kernel: VectorKernel, tile: tuple[int, ...]) -> bool:
    """True where different tiles need different parts of a tensor."""
    own = zip(tensor.shape, kernel.shape, tile, strict=True)
    return any(size > 1 and step < whole for size, whole, step in own)


def _from_memory(tensor: Tensor, spans: Spans, repeated: tuple[bool, ...], tile: Slice) -> Move:
    """The move of a tile from where it lies."""
    region = tensor.region
    if region is None:
        return Move(_slice(tensor.name, spans, repeated), tile)
    order = tuple(sorted(range(len(region.axes)), key=lambda place: region.axes[place]))
    return Move(_in_region(region, spans), tile, order=order if order != tuple(range(len(order))) else ())


def _to_memory(tensor: Tensor, spans: Spans, repeated: tuple[bool, ...], tile: Slice) -> Move:
    """The move of a tile to where it lies."""
    region = tensor.region
    if region is None:
        return Move(tile, _slice(tensor.name, spans, repeated))
    others = (axis for axis in range(len(spans)) if axis not in region.axes)  # these have length 1
    order = (*region.axes, *others)
    return Move(tile, _in_region(region, spans), order=order if order != tuple(range(len(order))) else ())


def _in_region(region: Region, spans: Spans) -> Slice:
    cut: list[Span] = []
    for axis, start in zip(region.axes, region.start, strict=True):
        found = spans[axis].start
        assert isinstance(found, Affine)  # a stretch of the grid
        cut.append(Span(found + start, spans[axis].length))
    return Slice(region.buffer, tuple(cut))


def _slice(name: str, spans: tuple[Span, ...], repeated: tuple[bool, ...], *, local: bool = False) -> Slice:
    cut = (_ONE if once else span.local if local else span for span, once in zip(spans, repeated, strict=True))
    return Slice(name, tuple(cut))


def _require_fitting(kernel: VectorKernel, tile: tuple[int, ...], name: str) -> None:
    if len(tile) != len(kernel.shape) or min(tile) < 1:
        raise OptionError(f"{name}: a tile of {len(kernel.shape)} axes is wanted, not {list(tile)}")
    if kernel.formula.reduces and tile[-1] < kernel.shape[-1]:
        raise OptionError(
            f"{name}: rows of {kernel.shape[-1]} elements are reduced, so they cannot be cut at {tile[-1]}"
        )
