"""The bug museum: mistakes that real memory planners made, each put into a sound plan and found by the verifier.

One file a bug in ``bugs``; ``discovery`` finds them. Left out is planning that is only wasteful, such as leading gaps
that are never reused (https://github.com/google/XNNPACK/issues/10800): such a plan is right, and a verifier has nothing
to say about it.
"""

from __future__ import annotations

from gexplorer.memory.museum.discovery import all_exhibits
from gexplorer.memory.museum.exhibit import Exhibit, Spoilt
from gexplorer.memory.museum.plans import PlacedBuffers, PlacedTensors

__all__ = ["Exhibit", "PlacedBuffers", "PlacedTensors", "Spoilt", "all_exhibits"]
