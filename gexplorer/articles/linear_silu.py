"""Row 26: the third article's passes, on a linear layer with SiLU."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.articles.written import compiled

_MODEL = """
input %x : float16[4,16,256]
input %w : float16[256,256]
constant %one = int64[1] {1}
constant %rest = int64[1] {256}
%sizes = Shape(%x) #sizes
%four = Slice(%sizes, %zero, %one) #four
%minus = Concat(%four, %sixteen, %rest) {axis = 0} #shape
%r = Reshape(%x, %minus) #reshape
%p = MatMul(%r, %w) #product
%g = Sigmoid(%p) #gate
%y = Mul(%p, %g) #silu
%unused = Tanh(%r) #unused
constant %zero = int64[1] {0}
constant %sixteen = int64[1] {16}
output %y
"""


class LinearSilu(Row):
    """A linear layer with SiLU behind shape arithmetic, and a Tanh that nobody reads."""

    row = 26
    title = "Passes: Linear + SiLU fuse, shapes fold, dead code goes"
    article = says(fused="FusedLinearSiLU", shapes="constants of shapes fold", dead_code="goes")
    note = (
        "Each is a step of its own, which can be looked at, run and switched off. The kernel has the article's name, "
        "which no list of the real GE's operators has."
    )

    def compute(self) -> Mapping[str, object]:
        """What remains, and which steps made it so."""
        built = compiled(_MODEL)
        return {
            "read": [node.op for node in built.steps[0].before.order],
            "left": [node.op for node in built.graph],
            "steps": [
                {
                    "step": step.name,
                    "nodes_before": len(step.before),
                    "nodes_after": len(step.after),
                    "rewrites": len(step.rewrites),
                }
                for step in built.steps
                if step.stage == "passes" and step.changed
            ],
        }
