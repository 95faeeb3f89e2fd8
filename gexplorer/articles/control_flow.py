"""Row 16: a branch that depends on data stops fusion."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from gexplorer.articles.row import Row, says
from gexplorer.compiler import Compilation
from gexplorer.compiler import compile as compile_

_HEAD = '<ir_version: 10, opset_import: ["": 20]> layer (float16[64,64] x, float16[64,64] w, float16[64] b, bool c)'
_STATIC = "{ p = MatMul(x, w) s = Add(p, b) y = Relu(s) }"
_BRANCH = """{
  p = MatMul(x, w)
  s = If (c) <then_branch = added () => (float16[64,64] t) { t = Add(p, b) },
              else_branch = taken () => (float16[64,64] e) { e = Sub(p, b) }>
  y = Relu(s)
}"""


class ControlFlow(Row):
    """MatMul, Add and Relu, and the same with an If around the Add."""

    row = 16
    title = "Control flow that depends on data stops fusion"
    article = says(data_dependent_if="the branch stops fusion", cure="make the condition static")
    note = "If, Loop and Scan cut the graph, as in the real GE; which rule each stopped is said with the node."

    def compute(self) -> Mapping[str, object]:
        """Kernels of both, and what the rules say of the If."""
        static, branch = _compiled(_STATIC), _compiled(_BRANCH)
        misses = branch.why()
        cuts = next(step for step in branch.steps if step.name == "subgraph_partition")
        return {
            "static": [node.op for node in static.graph],
            "with_if": [node.op for node in branch.graph],
            "stopped_rules": sorted({miss.rule for miss in misses if miss.code == "boundary"}),
            "cure": sorted({miss.hint for miss in misses if miss.code == "boundary" and miss.hint}),
            "partition_says": [cuts.reason(reject) for reject in cuts.rejects],
        }


def _compiled(body: str) -> Compilation:
    model = onnx.parser.parse_model(f"{_HEAD} => (float16[64,64] y) {body}")
    return compile_(model)
