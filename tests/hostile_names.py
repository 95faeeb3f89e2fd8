"""A model in which every name that a file can choose is hostile: nodes, values, attributes, dimensions, domains."""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper

NAMES = (
    "</script><img src=x onerror=window.hacked=1>",
    "\"quoted\" & 'so' <b onmouseover=window.hacked=1>&lt;",
    "n" * 10_000,
    "\u202egnp.exe \u2066x",
    "\U0001f701\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "line\nfeed\r\ttab",
    "\u200bzero\u200bwidth\ufeff",
    "\x1b[31mred\x1b[2J\x07bell",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
)
_OPERATORS = ("Elu", "Selu", "Softplus", "Sin", "Cos", "Erf", "Softsign", "Tanh", "Sigmoid")


def model() -> onnx.ModelProto:
    """A chain of one operator a name, and a foreign one that reads the graph's input too."""
    source = f"in{NAMES[7]}\n{NAMES[3]}"
    values = [source, *NAMES]
    nodes = [
        helper.make_node(op, [values[i]], [values[i + 1]], name=NAMES[i], doc_string=NAMES[i])
        for i, op in enumerate(_OPERATORS)
    ]
    attributes = {f"a{NAMES[7]}\n": NAMES[7], "texts": [NAMES[3], NAMES[5]]}
    nodes.append(helper.make_node(NAMES[7], [values[-1], source], ["odd"], name="odd", domain=NAMES[5], **attributes))
    graph = helper.make_graph(
        nodes,
        NAMES[7],
        [helper.make_tensor_value_info(source, TensorProto.FLOAT, [f"d{NAMES[3]}", 4])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (values[-1], "odd")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(NAMES[5], 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name=NAMES[7])
