"""Row 13: a compiler of few simple rules against one of all."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_
from gexplorer.views.ablation import build

_SETS = ("unconfigured", "tensorrt-like", "ge")


class Presets(Row):
    """Qwen2.5-7B on 2,048 tokens and BERT-base, with no rule, with TensorRT's kind of rules, and with GE's."""

    row = 13
    title = "TensorRT against GE: few simple rules compile fast, many make the model fast"
    article = says(
        tensorrt="compiles in 30 s, has simple rules only",
        ge="compiles in 15 min, fuses whatever can be fused, runs faster",
    )
    note = (
        "Not TensorRT itself: the preset tensorrt-like is this compiler with the few rules that the article means "
        "(convolution and product with what follows, elementwise chains). The signs of both claims hold, the "
        "compile-time factor of 30 does not: rules are a part of compiling, and the more of them fuse, the fewer nodes "
        "are left for the steps behind."
    )

    def compute(self) -> Mapping[str, object]:
        """Kernels, traffic, modelled time and time to compile of each, by model."""
        found: dict[str, object] = {}
        for model in ("qwen2.5-7b", "bert-base"):
            compiled = compile_(model)
            builds = [build(name, compiled.replace(preset=name)) for name in _SETS]
            found[model] = [
                {
                    "set": row.name,
                    "kernels": row.kernels,
                    "fused": row.fused,
                    "hbm_bytes": int(row.hbm_bytes),
                    "us": round(row.latency_us, 1),
                    "compile_ms": round(row.compile_ms, 1),
                }
                for row in builds
            ]
        return found
