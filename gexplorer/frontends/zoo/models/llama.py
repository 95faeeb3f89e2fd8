"""Llama 2 (Touvron et al., arXiv:2307.09288): 7B with full attention, 70B with 8 key-value heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gexplorer.frontends.zoo.decoder import Architecture, DecoderOptions, dense_mlp, write_decoder
from gexplorer.frontends.zoo.entry import ZooEntry

if TYPE_CHECKING:
    import onnx_ir as ir

_LLAMA = Architecture("Llama", rope_theta=10_000.0, rms_epsilon=1e-5, qkv_bias=False, mlp=dense_mlp("Llama"))


def _write(name: str, options: DecoderOptions) -> ir.Model:
    return write_decoder(name, options, _LLAMA)


ENTRIES = (
    ZooEntry(
        name="llama2-7b",
        summary="Llama 2 7B: a decoder of 32 layers with full multi-head attention, 6.7 billion parameters.",
        source="config.json of meta-llama/Llama-2-7b-hf; arXiv:2307.09288",
        options=DecoderOptions(layers=32, hidden=4096, heads=32, kv_heads=32, intermediate=11008, vocab=32000),
        small={
            "layers": 2,
            "hidden": 64,
            "heads": 4,
            "kv_heads": 4,
            "intermediate": 128,
            "vocab": 256,
            "seq": 8,
            "weights": "random",
        },
        write=_write,
    ),
    ZooEntry(
        name="llama-70b",
        summary="Llama 2 70B: a decoder of 80 layers, 64 heads on 8 key-value heads, 69 billion parameters.",
        source="config.json of meta-llama/Llama-2-70b-hf; arXiv:2307.09288",
        options=DecoderOptions(layers=80, hidden=8192, heads=64, kv_heads=8, intermediate=28672, vocab=32000),
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
