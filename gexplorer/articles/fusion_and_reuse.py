"""Row 23: fusion and memory reuse, each alone and both together."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_


class FusionAndReuse(Row):
    """The two switches of the second article on its own model, SimpleAttention at 1 x 2048 x 768."""

    row = 23
    title = "SimpleAttention: fusion and memory reuse, each alone and both together"
    article = says(
        baseline=says(latency_ms=42.3, memory_gb=6.8, fused=0),
        fusion=says(latency_ms=38.1, memory_gb=5.2, fused=12),
        reuse=says(latency_ms=41.8, memory_gb=4.6, fused=0),
        both=says(latency_ms=35.6, memory_gb=4.1, fused=12),
    )
    note = (
        "All tensors of this model together are some tens of megabytes, so the articles' gigabytes must hold something "
        "else. The order of the four differs too: fused, the model is three kernels with nothing between them that "
        "could be reused, so fusion alone saves more than reuse alone and reuse adds nothing to it. Nor does reuse "
        "change the time that kernels take; the articles' milliseconds are some hundred times what the chip needs."
    )

    def compute(self) -> Mapping[str, object]:
        """Bytes of activations, modelled time, kernels and fused kernels of the four builds."""
        return {
            name: self._build(preset, reuse)
            for name, preset, reuse in (
                ("baseline", "unconfigured", False),
                ("fusion", "ge", False),
                ("reuse", "unconfigured", True),
                ("both", "ge", True),
            )
        }

    def _build(self, preset: str, reuse: bool) -> dict[str, object]:
        built = compile_("simple-attention", preset=preset, enable_mem_reuse=reuse)
        return {
            "pool_bytes": built.memory.pool_bytes,
            "total_bytes": built.memory.pool_bytes + built.memory.persistent_bytes + built.memory.weight_bytes,
            "us": round(built.cost.latency_us, 1),
            "nodes": len(built.graph),
            "fused": sum(node.body is not None for node in built.graph.nodes.values()),
        }
