"""What kernels have made needless goes."""

from __future__ import annotations

from gexplorer.passes.dead_code_elimination import DeadCodeElimination


class Pruning(DeadCodeElimination):
    """Removes constants that kernels carry in themselves now, and all else that no result depends on any more.

    before:  constant c = 0.5; y = ge.Swish(x) {a kernel with c in it}
    after:   y = ge.Swish(x)

    GE, too, runs its ``PrunePass`` twice: before the kernels are looked for, and at the end.
    """

    name = "pruning"
    order = 900
