"""Operators on constants become constants, within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from immutables import Map

from gexplorer.ir.constant import Constant
from gexplorer.ir.draft import Draft
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node, operation_key
from gexplorer.ops.evaluate import EvaluationError, evaluate
from gexplorer.passes.base import Context, Limits, Log, Pass
from gexplorer.trace.records import Message

if TYPE_CHECKING:
    import numpy as np

# Operators whose reference implementation costs about as much as it reads and writes, and gives the same
# on every machine. Convolutions, pooling, recurrent networks and random numbers are not among them.
_FOLDABLE_NAMES = """
    Abs Add And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Clip Compress Concat
    ConstantOfShape Cos CumSum DequantizeLinear Div Equal Erf Exp Expand EyeLike Flatten Floor Gather
    GatherElements GatherND Greater GreaterOrEqual Identity IsInf IsNaN Less LessOrEqual Log MatMul Max Min Mod
    Mul Neg NonZero Not OneHot Or Pad Pow Range Reciprocal ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
    Relu Reshape Round ScatterElements ScatterND Shape Sigmoid Sign Sin Size Slice Softmax Split Sqrt Squeeze
    Sub Sum Tanh Tile TopK Transpose Trilu Unsqueeze Where Xor
"""
FOLDABLE = frozenset(_FOLDABLE_NAMES.split())
# What rules for quantised models make one kernel of, together with the DequantizeLinear in front.
_WITH_INT8_KERNEL = frozenset(("Add", "Conv", "Gemm", "MatMul"))
# The reference computes every version of these as it computes the newest; before this one they were another operator.
_SAME_SINCE = {"Softmax": 13}


class ConstantFolding(Pass):
    """Evaluates operators whose inputs are all constants.

    before:  const a = [1.0, 2.0]; b = Expand(a, [2, 2]); y = Add(x, b)
    after:   const b = [[1.0, 2.0], [1.0, 2.0]]; y = Add(x, b)

    Weights are not read for it and the model does not swell: both have limits.
    """

    name = "constant_folding"
    ge_name = "ConstantFoldingPass"
    order = 300
    outer_first = True
    messages = Map(
        folded=Message("all inputs of {node} ({op}) are constants"),
        too_large=Message(
            "folding {node} ({op}) would add {bytes:,} bytes to the model, more than the limit of {limit:,}",
            "raise fold_growth_bytes",
        ),
        reads_weights=Message(
            "folding {node} ({op}) would read {bytes:,} bytes of weights, more than the limit of {limit:,}",
            "raise fold_read_bytes",
        ),
        unavailable=Message("{blocker} is not available, so {node} ({op}) cannot be folded"),
        quantised=Message("{node} ({op}) gives {blocker} weights that a kernel for int8 reads as they are"),
        unknown_size=Message("the size of what {node} ({op}) gives is not known beforehand"),
        not_evaluated=Message("{node} ({op}) was not evaluated: {why}"),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """One sweep in program order, so that folded values feed later folds."""
        if draft.opsets.get("", 0) < 7:
            return
        known: dict[object, list[np.ndarray]] = {}
        for node in draft.base.order:
            if node.op not in FOLDABLE or node.domain or draft.opsets[""] < _SAME_SINCE.get(node.op, 0):
                continue
            current = draft.current(node)
            if current is None or not any(draft.use_count(output) for output in current.outputs if output):
                continue
            inputs = [draft.constant_of(name) if name else None for name in current.inputs]
            if not all(data is not None or not name for data, name in zip(inputs, current.inputs, strict=True)):
                continue
            if self._may_fold(current, inputs, draft, log, context.limits):
                self._fold(current, inputs, draft, log, known)

    def _may_fold(self, node: Node, inputs: list[Constant | None], draft: Draft, log: Log, limits: Limits) -> bool:
        kernel = _int8_kernel(node, draft)
        if kernel is not None:
            log.reject(node, "quantised", blocker=kernel.name, op=node.op)
            return False
        read_bytes = 0
        for name, data in zip(node.inputs, inputs, strict=True):
            if data is not None and not data.available:
                log.reject(node, "unavailable", blocker=name, op=node.op)
                return False
            read_bytes += data.nbytes if data is not None else 0
        if read_bytes > limits.fold_read_bytes:
            log.reject(node, "reads_weights", op=node.op, bytes=read_bytes, limit=limits.fold_read_bytes)
            return False
        new_bytes = 0
        for output in node.outputs:
            type_ = draft.tensor(output) if output else None
            if output and (type_ is None or type_.nbytes is None):
                log.reject(node, "unknown_size", op=node.op)
                return False
            new_bytes += type_.nbytes or 0 if type_ is not None else 0
        if new_bytes > limits.fold_growth_bytes:
            log.reject(node, "too_large", op=node.op, bytes=new_bytes, limit=limits.fold_growth_bytes)
            return False
        return True

    def _fold(
        self,
        node: Node,
        inputs: list[Constant | None],
        draft: Draft,
        log: Log,
        known: dict[object, list[np.ndarray]],
    ) -> None:
        """Folds one node; ``known`` holds what equal nodes gave, since layers repeat each other's constants."""
        import numpy as np

        key = (operation_key(node), tuple(data.key if data is not None else None for data in inputs))
        try:
            results = known.get(key)
            if results is None:
                arrays = [data.array() if data is not None else None for data in inputs]
                results = known[key] = evaluate(node, arrays, draft.opsets)
        except EvaluationError as error:
            log.reject(node, "not_evaluated", op=node.op, why=str(error))
            return
        outputs = [output for output in node.outputs if output]
        for output, result in zip(outputs, results, strict=True):
            type_ = draft.tensor(output)
            if type_ is None or type_.dtype == DType.STRING or type_.shape != result.shape:
                log.reject(node, "not_evaluated", op=node.op, why="the result has another shape than inferred")
                return
            if result.dtype != type_.dtype.numpy():
                log.reject(node, "not_evaluated", op=node.op, why=f"the result is {result.dtype}")
                return
        with log.rewrite(node, "folded", op=node.op):
            for output, result in zip(outputs, results, strict=True):
                draft.replace_uses(
                    output, draft.add_constant(np.ascontiguousarray(result).reshape(result.shape), output)
                )
            draft.remove(draft.node(node.name))


def _int8_kernel(node: Node, draft: Draft) -> Node | None:
    """Which user of dequantised weights may become a kernel for int8, where another operand is dequantised too."""
    if node.op != "DequantizeLinear":
        return None
    for user in draft.users(node.outputs[0]):
        if user.op not in _WITH_INT8_KERNEL or user.domain:
            continue
        others = (draft.producer(name) for name in user.inputs if name and name != node.outputs[0])
        if any(other is not None and other.op == "DequantizeLinear" for other in others):
            return user
    return None
