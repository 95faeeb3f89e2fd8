"""An output in the caller's input."""

from __future__ import annotations

import numpy as np

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch
from gexplorer.memory.program import Kind


class OutputOverInput(TensorBug):
    """A result is written into memory that the caller gave as an input, and the next run starts from garbage.

    Nobody in the program reads the input any more, so a plan of one run alone looks right.
    """

    name = "output_over_input"
    issues = ("https://github.com/microsoft/onnxruntime/issues/28359",)
    code = "kept_overwritten"

    def example(self) -> PlacedTensors:
        """An input that is read once, at the start."""
        sketch = Sketch({"x": 1024}).run("first", "x", {"h": 1024})
        return apart(sketch.run("last", "h", {"y": 1024}, kind=Kind.OUTPUT).program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Puts an output of the program where an input lies that was read before."""
        program, share = plan.program, plan.program.may_share
        free = (program.size_bytes > 0) & (plan.buffer >= 0)
        free[share.guest] = free[share.host] = False

        def hosts(guest: int):
            return free & (program.kind == Kind.INPUT) & (plan.needed < program.writer[guest])

        pair = plan.first_pair(np.asarray(free & (program.kind == Kind.OUTPUT)), hosts)
        return Spoilt(plan.put(pair[1], pair[0]), pair) if pair else None
