"""``ge.init()``: what the articles' programs expect of torch with an NPU, where there is none."""

from __future__ import annotations

import sys
from typing import Any


def init(config: dict[str, str] | None = None) -> None:
    """Makes ``tensor.npu()`` and ``module.npu()`` return the thing itself where torch has no NPU; else does nothing.

    ``config`` is taken for the articles' sake and not used. ``finalize`` takes the methods away again. Torch is not
    imported: who has not imported it needs no such method.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return
    for kind in (torch.Tensor, torch.nn.Module):
        if not hasattr(kind, "npu"):
            kind.npu = _stays  # type: ignore[attr-defined]


def finalize() -> None:
    """Takes away what ``init`` has added."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    for kind in (torch.Tensor, torch.nn.Module):
        if kind.__dict__.get("npu") is _stays:
            del kind.npu  # type: ignore[attr-defined]


def _stays(self: Any, *_: object, **__: object) -> Any:
    return self
