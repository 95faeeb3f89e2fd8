"""The part ``tiling``: every tile that the dearest kernels could have, and their programs. Made when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.kernels.landscape import BUFFERS
from gexplorer.kernels.text import to_text
from gexplorer.views.explorer.columns import NOTHING, Texts, ints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gexplorer.cost.graph import GraphCost
    from gexplorer.kernels.generated import Generated
    from gexplorer.kernels.landscape import Landscape
    from gexplorer.kernels.program import Program
    from gexplorer.kernels.stage import DistinctKernel, Kernels
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject

    Ints = NDArray[np.int64]

# Kernels that differ, the dearest in all first; a search takes about 30 ms each.
MOST_KERNELS = 24
# Rows and columns of a landscape that are told; of more, every second, third, ...
MOST_STEPS = 64


def tiling_part(subject: Subject, numbering: Numbering) -> dict[str, object] | None:
    """One entry a kernel that differs, the dearest first; None where the graph was not costed.

    The tiles of a product are its blocks of m x n, each with the best sum length k, order and buffering. ``time_us`` is
    NaN where no such tile fits: then ``blocker`` names the buffer that is too small, and k is the shortest. The chosen
    tile need not be the best of its block: ``chosen_us`` is its own time. Times have the 24 bits of a float32, which
    is more than is known. Of other kernels there are no tiles, and ``chosen`` and ``best`` are -1. A kernel without a
    program says why in ``note``.
    """
    kernels = kernels_of(subject)
    if kernels is None or subject.cost is None:
        return None
    texts = Texts()
    dearest = dearest_kernels(kernels, subject.cost)
    entries: list[dict[str, object]] = []
    tiles: dict[Program | None, dict[str, object]] = {None: _no_tiles()}  # kernels may have equal programs
    for kernel in dearest[:MOST_KERNELS]:
        alike = ints(numbering.last.get(node, NOTHING) for node in kernel.nodes)
        for generated in kernel.programs or (None,):
            program = generated.program if generated is not None else None
            if generated is not None and program not in tiles:
                tiles[program] = _tiles(generated.landscape, texts)
            entries.append({**_entry(kernel, generated, alike, texts), **tiles[program]})
    more = max(len(dearest) - MOST_KERNELS, 0)
    return {"kernels": entries, "more": more, "mode": kernels.mode, "strings": texts.strings}


def dearest_kernels(kernels: Kernels, cost: GraphCost) -> list[DistinctKernel]:
    """The kernels that differ, those that take most time in all first."""
    time_us = {row.node: row.total_us for row in cost.rows}
    return sorted(kernels.distinct, key=lambda kernel: -sum(time_us.get(node, 0.0) for node in kernel.nodes))


def kernels_of(subject: Subject) -> Kernels | None:
    """The kernels, made now where the compilation has not; None where nothing was costed."""
    from gexplorer.kernels.stage import generate_kernels
    from gexplorer.schedule.stage import kernel_names

    if subject.kernels is not None:
        return subject.kernels
    if subject.cost is None or subject.memory is None:
        return None
    return generate_kernels(subject.memory.graph, subject.cost.chip, names=kernel_names(subject.memory))


def _entry(kernel: DistinctKernel, program: Generated | None, alike: object, texts: Texts) -> dict[str, object]:
    return {
        "name": texts(kernel.nodes[0]),
        "type": texts(kernel.op),
        "alike": alike,
        "buffers": []
        if program is None
        else [
            {"name": one.level, "used_bytes": one.used_bytes, "capacity_bytes": one.capacity_bytes}
            for one in program.occupied
        ],
        "text": texts(program.text if program is not None else ""),
        "program": texts(to_text(program.program, flags=False) if program is not None else ""),
        "note": kernel.missing.reason if kernel.missing is not None else "",
    }


def _no_tiles() -> dict[str, object]:
    nothing = np.zeros(0, np.int32)
    return {
        "m": nothing, "n": nothing, "k": nothing, "time_us": np.zeros(0, np.float32), "blocker": nothing,
        "chosen": -1, "best": -1, "chosen_us": 0.0, "chosen_k": 0, "chosen_order": NOTHING, "chosen_double": False,
        "evaluations": 0,
    }  # fmt: skip


def _tiles(landscape: Landscape | None, texts: Texts) -> dict[str, object]:
    if landscape is None:
        return _no_tiles()
    space, tile = landscape.space, landscape.tile
    times, blocked = landscape.plane()
    shown = [
        _shown(len(axis), [int(np.unravel_index(index, space.shape)[place]) for index in _marked(landscape)])
        for place, axis in enumerate((space.m, space.n))
    ]
    rows, columns = (axis.ravel() for axis in np.meshgrid(*shown, indexing="ij"))
    by_k = np.where(np.isnan(landscape.total_us), np.inf, landscape.total_us).reshape(*space.shape[:3], -1).min(axis=3)
    names = np.array([NOTHING, *map(texts, BUFFERS[1:])], np.int32)
    return {
        "m": space.m[rows],
        "n": space.n[columns],
        "k": space.k[by_k.argmin(axis=2)[rows, columns]],
        "time_us": times[rows, columns].astype(np.float32),
        "blocker": names[blocked[rows, columns]],
        "chosen": _row_of(landscape, landscape.chosen, shown),
        "best": _row_of(landscape, landscape.best, shown),
        "chosen_us": 0.0 if tile is None else float(np.float32(landscape.chosen_us)),
        "chosen_k": 0 if tile is None else tile.k,
        "chosen_order": NOTHING if tile is None else texts(tile.order),
        "chosen_double": tile is not None and tile.double,
        "evaluations": landscape.evaluations,
    }


def _marked(landscape: Landscape) -> list[int]:
    return [index for index in (landscape.chosen, landscape.best) if index is not None]


def _row_of(landscape: Landscape, index: int | None, shown: Sequence[Ints]) -> int:
    if index is None:
        return NOTHING
    m, n = (
        int(np.searchsorted(axis, place))
        for axis, place in zip(shown, np.unravel_index(index, landscape.space.shape), strict=False)
    )
    return m * len(shown[1]) + n


def _shown(length: int, marked: list[int]) -> Ints:
    """Places of an axis, evenly taken, and those that must be among them."""
    step = -(-length // MOST_STEPS) or 1
    return np.union1d(np.arange(0, length, step), np.array(marked, np.int64)).astype(np.int64)
