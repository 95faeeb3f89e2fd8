"""In place, but a little to the side."""

from __future__ import annotations

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch
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
        size = plan.program.size_bytes
        for guest, host, point in plan.in_place_pairs():
            if plan.last_read[host] == point and size[guest] > 1:
                return Spoilt(plan.put(guest, host, int(size[guest]) // 2), (host, guest))
        return None
