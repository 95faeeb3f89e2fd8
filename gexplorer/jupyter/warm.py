"""What the first change would wait for, done while the person still looks at the first picture."""

from __future__ import annotations

import threading
from functools import cache

import numpy as np


@cache  # once a process
def warm() -> threading.Thread:
    """Loads the search for exact memory plans in a thread of its own; returns it.

    That takes 0.3 s, most of it importing numba, and as many seconds as compiling takes where this machine never ran
    it. In a thread of its own a change that plans no memory anew does not wait for it, and one that does waits no
    longer than without.
    """
    thread = threading.Thread(target=_load, name="gexplorer-warm", daemon=True)
    thread.start()
    return thread


def _load() -> None:
    from gexplorer.memory.search.ladder import minimise

    # Two buffers that live together, in a pool with room to spare: the smallest problem that is searched at all.
    minimise(np.array([0, 0]), np.array([2, 2]), np.array([3, 5]), 9, 100)
