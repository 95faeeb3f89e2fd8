"""An output that nobody reads."""

from __future__ import annotations

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch
from gexplorer.memory.needs import is_kept


class UnreadOutput(TensorBug):
    """An output without a reader gets no lifetime, so it is written over a value that is in use.

    A release counted by readers never comes, or comes at once.
    """

    name = "unread_output"
    issues = ("https://github.com/microsoft/onnxruntime/pull/21019",)
    code = "unread_output_overwrites"

    def example(self) -> PlacedTensors:
        """A TopK whose indices nobody wants."""
        sketch = Sketch({"x": 2048}).run("bias", "x", {"biased": 512}).run("scores", "x", {"scores": 2048})
        sketch.run("top_k", "scores", {"values": 512, "indices": 512}).run("add", "values biased", {"y": 512})
        return apart(sketch.program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Puts an output that nobody reads where a tensor lies that somebody will read."""
        program, writer = plan.program, plan.program.writer
        unread = (program.size_bytes > 0) & (plan.buffer >= 0) & (writer >= 0) & ~plan.is_read & ~is_kept(program)
        unread[program.may_share.guest] = unread[program.may_share.host] = False

        def hosts(guest: int):
            return plan.lone & (writer < writer[guest]) & (plan.last_read > writer[guest])

        pair = plan.first_pair(unread, hosts)
        return Spoilt(plan.put(pair[1], pair[0]), pair) if pair else None
