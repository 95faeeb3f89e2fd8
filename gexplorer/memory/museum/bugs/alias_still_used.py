"""Another name for the same bytes."""

from __future__ import annotations

import numpy as np

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch
from gexplorer.memory.needs import is_kept
from gexplorer.memory.program import Sharing


class AliasStillUsed(TensorBug):
    """A buffer is reused after the last reader of its own name, though a view of it is still read.

    The view has no buffer; counting readers by name forgets it.
    """

    name = "alias_still_used"
    issues = ("https://github.com/pytorch/pytorch/pull/100332",)
    code = "overwritten"

    def example(self) -> PlacedTensors:
        """A Reshape whose result is read late."""
        sketch = Sketch({"input": 1024}).run("make", "input", {"x": 1024}).run("reshape", "x", {"flat": 1024})
        sketch.may(Sharing.VIEW, "flat", "x").run("other", "input", {"z": 1024})
        return apart(sketch.run("join", "flat z", {"y": 1024}).run("store", "y", {"end": 1024}).program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Puts a result where a tensor lies that nobody reads any more under its own name."""
        program, share, writer = plan.program, plan.program.may_share, plan.program.writer
        kept = is_kept(program)
        for row in np.flatnonzero(share.sharing == Sharing.VIEW).tolist():
            view, source = int(share.guest[row]), int(share.host[row])
            alone = np.count_nonzero(np.isin(share.guest, (view, source)) | np.isin(share.host, (view, source))) == 1
            whole = program.size_bytes[view] == program.size_bytes[source]
            if not alone or not whole or kept[view] or kept[source]:
                continue
            between = plan.lone & (writer > plan.needed[source]) & (writer <= plan.last_read[view])
            between &= program.size_bytes <= program.size_bytes[source]
            if between.any():
                guest = int(np.flatnonzero(between)[0])
                return Spoilt(plan.put(guest, source), (view, guest))
        return None
