"""Row 19: why the KV caches of different layers cannot take each other's place."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_
from gexplorer.memory.program import Kind


class KvCache(Row):
    """The caches of one decoding step: how many, how large, and for how long each lives."""

    row = 19
    title = "KV cache of a long sequence, layer by layer"
    article = says(kv_cache_gb=2.1, reused_across_layers=False, calls_that="a failure of memory reuse")
    note = (
        "A cache is read by the next step of decoding, so it outlives the program: all layers' caches are alive "
        "together at every point, and giving one the place of another would lose it. They are kept apart from the pool."
    )

    def compute(self) -> Mapping[str, object]:
        """Caches of Qwen2.5-7B with 32,768 tokens behind it, one token per step, float16."""
        memory = compile_("qwen2.5-7b:mode=decode,past=32768,use_cache=True").memory
        live = memory.liveness
        states = np.flatnonzero(live.kind == Kind.STATE)
        first, last = live.first[states], live.last[states]
        return {
            "caches": len(states),
            "state_bytes": memory.bytes_of(Kind.STATE),
            "alive_together": int(((first <= last.min()) & (last >= first.max())).sum()) if len(states) else 0,
            "pool_bytes": memory.pool_bytes,
        }
