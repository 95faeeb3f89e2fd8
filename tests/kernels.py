"""Matrix products for the tests of the kernel level: inputs, a reference, and a run with all its checks."""

from __future__ import annotations

import numpy as np

from gexplorer.ir.dtypes import DType
from gexplorer.kernels.count import count
from gexplorer.kernels.gemm import gemm_program
from gexplorer.kernels.hazards import hazards
from gexplorer.kernels.interpreter import run
from gexplorer.kernels.traffic import gemm_bytes
from gexplorer.kernels.vector_ops import compute

TOLERANCE = {DType.FLOAT32: 1e-5, DType.FLOAT16: 2e-3, DType.BFLOAT16: 2e-2, DType.INT32: 0}


def evaluate_formula(formula, inputs):
    """A formula's outputs on whole arrays of float32."""
    values = [np.asarray(array, np.float32) for array in inputs]
    for step in formula.instructions:
        taken = tuple(values[x] if isinstance(x, int) else np.float32(x) for x in step.inputs)
        values.append(np.asarray(compute(step.op, taken), np.float32))
    return [values[output] for output in formula.outputs]


def gemm_inputs(kernel, seed=0):
    """Random inputs of a product, as they lie in memory."""
    random = np.random.default_rng(seed)
    work = kernel.work

    def draw(shape, dtype):
        if dtype.is_integer:
            return random.integers(-5, 6, shape).astype(dtype.numpy())
        return (random.normal(size=shape) / np.sqrt(work.k) ** (len(shape) == 3)).astype(dtype.numpy())

    left = (1 if kernel.left_shared else work.batch, *_turned((work.m, work.k), kernel.left_transposed))
    right = (1 if kernel.right_shared else work.batch, *_turned((work.k, work.n), kernel.right_transposed))
    inputs = {"left": draw(left, work.dtype), "right": draw(right, work.dtype)}
    if kernel.bias is not None:
        inputs["bias"] = draw((1, 1, work.n), kernel.bias)
    return inputs | {operand.name: draw(operand.shape, operand.dtype) for operand in kernel.operands}


def gemm_reference(kernel, inputs):
    """What the kernel must give, computed in float32 (or int32) all at once."""
    wide = kernel.sum_dtype.numpy()
    left, right = inputs["left"].astype(wide), inputs["right"].astype(wide)
    left = left.swapaxes(1, 2) if kernel.left_transposed else left
    right = right.swapaxes(1, 2) if kernel.right_transposed else right
    product = np.broadcast_to(np.matmul(left, right), (kernel.work.batch, kernel.work.m, kernel.work.n))
    if kernel.bias is not None:
        product = product + inputs["bias"].astype(wide)
    if kernel.epilogue is not None:
        (product,) = evaluate_formula(kernel.epilogue, [product, *(inputs[o.name] for o in kernel.operands)])
    return product


def check_gemm(kernel, cut, chip):
    """Numbers as the reference's, bytes as the closed form's, no hazard; the run."""
    program = gemm_program(kernel, cut, chip)
    inputs = gemm_inputs(kernel)
    found = run(program, chip, inputs)
    close = TOLERANCE[kernel.out_dtype]
    wanted = gemm_reference(kernel, inputs)
    np.testing.assert_allclose(found.outputs["out"].astype(np.float64), wanted, rtol=close, atol=close)
    assert found.counts.bytes_by_path == gemm_bytes(kernel, cut, chip)
    assert count(program) == found.counts
    assert hazards(program) == ()
    return found


def _turned(shape, turned):
    return shape[::-1] if turned else shape
