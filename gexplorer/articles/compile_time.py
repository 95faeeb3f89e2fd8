"""Row 14: where the time to compile goes, and what the three fast modes change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from time import process_time
from typing import TypeVar

from gexplorer.articles.row import Row, says
from gexplorer.compiler import Compilation
from gexplorer.compiler import compile as compile_
from gexplorer.cost.graph import cost_of
from gexplorer.cost.staged import Costs, Tiling
from gexplorer.memory.stage import plan_memory
from gexplorer.options import Options

_MODEL = "qwen2.5-7b"
_FEW, _MANY = 4, 16


class CompileTime(Row):
    """Qwen2.5-7B: time by stage, the dearest steps, growth with the layers, and each mode beside the full one."""

    row = 14
    title = "Why compiling is slow, and the three fast modes"
    article = says(
        parsing_ms=1200,
        fusion_ms=4800,
        memory_ms=3000,
        kernels_ms=2400,
        validation_ms=1200,
        fusion_grows_with="N^2",
        liveness_grows_with="N^2",
        cure="GE_FUSION_PASS_MODE=fast, GE_MEM_PLANNING_MODE=fast, GE_TILING_SEARCH_MODE=fast: 15 min become 4",
    )
    note = (
        "The article's stages sum to 12.6 s, while it speaks of 8 + 5 + 2 min elsewhere: these are two programs. 300 "
        "operators squared are 90,000 looks, no minutes. Neither fusion nor liveness is quadratic: growth_exponent "
        "is the power of the number of layers with which the whole time grows here, 1 being linear. The price of a "
        "fast mode is what it leaves undone, so kernels, pool and modelled time stand beside the time that it saves."
    )

    def compute(self) -> Mapping[str, object]:
        """Milliseconds by stage; each mode fast and full with what comes of it."""
        full = min((compile_(_MODEL) for _ in range(2)), key=lambda built: sum(step.seconds for step in built.steps))
        return {
            "stages_ms": _by_stage(full),
            "dearest_steps_ms": _dearest(full),
            "growth_exponent": round(_growth(), 2),
            "fusion_modes": [{"mode": mode, **_fusion(built)} for mode, built in _fused(full).items()],
            "memory_modes": [{"mode": mode, **_memory(full, mode)} for mode in ("exact", "balanced", "fast")],
            "tiling_modes": [{"mode": tiling, **_tiling(full, tiling)} for tiling in _TILINGS],
        }


_T = TypeVar("_T")
_TILINGS: tuple[Tiling, ...] = ("exhaustive", "fast")


def _by_stage(built: Compilation) -> dict[str, float]:
    stages: dict[str, float] = {}
    for step in built.steps:
        stages[step.stage] = stages.get(step.stage, 0.0) + 1e3 * step.seconds
    return {stage: round(ms, 1) for stage, ms in stages.items()}


def _dearest(built: Compilation) -> dict[str, float]:
    dearest = sorted(built.steps, key=lambda step: -step.seconds)[:5]
    return {step.name: round(1e3 * step.seconds, 1) for step in dearest}


def _growth() -> float:
    """The power of the number of layers with which the time to compile grows; the quicker of two runs counts."""
    few, many = (
        min(_timed(lambda model=f"{_MODEL}:layers={layers}": compile_(model))[0] for _ in range(2))
        for layers in (_FEW, _MANY)
    )
    return log(many / few) / log(_MANY / _FEW)


def _fused(full: Compilation) -> dict[str, Compilation]:
    return {"full": full, "fast": compile_(_MODEL, fusion_mode="fast")}


def _fusion(built: Compilation) -> dict[str, object]:
    return {
        "ms": _by_stage(built)["passes"],
        "kernels": len(built.cost.rows),
        "modelled_us": round(built.cost.latency_us, 1),
    }


def _memory(built: Compilation, mode: str) -> dict[str, object]:
    ms, memory = _timed(lambda: plan_memory(built.graph, Options(memory=mode).wishes()))
    return {"ms": ms, "pool_bytes": memory.pool_bytes}


def _tiling(built: Compilation, tiling: Tiling) -> dict[str, object]:
    costs = Costs(built.cost.chip, tiling)
    ms, cost = _timed(lambda: cost_of(built.graph, built.cost.chip, costs=costs))
    return {"ms": ms, "searched": costs.searched, "modelled_us": round(cost.latency_us, 1)}


def _timed(work: Callable[[], _T]) -> tuple[float, _T]:
    start = process_time()
    made = work()
    return round(1e3 * (process_time() - start), 1), made
