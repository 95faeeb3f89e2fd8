"""A lifetime that ends at the first reader."""

from __future__ import annotations

from gexplorer.memory.museum.exhibit import Spoilt, TensorBug
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch


class FirstReaderOnly(TensorBug):
    """A buffer is recycled after one of its readers while another still waits for it.

    A planner that keeps one ``use_op`` a tensor, as the articles' does, cannot know of the second reader.
    """

    name = "first_reader_only"
    issues = (
        "https://github.com/google-ai-edge/LiteRT/issues/8889",
        "https://github.com/google-ai-edge/LiteRT/issues/8928",
    )
    code = "overwritten"

    def example(self) -> PlacedTensors:
        """A residual is read by a norm at once, and by an Add much later."""
        sketch = Sketch({"x": 1024}).run("embed", "x", {"residual": 1024}).run("norm", "residual", {"normed": 1024})
        sketch.run("project", "normed", {"projected": 1024}).run("add", "projected residual", {"sum": 1024})
        return apart(sketch.run("store", "sum", {"y": 1024}).program())

    def spoil_tensors(self, plan: PlacedTensors) -> Spoilt | None:
        """Puts a result where a tensor with a later reader lies."""
        writer = plan.program.writer

        def hosts(guest: int):
            return plan.lone & (plan.first_read < writer[guest]) & (plan.last_read >= writer[guest])

        pair = plan.first_pair(plan.lone, hosts)
        return Spoilt(plan.put(pair[1], pair[0]), pair) if pair else None
