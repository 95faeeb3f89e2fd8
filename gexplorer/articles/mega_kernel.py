"""Row 8: a whole layer as one kernel is slower than the same layer in a few."""

from __future__ import annotations

from collections.abc import Mapping

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_
from gexplorer.cost.kernel_work import KernelWork
from gexplorer.cost.over_fusion import over_fusion, split_times
from gexplorer.cost.staged import Costs

_RULE = "mega_kernel"


class MegaKernel(Row):
    """One layer of Qwen2.5-7B on 2,048 tokens: every operator alone, GE's kernels, one kernel, and splits of that."""

    row = 8
    title = "LN + QKV + attention + FFN in one kernel: over-fusion"
    article = says(slower=0.15, cause="L1 overflows, intermediates spill to HBM", cure="split the kernel in two")
    note = (
        "The sign and the cause are the article's; its 15 % is not a constant of nature: it moves with chip, shape and "
        "what it is compared with. Between one kernel for every operator and one for all lies an optimum. With "
        "fuse_when=if_profitable the rule declines here, and says this reckoning."
    )

    def compute(self) -> Mapping[str, object]:
        """By chip: the kernel's time, what it spills, its best splits; and the model with more and less fusion."""
        return {soc: _on(soc) for soc in ("Ascend910B3", "Ascend910A")}


def _on(soc: str) -> dict[str, object]:
    mega = compile_("qwen2.5-7b:layers=1", soc=soc, fusion={_RULE: True})
    usual = mega.replace(fusion={_RULE: False})
    apart = mega.replace(preset="unconfigured", fusion={_RULE: False, "matmul_transpose": True})
    costs = Costs(mega.cost.chip)
    (warning,) = over_fusion(mega.cost, costs)
    (work,) = (row.work for row in mega.cost.rows if row.node == warning.node)
    assert isinstance(work, KernelWork)
    times = split_times(work.stages, costs)
    builds = {"operators_alone": apart, "ge": usual, "mega_kernel": mega}
    return {
        "buffer": warning.buffer,
        "need_bytes": int(warning.need_bytes),
        "capacity_bytes": warning.capacity_bytes,
        "spilled_bytes": int(warning.spilled_bytes),
        "kernel_us": round(warning.whole_us, 1),
        "best_split_us": round(warning.split_us, 1),
        "slower": round(warning.slower, 4),
        "best_split": " | ".join("+".join(part) for part in warning.split),
        "split_in": [{"kernels": count, "us": round(us, 1)} for count, us in enumerate(times, 1)],
        "model": [
            {"fused": name, "kernels": len(build.cost.rows), "us": round(build.cost.latency_us, 1)}
            for name, build in builds.items()
        ],
    }
