"""Row 20: the four options of a graph, and a plan that does not fit the workspace."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_
from gexplorer.errors import OptionError
from gexplorer.ge.graph import GraphOptions

_MODEL = "bert-base"


class GraphOptionsRow(Row):
    """BERT base built with each of the options."""

    row = 20
    title = "Options of a graph: op_backend, mem_workspace_size, enable_mem_reuse, mem_allocator_strategy"
    article = says(
        op_backend="aicore",
        mem_workspace_size=8388608,
        calls_that="8 GB",
        enable_mem_reuse=True,
        mem_allocator_strategy=1,
    )
    note = (
        "8,388,608 is 8 GB only if it counts KiB; the article's program says 8 * 1024 * 1024 * 1024, which is 8 GiB in "
        "bytes. Bytes are taken here, so that the file's figure means 8 MiB, and the plan is measured by it."
    )

    def compute(self) -> Mapping[str, object]:
        """Pools with and without reuse, greedy by size, and the least workspace that is enough, with its error."""
        options = GraphOptions(op_backend="aicore", enable_mem_reuse=True)
        pool = _pool_bytes(options)
        return {
            "pool_bytes": pool,
            "pool_without_reuse_bytes": _pool_bytes(GraphOptions(enable_mem_reuse=False)),
            "pool_greedy_by_size_bytes": _pool_bytes(GraphOptions(mem_allocator_strategy=1)),
            "fits_the_file's_8388608": _refusal(GraphOptions(mem_workspace_size=8388608)) is None,
            "fits_itself": _refusal(GraphOptions(mem_workspace_size=pool)) is None,
            "one_byte_less": _refusal(GraphOptions(mem_workspace_size=pool - 1)) or "",
            "another_backend": _refusal(GraphOptions(op_backend="gpu")) or "",
        }


def _pool_bytes(options: GraphOptions) -> int:
    return compile_(_MODEL, validate="off", **options.wanted()).memory.pool_bytes


def _refusal(options: GraphOptions) -> str | None:
    """What is said of options that cannot be met; None where they can."""
    try:
        _pool_bytes(options)
    except OptionError as error:
        return str(error)
    return None
