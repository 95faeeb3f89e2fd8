"""What a deployment does with a shape: build for each, build once for all, or pad to the next gear."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gexplorer.dynamic.at_sizes import AtSizes, Shaper
from gexplorer.dynamic.free import Sizes
from gexplorer.dynamic.stall import DYNAMIC_BUILD, FULL_BUILD, NEW_SHAPE, TILING_US, Stall
from gexplorer.errors import OptionError


@dataclass(frozen=True, slots=True)
class Served:
    """How one request is served.

    Attributes:
        ran_at: the sizes that ran; larger than asked for where they were padded.
        run_us: time of the run.
        stall_us: time that a compilation took first.
        hit: True where nothing had to be compiled.
    """

    ran_at: Sizes
    run_us: float
    stall_us: float
    hit: bool


@dataclass(frozen=True, slots=True)
class Build:
    """What a strategy holds.

    Attributes:
        sizes: that it is for; of a dynamic build, the largest that came.
        run_us: time of one run at them.
        pool_bytes: bytes of its pool at them.
    """

    sizes: Sizes
    run_us: float
    pool_bytes: int


class Strategy(Protocol):
    """One way to serve requests of many sizes. It remembers what it has built."""

    name: str

    def start(self) -> float:
        """Builds what there is to build before the first request (warm-up too); returns the time in us."""
        ...

    def serve(self, sizes: Sizes) -> Served | None:
        """Serves a request; None where it cannot."""
        ...

    def builds(self) -> list[Build]:
        """What is held at the end."""
        ...


class Recompile:
    """One static build for each sizes, made when they first come (article A3, strategy 1).

    Args:
        shaper: the model at any sizes.
        warmup: sizes that are built before the first request.
        stall: how long a build takes.
        keep: how many builds are kept; the one that was not used for longest goes. 0 for all.
    """

    name = "recompile"

    def __init__(self, shaper: Shaper, warmup: Sequence[Sizes] = (), stall: Stall = FULL_BUILD, keep: int = 0) -> None:
        self._shaper, self._warmup, self._stall, self._keep = shaper, warmup, stall, keep
        self._cache: OrderedDict[Sizes, AtSizes] = OrderedDict()

    def start(self) -> float:
        """Builds the warm-up's sizes."""
        built = dict.fromkeys(self._warmup)
        for sizes in built:
            self._build(sizes)
        return len(built) * self._stall.seconds * 1e6

    def serve(self, sizes: Sizes) -> Served:
        """Runs the build of these sizes; makes it first where there is none."""
        found = self._cache.get(sizes)
        if found is not None:
            self._cache.move_to_end(sizes)
            return Served(sizes, found.run_us, 0.0, True)
        return Served(sizes, self._build(sizes).run_us, self._stall.seconds * 1e6, False)

    def builds(self) -> list[Build]:
        """The builds in the cache."""
        return [Build(at.sizes, at.run_us, at.pool_bytes) for at in self._cache.values()]

    def _build(self, sizes: Sizes) -> AtSizes:
        self._cache[sizes] = self._shaper.at(sizes)
        if self._keep and len(self._cache) > self._keep:
            self._cache.popitem(last=False)
        return self._cache[sizes]


class Dynamic:
    """One build for all sizes (article A3, strategy 2): tiling and addresses are worked out when a request comes.

    The host works out the tiling of kernels in order. Where it runs ahead of the device, a run takes what the slower of
    the two takes, kernel by kernel: the overhead is the model's own, large where kernels are short. Where it does not,
    every kernel waits for its tiling.

    Args:
        shaper: the model at any sizes.
        warmup: sizes that are seen before the first request (GE_WARMUP_SHAPES).
        build: how long the one build takes.
        stall: how long sizes that come for the first time take.
        tiling_us: time of the host for one kernel.
        ahead: whether the host works out the next kernels' tiling while the device runs.
    """

    name = "dynamic"

    def __init__(
        self,
        shaper: Shaper,
        warmup: Sequence[Sizes] = (),
        build: Stall = DYNAMIC_BUILD,
        stall: Stall = NEW_SHAPE,
        tiling_us: float = TILING_US,
        ahead: bool = True,
    ) -> None:
        self._shaper, self._warmup, self._build, self._stall = shaper, warmup, build, stall
        self._tiling_us, self._ahead = tiling_us, ahead
        self._seen: dict[Sizes, float] = {}

    def start(self) -> float:
        """Builds once, then sees the warm-up's sizes."""
        for sizes in self._warmup:
            self._seen[sizes] = self.run_us(sizes)
        return (self._build.seconds + len(self._seen) * self._stall.seconds) * 1e6

    def serve(self, sizes: Sizes) -> Served:
        """Runs the one build at these sizes."""
        known = self._seen.get(sizes)
        if known is not None:
            return Served(sizes, known, 0.0, True)
        run_us = self._seen[sizes] = self.run_us(sizes)
        return Served(sizes, run_us, self._stall.seconds * 1e6, False)

    def run_us(self, sizes: Sizes) -> float:
        """Time of a run: the tiling of a kernel is done on the host, in order, before it can start.

        Kernel i, counted from 1, starts at max(end of i - 1, i * tiling_us); with a host that is not ahead, tiling_us
        after the end of i - 1.
        """
        kernels_us = self._shaper.at(sizes).bound_kernels_us
        if not self._ahead:
            return float(kernels_us.sum()) + len(kernels_us) * self._tiling_us
        end = 0.0
        for number, kernel_us in enumerate(kernels_us.tolist(), start=1):
            end = max(end, number * self._tiling_us) + kernel_us
        return end

    def builds(self) -> list[Build]:
        """One build, shown at the sizes that came and need the largest pool."""
        pools = {sizes: self._shaper.at(sizes).bound_pool_bytes for sizes in self._seen}
        if not pools:
            return []
        largest = max(pools, key=lambda sizes: pools[sizes])
        return [Build(largest, self._seen[largest], pools[largest])]


class Gears:
    """A static build for each of a few sizes; a request is padded to the cheapest gear that holds it.

    GE's ``--dynamic_batch_size`` and ``--dynamic_dims``: all gears are compiled beforehand.

    Args:
        shaper: the model at any sizes.
        gears: their sizes.
        stall: how long the build of one gear takes.

    Raises:
        OptionError: there is no gear.
    """

    name = "gears"

    def __init__(self, shaper: Shaper, gears: Sequence[Sizes], stall: Stall = FULL_BUILD) -> None:
        if not gears:
            raise OptionError("gears: at least one is wanted")
        self._shaper, self._stall = shaper, stall
        self._gears = sorted((shaper.at(sizes) for sizes in dict.fromkeys(gears)), key=lambda at: at.run_us)
        self._chosen: dict[Sizes, AtSizes | None] = {}

    def start(self) -> float:
        """Builds every gear."""
        return len(self._gears) * self._stall.seconds * 1e6

    def serve(self, sizes: Sizes) -> Served | None:
        """Pads to a gear; None where none is large enough."""
        if sizes not in self._chosen:
            self._chosen[sizes] = next((gear for gear in self._gears if holds(gear.sizes, sizes)), None)
        gear = self._chosen[sizes]
        return None if gear is None else Served(gear.sizes, gear.run_us, 0.0, True)

    def builds(self) -> list[Build]:
        """Every gear."""
        return [Build(gear.sizes, gear.run_us, gear.pool_bytes) for gear in self._gears]


def holds(gear: Sizes, sizes: Sizes) -> bool:
    """True where a gear is as large as the request in every dimension."""
    return all(g >= s for g, s in zip(gear, sizes, strict=True))
