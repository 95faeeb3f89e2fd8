"""Qwen2.5 (Qwen team, arXiv:2412.15115): a Llama-like decoder whose q, k and v projections have a bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gexplorer.frontends.zoo.decoder import Architecture, DecoderOptions, dense_mlp, write_decoder
from gexplorer.frontends.zoo.entry import ZooEntry

if TYPE_CHECKING:
    import onnx_ir as ir

_QWEN2 = Architecture("Qwen2", rope_theta=1e6, rms_epsilon=1e-6, qkv_bias=True, mlp=dense_mlp("Qwen2"))


def _write(name: str, options: DecoderOptions) -> ir.Model:
    return write_decoder(name, options, _QWEN2)


ENTRIES = (
    ZooEntry(
        name="qwen2.5-7b",
        summary="Qwen2.5 7B: a decoder of 28 layers, 28 heads on 4 key-value heads, 7.6 billion parameters.",
        source="config.json of Qwen/Qwen2.5-7B-Instruct (vocabulary padded to 152,064); arXiv:2412.15115",
        options=DecoderOptions(layers=28, hidden=3584, heads=28, kv_heads=4, intermediate=18944, vocab=152064),
        small={
            "layers": 2,
            "hidden": 64,
            "heads": 8,
            "kv_heads": 2,
            "intermediate": 128,
            "vocab": 256,
            "seq": 8,
            "weights": "random",
        },
        write=_write,
    ),
)
