"""A size check in elements, not bytes."""

from __future__ import annotations

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch


class SubByteBuffer(TensorBug):
    """A packed uint4[N] of N/2 bytes is reused for a uint8[N], because both have N elements.

    The write reaches beyond the buffer, whoever lies there.
    """

    name = "sub_byte_buffer"
    issues = ("https://github.com/microsoft/onnxruntime/pull/32611",)
    code = "outside_buffer"

    def example(self) -> PlacedTensors:
        """1024 elements as uint4, as fp32, as uint8."""
        sketch = Sketch({"x": 4096}).run("quantise4", "x", {"packed": 512}).run("dequantise4", "packed", {"real": 4096})
        sketch.run("quantise8", "real", {"bytes": 1024}).run("dequantise8", "bytes", {"y": 4096})
        return apart(sketch.program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Puts a result into the buffer of a dead tensor with half its bytes, or fewer."""
        size, writer = plan.program.size_bytes, plan.program.writer
        for guest in plan.lone.nonzero()[0].tolist():
            small = plan.lone & (plan.needed < writer[guest]) & (2 * size <= size[guest])
            small &= plan.offset + size[guest] > plan.size[plan.buffer]
            if small.any():
                return Spoilt(plan.put(guest, int(small.nonzero()[0][0])), (guest,))
        return None
