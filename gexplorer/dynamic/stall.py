"""How long a compilation keeps a request waiting: figures that are cited, none of them measured by us."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stall:
    """Time that a build takes before its first run.

    Attributes:
        name: what is built.
        seconds: how long.
        source: who says so.
    """

    name: str
    seconds: float
    source: str


# Middle of the ranges that the source articles give. The real GE's times depend on the model and the machine.
FULL_BUILD = Stall("a build for one shape", 45.0, "article A3: 30-60 s until the first token")
DYNAMIC_BUILD = Stall("a build for any shape", 0.5, "article A3: 0.5 s until the first token")
NEW_SHAPE = Stall("a new shape of a dynamic build", 0.150, "article A1: 100-200 ms of JIT compilation")

# The host works out the tiling of each kernel again in every run. No source says how long that takes for one kernel.
# Article A3 has a step 5-10 % slower. If every kernel waited for its tiling, that would be 1.9 to 3.9 us for each
# of the 292 kernels of a decode step of Qwen2.5-7B (11.3 ms behind 1,024 tokens, modelled).
TILING_US = 3.0
TILING_SOURCE = "from article A3's 5-10 % a step, as if each kernel of a decode step of Qwen2.5-7B waited for it"
