"""Row 24: the second article's two messages."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.articles.written import compiled
from gexplorer.views.log import log_lines

_FREE = """
input %x : float32[8,4]
%z = NonZero(%x) #found
%c = Cast(%z) {to = 1} #floats
%y = ReduceSum(%c) #sum
output %y
"""
_APART = """
input %x : float16[64,64]
input %w : float16[64,64]
input %b : float16[64]
constant %shape = int64[3] {8, 8, 64}
%p = MatMul(%x, %w) #product
%r = Reshape(%p, %shape) #reshape
%y = Add(%r, %b) #bias
output %y
"""


class Messages(Row):
    """A tensor as long as the data say, and a Reshape between a product and its bias."""

    row = 24
    title = "Errors: a dynamic shape, and a pattern that is not matched"
    article = says(
        error="Input shape is not supported: dynamic shape detected",
        warning="Fusion pattern MatMul+Add not matched",
        cause="a Reshape or Broadcast stands between",
    )
    note = (
        "Such a shape is no error here: what does not depend on it is still planned, and validation says in the "
        "article's words what is not. The warning names the rule, the node in the way, and the edit that would cure it."
    )

    def compute(self) -> Mapping[str, object]:
        """What is said of each, and the node in the way."""
        free, between = compiled(_FREE, validate="quick"), compiled(_APART)
        told = (note for check in free.validation.checks for note in check.detail.split("; "))
        (miss,) = between.why("matmul_bias")
        warning = next(line for line in log_lines(between.steps) if "Fusion pattern matmul_bias" in line.message)
        return {
            "dynamic": next(note for note in told if "dynamic shape detected" in note),
            "level": warning.level,
            "warning": warning.message,
            "in_the_way": miss.blocker,
            "cure": miss.hint,
        }
