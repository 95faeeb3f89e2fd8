"""A compiled model at given sizes: what it takes and what it holds. Fusion is done once, the rest by sizes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from time import process_time
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gexplorer.cost.graph import GraphCost, cost_of
from gexplorer.dynamic.free import FreeDims, Sizes
from gexplorer.hardware.catalogue import load_chip
from gexplorer.hardware.spec import Chip
from gexplorer.ir.graph import Graph
from gexplorer.memory.stage import Memory, plan_memory
from gexplorer.memory.wishes import Wishes
from gexplorer.ops.shapes.inference import known_contents
from gexplorer.passes.base import Context
from gexplorer.passes.manager import run_passes
from gexplorer.passes.switches import Plan, is_rule


class Wanted(Protocol):
    """What is needed of its options."""

    @property
    def soc(self) -> str:
        """The chip."""
        ...

    def wishes(self) -> Wishes:
        """What is asked of the memory plan."""
        ...


class Compiled(Protocol):
    """What is needed of a compilation."""

    @property
    def graph(self) -> Graph:
        """The graph at the end."""
        ...

    @property
    def options(self) -> Wanted:
        """What was asked for."""
        ...

    @property
    def plan(self) -> Plan:
        """The passes that ran."""
        ...

    @property
    def context(self) -> Context:
        """What they knew."""
        ...


@dataclass(frozen=True)
class AtSizes:
    """A model at given sizes.

    Attributes:
        sizes: of the free dimensions.
        bound: the kernels of a build for any sizes, at these.
        graph: the kernels of a build for just these sizes: what is constant at them is folded.
        chip: what it runs on.
        wishes: what is asked of the memory plan.
        seconds: CPU seconds that gexplorer took, by ``shapes``, ``folding``, ``tiling`` and ``memory``.
    """

    sizes: Sizes
    bound: Graph = field(repr=False)
    graph: Graph = field(repr=False)
    chip: Chip = field(repr=False)
    wishes: Wishes = field(repr=False)
    seconds: dict[str, float]

    @cached_property
    def cost(self) -> GraphCost:
        """What the kernels of a static build cost."""
        start = process_time()
        cost = cost_of(self.graph, self.chip)
        self.seconds["tiling"] = process_time() - start
        return cost

    @property
    def run_us(self) -> float:
        """Modelled time of one run of a static build."""
        return self.cost.latency_us

    @cached_property
    def bound_kernels_us(self) -> NDArray[np.float64]:
        """Time of each kernel of a dynamic build in program order, launch included."""
        return np.array([row.total_us for row in cost_of(self.bound, self.chip).rows], np.float64)

    @cached_property
    def memory(self) -> Memory:
        """The plan of a static build's pool."""
        start = process_time()
        planned = plan_memory(self.graph, self.wishes)
        self.seconds["memory"] = process_time() - start
        return planned

    @cached_property
    def bound_pool_bytes(self) -> int:
        """Bytes of a dynamic build's pool."""
        return plan_memory(self.bound, self.wishes).pool_bytes

    @property
    def pool_bytes(self) -> int:
        """Bytes of a static build's pool."""
        return self.memory.pool_bytes


class Shaper:
    """Gives a compiled model at any sizes; each sizes once.

    Args:
        compiled: the model, compiled with free dimensions.
    """

    def __init__(self, compiled: Compiled) -> None:
        self.free = FreeDims.of(compiled.graph)
        self._passes = [p for p in compiled.plan.passes if not is_rule(p)]
        self._context = compiled.context
        self._chip = load_chip(compiled.options.soc)
        self._wishes = compiled.options.wishes()
        self._known: dict[Sizes, AtSizes] = {}

    def at(self, sizes: Sizes) -> AtSizes:
        """The model at these sizes. Raises OptionError where it does not work at them."""
        found = self._known.get(sizes)
        if found is None:
            start = process_time()
            bound, facts = self.free.bind(sizes)
            shaped = process_time()
            steps = run_passes(bound, self._passes, replace(self._context, contents=known_contents(facts)))
            graph = steps[-1].after if steps else bound
            seconds = {"shapes": shaped - start, "folding": process_time() - shaped}
            found = self._known[sizes] = AtSizes(sizes, bound, graph, self._chip, self._wishes, seconds)
        return found

    @property
    def known(self) -> int:
        """How many sizes have been looked at."""
        return len(self._known)
