"""A value that every round of a loop reads."""

from __future__ import annotations

import numpy as np

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch


class LoopCarried(TensorBug):
    """A buffer is reused inside a loop after its last reader in the listing, and the next round reads the new value.

    Liveness that does not know of the way back ends in the middle of the body.
    """

    name = "loop_carried"
    issues = (
        "https://github.com/tile-ai/tilelang-ascend/issues/1156",
        "https://github.com/tile-ai/tilelang-ascend/issues/1765",
    )
    code = "loop_value_overwritten"

    def example(self) -> PlacedTensors:
        """A scale is made before a loop and read at the start of each round."""
        sketch = Sketch({"x": 512}).run("make", "x", {"scale": 512}).run("begin", "x")
        sketch.run("multiply", "x scale", {"scaled": 512}).run("exp", "scaled", {"e": 512}).run("add", "e", {"s": 512})
        return apart(sketch.run("end", "s", {"y": 512}).loop("begin", "end").program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Puts a value of a body on one from before the loop, behind its last reader in the listing."""
        writer, last = plan.program.writer, plan.last_read
        loops = plan.program.loops.reshape(-1, 2)

        def hosts(guest: int):
            point = writer[guest]
            carried = np.zeros(len(writer), bool)
            for first, end in loops[(loops[:, 0] <= point) & (loops[:, 1] >= point)]:
                carried |= (writer < first) & (last >= first) & (last < point) & (end >= point)
            return plan.lone & carried

        pair = plan.first_pair(plan.lone, hosts)
        return Spoilt(plan.put(pair[1], pair[0]), pair) if pair else None
