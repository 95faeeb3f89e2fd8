"""Row 28: a build for every shape, one build for all, or gears; while decoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_
from gexplorer.dynamic.at_sizes import Shaper
from gexplorer.dynamic.simulate import Timeline, simulate
from gexplorer.dynamic.stall import TILING_US
from gexplorer.dynamic.strategies import Dynamic, Gears, Recompile, Strategy
from gexplorer.dynamic.workload import from_sizes

_MODEL = "qwen2.5-7b:mode=decode,past=n"
# Three conversations with caches of so many tokens, so many steps each.
_CACHES, _STEPS = (1024, 2048, 4096), 32


class DynamicDecoding(Row):
    """Qwen2.5-7B, float16, batch 1: 32 steps with each of three lengths of the cache, one after the other."""

    row = 28
    title = "Dynamic shapes while decoding: recompile, one dynamic build, gears"
    article = says(
        recompile=says(first_token="30 to 60 s", later_steps="fast"),
        dynamic=says(first_token="0.5 s", later_steps="5 to 10 % slower"),
        switch="dynamic_shape=False of ATB forces the first",
    )
    note = (
        "The time of a build is the article's. What a dynamic build costs in every step is computed, and depends on "
        "whether the host works out the tiling of a kernel while the device still runs the one before: if so, next to "
        "nothing is left of it, as a kernel of this step runs ten times as long; if every kernel waits for its tiling, "
        "it is what the article says. The host's time for one kernel has no source: it is chosen so, from the middle "
        "of the article's range (tiling), so that the second line is no proof of it. Which of the two holds, the "
        "article does not say. One gear for all needs one build, and pads the cache."
    )

    def compute(self) -> Mapping[str, object]:
        """First token, later steps and their slowdown, builds and memory of each way; what tiling is of a step."""
        shaper = Shaper(compile_(_MODEL, validate="off"))
        sizes = [shaper.free.sizes({"n": tokens}) for tokens in _CACHES for _ in range(_STEPS)]
        load = from_sizes(sizes, gap_us=0.0)
        ways: dict[str, Strategy] = {
            "recompile": Recompile(shaper),
            "dynamic, host ahead": Dynamic(shaper),
            "dynamic, kernels wait": Dynamic(shaper, ahead=False),
            "one gear": Gears(shaper, [max(sizes)]),
        }
        timelines = {name: simulate(load, way, shaper) for name, way in ways.items()}
        at = shaper.at(sizes[0])
        return {
            "tiling_us": TILING_US,
            "kernels": len(at.bound_kernels_us),
            "kernel_us": round(float(np.mean(at.bound_kernels_us)), 1),
            "ways": [_line(name, timeline) for name, timeline in timelines.items()],
        }


def _line(name: str, timeline: Timeline) -> dict[str, object]:
    us, exact_us = timeline.run_us, timeline.exact_us
    first_us = timeline.start_up_us + timeline.stall_us[0] + us[0]
    return {
        "way": name,
        "first_token_us": round(float(first_us)),
        "step_us": round(float(np.mean(us)), 1),
        "slower": round(_slower(us.tolist(), exact_us.tolist()), 4),
        "builds": len(timeline.builds),
        "compiling_us": round(timeline.start_up_us + float(timeline.stall_us.sum())),
        "pool_bytes": timeline.pool_bytes,
    }


def _slower(us: Sequence[float], exact_us: Sequence[float]) -> float:
    return sum(us) / sum(exact_us) - 1
