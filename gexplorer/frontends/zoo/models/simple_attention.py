"""SimpleAttention: one head of attention between four linear layers, written out by hand.

The module of an article on the GE graph engine, which measures it at 1 x 2048 x 768::

    scores = torch.matmul(q, k.transpose(-2, -1)) / (hidden_dim**0.5)
    attn = torch.softmax(scores, dim=-1)
    return self.o_proj(torch.matmul(attn, v))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gexplorer.frontends.zoo import aten
from gexplorer.frontends.zoo.entry import Dim, ModelOptions, ZooEntry, check_distinct
from gexplorer.frontends.zoo.weights import weight_source
from gexplorer.frontends.zoo.writer import Writer, dims_of

if TYPE_CHECKING:
    import onnx_ir as ir


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleAttentionOptions(ModelOptions):
    """Options of the module.

    Attributes:
        seq: positions.
        hidden: width of the input, of the one head and of the output.
    """

    seq: Dim = 2048
    hidden: int = 768

    def check(self) -> None:
        """Raise ValueError if values do not fit each other."""
        check_distinct(batch=self.batch, seq=self.seq)


def write_simple_attention(name: str, options: SimpleAttentionOptions) -> ir.Model:
    """Write the module: input ``x`` and output ``output``, both (batch, seq, hidden)."""
    source = weight_source(name, options.weights, options.seed)
    w = Writer("__main__.SimpleAttention", dtype=options.dtype, weights=source)
    x = w.input("x", (options.batch, options.seq, options.hidden))
    query, key, value = (aten.linear(w, part, x, options.hidden, bias=True) for part in ("q_proj", "k_proj", "v_proj"))
    scores = aten.matmul(w, query, aten.transpose(w, key, 1, 2))
    with w.call("aten.div.Tensor"):
        root = w.constant(math.sqrt(options.hidden), w.dtype)
        scores = w.result("Div", scores, root, shape=dims_of(scores))
    mixed = aten.matmul(w, aten.softmax(w, scores), value)
    w.output("output", aten.linear(w, "o_proj", mixed, options.hidden, bias=True))
    return w.model()


ENTRIES = (
    ZooEntry(
        name="simple-attention",
        summary="One head of attention between four linear layers, at 1 x 2048 x 768.",
        source="The class SimpleAttention of an article on the GE graph engine, at its benchmark's sizes",
        options=SimpleAttentionOptions(),
        small={"seq": 8, "hidden": 16, "weights": "random"},
        write=write_simple_attention,
    ),
)
