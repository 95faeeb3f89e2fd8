"""The tile programs of a compilation as text: the section ``tiles``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gexplorer.errors import printable
from gexplorer.kernels.text import to_text

if TYPE_CHECKING:
    from gexplorer.kernels.stage import Kernels


def tiles_text(kernels: Kernels) -> str:
    """Every kernel that differs: the nodes that have it, and its programs, or why it has none.

    Args:
        kernels: what came of the kernels stage.
    """
    parts: list[str] = []
    for kernel in kernels.distinct:
        nodes = ", ".join(map(printable, kernel.nodes))
        lines = [f"# {printable(kernel.op)}, {kernel.count} of {len(kernels)} kernels: {nodes}"]
        if kernel.missing is not None:
            lines.append(f"# no program: {printable(kernel.missing.reason)}")
        parts.append("\n".join([*lines, *(to_text(made.program) for made in kernel.programs)]))
    return "\n".join(parts) + "\n"
