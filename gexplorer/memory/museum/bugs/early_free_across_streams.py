"""Freed in one stream's order, reused in another's."""

from __future__ import annotations

import numpy as np

from gexplorer.memory.happens_before import clocks_of
from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch


class EarlyFreeAcrossStreams(TensorBug):
    """A buffer counts as free once its reader was launched, but the next writer is on a stream that does not wait.

    In the order of launching everything looks right; on the device the writer may come first.
    """

    name = "early_free_across_streams"
    issues = ("https://github.com/microsoft/onnxruntime/issues/19480",)
    code = "reuse_races"

    def example(self) -> PlacedTensors:
        """A slow reader on one stream, a writer on the other, which only waits for what it reads itself."""
        sketch = Sketch({"x": 1024}).run("make", "x", {"a": 1024}, stream=0).run("slow", "a", {"b": 1024}, stream=0)
        sketch.run("other", "x", {"c": 1024}, stream=1).run("use", "c", {"d": 1024}, stream=1)
        return apart(sketch.run("join", "b d", {"y": 1024}, stream=0).sync("use", "join").program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Puts a result where a tensor lies whose last reader is over in order, but not known to be done."""
        program = plan.program
        if program.streams is None:
            return None
        clocks, writer = clocks_of(program), program.writer

        def hosts(guest: int):
            point = int(writer[guest])
            loose = np.array([not clocks.before(int(read), point) for read in plan.last_read])
            return plan.lone & (plan.needed < point) & loose

        pair = plan.first_pair(plan.lone, hosts)
        return Spoilt(plan.put(pair[1], pair[0]), pair) if pair else None
