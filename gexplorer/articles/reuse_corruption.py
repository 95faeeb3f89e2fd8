"""Row 15: a batch above 64, and memory that is reused wrongly."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_
from gexplorer.memory.museum.discovery import all_exhibits

_TOKENS, _HIDDEN, _FP32_BYTES = 2048, 4096, 4


class ReuseCorruption(Row):
    """The size at which a 32-bit size field turns negative, the bug it makes, and what the safe mode costs."""

    row = 15
    title = "Results go wrong above batch 64 through wrong reuse; a safe mode cures it"
    article = says(wrong_above_batch=64, cure="GE_MEM_PLANNING_MODE=safe")
    note = (
        "The articles name no cause. One that fits the number: an fp32 tensor of [64, 2048, 4096] has exactly 2^31 "
        "bytes, where a 32-bit size turns negative, so a block looks too small to matter. The real GE has no variable "
        "of that name; here safe means nothing in place, no touching lifetimes, no reuse across streams."
    )

    def compute(self) -> Mapping[str, object]:
        """The first batch that overflows, whether the verifier catches what follows, and safe's price for BERT."""
        largest = int(np.iinfo(np.int32).max)
        exhibit = next(found for found in all_exhibits() if found.name == "int32_size")
        spoilt = exhibit.spoil(exhibit.example())
        memory = compile_("bert-base").memory
        return {
            "first_batch_beyond_int32": -(-(largest + 1) // (_TOKENS * _HIDDEN * _FP32_BYTES)),
            "injected_bug": exhibit.name,
            "caught_by_verifier": spoilt is not None and exhibit.caught(spoilt) is not None,
            "bert_base_pool_bytes": memory.pool_bytes,
            "bert_base_safe_price_bytes": memory.safety_price_bytes,
        }
