"""The results of two control-flow operators."""

from __future__ import annotations

import numpy as np

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch


class BodiesShareResults(TensorBug):
    """Each body is planned from the same first byte, so the second one's values land on the first one's results.

    Each body by itself is planned rightly; what outlives the first was not told to the second.
    """

    name = "bodies_share_results"
    issues = ("https://github.com/pytorch/executorch/pull/21494",)
    code = "overwritten"

    def example(self) -> PlacedTensors:
        """Two loops, one after the other, and an Add of both results."""
        sketch = Sketch({"x": 512}).run("begin1", "x").run("body1", "x", {"result1": 512}).run("end1")
        sketch.run("begin2", "x").run("body2", "x", {"result2": 512}).run("end2").run(
            "add", "result1 result2", {"y": 512}
        )
        return apart(sketch.loop("begin1", "end1").loop("begin2", "end2").program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Puts a value of a body on one of an earlier body that is read after it."""
        program, writer = plan.program, plan.program.writer
        loops = program.loops.reshape(-1, 2)

        def hosts(guest: int):
            earlier = np.zeros(len(writer), bool)
            around = loops[(loops[:, 0] <= writer[guest]) & (loops[:, 1] >= writer[guest])]
            for first, last in loops[loops[:, 1] < around[:, 0].min(initial=-1 if not len(around) else len(program))]:
                earlier |= (writer >= first) & (writer <= last)
            return plan.lone & earlier & (plan.last_read >= writer[guest])

        pair = plan.first_pair(plan.lone, hosts)
        return Spoilt(plan.put(pair[1], pair[0]), pair) if pair else None
