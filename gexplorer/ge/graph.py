"""Building a graph in the articles' words: options, graph, build, export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from gexplorer.errors import OptionError
from gexplorer.frontends.torch import from_torch, is_torch_model

if TYPE_CHECKING:
    from gexplorer.compiler import Compilation


@dataclass
class GraphOptions:
    """Options under the articles' names; the one thing here that may be changed after it is made, as theirs is.

    Attributes:
        graph_name: name of the graph; the graph's own where empty.
        enable_mem_reuse: whether tensors may have bytes that others had.
        op_backend: ``aicore``, the only one.
        mem_workspace_size: the largest pool, in bytes; 0 for no limit.
        mem_allocator_strategy: 1 for greedy by size, 0 for what ``memory`` says.
        options: any of gexplorer's own options, such as ``soc`` and ``fusion``.
    """

    graph_name: str = ""
    enable_mem_reuse: bool = True
    op_backend: str = "aicore"
    mem_workspace_size: int = 0
    mem_allocator_strategy: int = 0
    options: dict[str, object] = field(default_factory=dict)

    def wanted(self) -> dict[str, Any]:
        """The same as options of ``gexplorer.compile``."""
        return {
            "enable_mem_reuse": self.enable_mem_reuse,
            "mem_workspace_size": self.mem_workspace_size,
            "mem_allocator_strategy": self.mem_allocator_strategy,
            "op_backend": self.op_backend,
            **self.options,
        }


class Graph:
    """A graph that ``build_graph`` fills.

    Attributes:
        name: its name.
        compilation: what came of building it; None before.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.compilation: Compilation | None = None

    def export(self, path: str | Path) -> Path:
        """Writes the offline model; returns its path. Raises OptionError where nothing was built."""
        if self.compilation is None:
            raise OptionError(f"graph {self.name}: nothing is built yet; call build_graph first")
        return self.compilation.save(path)


def build_graph(
    graph: Graph, model: Any, options: GraphOptions | None = None, *, inputs: Sequence[Any] | None = None
) -> Graph:
    """Compiles a model into a graph, and says so in the articles' words.

    Args:
        graph: where the result goes.
        model: a torch model of any kind (a traced one needs no ``inputs``), or whatever ``gexplorer.compile`` takes.
        options: the options.
        inputs: example arguments of a torch model: tensors, or shapes.
    """
    from gexplorer.compiler import compile_source, options_from
    from gexplorer.frontends.load import load

    chosen = options or GraphOptions()
    wanted = chosen.wanted()
    start = perf_counter()
    print("[GE] Graph build started...")
    if chosen.enable_mem_reuse:
        print("[GE] Memory reuse enabled, planning...")
    source = load(from_torch(model, inputs) if is_torch_model(model) else model)
    if not isinstance(model, str | Path):  # a file and a model of the zoo have names of their own
        name = chosen.graph_name or graph.name
        source = replace(source, name=name, graph=replace(source.graph, name=name))
    graph.compilation = compile_source(source, options_from(wanted))
    fused = sum(len(step.rewrites) for step in graph.compilation.steps if step.is_fusion)
    print(f"[GE] Planning completed, fusion {fused} operators")
    print(f"[GE] Graph compile completed in {perf_counter() - start:.1f}s")
    return graph


def run(model: Any, output: str | Path, *, inputs: Sequence[Any] | None = None, **options: Any) -> Path:
    """Compiles a model and writes its offline model, as the articles compile an encoder and a decoder apart."""
    name = Path(output).stem
    graph = build_graph(Graph(name), model, GraphOptions(graph_name=name, options=options), inputs=inputs)
    return graph.export(output)
