"""What a value between two kernels costs HBM, and how much of it would go if the two were one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gexplorer.cost.graph import GraphCost
from gexplorer.cost.l2 import Account, account, sources_of, storages_of
from gexplorer.ir.graph import Graph


@dataclass(frozen=True, slots=True)
class Between:
    """The values of a compiled graph, as they lie between its kernels.

    Attributes:
        graph: the graph.
        account: what of each value goes to HBM and comes from it.
        source: what the outputs of views are.
        readers: the kernels that read a value, by their names.
        results: the values that are the graph's results.
    """

    graph: Graph
    account: Account
    source: Mapping[str, str]
    readers: Mapping[str, tuple[str, ...]]
    results: frozenset[str]

    def saved_bytes(self, value: str, reader: str) -> float | None:
        """Bytes of HBM traffic that fusing a kernel with the maker of a value that it reads would save.

        What it fetches of the value from HBM; and, if it is the only reader and the value is no result, what is
        written of it. 0 where L2 holds the value, where it lies inside a kernel by now, and where no kernel makes it:
        weights and inputs.

        Args:
            value: a value of the graph, or of an earlier state of it.
            reader: the node that would be fused; where it is no kernel any more, the only reader counts.

        Returns:
            The bytes; None where it is not known which kernel would be fused.
        """
        origin = self.source.get(value, value)
        made = self.graph.values.get(origin)
        if made is None or not made.producer:
            return 0.0
        readers = self.readers.get(origin, ())
        if reader not in readers:
            if len(readers) != 1:
                return None
            (reader,) = readers
        alone = len(readers) == 1 and origin not in self.results
        return self.account.fetched.get((reader, origin), 0.0) + (self.account.written.get(origin, 0.0) if alone else 0)

    def lies_between(self, value: str) -> bool:
        """Whether a kernel of the compiled graph makes this value, of it or of an earlier state, and another reads it.

        False where it lies inside a kernel by now, and for weights, inputs and what nobody reads.
        """
        origin = self.source.get(value, value)
        made = self.graph.values.get(origin)
        return made is not None and bool(made.producer) and origin in self.readers


def between_kernels(graph: Graph, cost: GraphCost) -> Between:
    """What lies between the kernels of a graph, by its cost."""
    source = sources_of(graph)
    storage = storages_of(graph, source, cost.spared)
    unknown = {row.node for row in cost.uncosted}
    launched = {row.node for row in cost.rows} | unknown
    kernels = [node for node in graph.order if node.name in launched]
    usable = cost.chip.l2_usable * cost.chip.capacity.l2_bytes
    readers: dict[str, dict[str, None]] = {}
    for node in kernels:
        for name in node.uses:
            readers.setdefault(source.get(name, name), {})[node.name] = None
    return Between(
        graph,
        account(graph, kernels, source, usable, unknown, storage),
        source,
        {name: tuple(names) for name, names in readers.items()},
        frozenset(source.get(name, name) for name in graph.outputs),
    )
