"""In place over an input that somebody still reads."""

from __future__ import annotations

import numpy as np

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch
from gexplorer.memory.needs import is_kept
from gexplorer.memory.program import Sharing


class InPlaceWithALaterReader(TensorBug):
    """An operator is put back in place over an input that a later operator reads in its old state.

    That an operator can write in place says nothing about whether its input is free.
    """

    name = "in_place_with_a_later_reader"
    issues = ("https://github.com/pytorch/pytorch/pull/189735",)
    code = "in_place_still_needed"

    def example(self) -> PlacedTensors:
        """A cache is updated in place, and compared with its old state afterwards."""
        sketch = Sketch({"input": 1024}).run("make", "input", {"old": 1024}).run("update", "old", {"new": 1024})
        return apart(sketch.may(Sharing.IN_PLACE, "new", "old").run("compare", "old new", {"y": 1024}).program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Takes the first permission to write in place whose input has a later reader."""
        program, share, kept = plan.program, plan.program.may_share, is_kept(plan.program)
        for row in np.flatnonzero(share.sharing == Sharing.IN_PLACE).tolist():
            guest, host = int(share.guest[row]), int(share.host[row])
            alone = np.count_nonzero((share.guest == host) | (share.host == host)) == 1
            alone &= np.count_nonzero((share.guest == guest) | (share.host == guest)) == 1
            same = program.size_bytes[guest] == program.size_bytes[host] > 0
            if alone and same and not kept[host] and plan.last_read[host] > share.point[row]:
                return Spoilt(plan.put(guest, host), (host, guest))
        return None
