"""Row 18: kernels and memory by which rules are configured."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.compiler import Compilation
from gexplorer.compiler import compile as compile_
from gexplorer.views.ablation import build

_SETS: Mapping[str, tuple[str, ...] | None] = {
    "none": (),
    "matmul_add": ("matmul_transpose", "matmul_bias"),
    "conv_bn": ("conv_batchnorm", "conv_batchnorm_epilogue"),
    "all": None,
}


class Configurations(Row):
    """The article's four configurations on a transformer and on a convolutional network."""

    row = 18
    title = "Configurations of fusion: none, MatMul + Add only, Conv + BN only, all"
    article = says(
        none=says(fused=0, memory_gb=4.8),
        matmul_add=says(fused=3, memory_gb=4.1),
        conv_bn=says(fused=5, memory_gb=3.9),
        all=says(fused=12, memory_gb=3.2),
    )
    note = (
        "The article names no model; one with 3 MatMul + Add and 5 Conv + BN is neither of these. The order holds "
        "where a rule finds what it is for: MatMul + Add does nothing for ResNet, Conv + BN nothing for BERT. Weights "
        "are the larger part of memory and no rule changes them; what fusing changes is the pool, and a planned pool "
        "is already so small that most rules leave it as it is."
    )

    def compute(self) -> Mapping[str, object]:
        """Fused kernels, kernels, pool and traffic of each configuration, by model."""
        found: dict[str, object] = {}
        for model in ("bert-base", "resnet50"):
            base = compile_(model, preset="unconfigured")
            found[model] = [_line(name, base, rules) for name, rules in _SETS.items()]
        return found


def _line(name: str, base: Compilation, rules: tuple[str, ...] | None) -> dict[str, object]:
    changed = base.replace(preset="ge") if rules is None else base.replace(fusion=dict.fromkeys(rules, True))
    row = build(name, changed)
    return {
        "set": row.name,
        "fused": row.fused,
        "kernels": row.kernels,
        "pool_bytes": row.pool_bytes,
        "without_reuse_bytes": changed.memory.plan.problem.unplanned_bytes,
        "hbm_bytes": int(row.hbm_bytes),
        "us": round(row.latency_us, 1),
    }
