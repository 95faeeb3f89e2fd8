"""Two names, two places."""

from __future__ import annotations

import numpy as np

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch
from gexplorer.memory.needs import is_kept
from gexplorer.memory.program import Sharing


class AliasPlannedTwice(TensorBug):
    """A view is planned as if it were a tensor of its own, and its readers look where nobody ever writes.

    Reading and writing go through different names, and each name has an address.
    """

    name = "alias_planned_twice"
    issues = ("https://github.com/torch-spyre/torch-spyre/pull/4022",)
    code = "view_misplaced"

    def example(self) -> PlacedTensors:
        """A Reshape between two operators."""
        sketch = Sketch({"input": 1024}).run("make", "input", {"x": 1024}).run("reshape", "x", {"flat": 1024})
        return apart(sketch.may(Sharing.VIEW, "flat", "x").run("use", "flat", {"y": 1024}).program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Gives a view a buffer of its own."""
        share, size, kept = plan.program.may_share, plan.program.size_bytes, is_kept(plan.program)
        for row in np.flatnonzero(share.sharing == Sharing.VIEW).tolist():
            view, source = int(share.guest[row]), int(share.host[row])
            placed = plan.buffer[view] >= 0 and plan.buffer[source] >= 0 and size[view] > 0
            if placed and not (kept[view] and kept[source]):
                return Spoilt(plan.put_apart(view), (source, view))
        return None
