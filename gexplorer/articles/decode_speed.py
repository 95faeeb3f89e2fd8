"""Row 7: tokens a second of Qwen2.5-7B as fusion goes on, beside the roofline."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.articles.written import compiled
from gexplorer.compiler import Compilation
from gexplorer.compiler import compile as compile_

_MODEL = "qwen2.5-7b:mode=decode,past=1024"
# Weights are read either way round in all builds: nobody transposes them anew for every token.
_BASE = ("matmul_transpose", "matmul_operator")
_NORM_QKV = ("rms_norm", "matmul_bias", "add_rms_norm", "qkv", "norm_qkv", "norm_matmul")
_ATTENTION = ("rotary_embedding", "rotary_pair", "softmax", "flash_attention", "attention_operator")
_FFN = ("swish", "swiglu", "gate_up", "matmul_activation", "linear_silu", "matmul_residual")
_GAINS = (1.393, 1.436, 1.298)  # of the article's three lines, as its figures have them: 124/89, 178/124, 231/178
_ATTENTION_ALONE = """
input %q : float16[1,32,2048,128]
input %k : float16[1,32,128,2048]
input %v : float16[1,32,2048,128]
%s = MatMul(%q, %k) #scores
%p = Softmax(%s) {axis = -1} #shares
%y = MatMul(%p, %v) #weighted
output %y
"""


class DecodeSpeed(Row):
    """One token at a time with 1,024 behind it, float16, batch 1; each line has the rules of those above it too."""

    row = 7
    title = "Qwen2.5-7B, one token at a time: LN + QKV, attention, FFN fused in turn"
    article = says(
        unfused_tokens_per_s=89,
        norm_qkv_tokens_per_s=124,
        attention_tokens_per_s=178,
        ffn_tokens_per_s=231,
        all_tokens_per_s=267,
    )
    note = (
        "The article's three gains multiply to 1.393 x 1.436 x 1.298 = 2.596, which makes 231 of 89; its fourth line, "
        "267, needs another 1.156 that no line of its explains. At batch 1 in 16 bits every token reads all weights: "
        "the roofline of HBM's nominal rate lies below all but its first line. Fusion hardly changes those bytes. What "
        "it changes is the number of kernels: in eager mode the host dispatches each, and that is what the time goes "
        "into. Less traffic is what attention gains on long prompts (last figures: 2,048 tokens, 32 heads of 128)."
    )

    def compute(self) -> Mapping[str, object]:
        """Tokens a second in eager and in graph mode, kernels, traffic and roofline; attention's traffic alone."""
        build = compile_(_MODEL, preset="unconfigured", fusion=dict.fromkeys(_BASE, True))
        builds = {"unfused": build}
        for name, more in (("norm_qkv", _NORM_QKV), ("attention", _ATTENTION), ("ffn", _FFN)):
            build = builds[name] = build.replace(fusion=dict.fromkeys(more, True))
        builds["all"] = build.replace(preset="ge")
        cost = builds["all"].cost
        apart, flash = (compiled(_ATTENTION_ALONE, preset=preset).cost for preset in ("unconfigured", "ge"))
        product = _GAINS[0] * _GAINS[1] * _GAINS[2]
        return {
            "builds": [_line(name, build) for name, build in builds.items()],
            "compulsory_bytes": int(cost.compulsory_bytes),
            "roofline_tokens_per_s": _rate(cost.compulsory_bytes / cost.chip.hbm.bytes_per_us),
            "achieved_roofline_tokens_per_s": _rate(cost.compulsory_bytes / cost.chip.hbm.achieved_bytes_per_us),
            "article_gains_multiplied": round(product, 3),
            "article_tokens_per_s_by_its_gains": round(89 * product, 1),
            "attention_apart_hbm_bytes": int(apart.hbm_bytes),
            "attention_fused_hbm_bytes": int(flash.hbm_bytes),
            "attention_hbm_ratio": round(apart.hbm_bytes / flash.hbm_bytes, 2),
        }


def _line(name: str, build: Compilation) -> dict[str, object]:
    cost = build.cost
    return {
        "fused": name,
        "kernels": len(cost.rows),
        "eager_tokens_per_s": _rate(cost.eager_us),
        "graph_tokens_per_s": _rate(cost.graph_us),
        "hbm_bytes": int(cost.hbm_bytes),
        "launch_share": round(cost.launch_us / cost.latency_us, 3),
    }


def _rate(us: float) -> float:
    return round(1e6 / us, 1)
