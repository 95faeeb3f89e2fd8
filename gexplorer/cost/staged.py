"""The cost of a kernel of one stage or several, with the vector work that rides on its products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from gexplorer.cost.attention import attention_cost
from gexplorer.cost.gemm import gemm_cost
from gexplorer.cost.kernel import KernelCost, Pipe
from gexplorer.cost.kernel_work import KernelWork, Stage
from gexplorer.cost.library import ORDERS, TiledGemm, feasible_tiles, library_gemm
from gexplorer.cost.overlap import pipeline_us
from gexplorer.cost.panel import panel_product
from gexplorer.cost.tile import ACCUMULATOR_BYTES, GemmTiles
from gexplorer.cost.vector import move_cost, passes, vector_cost
from gexplorer.cost.waves import waves
from gexplorer.cost.work import Attention, Gemm, Move, Vector
from gexplorer.cost.works import Works
from gexplorer.errors import OptionError
from gexplorer.hardware.spec import Chip
from gexplorer.ir.dtypes import DType

Tiling = Literal["library", "fast", "exhaustive"]
TILINGS: tuple[Tiling, ...] = ("library", "fast", "exhaustive")
# Says which tile a product has on a chip; None for what the tiling says.
Tiler = Callable[[Gemm, Chip], GemmTiles | None]
Tile = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Body:
    """What a stage takes and moves between the kernel's launch and its end.

    Attributes:
        us: its time.
        pipes: time of each pipe.
        again_bytes: bytes that it fetches from HBM more than once, because L2 lost them.
        l2_bytes: bytes between L2 and the cores.
        l1_bytes: bytes into L1.
        ub_bytes: bytes into UB and out of it.
        waves: blocks that the busiest core computes one after the other.
        tail_idle: share of the cores' time that the last wave leaves idle.
        tile: tile_m, tile_n and tile_k of a product; None for other work.
    """

    us: float
    pipes: Mapping[Pipe, float]
    again_bytes: float
    l2_bytes: float
    l1_bytes: float
    ub_bytes: float
    waves: int
    tail_idle: float
    tile: Tile | None = None


@dataclass(slots=True)
class Costs:
    """Costs on one chip; equal works are costed once.

    Attributes:
        chip: the chip.
        tiling: ``library`` and ``fast`` take a library's tile, ``exhaustive`` looks at every tile that fits.
        tiler: gives each product a tile that somebody else has searched (``kernels/stage.py``).
        searched: products for which a tile was looked for.
        works: what nodes ask for.
    """

    chip: Chip
    tiling: Tiling = "library"
    tiler: Tiler | None = None
    searched: int = 0
    works: Works = field(default_factory=Works)
    _bodies: dict[tuple[Stage, int], Body] = field(default_factory=dict["tuple[Stage, int]", Body])
    _tiles: dict[tuple[Gemm, int], GemmTiles] = field(default_factory=dict["tuple[Gemm, int]", GemmTiles])
    _kernels: dict[tuple[KernelWork, float], KernelCost] = field(
        default_factory=dict["tuple[KernelWork, float]", KernelCost]
    )

    def __post_init__(self) -> None:
        if self.tiling not in TILINGS:
            raise OptionError(f"tiling {self.tiling!r}: {' or '.join(TILINGS)} is wanted")

    def continued(self) -> Costs:
        """Costs of another trace on the same chip: what equal works cost is known, no node is kept."""
        return replace(self, searched=0, works=self.works.continued())

    def kernel(self, work: KernelWork, resident_bytes: float = 0.0) -> KernelCost:
        """Cost of a kernel of which L2 holds so many bytes of inputs and outputs; arrays of shape [1]."""
        key = (work, resident_bytes)
        known = self._kernels.get(key)
        if known is None:
            known = self._kernels[key] = self._kernel(work, resident_bytes)
        return known

    def body(self, stage: Stage, shares: int = 1) -> Body:
        """What a stage takes where so many products have L0C in common (``shares_of``)."""
        key = (stage, shares)
        known = self._bodies.get(key)
        if known is None:
            known = self._bodies[key] = self._body(stage, shares)
        return known

    def stages_us(self, stages: tuple[Stage, ...]) -> float:
        """Time of some stages as one kernel, launch included."""
        shares = shares_of(stages)
        return self.launch_us(stages) + sum(self.body(stage, shares).us for stage in stages)

    def launch_us(self, stages: tuple[Stage, ...]) -> float:
        """What starting a kernel costs: cube, vector, or both kinds of core, which have to meet."""
        cube = any(isinstance(stage.main, Gemm | Attention) for stage in stages)
        if not cube:
            return self.chip.launch.vector_us
        vector = any(
            not isinstance(stage.main, Gemm)
            or stage.before is not None
            or (stage.behind is not None and not self._stored(stage))
            for stage in stages
        )
        return self.chip.launch.mixed_us if vector else self.chip.launch.cube_us

    def tiles(self, work: Gemm, shares: int = 1) -> GemmTiles:
        """The tile of a product."""
        known = self._tiles.get((work, shares))
        if known is None:
            self.searched += 1
            known = self._tiles[work, shares] = self._search(work, _shared(self.chip, shares))
        return known

    def _search(self, work: Gemm, chip: Chip) -> GemmTiles:
        given = self.tiler(work, chip) if self.tiler is not None else None
        if given is not None:
            return given
        found = library_gemm(work, chip)
        return _best_tile(work, chip, found) if self.tiling == "exhaustive" else found.tile

    def _kernel(self, work: KernelWork, resident_bytes: float) -> KernelCost:
        chip, (first, *more) = self.chip, work.stages
        if not more and isinstance(first.main, Vector | Move):
            make = vector_cost if isinstance(first.main, Vector) else move_cost
            return make(first.main, chip, resident_bytes)  # pyright: ignore[reportArgumentType]
        shares = shares_of(work.stages)
        bodies = [self.body(stage, shares) for stage in work.stages]
        pipes: dict[Pipe, float] = {}
        for body in bodies:
            for pipe, us in body.pipes.items():
                pipes[pipe] = pipes.get(pipe, 0.0) + us
        usable = chip.l2_usable * chip.capacity.l2_bytes
        # What stages hand on stays in L2 where it fits, else it goes to HBM and back.
        spilled = sum(2 * data for data in work.between_bytes if data > usable)
        hbm = max(work.border_bytes + sum(b.again_bytes for b in bodies) + spilled - resident_bytes, 0.0)
        pipes["hbm"] = hbm / chip.hbm.achieved_bytes_per_us
        launch = self.launch_us(work.stages)
        longest = max(bodies, key=lambda body: body.us)
        return KernelCost(
            total_us=np.array([launch + max(sum(b.us for b in bodies), pipes["hbm"])]),
            launch_us=launch,
            pipes={name: np.array([us]) for name, us in pipes.items()},
            hbm_bytes=np.array([hbm]),
            l2_bytes=np.array([sum(b.l2_bytes for b in bodies)]),
            l1_bytes=np.array([sum(b.l1_bytes for b in bodies)]),
            ub_bytes=np.array([sum(b.ub_bytes for b in bodies)]),
            compulsory_bytes=work.border_bytes,
            waves=np.array([longest.waves]),
            tail_idle=np.array([longest.tail_idle]),
        )

    def _body(self, stage: Stage, shares: int) -> Body:
        match stage.main:
            case Gemm() as work:
                return self._product(stage, work, shares)
            case Attention() as work:
                return _plain(attention_cost(work, self.chip), work.compulsory_bytes)
            case Vector() as work:
                return _plain(vector_cost(work, self.chip, work.compulsory_bytes), 0.0)
            case Move() as work:
                return _plain(move_cost(work, self.chip, work.compulsory_bytes), 0.0)

    def _product(self, stage: Stage, work: Gemm, shares: int) -> Body:
        """A product with its riders. What it stores for an epilogue is the sums, into memory or (coupled) into UB."""
        chip, tile = _shared(self.chip, shares), self.tiles(work, shares)
        behind = None if stage.behind is None or self._stored(stage) else stage.behind
        stored, unit = work, chip
        if behind is not None:
            stored = replace(work, out_dtype=DType.FLOAT32 if work.dtype.is_float else DType.INT32)
            if chip.cube_vector_path == "direct":
                unit = replace(chip, paths=MappingProxyType({**chip.paths, "l0c->gm": chip.paths["l0c->ub"]}))
        body = _plain(gemm_cost(stored, tile, unit), stored.compulsory_bytes)
        body = replace(body, tile=(int(tile.m[0]), int(tile.n[0]), int(tile.k[0])))
        if behind is not None:
            body = _with_epilogue(body, work, behind, tile, chip)
        if stage.before is not None:
            body = _with_prologue(body, work, stage.before, chip, stage.behind)
        if stage.times > 1:
            body = replace(
                body,
                us=body.us * stage.times,
                pipes={pipe: us * stage.times for pipe, us in body.pipes.items()},
                l2_bytes=body.l2_bytes * stage.times,
                l1_bytes=body.l1_bytes * stage.times,
                ub_bytes=body.ub_bytes * stage.times,
            )
        return body

    def _stored(self, stage: Stage) -> bool:
        """True where a split core does what follows while it stores; a coupled one has its vector unit in between."""
        return stage.on_the_way and self.chip.cube_vector_path == "gm"


def shares_of(stages: tuple[Stage, ...]) -> int:
    """How many products have accumulators in L0C at once: where products follow each other, two.

    The next one begins on the blocks that are ready while the last one still computes others; what is further apart
    can take the same place.
    """
    products = sum(isinstance(stage.main, Gemm | Attention) and stage.times == 1 for stage in stages)
    return max(1, min(products, 2))


def _plain(cost: KernelCost, compulsory_bytes: float) -> Body:
    """One kernel's cost without its launch."""
    pipes: dict[Pipe, float] = {pipe: float(us[0]) for pipe, us in cost.pipes.items() if pipe != "hbm"}
    return Body(
        us=float(cost.total_us[0]) - cost.launch_us,
        pipes=pipes,
        again_bytes=max(float(cost.hbm_bytes[0]) - compulsory_bytes, 0.0),
        l2_bytes=float(cost.l2_bytes[0]),
        l1_bytes=float(cost.l1_bytes[0]),
        ub_bytes=float(cost.ub_bytes[0]),
        waves=int(cost.waves[0]),
        tail_idle=float(cost.tail_idle[0]),
    )


def _with_epilogue(body: Body, work: Gemm, behind: Vector, tile: GemmTiles, chip: Chip) -> Body:
    """Vector work on each block while the next one is computed: two pipes, a block apart."""
    w = waves(work, tile, chip.cube_cores)
    elements = work.batch * work.m * work.n
    share = float((w.outer_sum() * w.inner)[0]) / elements / max(chip.vector_per_cube, 1.0)
    cycles = behind.elements * behind.element_bytes * passes(behind.instructions, chip) / chip.vector.bytes_per_cycle
    split = chip.cube_vector_path == "gm"
    sums = elements * float(ACCUMULATOR_BYTES)
    read = behind.read_bytes + (sums if split else 0.0)
    write = elements * work.out_bytes
    rate = {path: chip.paths[path].bytes_per_us for path in ("gm->ub", "ub->gm")}
    times: dict[Pipe, float] = {
        "vector": share * cycles / chip.cycles_per_us,
        "mte3": share * write / rate["ub->gm"],
    }
    rider = max(*times.values(), share * read / rate["gm->ub"])
    us = float(pipeline_us(np.array([body.us]), np.array([rider]), np.array([1 / int(w.count[0])]))[0])
    crossed = read + write if split else behind.read_bytes + write - sums
    return replace(
        body,
        us=us,
        pipes={**body.pipes, **times},
        l2_bytes=body.l2_bytes + crossed,
        ub_bytes=body.ub_bytes + behind.read_bytes + sums + write,
    )


def _with_prologue(body: Body, work: Gemm, before: Vector, chip: Chip, behind: Vector | None) -> Body:
    """Rows that are made before they are multiplied.

    Through memory, the vector cores are a wave ahead of the cube cores, and L2 holds what they hand over. On a coupled
    core a panel may stay in L1 instead, where nothing is behind the product; that way is taken where it is faster than
    the other with any tile, so that it does not win by its tile alone.
    """
    made = vector_cost(before, chip, before.compulsory_bytes)
    vector = float(made.total_us[0]) - made.launch_us
    us = float(pipeline_us(np.array([body.us]), np.array([vector]), np.array([1 / body.waves]))[0])
    pipes = dict(body.pipes)
    pipes["vector"] = pipes.get("vector", 0.0) + float(made.pipes["vector"][0])
    panel = panel_product(work, before, chip) if behind is None else None
    if panel is not None and panel.body_us < us and panel.body_us < _rival_us(work, vector, chip):
        return replace(
            body,
            us=panel.body_us,
            pipes=pipes,
            again_bytes=panel.again_bytes,
            l2_bytes=panel.l2_bytes,
            l1_bytes=panel.l1_bytes,
            ub_bytes=panel.ub_bytes,
            tile=(panel.rows, panel.columns, work.k),
        )
    crossed = float(made.l2_bytes[0])
    return replace(body, us=us, pipes=pipes, l2_bytes=body.l2_bytes + crossed, ub_bytes=body.ub_bytes + crossed)


def _best_tile(work: Gemm, chip: Chip, found: TiledGemm) -> GemmTiles:
    """The fastest of all tiles that fit, the library's among them."""
    best, us = found.tile, found.total_us
    for order in ORDERS:
        every = feasible_tiles(work, chip, order)
        cost = gemm_cost(work, every, chip)
        if cost.total_us[cost.best] < us:
            best, us = every.take(cost.best), float(cost.total_us[cost.best])
    return best


def _rival_us(work: Gemm, vector_us: float, chip: Chip) -> float:
    """The least time of a product behind rows that come through memory."""
    cost = gemm_cost(work, _best_tile(work, chip, library_gemm(work, chip)), chip)
    us = np.array([float(cost.total_us[0]) - cost.launch_us])
    return float(pipeline_us(us, np.array([vector_us]), 1 / cost.waves)[0])


def _shared(chip: Chip, shares: int) -> Chip:
    """The chip as one of several products of a kernel sees it, each with accumulators of its own."""
    if shares == 1:
        return chip
    held = 1 << ((chip.capacity.l0c_bytes // shares).bit_length() - 1)
    return replace(chip, capacity=replace(chip.capacity, l0c_bytes=held))
