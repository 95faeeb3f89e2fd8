"""Row 4: the four kinds of passes, and their order."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_
from gexplorer.passes.switches import is_rule

_NAMED = ("constant_folding", "dead_code_elimination", "pruning", "subgraph_partition")


class PassOrder(Row):
    """A small Mixtral, whose export has shape arithmetic to fold and a graph to cut."""

    row = 4
    title = "Passes: partition, fusion, dead code, constants"
    article = says(order="subgraph partition, operator fusion, dead code elimination, constant folding")
    note = (
        "All four are here, each can be switched off, but in another order: a rule sees more once constants are "
        "folded and nothing is read by what nobody reads, and the graph is cut by engine when the kernels are known. "
        "Removals by fusion are cleared by the rule itself; what it leaves, constants above all, is pruned at the end."
    )

    def compute(self) -> Mapping[str, object]:
        """Where each kind stands among all passes, and what it rewrote."""
        built = compile_("mixtral-8x7b:small=true")
        steps = {step.name: step for step in built.steps}
        rules = [number for number, one in enumerate(built.plan.passes) if is_rule(one)]
        rows = [
            (number, one.name, len(steps[one.name].rewrites))
            for number, one in enumerate(built.plan.passes)
            if one.name in _NAMED
        ]
        fused = sum(len(steps[built.plan.passes[number].name].rewrites) for number in rules)
        rows.append((rules[0], f"fusion, {len(rules)} rules", fused))
        return {
            "passes": [{"pass": name, "place": number, "rewrites": count} for number, name, count in sorted(rows)],
            "of_all": len(built.plan.passes),
        }
