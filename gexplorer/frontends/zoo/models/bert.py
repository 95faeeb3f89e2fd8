"""BERT (Devlin et al., arXiv:1810.04805), the encoder with its pooler and without a task's head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.frontends.zoo import aten
from gexplorer.frontends.zoo.attention import merge_heads, scaled_dot_product, split_heads
from gexplorer.frontends.zoo.entry import Dim, ModelOptions, ZooEntry, check_distinct, check_divides
from gexplorer.frontends.zoo.masks import padding_mask
from gexplorer.frontends.zoo.tokens import read_tokens
from gexplorer.frontends.zoo.weights import weight_source
from gexplorer.frontends.zoo.writer import Writer, dims_of

if TYPE_CHECKING:
    import onnx_ir as ir

    from gexplorer.frontends.zoo.tokens import Tokens

_MAX_POSITIONS = 512
_EPSILON = 1e-12
_PACKAGE = "transformers.models.bert.modeling_bert"


@dataclass(frozen=True, slots=True, kw_only=True)
class BertOptions(ModelOptions):
    """Options of an encoder.

    Attributes:
        layers: number of encoder layers.
        hidden: width.
        heads: attention heads.
        intermediate: width inside the MLP.
        vocab: number of tokens.
        seq: tokens, at most 512.
    """

    layers: int
    hidden: int
    heads: int
    intermediate: int
    vocab: int
    seq: Dim = 128

    def check(self) -> None:
        """Raise ValueError if values do not fit each other."""
        check_divides("heads", self.heads, "hidden", self.hidden)
        if isinstance(self.seq, int) and self.seq > _MAX_POSITIONS:
            raise ValueError(f"seq={self.seq} is more than the {_MAX_POSITIONS} positions that BERT has")
        check_distinct(batch=self.batch, seq=self.seq)


def write_bert(name: str, options: BertOptions) -> ir.Model:
    """Write BERT: inputs ``input_ids`` and ``attention_mask``, both integers (batch, seq).

    Outputs ``last_hidden_state`` (batch, seq, hidden) and ``pooler_output`` (batch, hidden).
    """
    source = weight_source(name, options.weights, options.seed)
    w = Writer(f"{_PACKAGE}.BertModel", dtype=options.dtype, weights=source)
    ids = w.input("input_ids", (options.batch, options.seq), aten.INT64)
    attention_mask = w.input("attention_mask", (options.batch, options.seq), aten.INT64)
    tokens = read_tokens(w, ids, options.batch, options.seq)
    with w.module("embeddings", f"{_PACKAGE}.BertEmbeddings"):
        x = _embeddings(w, options, tokens, ids)
    mask = padding_mask(w, tokens, attention_mask)
    with w.module("encoder", f"{_PACKAGE}.BertEncoder"):
        for i in range(options.layers):
            with w.module(f"layer.{i}", f"{_PACKAGE}.BertLayer"):
                x = _layer(w, options, x, mask)
    with w.module("pooler", f"{_PACKAGE}.BertPooler"):
        pooled = _pooler(w, options, x)
    w.output("last_hidden_state", x)
    w.output("pooler_output", pooled)
    return w.model()


def _embeddings(w: Writer, options: BertOptions, tokens: Tokens, ids: ir.Value) -> ir.Value:
    """Token, segment and position embeddings; all tokens are of the first segment."""
    seq = tokens.seq
    numbers = np.arange(_MAX_POSITIONS, dtype=np.int64)[None]
    positions = aten.slice_(w, w.buffer("position_ids", numbers), 1, 0, seq, size=seq)
    segments = w.buffer("token_type_ids", np.zeros_like(numbers))
    segments = aten.expand(w, segments, (1, _MAX_POSITIONS), (1, 1))
    with w.call("aten.gather.default"):
        at = w.op("Cast", positions, to=int(aten.INT64))
        segments = w.result("GatherElements", segments, at, shape=(1, seq), dtype=aten.INT64, axis=1)
    segments = aten.expand(w, segments, (tokens.batch, seq), (tokens.batch_size, seq))
    words = _table(w, "word_embeddings", ids, options.vocab, options.hidden)
    x = aten.add(w, words, _table(w, "token_type_embeddings", segments, 2, options.hidden))
    x = aten.add(w, x, _table(w, "position_embeddings", positions, _MAX_POSITIONS, options.hidden))
    return _dropout(w, aten.layer_norm(w, "LayerNorm", x, _EPSILON))


def _table(w: Writer, name: str, ids: ir.Value, rows: int, columns: int) -> ir.Value:
    with w.module(name, "torch.nn.modules.sparse.Embedding"):
        return aten.embedding(w, ids, rows, columns)


def _dropout(w: Writer, x: ir.Value) -> ir.Value:
    with w.module("dropout", "torch.nn.modules.dropout.Dropout"):
        return aten.clone(w, x)


def _layer(w: Writer, options: BertOptions, x: ir.Value, mask: ir.Value) -> ir.Value:
    """One encoder layer, normalised after each residual sum."""
    with w.module("attention", f"{_PACKAGE}.BertAttention"):
        with w.module("self", f"{_PACKAGE}.BertSelfAttention"):
            query, key, value = (
                split_heads(w, aten.linear(w, part, x, options.hidden, bias=True), options.heads)
                for part in ("query", "key", "value")
            )
            mixed = merge_heads(w, scaled_dot_product(w, query, key, value, mask))
        attended = _output(w, "BertSelfOutput", options, mixed, x)
    with w.module("intermediate", f"{_PACKAGE}.BertIntermediate"):
        wide = aten.linear(w, "dense", attended, options.intermediate, bias=True)
        activation = "transformers.activations.GELUActivation"
        with w.module("intermediate_act_fn", activation), w.call("aten.gelu.default"):
            wide = w.result("Gelu", wide, shape=dims_of(wide), approximate="none")
    return _output(w, "BertOutput", options, wide, attended)


def _output(w: Writer, class_name: str, options: BertOptions, x: ir.Value, residual: ir.Value) -> ir.Value:
    with w.module("output", f"{_PACKAGE}.{class_name}"):
        x = _dropout(w, aten.linear(w, "dense", x, options.hidden, bias=True))
        return aten.layer_norm(w, "LayerNorm", aten.add(w, x, residual), _EPSILON)


def _pooler(w: Writer, options: BertOptions, x: ir.Value) -> ir.Value:
    """A dense layer on the first token of each row."""
    rows = aten.slice_(w, x, 0)
    with w.call("aten.select.int"):
        first = w.result("Gather", rows, w.constant(0), shape=(options.batch, options.hidden), axis=1)
    pooled = aten.linear(w, "dense", first, options.hidden, bias=True)
    with w.module("activation", "torch.nn.modules.activation.Tanh"):
        return aten.unary(w, "Tanh", "aten.tanh.default", pooled)


ENTRIES = (
    ZooEntry(
        name="bert-base",
        summary="BERT base, uncased: an encoder of 12 layers, 109 million parameters.",
        source="config.json of google-bert/bert-base-uncased; arXiv:1810.04805, section 3",
        options=BertOptions(layers=12, hidden=768, heads=12, intermediate=3072, vocab=30522),
        small={
            "layers": 2,
            "hidden": 64,
            "heads": 4,
            "intermediate": 128,
            "vocab": 256,
            "seq": 8,
            "weights": "random",
        },
        write=write_bert,
    ),
)
