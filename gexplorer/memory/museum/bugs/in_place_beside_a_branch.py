"""In place under a parallel executor."""

from __future__ import annotations

from gexplorer.memory.happens_before import clocks_of
from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch
from gexplorer.memory.needs import is_kept
from gexplorer.memory.program import Sharing


class InPlaceBesideABranch(TensorBug):
    """An operator writes over its input in place while a parallel branch may still be reading it.

    It is the last reader only in the order in which operators were listed.
    """

    name = "in_place_beside_a_branch"
    issues = ("https://github.com/microsoft/onnxruntime/pull/7645",)
    code = "reuse_races"

    def example(self) -> PlacedTensors:
        """Two branches read x; the second in the list is in place."""
        sketch = Sketch({"input": 1024}).run("make", "input", {"x": 1024}, stream=0)
        sketch.run("left", "x", {"l": 1024}, stream=1).sync("make", "left")
        sketch.run("relu", "x", {"r": 1024}, stream=0).may(Sharing.IN_PLACE, "r", "x")
        return apart(sketch.run("join", "l r", {"y": 1024}, stream=0).sync("left", "join").program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Takes the first permission to write in place that only the order of the list makes right."""
        program = plan.program
        if program.streams is None:
            return None
        clocks, kept, size = clocks_of(program), is_kept(program), program.size_bytes
        for guest, host, point in plan.in_place_pairs():
            loose = any(read < point and not clocks.before(read, point) for read in program.readers(host).tolist())
            fits = not kept[guest] and size[host] == size[guest] > 0
            if fits and plan.needed[host] == point and loose:
                return Spoilt(plan.put(guest, host), (host, guest))
        return None
