"""What is validated: the model as read, all that became of it, and the plan and schedule of the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gexplorer.ir.graph import Graph
from gexplorer.trace.records import Step

if TYPE_CHECKING:
    import onnx

    from gexplorer.ir.constant import Constant
    from gexplorer.memory.stage import Memory
    from gexplorer.schedule.stage import Schedule
    from gexplorer.validation.run import Runner

    Original = Path | onnx.ModelProto | None


@dataclass(eq=False)
class Known:
    """What a check has found out for the checks after it.

    Attributes:
        runner: runs the original; None where no check has.
        sizes: sizes of free dimensions that the model takes; the checks after begin with them.
        doubtful: outputs that nobody computes exactly enough to be judged.
    """

    runner: Runner | None = None
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    doubtful: set[str] = field(default_factory=set[str])
    _results: dict[tuple[int, tuple[tuple[str, int], ...]], list[Any]] = field(default_factory=dict[Any, Any])

    def keep(self, seed: int, sizes: Mapping[str, int], results: list[Any]) -> None:
        """Keeps what the original gives for a seed and sizes."""
        self._results[seed, tuple(sizes.items())] = results

    def results(self, seed: int, sizes: Mapping[str, int]) -> list[Any] | None:
        """What the original gives, None where no check has run it, or what is compiled is known to differ."""
        return self._results.get((seed, tuple(sizes.items())))

    def forget_results(self) -> None:
        """What is known to differ is no measure for the checks after this one."""
        self._results.clear()


@dataclass(frozen=True, eq=False)
class Subject:
    """One compilation, as validation sees it.

    Attributes:
        steps: of the compilation; the first holds the graph as read, the last the compiled one.
        memory: the plan.
        schedule: the streams; None where there is none.
        original: the model's file or message, which no code of ours has read; None where there is none: then the
            graph as read stands for it.
        known: what checks tell each other.
    """

    steps: Sequence[Step]
    memory: Memory
    schedule: Schedule | None = None
    original: Original = None
    known: Known = field(default_factory=Known, repr=False)

    @property
    def read(self) -> Graph:
        """The graph as read."""
        return self.steps[0].before

    @cached_property
    def typed(self) -> Graph:
        """The graph as read, with the shapes that were asked for and the types that follow."""
        return next((step.after for step in reversed(self.steps) if step.stage == "parse"), self.read)

    @property
    def compiled(self) -> Graph:
        """The graph whose memory is planned: what runs."""
        return self.memory.graph

    @cached_property
    def absent(self) -> dict[str, int]:
        """Bytes of each constant that does not exist, by name."""
        found: dict[str, int] = {}
        for graph in (self.read, self.compiled):
            for name, data in constants_of(graph):
                if not data.available:
                    found.setdefault(name, data.nbytes)
        return found


def constants_of(graph: Graph) -> Iterator[tuple[str, Constant]]:
    """All constants, of nested graphs and bodies too."""
    for value in graph.values.values():
        if value.constant is not None:
            yield value.name, value.constant
    for node in graph.nodes.values():
        if node.body is None and not node.attributes:
            continue
        for inner in (*node.graphs, *((node.body,) if node.body is not None else ())):
            yield from constants_of(inner)
