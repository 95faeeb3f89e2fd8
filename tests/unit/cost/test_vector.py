from __future__ import annotations

import pytest

from gexplorer.cost import vector_work
from gexplorer.cost.vector import move_cost, run_slowdown, vector_cost
from gexplorer.cost.work import Instructions
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.dtypes import DType

CHIP = load_chip("teaching")  # eight vector cores, 100 bytes a cycle at 1 GHz, 50 GB/s in and out of UB, 100 GB/s HBM


def test_by_hand_an_addition():
    work = vector_work.elementwise((8, 100_000), DType.FLOAT32, inputs=2)
    cost = vector_cost(work, CHIP)
    assert work.compulsory_bytes == 3 * 3.2e6
    assert cost.pipes["vector"][0] == pytest.approx(400_000 / 100 / 1000)
    assert cost.pipes["mte2"][0] == pytest.approx(800_000 / 50e3)
    assert cost.pipes["mte3"][0] == pytest.approx(400_000 / 50e3)
    assert cost.bound[0] == "mte2"
    tiles = 19  # 1.2 MB of a core through half of UB
    assert cost.total_us[0] == pytest.approx(1 + 16 + (4 + 8) / tiles + 0.2)
    assert cost.hbm_bytes[0] == 0  # 9.6 MB stay in L2
    assert cost.l2_bytes[0] == cost.ub_bytes[0] == work.compulsory_bytes


def test_what_l2_does_not_hold_runs_at_the_rate_of_hbm():
    work = vector_work.elementwise((10_000_000,), DType.FLOAT32)
    cost = vector_cost(work, CHIP)
    assert cost.bound[0] == "hbm"
    assert cost.hbm_bytes[0] == pytest.approx(80e6, rel=0.01)  # L2 still holds the odd byte
    assert cost.total_us[0] == pytest.approx(1 + cost.hbm_bytes[0] / 100e3)
    held = vector_cost(work, CHIP, resident_bytes=40e6)
    assert held.hbm_bytes[0] == 40e6
    assert held.total_us[0] < cost.total_us[0]


def test_few_rows_leave_cores_idle():
    one, eight, nine = (vector_cost(vector_work.softmax(rows, 4096, DType.FLOAT16), CHIP) for rows in (1, 8, 9))
    assert one.total_us[0] == eight.total_us[0]
    body = (eight.pipes["vector"][0], nine.pipes["vector"][0])
    assert body[1] == pytest.approx(2 * body[0])


def test_every_core_that_has_rows_reads_what_they_share():
    few, many = (vector_work.layer_norm(rows, 1000, DType.FLOAT32) for rows in (3, 80))
    assert few.shared_bytes == many.shared_bytes == 8000
    for work, cores in ((few, 3), (many, 8)):
        cost = vector_cost(work, CHIP, resident_bytes=0)
        assert cost.l2_bytes[0] == cost.ub_bytes[0] == work.compulsory_bytes + (cores - 1) * 8000
        assert cost.hbm_bytes[0] == work.compulsory_bytes  # once, by the first of them


def test_passes_are_priced_by_the_chip():
    rows = 8
    work = vector_work.softmax(rows, 1000, DType.FLOAT32)
    # Two simple passes, an exponential and two reductions of two passes each over float32, and 20 cycles a row.
    assert vector_cost(work, CHIP).pipes["vector"][0] == pytest.approx((1000 * 4 * 7 / 100 + 20) / 1000)
    assert work.flops == rows * 1000 * 5


@pytest.mark.parametrize(
    ("work", "read", "write"),
    [
        (vector_work.layer_norm(10, 100, DType.FLOAT16), 2000 + 400, 2000),
        (vector_work.layer_norm(10, 100, DType.FLOAT16, added=True), 4000 + 400, 4000),
        (vector_work.rms_norm(10, 100, DType.FLOAT16), 2000 + 200, 2000),
        (vector_work.reduction(10, 100, DType.FLOAT32), 4000 + 40, 0),
        (vector_work.swiglu(10, 100, DType.FLOAT16), 4000, 2000),
        (vector_work.elementwise((10, 100), DType.INT8, inputs=3), 3000, 1000),
    ],
)
def test_bytes_of_the_usual_operators(work, read, write):
    assert (work.read_bytes, work.write_bytes) == (read, write)


def test_more_instructions_cost_more():
    cheap, dear = (
        vector_cost(vector_work.elementwise((1 << 20,), DType.FLOAT32, instructions=Instructions(simple=n)), CHIP)
        for n in (1, 50)
    )
    assert dear.bound[0] == "vector"
    assert dear.total_us[0] > cheap.total_us[0]


def test_short_runs_slow_a_move():
    assert run_slowdown(512) == run_slowdown(4096) == 1
    assert run_slowdown(256) == 2
    assert run_slowdown(2) == pytest.approx(16 * 16)
    long, short = (move_cost(vector_work.transpose((64, 64, 512), DType.FLOAT16, run), CHIP) for run in (512, 16))
    assert short.total_us[0] > 5 * long.total_us[0]
    assert long.hbm_bytes[0] == 0
    assert vector_work.gather(10, 100, DType.FLOAT16).read_bytes == 2000 + 80
