"""Decoder-only language models of the Llama kind: RMSNorm, rotary grouped-query attention, gated MLP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.frontends.zoo import aten
from gexplorer.frontends.zoo.attention import (
    merge_heads,
    repeat_heads,
    rotate,
    scaled_dot_product,
    split_heads,
)
from gexplorer.frontends.zoo.entry import Dim, ModelOptions, check_distinct, check_divides
from gexplorer.frontends.zoo.masks import causal_mask, find_positions
from gexplorer.frontends.zoo.tokens import read_tokens
from gexplorer.frontends.zoo.weights import weight_source
from gexplorer.frontends.zoo.writer import Writer, dims_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx_ir as ir


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderOptions(ModelOptions):
    """Options of a decoder.

    Attributes:
        layers: number of decoder layers.
        hidden: width of the residual stream.
        heads: query heads; the size of a head is hidden / heads.
        kv_heads: key and value heads.
        intermediate: width inside the MLP.
        vocab: number of tokens.
        seq: tokens of this call.
        mode: ``prefill``, from nothing, or ``decode``, after ``past`` tokens; then ``seq`` is 1 by default.
        past: tokens in the key-value cache; in decode by default as many as a prefill would see.
        use_cache: whether keys and values are outputs, too; always so in decode.
    """

    dtype: str = "float16"
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    intermediate: int
    vocab: int
    seq: Dim = 2048
    past: Dim = 0
    mode: str = "prefill"
    use_cache: bool = False

    def check(self) -> None:
        """Raise ValueError if values do not fit each other."""
        check_divides("heads", self.heads, "hidden", self.hidden)
        check_divides("kv_heads", self.kv_heads, "heads", self.heads)
        if self.hidden // self.heads % 2:
            raise ValueError(f"hidden={self.hidden} / heads={self.heads} is odd; rotary embedding halves a head")
        if self.mode == "prefill" and self.past != 0:
            raise ValueError(f"past={self.past!r} needs mode=decode; a prefill starts from nothing")
        if self.mode == "decode" and self.past == 0:
            raise ValueError("past=0 needs mode=prefill; decode continues from a cache")
        if self.mode == "decode" and not self.use_cache:
            raise ValueError("use_cache=False needs mode=prefill; decode returns the grown cache")
        check_distinct(batch=self.batch, seq=self.seq, past=self.past)

    @classmethod
    def implied(cls, defaults: Mapping[str, object], chosen: Mapping[str, object]) -> Mapping[str, object]:
        """In decode: one token after a context as long as a prefill."""
        if chosen.get("mode") != "decode":
            return {}
        return {"seq": 1, "past": defaults["seq"], "use_cache": True}


@dataclass(frozen=True, slots=True)
class Architecture:
    """What distinguishes one family of decoders from another beyond its sizes.

    Attributes:
        prefix: of the class names, such as ``Llama``.
        rope_theta: base of the rotary frequencies.
        rms_epsilon: added to the mean square.
        qkv_bias: whether query, key and value projections have one.
        mlp: writes the MLP of a layer, from its normalised input (batch, seq, hidden).
    """

    prefix: str
    rope_theta: float
    rms_epsilon: float
    qkv_bias: bool
    mlp: Callable[[Writer, DecoderOptions, ir.Value], ir.Value]

    def class_name(self, name: str) -> str:
        """The class of a module, where transformers has it."""
        package = self.prefix.lower()
        return f"transformers.models.{package}.modeling_{package}.{self.prefix}{name}"


@dataclass(frozen=True, slots=True)
class _Context:
    """What all layers share: the mask (batch, 1, seq, past + seq), cosines and sines (1, seq, size)."""

    mask: ir.Value
    cos: ir.Value
    sin: ir.Value


def write_decoder(name: str, options: DecoderOptions, arch: Architecture) -> ir.Model:
    """Write a decoder: token numbers (batch, seq) to logits (batch, seq, vocab).

    In decode mode there are inputs ``past_key_values.{i}.key`` and ``.value`` (batch, kv_heads, past, size),
    and with ``use_cache`` outputs ``present.{i}.key`` and ``.value`` (batch, kv_heads, past + seq, size).
    """
    source = weight_source(name, options.weights, options.seed)
    w = Writer(arch.class_name("ForCausalLM"), dtype=options.dtype, weights=source)
    ids = w.input("input_ids", (options.batch, options.seq), aten.INT64)
    size = options.hidden // options.heads
    cache = [
        tuple(
            w.input(f"past_key_values.{i}.{part}", (options.batch, options.kv_heads, options.past, size))
            for part in ("key", "value")
        )
        for i in range(options.layers if options.mode == "decode" else 0)
    ]
    tokens = read_tokens(w, ids, options.batch, options.seq, cache[0][0] if cache else None)
    present: list[tuple[ir.Value, ir.Value]] = []
    with w.module("model", arch.class_name("Model")):
        with w.module("embed_tokens", "torch.nn.modules.sparse.Embedding"):
            x = aten.embedding(w, ids, options.vocab, options.hidden)
        positions = find_positions(w, tokens)
        mask = causal_mask(w, tokens, positions)
        context = _Context(mask, *_rotary_tables(w, options, arch, positions))
        for i in range(options.layers):
            with w.module(f"layers.{i}", arch.class_name("DecoderLayer")):
                x, grown = _layer(w, options, arch, x, context, cache[i] if cache else None)
            present.append(grown)
        x = rms_norm(w, "norm", x, arch)
    # logits_to_keep of transformers: all of them.
    logits = aten.linear(w, "lm_head", aten.slice_(w, x, 1), options.vocab, bias=False)
    w.output("logits", logits)
    if options.use_cache:
        for i, (key, value) in enumerate(present):
            w.output(f"present.{i}.key", key)
            w.output(f"present.{i}.value", value)
    return w.model()


def rms_norm(w: Writer, name: str, x: ir.Value, arch: Architecture) -> ir.Value:
    """Root mean square norm: gain * x / sqrt(mean(x^2) + epsilon), the quotient in float32.

    Source: Zhang and Sennrich, arXiv:1910.07467.
    """
    *outer, hidden = dims_of(x)
    assert isinstance(hidden, int)
    with w.module(name, arch.class_name("RMSNorm")):
        wide = aten.to_copy(w, x, aten.FLOAT)
        with w.call("aten.pow.Tensor_Scalar"):
            two = w.own_constant(2.0, aten.FLOAT)
            square = w.result("Pow", wide, two, shape=dims_of(x), dtype=aten.FLOAT)
        mean = aten.mean(w, square, [-1], (*outer, 1))
        mean = aten.with_scalar(w, "Add", "aten.add.Tensor", mean, arch.rms_epsilon)
        with w.call("aten.rsqrt.default"):
            root = w.op("Sqrt", mean)
            inverse = w.result("Reciprocal", root, shape=dims_of(mean), dtype=aten.FLOAT)
        normal = aten.to_copy(w, aten.mul(w, wide, inverse), w.dtype)
        return aten.mul(w, w.weight("weight", (hidden,), "gain"), normal)


def gated_mlp(w: Writer, names: tuple[str, str, str], x: ir.Value, intermediate: int, activation: str) -> ir.Value:
    """SwiGLU: down(silu(gate(x)) * up(x)); ``names`` are those of gate, up and down.

    Source: Shazeer, arXiv:2002.05202.
    """
    hidden = dims_of(x)[-1]
    assert isinstance(hidden, int)
    gate = aten.linear(w, names[0], x, intermediate, bias=False)
    with w.module("act_fn", activation), w.call("aten.silu.default"):
        gate = w.result("Mul", gate, w.op("Sigmoid", gate), shape=dims_of(gate))
    up = aten.linear(w, names[1], x, intermediate, bias=False)
    return aten.linear(w, names[2], aten.mul(w, gate, up), hidden, bias=False)


def dense_mlp(prefix: str) -> Callable[[Writer, DecoderOptions, ir.Value], ir.Value]:
    """The MLP module of a dense decoder whose class names begin with ``prefix``."""
    package = prefix.lower()

    def write(w: Writer, options: DecoderOptions, x: ir.Value) -> ir.Value:
        with w.module("mlp", f"transformers.models.{package}.modeling_{package}.{prefix}MLP"):
            names = ("gate_proj", "up_proj", "down_proj")
            return gated_mlp(w, names, x, options.intermediate, "transformers.activations.SiLUActivation")

    return write


def _rotary_tables(
    w: Writer, options: DecoderOptions, arch: Architecture, positions: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """Cosines and sines (1, seq, size) of position * theta^(-2i/size), in the activations' type."""
    size = options.hidden // options.heads
    with w.module("rotary_emb", arch.class_name("RotaryEmbedding")):
        exponents = np.arange(0, size, 2, dtype=np.float32) / size
        frequencies = w.buffer("inv_freq", (1.0 / arch.rope_theta**exponents).astype(np.float32))
        column = aten.to_copy(w, aten.unsqueeze(w, positions, 2), aten.FLOAT)
        half = aten.mul(w, column, frequencies)
        angles = aten.cat(w, (half, half), -1, size)
        # Times 1: the attention scaling, which only extended contexts change.
        cos = aten.unary(w, "Cos", "aten.cos.default", angles)
        cos = aten.with_scalar(w, "Mul", "aten.mul.Tensor", cos, 1.0)
        sin = aten.unary(w, "Sin", "aten.sin.default", angles)
        sin = aten.with_scalar(w, "Mul", "aten.mul.Tensor", sin, 1.0)
        return aten.to_copy(w, cos, w.dtype), aten.to_copy(w, sin, w.dtype)


def _layer(
    w: Writer,
    options: DecoderOptions,
    arch: Architecture,
    x: ir.Value,
    context: _Context,
    cache: tuple[ir.Value, ...] | None,
) -> tuple[ir.Value, tuple[ir.Value, ir.Value]]:
    """One decoder layer; the result and the layer's keys and values."""
    normal = rms_norm(w, "input_layernorm", x, arch)
    with w.module("self_attn", arch.class_name("Attention")):
        attended, grown = _attention(w, options, arch, normal, context, cache)
    x = aten.add(w, x, attended)
    normal = rms_norm(w, "post_attention_layernorm", x, arch)
    return aten.add(w, x, arch.mlp(w, options, normal)), grown


def _attention(
    w: Writer,
    options: DecoderOptions,
    arch: Architecture,
    x: ir.Value,
    context: _Context,
    cache: tuple[ir.Value, ...] | None,
) -> tuple[ir.Value, tuple[ir.Value, ir.Value]]:
    size = options.hidden // options.heads
    query, key, value = (
        split_heads(w, aten.linear(w, name, x, heads * size, bias=arch.qkv_bias), heads)
        for name, heads in (
            ("q_proj", options.heads),
            ("k_proj", options.kv_heads),
            ("v_proj", options.kv_heads),
        )
    )
    cos, sin = aten.unsqueeze(w, context.cos, 1), aten.unsqueeze(w, context.sin, 1)
    query, key = rotate(w, query, cos, sin), rotate(w, key, cos, sin)
    if cache is not None:
        total = dims_of(context.mask)[-1]
        key = aten.cat(w, (cache[0], key), -2, total)
        value = aten.cat(w, (cache[1], value), -2, total)
    times = options.heads // options.kv_heads
    mixed = scaled_dot_product(w, query, repeat_heads(w, key, times), repeat_heads(w, value, times), context.mask)
    return aten.linear(w, "o_proj", merge_heads(w, mixed), options.hidden, bias=False), (key, value)
