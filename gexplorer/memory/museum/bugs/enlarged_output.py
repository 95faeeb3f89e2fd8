"""A graph output's block, shared and enlarged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch
from gexplorer.memory.program import Kind


class EnlargedOutput(TensorBug):
    """A large intermediate shares the block of a smaller graph output, and the block grows beyond what was declared.

    The caller has bound memory of the output's declared size; what is written there first does not fit.
    """

    name = "enlarged_output"
    issues = ("https://github.com/apache/tvm/pull/8096",)
    code = "kept_shared"

    def example(self) -> PlacedTensors:
        """A wide tensor dies long before the narrow output is written."""
        sketch = Sketch({"x": 1024}).run("widen", "x", {"wide": 4096}).run("narrow", "wide", {"h": 1024})
        return apart(sketch.run("last", "h", {"y": 1024}, kind=Kind.OUTPUT).program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Puts a larger tensor into an output's block before the output is written."""
        program, share = plan.program, plan.program.may_share
        outputs = (program.kind == Kind.OUTPUT) & (program.size_bytes > 0) & (plan.buffer >= 0)
        outputs[share.guest] = outputs[share.host] = False
        for output in np.flatnonzero(outputs).tolist():
            early = (
                plan.lone & (plan.needed < program.writer[output]) & (program.size_bytes > program.size_bytes[output])
            )
            if early.any():
                guest = int(np.flatnonzero(early)[0])
                size = plan.size.copy()
                size[plan.buffer[output]] = plan.offset[output] + program.size_bytes[guest]
                return Spoilt(replace(plan.put(guest, output), size=size), (output, guest))
        return None
