"""Contents as numpy arrays of objects, for operators that move elements about in several dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gexplorer.ops.shapes.fact import Content

if TYPE_CHECKING:
    import numpy as np

    from gexplorer.ir.symbols import Shape


def grid(content: Content, shape: Shape) -> np.ndarray:
    """The elements in their shape, all of whose dimensions are integers."""
    import numpy as np

    array = np.empty(len(content), object)
    array[:] = content
    return array.reshape([dim for dim in shape if isinstance(dim, int)])


def flat(array: np.ndarray) -> Content:
    """The elements in row-major order."""
    return tuple(array.reshape(-1).tolist())


def spread(content: Content, source: Shape | None, target: Shape | None) -> Content | None:
    """The elements broadcast to a shape; None where a shape is not known in full."""
    if source == target:
        return content
    if source is None or target is None or any(not isinstance(dim, int) for dim in source + target):
        return None
    if len(content) == 1:
        total = 1
        for dim in target:
            total *= dim if isinstance(dim, int) else 1
        return content * total
    import numpy as np

    return flat(np.broadcast_to(grid(content, source), [dim for dim in target if isinstance(dim, int)]))
