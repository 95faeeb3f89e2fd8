"""The kernels stage as plain data: a row for each kernel that differs, and all about one node's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np

from gexplorer.cost.graph import GraphCost
from gexplorer.kernels.generated import Generated
from gexplorer.kernels.landscape import BUFFERS, Landscape
from gexplorer.kernels.stage import EXPECTED, FALLEN, DistinctKernel, Kernels
from gexplorer.kernels.text import to_text
from gexplorer.ops.fallbacks import Fallback, fallbacks_text


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """One tile program of a kernel.

    Attributes:
        kind: its generator.
        computes: what it computes, in one line.
        tile: how it is cut.
        occupied: share of each buffer of a core that it takes.
        evaluations: tiles whose cost was computed for it.
        blocks: blocks of its result.
        cores: cores that they are dealt to.
        instructions: of its text, loops not unrolled.
        bytes_by_path: of all cores together.
    """

    kind: str
    computes: str
    tile: str
    occupied: dict[str, float]
    evaluations: int
    blocks: int
    cores: int
    instructions: int
    bytes_by_path: dict[str, int]


@dataclass(frozen=True, slots=True)
class KernelRow:
    """A kernel that differs from the others.

    Attributes:
        node: the first node that has it.
        op: operator of the nodes.
        count: how many nodes have it.
        unit: who does most of the work.
        programs: its programs; empty where there are none.
        missing: what kind of reason there is for having none; "" where there are some.
        reason: that reason as a sentence.
        total_us: modelled time of the first node's; None where nobody can tell.
        bound: what works longest; "" where nobody can tell.
    """

    node: str
    op: str
    count: int
    unit: str
    programs: tuple[ProgramRow, ...]
    missing: str
    reason: str
    total_us: float | None
    bound: str


@dataclass(frozen=True, slots=True)
class FallbackRow:
    """Nodes of one operator that fall back for one reason, from one place.

    Attributes:
        op: the operator.
        on_host: whether it runs on the host, else on the AI CPU.
        within: names of the nodes whose graphs hold them, outermost first; empty in the outermost graph.
        reason: why, as a sentence without a full stop.
        nodes: their names.
    """

    op: str
    on_host: bool
    within: tuple[str, ...]
    reason: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A landscape over (m, n), neighbours put together where there are more than fit.

    Attributes:
        m: the least rows of a block in each row of the map.
        n: the least columns of a block in each column.
        slower: for each cell the best time of its tiles over the best of all, 1 for the best; None where no tile of
            the cell fits.
        blocked: for each cell the buffer that keeps its tiles out; "" where one fits.
        best: row and column of the fastest tile; None where none fits.
        chosen: row and column of the chosen one.
    """

    m: tuple[int, ...]
    n: tuple[int, ...]
    slower: tuple[tuple[float | None, ...], ...]
    blocked: tuple[tuple[str, ...], ...]
    best: tuple[int, int] | None
    chosen: tuple[int, int] | None


def kernel_rows(kernels: Kernels, cost: GraphCost | None = None) -> list[KernelRow]:
    """A row for each kernel that differs, in the order in which they are first run."""
    costed = {row.node: row for row in cost.rows} if cost is not None else {}
    rows: list[KernelRow] = []
    for kernel in kernels.distinct:
        priced = costed.get(kernel.nodes[0])
        missing = kernel.missing
        rows.append(
            KernelRow(
                node=kernel.nodes[0],
                op=kernel.op,
                count=kernel.count,
                unit=kernel.unit,
                programs=tuple(map(program_row, kernel.programs)),
                missing=missing.code if missing is not None else "",
                reason=f"{missing.operator}: {missing.reason}" if missing is not None else "",
                total_us=priced.total_us if priced is not None else None,
                bound=priced.bound if priced is not None else "",
            )
        )
    return rows


def fallback_rows(found: Iterable[Fallback]) -> list[FallbackRow]:
    """What falls back, those on the host first, then those of most nodes."""
    groups: dict[tuple[str, bool, tuple[str, ...], str], list[str]] = {}
    for one in found:
        groups.setdefault((one.node.op, one.on_host, one.within, one.reason), []).append(one.node.name)
    rows = [FallbackRow(*key, tuple(nodes)) for key, nodes in groups.items()]
    return sorted(rows, key=lambda row: (not row.on_host, -len(row.nodes)))


def program_row(program: Generated) -> ProgramRow:
    """One tile program."""
    return ProgramRow(
        kind=program.kind,
        computes=program.text,
        tile=program.tile_text,
        occupied={part.level: part.share for part in program.occupied},
        evaluations=program.evaluations,
        blocks=program.program.blocks,
        cores=program.program.cores,
        instructions=sum(1 for _ in program.program.instructions()),
        bytes_by_path=program.bytes_by_path,
    )


def kernels_summary(kernels: Kernels) -> dict[str, object]:
    """The stage in a few numbers.

    ``elsewhere`` are kernels of the outermost graph that are not for the AI Core: those of them that fall back count
    in ``falls_back`` too, which holds what nested graphs hold as well.
    """
    found = kernels.fallbacks
    return {
        "soc": kernels.chip.name,
        "tiling_mode": kernels.mode,
        "kernels": len(kernels),
        "distinct": len(kernels.distinct),
        "generated": kernels.generated,
        "lacking": sum(kernel.count for kernel in kernels.lacking),
        "elsewhere": sum(k.count for k in kernels.distinct if k.missing is not None and k.missing.code in EXPECTED),
        "falls_back": {
            "host": sum(one.on_host for one in found),
            "aicpu": sum(not one.on_host for one in found),
            "nested": sum(bool(one.within) for one in found),
        },
        "evaluations": kernels.evaluations,
        "seconds": dict(kernels.seconds),
    }


def fallbacks_line(kernels: Kernels) -> str:
    """How many operators fall back, and where to: ``falls back: 3 (host 1, AI CPU 2)``."""
    return f"falls back: {fallbacks_text(kernels.fallbacks)}"


def in_place(kernels: Kernels) -> int:
    """Kernels of the outermost graph that need no program and do not fall back: GE does them, or control flow."""
    return sum(k.count for k in kernels.distinct if k.missing is not None and k.missing.code in EXPECTED - FALLEN)


def kernels_detail(kernels: Kernels, cost: GraphCost | None = None) -> dict[str, object]:
    """The numbers, and every kernel that differs with the nodes that have it."""
    rows = zip(kernel_rows(kernels, cost), kernels.distinct, strict=True)
    return {
        **kernels_summary(kernels),
        "rows": [{**asdict(row), "nodes": list(kernel.nodes)} for row, kernel in rows],
        "fallbacks": [asdict(row) for row in fallback_rows(kernels.fallbacks)],
    }


def node_detail(kernels: Kernels, node: str) -> dict[str, object]:
    """All about the kernel of one node: operators and units, programs with landscapes, bytes and text.

    Raises:
        OptionError: the node launches no kernel.
    """
    kernel = kernels[node]
    programs = kernels.programs_of(node)
    return {
        "node": node,
        "op": kernel.op,
        "same": list(kernel.nodes),
        "missing": asdict(kernel.missing) if kernel.missing is not None else None,
        "operators": [{"node": n, "op": op, "unit": unit} for n, op, unit in operators_of(kernels, kernel, node)],
        "programs": [
            {
                **asdict(program_row(program)),
                "inputs": dict(program.described.inputs),
                "outputs": dict(program.described.outputs),
                "landscape": _landscape(program.landscape),
                "text": to_text(program.program),
            }
            for program in programs
        ],
    }


def operators_of(kernels: Kernels, kernel: DistinctKernel, node: str) -> list[tuple[str, str, str]]:
    """Name, operator and unit of each operator of a node's body; equal kernels have the same in the same order."""
    own = kernels.graph.nodes[node]
    inner = (own,) if own.body is None else own.body.order
    return [(one.name, op, unit) for one, (_, op, unit) in zip(inner, kernel.operators, strict=True)]


def heat_map(landscape: Landscape, rows: int, columns: int) -> HeatMap:
    """A landscape as at most so many rows and columns; every cell shows the best of the tiles in it."""
    times, blocked = landscape.plane()
    cut_m, cut_n = (
        _starts(len(axis), most)
        for axis, most in zip((landscape.space.m, landscape.space.n), (rows, columns), strict=True)
    )
    best_us = landscape.best_us
    filled = np.where(np.isnan(times), np.inf, times)
    least = np.minimum.reduceat(np.minimum.reduceat(filled, cut_m, axis=0), cut_n, axis=1)
    # Of a cell without a tile that fits, what keeps out the smallest.
    codes = np.minimum.reduceat(np.minimum.reduceat(blocked, cut_m, axis=0), cut_n, axis=1)
    slower = tuple(tuple(None if np.isinf(us) else float(us / best_us) for us in row) for row in least)
    names = tuple(
        tuple(BUFFERS[code] if np.isinf(us) else "" for us, code in zip(row, line, strict=True))
        for row, line in zip(least, codes, strict=True)
    )

    def place(number: int | None) -> tuple[int, int] | None:
        if number is None:
            return None
        m, n = (int(i) for i in np.unravel_index(number, landscape.space.shape)[:2])
        return int(np.searchsorted(cut_m, m, "right")) - 1, int(np.searchsorted(cut_n, n, "right")) - 1

    return HeatMap(
        tuple(landscape.space.m[cut_m].tolist()),
        tuple(landscape.space.n[cut_n].tolist()),
        slower,
        names,
        place(landscape.best),
        place(landscape.chosen),
    )


def _starts(length: int, most: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Where each of at most so many equal stretches begins."""
    return np.arange(0, length, -(-length // most), dtype=np.intp)


def _landscape(landscape: Landscape | None) -> dict[str, object] | None:
    if landscape is None:
        return None
    times, blocked = landscape.plane()
    best = None if landscape.best is None else landscape.space.tile(landscape.best)
    return {
        "m": landscape.space.m.tolist(),
        "n": landscape.space.n.tolist(),
        "total_us": [[None if np.isnan(us) else float(us) for us in row] for row in times],
        "blocked": [[BUFFERS[code] for code in row] for row in blocked],
        "kept_out": landscape.kept_out(),
        "feasible": int(landscape.feasible.sum()),
        "evaluations": landscape.evaluations,
        "chosen": None if landscape.tile is None else asdict(landscape.tile),
        "chosen_us": landscape.chosen_us if landscape.chosen is not None else None,
        "best": None if best is None else asdict(best),
        "best_us": landscape.best_us if best is not None else None,
    }
