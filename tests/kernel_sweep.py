"""Every kernel of a compiled model held to what a generator promises: it does not fail, its program gives the numbers
of the reference, moves the bytes of the closed form, and has every flag that it needs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

import gexplorer as gx
from gexplorer.errors import GexplorerError
from gexplorer.kernels.count import count
from gexplorer.kernels.generated import run_all
from gexplorer.kernels.hazards import hazards

FULL = os.environ.get("GEXPLORER_FULL") == "1"
# Programs that are not run, because that takes too long here: bytes moved, and blocks.
MOST_BYTES, MOST_BLOCKS = (3_000_000, 2000) if FULL else (100_000, 200)
SIZE = 3  # of every symbolic dimension
# Of the greatest element; the tightest type that is anywhere in a kernel decides, as between two operators of one
# kernel nothing is rounded, and in the reference everything is.
CLOSE = {"bfloat16": 2e-2, "float16": 2e-3}
FLOAT32_CLOSE = 1e-4
SMALLEST_FLOAT16 = 2.0**-24


def compiled_of(model, soc, **options):
    """The model compiled, with sizes for symbolic dimensions of its inputs where such sizes agree; None if refused."""
    try:
        found = gx.compile(model, soc=soc, memory="fast", validate="off", **options)
    except GexplorerError:
        return None
    shapes = {n: t.shape for n in found.graph.inputs if (t := found.graph.tensor(n)) is not None and t.shape}
    if all(isinstance(size, int) for shape in shapes.values() for size in shape):
        return found
    bound = {name: [size if isinstance(size, int) else SIZE for size in shape] for name, shape in shapes.items()}
    try:
        return gx.compile(model, soc=soc, memory="fast", validate="off", shapes=bound, **options)
    except GexplorerError:
        return found


def drawn(graph) -> dict[str, np.ndarray]:
    """Random inputs."""
    random, given = np.random.default_rng(0), {}
    for name in graph.inputs:
        tensor = graph.tensor(name)
        shape = [size if isinstance(size, int) else SIZE for size in tensor.shape]
        whole = tensor.dtype.is_integer or tensor.dtype.label == "bool"
        numbers = random.integers(0, 2, shape) if whole else random.normal(size=shape)
        given[name] = np.asarray(numbers).astype(tensor.dtype.numpy())
    return given


def values_of(graph, inputs: Sequence[object] | None = None) -> Mapping[str, np.ndarray] | None:
    """Every value between kernels, by onnxruntime, or by the reference where that cannot; None where neither can."""
    import onnxruntime as ort

    try:
        given = drawn(graph) if inputs is None else dict(zip(graph.inputs, inputs, strict=False))
        model = graph.to_onnx()
    except (GexplorerError, TypeError, AttributeError):  # inputs that are no tensors of a known rank
        return None
    results = {output.name for output in model.graph.output}
    made = [name for node in model.graph.node for name in node.output if name]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made if name not in results)
    names = [output.name for output in model.graph.output]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found = session.run(names, given)
    except Exception:  # either evaluator may raise anything at all
        try:
            with np.errstate(all="ignore"):
                found = ReferenceEvaluator(model).run(names, given)
        except Exception:
            return None
    constants = {value.name: value.constant.array() for value in graph.constants if value.constant.available}
    values = given | constants | dict(zip(names, found, strict=True))
    inner = zip(graph.outputs, graph.output_names, strict=True)
    return values | {name: values[outside] for name, outside in inner if outside in values}


def faults(compiled, inputs: Sequence[object] | None = None) -> Iterator[str]:
    """What is wrong with any kernel; "ran" for each whose numbers were compared and agree."""
    kernels, values = compiled.kernels, None
    for kernel in kernels.distinct:
        node = kernel.nodes[-1]
        if kernel.missing is not None:
            if kernel.missing.code == "generator_failed":
                yield f"{node} ({kernel.op}): {kernel.missing.reason}"
            continue
        programs = kernels.programs_of(node)
        moved = max(sum(program.bytes_by_path.values()) for program in programs)  # the closed form
        if moved > MOST_BYTES or max(program.program.blocks for program in programs) > MOST_BLOCKS:
            continue
        for program in programs:
            if count(program.program).bytes_by_path != program.bytes_by_path:
                yield f"{node} ({kernel.op}): bytes are not those of the closed form"
            if hazards(program.program):
                yield f"{node} ({kernel.op}): {hazards(program.program)[0]}"
        values = values_of(compiled.graph, inputs) or {} if values is None else values
        if values:
            with np.errstate(all="ignore"):
                made = run_all(programs, values)
            for name in filter(None, compiled.graph.nodes[node].outputs):
                yield _difference(compiled.graph.nodes[node], made[name], values, name) or "ran"


def _difference(node, made: np.ndarray, values: Mapping[str, np.ndarray], name: str) -> str:
    wanted = np.asarray(values[name])
    if made.dtype != wanted.dtype or made.size != wanted.size:
        return f"{node.name} ({node.op}): {made.dtype} x {made.size}, not {wanted.dtype} x {wanted.size}"
    kinds = {str(values[each].dtype) for each in (*node.inputs, *node.outputs) if each in values}
    inside = [node.body.tensor(each) for each in node.body.values] if node.body is not None else []
    kinds |= {tensor.dtype.label for tensor in inside if tensor is not None}
    close = max((CLOSE[kind] for kind in kinds if kind in CLOSE), default=FLOAT32_CLOSE)
    made, exact = made.reshape(wanted.shape).astype(np.float64), wanted.astype(np.float64)
    finite = np.abs(exact[np.isfinite(exact)])
    near = close * finite.max(initial=0) + (SMALLEST_FLOAT16 if "float16" in kinds else 0)
    if wanted.dtype.kind in "iub":
        near = 0
    same = np.allclose(made, exact, rtol=0, atol=near, equal_nan=True)
    return "" if same else f"{node.name} ({node.op}): other numbers, {np.abs(made - exact).max()} off"
