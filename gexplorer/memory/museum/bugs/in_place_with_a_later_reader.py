"""In place over an input that somebody still reads."""

from __future__ import annotations

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch
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
        size = plan.program.size_bytes
        for guest, host, point in plan.in_place_pairs():
            if size[guest] == size[host] > 0 and plan.last_read[host] > point:
                return Spoilt(plan.put(guest, host), (host, guest))
        return None
