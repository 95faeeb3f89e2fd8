"""A whole that is smaller than its parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch
from gexplorer.memory.program import Sharing


class UndersizedWhole(TensorBug):
    """A buffer is sized for one piece, but all pieces are written into it, and the last overrun the neighbour.

    The size was taken from one round, or one part, of what is put together there.
    """

    name = "undersized_whole"
    issues = ("https://github.com/torch-spyre/torch-spyre/pull/3283",)
    code = "part_outside_whole"

    def example(self) -> PlacedTensors:
        """Two tiles that are written where the Concat wants them."""
        sketch = Sketch({"x": 512}).run("tile1", "x", {"a": 512}).run("tile2", "x", {"b": 512})
        sketch.run("concat", "a b", {"whole": 1024}).may(Sharing.CONCAT, "a", "whole").may(
            Sharing.CONCAT, "b", "whole", 512
        )
        plan = apart(sketch.run("use", "whole", {"y": 1024}).program())
        _, a, b, whole, _ = range(5)
        return plan.put(a, whole).put(b, whole, 512)

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Takes the bytes of the last part from a whole that its parts lie in."""
        program, share = plan.program, plan.program.may_share
        for row in np.flatnonzero((share.sharing == Sharing.CONCAT) & (share.offset_bytes > 0)).tolist():
            part, whole = int(share.guest[row]), int(share.host[row])
            offset = int(share.offset_bytes[row])
            if plan.lies_in(part, whole, offset) and offset + program.size_bytes[part] == program.size_bytes[whole]:
                size = program.size_bytes.copy()
                size[whole] = offset
                return Spoilt(replace(plan, program=replace(program, size_bytes=size)), (whole, part))
        return None
