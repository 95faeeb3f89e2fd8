"""The compiled graph keeps every invariant."""

from __future__ import annotations

from gexplorer.errors import VerifyError
from gexplorer.ir.verify import verify
from gexplorer.validation.checker import Checker
from gexplorer.validation.effort import Budget
from gexplorer.validation.record import Note, Outcome
from gexplorer.validation.subject import Subject


class GraphCheck(Checker):
    """Checks names, producers, types and order of the compiled graph, and that its results are the original's."""

    name = "graph"
    order = 10

    def run(self, subject: Subject, budget: Budget) -> Outcome:
        """Verifies the whole graph, O(N log N)."""
        graph, read = subject.compiled, subject.read
        if graph.output_names != read.output_names:
            named = {"now": ", ".join(graph.output_names), "before": ", ".join(read.output_names)}
            return Outcome("failed", (Note("results_renamed", named),))
        try:
            verify(graph)
        except VerifyError as error:
            return Outcome("failed", (Note("graph_invalid", {"fault": str(error)}, error.node),))
        counted = {"nodes": f"{graph.nodes_deep:,}", "values": f"{len(graph.values):,}"}
        return Outcome("passed", (Note("graph_valid", counted),))
