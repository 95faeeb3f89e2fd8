"""The best splits of a kernel that is fused too far, by the number of kernels."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

import gexplorer as gx
from gexplorer.cost.over_fusion import best_split, over_fusion, split_times
from gexplorer.cost.staged import Costs


@pytest.mark.parametrize("model", ["qwen2.5-7b:layers=1,seq=512", "bert-base:layers=1,seq=512"])
def test_the_best_split_into_each_number_of_kernels_is_the_best_of_all_cuts(model):
    compiled = gx.compile(model, fusion={"mega_kernel": True})
    costs = Costs(compiled.cost.chip)
    (stages,) = {row.work.stages for row in compiled.cost.rows if row.op == "TransformerLayer"}
    times = split_times(stages, costs)
    assert len(times) == len(stages) > 3
    for count, us in enumerate(times, 1):
        cuts = ((0, *chosen, len(stages)) for chosen in combinations(range(1, len(stages)), count - 1))
        assert us == pytest.approx(min(sum(costs.stages_us(stages[a:b]) for a, b in pairwise(cut)) for cut in cuts))
    assert min(times) == pytest.approx(best_split(stages, costs)[0])
    (warning,) = over_fusion(compiled.cost, costs)
    assert (warning.whole_us, warning.split_us) == pytest.approx((times[0], min(times)))
