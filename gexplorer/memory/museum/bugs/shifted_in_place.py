"""In place, but a little to the side."""

from __future__ import annotations

import numpy as np

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch
from gexplorer.memory.needs import is_kept
from gexplorer.memory.program import Sharing


class ShiftedInPlace(TensorBug):
    """Lifetimes that touch at an in-place operator may share bytes, and a best fit lets them share only some.

    Touching at one point is no licence to overlap: only exactly the same bytes are read before they are written.
    """

    name = "shifted_in_place"
    issues = ("https://github.com/openxla/xla/pull/46543",)
    code = "in_place_shifted"

    def example(self) -> PlacedTensors:
        """A Relu that could write over its input."""
        sketch = Sketch({"input": 1024}).run("make", "input", {"x": 1024}).run("relu", "x", {"r": 1024})
        return apart(sketch.may(Sharing.IN_PLACE, "r", "x").run("use", "r", {"y": 1024}).program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Puts the result of an in-place operator half its size from where it may lie."""
        program, share, kept = plan.program, plan.program.may_share, is_kept(plan.program)
        for row in np.flatnonzero(share.sharing == Sharing.IN_PLACE).tolist():
            guest, host = int(share.guest[row]), int(share.host[row])
            alone = np.count_nonzero((share.guest == host) | (share.host == host)) == 1
            alone &= np.count_nonzero((share.guest == guest) | (share.host == guest)) == 1
            if alone and not kept[host] and plan.last_read[host] == share.point[row] and program.size_bytes[guest] > 1:
                return Spoilt(plan.put(guest, host, int(program.size_bytes[guest]) // 2), (host, guest))
        return None
