"""The zoo's models look as exports do."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir
import pytest

from gexplorer.frontends import zoo

if TYPE_CHECKING:
    from collections.abc import Iterator
from tests.zoo_models import NAMES, parameters, scopes

CORPUS = Path(__file__).parents[3] / ".." / "shared" / "corpus" / "exports"


def classes(node: ir.Node) -> list[str]:
    return ast.literal_eval(node.metadata_props["pkg.torch.onnx.class_hierarchy"])


@pytest.mark.parametrize("name", NAMES)
def test_metadata_say_which_module_made_a_node(name: str) -> None:
    model = zoo.build(name, small=True)
    for node in model.graph:
        paths, owners = scopes(node), classes(node)
        assert len(paths) == len(owners) >= 2
        pairs = zip(paths, owners, strict=True)
        assert node.metadata_props["namespace"] == "/".join(f"{path}: {owner}" for path, owner in pairs)
    for value in parameters(model).values():
        module = value.name.rpartition(".")[0]
        assert {scopes(use.node)[-2] for use in value.uses()} == {module}


def test_no_node_is_dead() -> None:
    for name in NAMES:
        model = zoo.build(name, small=True)
        dead = [n for n in model.graph if not any(v.uses() or v.is_graph_output() for v in n.outputs)]
        assert dead == []


EXPORTS = {
    "qwen8": ("qwen2.5-7b", {"layers": 8, "batch": 1, "seq": "s"}),
    "qwen28": ("qwen2.5-7b", {"layers": 28, "batch": 1, "seq": "s"}),
    "bert": ("bert-base", {"batch": "b", "seq": "s", "hidden": 96, "intermediate": 384, "vocab": 1000}),
    "resnet50": ("resnet50", {"batch": "b", "hidden": 16, "image": 64, "classes": 2}),
}
QWEN_SIZES = {"hidden": 64, "heads": 8, "kv_heads": 2, "intermediate": 128, "vocab": 512, "dtype": "float32"}


@pytest.mark.skipif(not CORPUS.exists(), reason=f"the corpus of real exports is not at {CORPUS}")
@pytest.mark.parametrize("export", EXPORTS)
def test_nodes_are_those_of_a_real_export(export: str) -> None:
    """Node for node in order: operator, inputs, attributes, modules, calls, and declared results.

    What differs, and is taken out before comparing: the export wraps the model in a module whose attribute it
    is ("m."); names of values and numbers of calls; weights in another order; the export of Qwen declares its
    first values with a batch "b" although all later ones have fixed it to 1; that of BERT declares positions
    as "Min(512, s)" long.
    """
    name, options = EXPORTS[export]
    ours = zoo.build(name, **(options | (QWEN_SIZES if name == "qwen2.5-7b" else {})))
    theirs = ir.load(CORPUS / f"{export}.onnx")
    assert sorted(signature(v) for v in ours.graph.initializers.values()) == sorted(
        signature(v) for v in theirs.graph.initializers.values()
    )
    assert len(ours.graph) == len(theirs.graph)
    batch_became_1 = name == "qwen2.5-7b"
    pairs = zip(structure(ours, batch_became_1), structure(theirs, batch_became_1), strict=True)
    for mine, real in pairs:
        assert mine == real
    assert [value.dtype for value in ours.graph.outputs] == [value.dtype for value in theirs.graph.outputs]
    for buffer in set(ours.graph.initializers) - set(parameters(ours)):
        real = theirs.graph.initializers[f"m.{buffer}"].const_value.numpy()
        array = ours.graph.initializers[buffer].const_value.numpy()
        if buffer.endswith("inv_freq"):  # the export is of a model with another theta
            assert array.shape == real.shape
        else:
            np.testing.assert_array_equal(array, real)


def signature(value: ir.Value) -> tuple[str, str, str]:
    return value.name.removeprefix("m."), str(value.dtype), str(value.shape)


def structure(model: ir.Model, batch_became_1: bool) -> Iterator[dict[str, object]]:
    places: dict[ir.Value | None, object] = {value: i for i, value in enumerate(model.graph.inputs)}
    for value in model.graph.initializers.values():
        places[value] = value.name.removeprefix("m.")
    for number, node in enumerate(model.graph):
        for index, value in enumerate(node.outputs):
            places[value] = (number, index)
        paths, owners = scopes(node), classes(node)
        if owners[0].startswith("__main__."):
            paths, owners = ["", *paths[2:]], owners[1:]
        yield {
            "number": number,
            "operator": (node.domain, node.op_type),
            "inputs": tuple(places[value] for value in node.inputs),
            "attributes": {key: plain(attribute) for key, attribute in sorted(node.attributes.items())},
            "modules": [path.removeprefix("m.") for path in paths[:-1]],
            "classes": owners,
            "results": [declared(value, batch_became_1) for value in node.outputs if value.shape is not None],
        }


def plain(attribute: ir.Attr) -> object:
    if attribute.type == ir.AttributeType.TENSOR:
        tensor = attribute.value
        return str(tensor.dtype), tuple(tensor.shape), tensor.numpy().tolist()
    return float(np.float32(attribute.value)) if attribute.type == ir.AttributeType.FLOAT else attribute.value


def declared(value: ir.Value, batch_became_1: bool) -> tuple[str, list[object]]:
    dims = [dim if isinstance(dim, int) else dim.value for dim in value.shape]
    same = {"Min(512, s)": "s"} | ({"b": 1} if batch_became_1 else {})
    return str(value.dtype), [same.get(dim, dim) for dim in dims]
