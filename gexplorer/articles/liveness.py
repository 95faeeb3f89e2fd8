"""Row 10: memory planning by liveness, with the article's own two buffers."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.articles.written import compiled
from gexplorer.memory.plan import Plan

# 196 tokens of 768 in float32 are the article's 602 KB; 2,048 columns behind the product are its 1.6 MB.
_MODEL = """
input %x : float32[196,768]
input %scale : float32[768]
input %shift : float32[768]
input %w : float32[768,2048]
%n = LayerNormalization(%x, %scale, %shift) {axis = -1} #norm
%p = MatMul(%n, %w) #product
%s = Softmax(%p) #softmax
%y = ReduceMax(%s) {axes = [1]} #largest
output %y
"""
_PLANNERS = ("none", "article_literal", "article_sized", "exact")


class LivenessPlanning(Row):
    """LayerNorm, MatMul and what reads it, without fusion, planned by the article's algorithm and by others."""

    row = 10
    title = "Memory planning: two operators, 602 KB and 1.6 MB"
    article = says(
        first_bytes=602_000,
        second_bytes=1_600_000,
        without_reuse_bytes=2_200_000,
        saved_bytes=602_000,
        algorithm="PlanMemory: the first buffer whose last use is before the definition",
    )
    note = (
        "The article's saving cannot be had: MatMul reads the first tensor while it writes the second, so both are "
        "alive at once, and no plan is below their sum. Only a third tensor can take the first one's place; here it is "
        "Softmax's, and it and the product are the larger pair. The literal "
        "algorithm, which never looks at sizes, is caught by the verifier wherever a larger tensor follows a smaller."
    )

    def compute(self) -> Mapping[str, object]:
        """The tensors, the bound, and what each planner makes of them."""
        memory = compiled(_MODEL, fusion={"ALL": False}, memory_alignment="none").memory
        plans = [plan for plan in memory.compare(_PLANNERS) if isinstance(plan, Plan)]
        sizes = dict(zip(memory.program.tensors, memory.program.size_bytes.tolist(), strict=True))
        return {
            "first_bytes": sizes["n"],
            "second_bytes": sizes["p"],
            "alive_together_bytes": sizes["n"] + sizes["p"],
            "bound_bytes": memory.plan.problem.bound_bytes,
            "planners": [
                {"planner": plan.planner, "pool_bytes": plan.pool_bytes, "sound": plan.is_sound} for plan in plans
            ],
        }
