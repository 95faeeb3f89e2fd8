"""Row 9: what the first run at a new shape costs, and what a warm-up does about it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_
from gexplorer.dynamic.at_sizes import Shaper
from gexplorer.dynamic.simulate import Timeline, simulate
from gexplorer.dynamic.stall import NEW_SHAPE
from gexplorer.dynamic.strategies import Dynamic
from gexplorer.dynamic.workload import from_sizes

_PROMPTS = (512, 512, 1024, 1024, 512, 1024)
# As GE_WARMUP_SHAPES of the article has it: whole shapes of the first input.
_WARMUP = "1,512;1,1024"


class NewShapes(Row):
    """The article's own example: Llama 2 7B, prompts of 512 and 1,024 tokens, one dynamic build, a second apart."""

    row = 9
    title = "A new shape: compiled when it comes, or warmed up before"
    article = says(
        new_shape_ms=says(least=100, most=200),
        same_shape_again_ms=0,
        cure="GE_WARMUP_SHAPES=1,3,512,512;1,3,1024,1024",
    )
    note = (
        "How long the compilation at a new shape takes is the article's: nothing here can measure it, so the middle "
        "of its range is used (stall). What is computed is who waits for it: the first request of each shape, and with "
        "a warm-up nobody, at the price of a later start. The real GE has no such variable."
    )

    def compute(self) -> Mapping[str, object]:
        """Hits, the first and the later requests of each length, without and with the warm-up."""
        shaper = Shaper(compile_("llama2-7b:seq=s", validate="off"))
        warm = [shaper.free.parse(text) for text in _WARMUP.split(";")]
        load = from_sizes([shaper.free.sizes({"s": tokens}) for tokens in _PROMPTS], gap_us=1e6)
        cold, warmed = (simulate(load, Dynamic(shaper, shapes), shaper) for shapes in ((), warm))
        return {
            "stall_us": NEW_SHAPE.seconds * 1e6,
            "requests": [{"tokens": tokens, **_pair(cold, warmed, i)} for i, tokens in enumerate(_PROMPTS)],
            "hits": {"cold": cold.hits, "warmed": warmed.hits},
            "start_up_us": {"cold": cold.start_up_us, "warmed": warmed.start_up_us},
            "slowest_us": {"cold": _slowest_us(cold), "warmed": _slowest_us(warmed)},
        }


def _pair(cold: Timeline, warmed: Timeline, request: int) -> dict[str, object]:
    return {
        "cold": "from the cache" if cold.hit[request] else "compiled first",
        "cold_us": round(float(cold.latency_us[request]), 1),
        "warmed_us": round(float(warmed.latency_us[request]), 1),
    }


def _slowest_us(timeline: Timeline) -> float:
    return round(float(np.max(timeline.latency_us)), 1)
