"""Mixtral 8x7B (Jiang et al., arXiv:2401.04088): each token's MLP is a mixture of 2 out of 8 experts.

Every expert is a part of the graph of its own, as exporters unroll the loop over experts: it finds the tokens
routed to it, gathers them, and adds its results back in their places. How many tokens that is depends on the
data, so these dimensions have names that no input explains (``u0``, ``u1``, …, as torch calls them).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gexplorer.frontends.zoo import aten
from gexplorer.frontends.zoo.decoder import Architecture, DecoderOptions, gated_mlp, write_decoder
from gexplorer.frontends.zoo.entry import ZooEntry
from gexplorer.frontends.zoo.tokens import product_of
from gexplorer.frontends.zoo.writer import Writer, dims_of

if TYPE_CHECKING:
    import onnx_ir as ir

_EXPERTS_PER_TOKEN = 2
_EXPERT_NAMES = ("w1", "w3", "w2")


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtralOptions(DecoderOptions):
    """Options of a decoder with experts.

    Attributes:
        experts: experts in each layer, of which a token takes two.
    """

    experts: int

    def check(self) -> None:
        """Raise ValueError if values do not fit each other."""
        DecoderOptions.check(self)
        if self.experts < _EXPERTS_PER_TOKEN:
            raise ValueError(f"experts={self.experts} is less than the {_EXPERTS_PER_TOKEN} that a token takes")


def write_mixture(w: Writer, options: DecoderOptions, x: ir.Value) -> ir.Value:
    """The sum of share_e expert_e(x) over the two experts e with the largest logits.

    Shares are a softmax over all experts, taken of the two and scaled to sum to 1, in float32.
    ``x`` and the result are (batch, seq, hidden).
    """
    assert isinstance(options, MixtralOptions)
    batch, seq, hidden = dims_of(x)
    assert isinstance(hidden, int)
    with w.module("block_sparse_moe", _MIXTRAL.class_name("SparseMoeBlock")):
        count = product_of(w, batch, seq)
        rows = aten.view(w, x, (count, hidden), infer=0)
        shares, chosen = _route(w, options, rows)
        with w.call("aten.zeros.default"):
            zero = w.own_constant(0.0, w.dtype)
            total = w.result("Expand", zero, w.sizes((count, hidden)), shape=(count, hidden))
        for expert in range(options.experts):
            total = _add_expert(w, options, expert, rows, shares, chosen, total)
        return aten.view(w, total, (batch, seq, hidden))


def _route(w: Writer, options: MixtralOptions, rows: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The shares (tokens, 2) of the two experts that each token takes, and their numbers (tokens, 2)."""
    logits = aten.linear(w, "gate", rows, options.experts, bias=False)
    shares = aten.softmax(w, aten.to_copy(w, logits, aten.FLOAT))
    shape = (dims_of(rows)[0], _EXPERTS_PER_TOKEN)
    with w.call("aten.topk.default"):
        limit = w.constant([_EXPERTS_PER_TOKEN])
        dtypes = (aten.FLOAT, aten.INT64)
        shares, chosen = w.results("TopK", shares, limit, shape=shape, dtypes=dtypes, axis=-1, largest=1, sorted=1)
    with w.call("aten.sum.dim_IntList"):
        total = w.result("ReduceSum", shares, w.constant([-1]), shape=(shape[0], 1), dtype=aten.FLOAT, keepdims=1)
    shares = aten.binary(w, "Div", "aten.div.Tensor", shares, total)
    return aten.to_copy(w, shares, w.dtype), chosen


def _add_expert(
    w: Writer,
    options: MixtralOptions,
    expert: int,
    rows: ir.Value,
    shares: ir.Value,
    chosen: ir.Value,
    total: ir.Value,
) -> ir.Value:
    """Add one expert's results to ``total`` (tokens, hidden), in the rows of the tokens that chose it."""
    hidden = options.hidden
    count = w.data_dependent_dim()
    with w.call("aten.eq.Scalar"):
        number = w.constant(expert)
        hit = w.result("Equal", chosen, number, shape=dims_of(chosen), dtype=aten.BOOL)
    with w.call("aten.nonzero.default"):
        found = w.op("NonZero", hit)
        places = w.result("Transpose", found, shape=(count, 2), dtype=aten.INT64, perm=(1, 0))
    with w.call("aten.select.int"):
        tokens = w.result("Gather", places, w.constant(0), shape=(count,), dtype=aten.INT64, axis=1)
    with w.call("aten.index.Tensor"):
        state = w.result("Gather", rows, tokens, shape=(count, hidden), axis=0)
    with w.module(f"experts.{expert}", _MIXTRAL.class_name("BlockSparseTop2MLP")):
        activation = "torch.nn.modules.activation.SiLU"
        state = gated_mlp(w, _EXPERT_NAMES, state, options.intermediate, activation)
    with w.call("aten.index.Tensor"):
        share = w.result("GatherND", shares, places, shape=(count,), batch_dims=0)
    state = aten.mul(w, state, aten.unsqueeze(w, share, 1))
    with w.call("aten.index_add.default"):
        # Added before scattering, not by ScatterND itself: onnxruntime has no 16-bit addition there. It is
        # the same, since an expert has a token at most once.
        summed = w.op("Add", w.op("Gather", total, tokens, axis=0), state)
        at = w.op("Unsqueeze", tokens, w.constant([1]))
        return w.result("ScatterND", total, at, summed, shape=dims_of(total))


_MIXTRAL = Architecture("Mixtral", rope_theta=1e6, rms_epsilon=1e-5, qkv_bias=False, mlp=write_mixture)


def _write(name: str, options: MixtralOptions) -> ir.Model:
    return write_decoder(name, options, _MIXTRAL)


ENTRIES = (
    ZooEntry(
        name="mixtral-8x7b",
        summary="Mixtral 8x7B: 32 layers in which a token takes 2 of 8 experts, 47 billion parameters.",
        source="config.json of mistralai/Mixtral-8x7B-v0.1; arXiv:2401.04088, table 1",
        options=MixtralOptions(
            layers=32, hidden=4096, heads=32, kv_heads=8, intermediate=14336, vocab=32000, experts=8
        ),
        small={
            "layers": 2,
            "hidden": 64,
            "heads": 8,
            "kv_heads": 2,
            "intermediate": 128,
            "vocab": 256,
            "experts": 4,
            "seq": 8,
            "weights": "random",
        },
        write=_write,
    ),
)
