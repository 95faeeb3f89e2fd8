"""The views of a memory plan: every number recomputed from the columns, every picture from its rectangles."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gexplorer as gx
from gexplorer.errors import OptionError
from gexplorer.memory.findings import Finding, Findings
from gexplorer.memory.plan import DEFINITIONS, Plan
from gexplorer.memory.planners.base import Placement
from gexplorer.memory.problem import make_problem
from gexplorer.memory.program import Kind
from gexplorer.memory.standalone import compare_planners, plan_problem
from gexplorer.memory.verify import verify_placement
from gexplorer.views.log import framed, log_lines
from gexplorer.views.memory import (
    kind_rows,
    memory_detail,
    memory_summary,
    peak_rows,
    plan_summary,
    sharing_rows,
    unsized_rows,
)
from gexplorer.views.memory_picture import pool_picture
from gexplorer.views.memory_report import buffer_kinds, memory_report
from gexplorer.views.memory_tensors import occupants, tensor_row, tensor_rows
from gexplorer.views.planners import changes, comparison, planner_rows

# A product of 1,024 x 4 bytes, written over by Exp, seen as another shape, and a Concat whose parts lie where it wants
# them; `w` is a weight, `kept` an output that another operator reads.
MODEL = """<ir_version: 10, opset_import: ["": 18]>
g (float[1, 32] x) => (float[1024] y, float[1, 1024] kept) <float[32, 1024] w, int64[1] s = {1024}> {
  [product] m = MatMul(x, w)
  [exponential] e = Exp(m)
  [tangent] t = Tan(x)
  [sine] v = Sin(x)
  [both] c = Concat <axis = 0> (t, v)
  [sum] z = ReduceSum <keepdims = 0> (c)
  [scaled] q = Mul(e, z)
  [keep] kept = Softmax(e)
  [turned] r = Softmax(q)
  [flat] f = Reshape(r, s)
  [last] y = Tanh(f)
}"""
SUMMARY = {
    *("planner", "pool_bytes", "lower_bound_bytes", "unplanned_bytes", "weight_bytes", "persistent_bytes"),
    *("fragmentation", "proved_optimal", "verified"),
}


def with_weights(text: str = MODEL) -> onnx.ModelProto:
    model = onnx.parser.parse_model(text.replace("float[32, 1024] w, ", ""))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((32, 1024), np.float32), "w"))
    return model


@pytest.fixture(scope="module")
def compiled():
    return gx.compile(with_weights(), fusion={"ALL": False})


@pytest.fixture(scope="module")
def memory(compiled):
    return compiled.memory


def broken(memory_or_problem, offsets) -> Plan:
    problem = getattr(memory_or_problem, "plan", None)
    problem = problem.problem if problem is not None else memory_or_problem
    offsets = np.array(offsets, dtype=np.int64)
    pool = int((offsets + problem.size_bytes).max())
    return Plan(problem, "none", Placement(offsets, pool), 0.0, verify_placement(problem, offsets, pool))


# -- the summary --------------------------------------------------------------------------------------------------


def test_the_summary_has_the_public_keys_and_is_json(compiled, memory):
    summary = memory_summary(memory)
    assert summary.keys() >= SUMMARY
    assert json.loads(json.dumps(summary)) == compiled.summary()["memory"]


def test_every_number_is_what_its_definition_says(memory):
    summary, problem = memory_summary(memory), memory.plan.problem
    load = [
        int(problem.size_bytes[(problem.lower <= point) & (point < problem.upper)].sum())
        for point in range(len(memory.program) + 1)
    ]
    pool, bound, unplanned = summary["pool_bytes"], max(load), int(problem.size_bytes.sum())
    assert summary["lower_bound_bytes"] == bound
    assert summary["unplanned_bytes"] == unplanned
    assert summary["fragmentation"] == pytest.approx(1 - bound / pool)
    assert summary["ratio"] == pytest.approx(pool / bound)
    assert summary["reach_theory_rate"] == pytest.approx(bound / pool)
    assert summary["reuse_rate"] == pytest.approx((unplanned - pool) / unplanned)
    length = int(problem.upper.max() - problem.lower.min())
    area = int(((problem.upper - problem.lower) * problem.size_bytes).sum())
    assert summary["occupancy"] == pytest.approx(area / (pool * length))
    raw = memory.what_if(alignment="none").plan.problem.bound_bytes
    assert summary["alignment_cost_bytes"] == bound - raw
    assert summary["internal_fragmentation"] == pytest.approx(1 - raw / bound)
    assert summary["proved_optimal"] == (pool == bound)
    assert summary["verified"] is True
    assert summary["peak"]["point"] == load.index(bound)
    assert {*DEFINITIONS} >= {"pool", "bound", "fragmentation", "internal", "reuse_rate", "occupancy"}


def test_bytes_besides_the_pool(memory):
    block = 512
    summary = memory_summary(memory)
    assert summary["weight_bytes"] == sum(-(-(raw // 32 * 32 + 32) // block) * block for raw in (32 * 1024 * 4,)) + (
        block if any(kind == "constant" for kind, _, _ in kind_rows(memory)) else 0
    )
    inputs_and_outputs = [32 * 4, 1024 * 4, 1024 * 4]
    assert summary["persistent_bytes"] == sum(-(-(raw + 32) // block) * block for raw in inputs_and_outputs)


def test_a_plan_without_a_model_has_the_same_keys_and_its_offsets(memory):
    plan = plan_problem(make_problem([0, 1, 2], [2, 3, 4], [10, 20, 30]), "fast")
    summary = plan_summary(plan, "fast")
    assert summary.keys() >= SUMMARY | {"seconds", "offsets"}
    assert summary["offsets"] == plan.placement.offsets.tolist()
    assert summary["internal_fragmentation"] is None
    assert json.dumps(summary)


def test_a_defect_in_what_shares_bytes_is_one_of_the_plan(memory):
    finding = Finding("outside_pool", (0,), {"first": "m", "end": 9, "pool_bytes": 8})
    summary = memory_summary(replace(memory, findings=Findings([finding], {"outside_pool": 1})))
    assert memory.plan.proved_optimal
    assert (summary["verified"], summary["proved_optimal"]) == (False, False)
    assert [row["reason"] for row in summary["findings"]] == ["m ends at byte 9 of a pool of 8 bytes"]
    assert summary["defects"] == {"outside_pool": 1}


def test_nothing_to_plan_has_a_summary(memory):
    model = onnx.parser.parse_model('<ir_version: 9, opset_import: ["" : 17]> g (float[2] x) => (float[2] x) { }')
    nothing = gx.compile(model).memory
    summary = memory_summary(nothing)
    assert (summary["pool_bytes"], summary["fragmentation"], summary["occupancy"]) == (0, 0.0, 0.0)
    assert summary["peak"] == {"operator": "", "point": 0, "buffers": 0}
    assert peak_rows(nothing) == []
    assert memory_report(nothing).picture.blocks == ()


# -- peak, kinds, sharing -----------------------------------------------------------------------------------------


def test_what_is_alive_at_the_peak_adds_up_to_the_bound(memory):
    rows = peak_rows(memory)
    assert sum(row.size_bytes for row in rows) == memory.plan.problem.bound_bytes
    assert [row.size_bytes for row in rows] == sorted((row.size_bytes for row in rows), reverse=True)
    point = memory.bounds.peak
    for row in rows:
        assert row.first <= point <= row.last
        assert tensor_row(memory, row.tensor).producer == row.producer


def test_tensors_without_bytes_of_their_own_are_counted_by_the_reason(memory):
    rows = {row.sharing: row for row in sharing_rows(memory)}
    told = [row for row in tensor_rows(memory) if row.sharing]
    assert {"in_place", "view", "concat"} == {*rows}
    for sharing, row in rows.items():
        own = [one for one in told if one.sharing == sharing]
        assert (row.tensors, row.size_bytes) == (len(own), sum(one.size_bytes for one in own))


def test_kinds_cover_every_buffer(memory):
    rows = kind_rows(memory)
    assert sum(number for _, number, _ in rows) == len(memory.liveness.size_bytes)
    assert sum(size for _, _, size in rows) == int(memory.liveness.size_bytes.sum())


# -- tensors ------------------------------------------------------------------------------------------------------


def test_a_tensor_says_who_writes_and_reads_it_and_where_it_lies(memory):
    row = tensor_row(memory, "m")
    assert (row.kind, row.producer, row.readers, row.size_bytes) == ("intermediate", "product", ("exponential",), 4096)
    assert (row.first_write, row.last_read) == (0, 1)
    assert tensor_row(memory, "x").first_write is None
    assert tensor_row(memory, "x").readers == ("product", "tangent", "sine")
    assert tensor_row(memory, "y").last_read is None or tensor_row(memory, "y").kind == "output"
    assert tensor_row(memory, "w").address >= memory.pool_bytes


@pytest.mark.parametrize(
    ("tensor", "host", "sharing", "why"),
    [
        ("e", "m", "in_place", "exponential writes it over m, which nobody needs any more"),
        ("f", "r", "view", "the same bytes as r under another shape"),
        ("t", "c", "concat", "written straight to where c has it, so that both has nothing to copy"),
        ("m", "", "", ""),
    ],
)
def test_a_tensor_says_with_whom_it_shares_and_why(memory, tensor, host, sharing, why):
    row = tensor_row(memory, tensor)
    assert (row.shares_with, row.sharing, row.why) == (host, sharing, why)
    if host:
        assert row.buffer == tensor_row(memory, host).buffer


def test_addresses_of_two_parts_lie_one_behind_the_other(memory):
    t, v, c = (tensor_row(memory, name) for name in "tvc")
    assert (t.address - c.address, v.address - c.address) == (0, 128)


def test_no_two_live_tensors_of_different_buffers_share_an_address(memory):
    rows = [row for row in tensor_rows(memory) if row.address is not None]
    first, last = memory.liveness.first, memory.liveness.last
    for a in rows:
        for b in rows:
            apart = a.address + a.size_bytes <= b.address or b.address + b.size_bytes <= a.address
            never = last[a.buffer] < first[b.buffer] or last[b.buffer] < first[a.buffer]
            assert a.buffer == b.buffer or apart or never


def test_who_had_the_bytes_before_and_who_gets_them(memory):
    plan = memory.plan
    for row, buffer in enumerate(memory.pool_buffers.tolist()):
        name = memory.program.tensors[int(memory.liveness.owner[buffer])]
        before, after = occupants(memory, name)
        low, high = plan.placement.offsets, plan.placement.offsets + plan.problem.size_bytes
        expected = {
            plan.problem.name(i) for i in range(len(low)) if i != row and low[i] < high[row] and low[row] < high[i]
        }
        assert {one.name for one in (*before, *after)} == expected
        assert all(one.last < memory.liveness.first[buffer] for one in before)
        assert all(one.first > memory.liveness.last[buffer] for one in after)
        assert [one.last for one in before] == sorted((one.last for one in before), reverse=True)
    assert occupants(memory, "w") == ([], [])


def test_an_unknown_tensor_is_refused_with_the_nearest(memory):
    with pytest.raises(OptionError, match=r"no tensor 'kep'; did you mean kept\?"):
        tensor_row(memory, "kep")


def test_a_tensor_without_a_size_says_why():
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 18]> g (float[8] x) => (float[8] y) {
          [found] i = NonZero(x) [half] h = Cast <to = 1> (i) [sum] z = ReduceSum <keepdims = 0> (h) y = Mul(x, z) }"""
    )
    memory = gx.compile(model).memory
    assert memory.program.unsized
    for name, reason in memory.program.unsized.items():
        row = tensor_row(memory, name)
        assert (row.size_bytes, row.buffer, row.address, row.unsized) == (None, None, None, reason)
        assert reason
    rows = unsized_rows(memory)
    assert sum(row.tensors for row in rows) == len(memory.program.unsized)
    for row in rows:
        assert [n for n, reason in memory.program.unsized.items() if reason == row.reason][:5] == [*row.examples]
    summary = memory_summary(memory)
    assert summary["proved_optimal"] is False
    assert memory.plan.proved_optimal  # of what it places
    assert not memory.proved_optimal
    assert not any(row.proved_optimal for row in memory_report(memory).planners)
    assert summary["unsized_tensors"] == len(memory.program.unsized)
    assert [row["reason"] for row in summary["unsized"]] == [row.reason for row in rows]


def test_the_whole_is_json(memory):
    detail = json.loads(json.dumps(memory_detail(memory)))
    assert {*detail} == {"memory", "peak", "tensors"}
    assert [row["name"] for row in detail["tensors"]] == list(memory.program.tensors)


# -- the picture --------------------------------------------------------------------------------------------------

BUFFERS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 6), st.integers(0, 50), st.integers(0, 99)), min_size=1, max_size=12
)


@given(buffers=BUFFERS, most=st.integers(0, 12))
def test_load_and_highest_end_are_right_at_every_point(buffers, most):
    lower, life, size, offset = (np.array(column) for column in zip(*buffers, strict=True))
    plan = broken(make_problem(lower, lower + life, size), offset)
    picture = pool_picture(plan, points=20, most=most)
    for point in range(20):
        alive = (lower <= point) & (point < lower + life)
        index = np.searchsorted(picture.at, point, "right") - 1
        live, top = (picture.live_bytes[index], picture.top_bytes[index]) if index >= 0 else (0, 0)
        assert live == size[alive].sum()
        assert top == (offset + size)[alive].max(initial=0)
    assert picture.live_bytes.max() == picture.bound_bytes
    assert len(picture.blocks) + len(picture.rest) == picture.buffers == len(buffers)
    shown = sorted((b.lower, b.upper, b.offset, b.size_bytes) for b in picture.blocks)
    everything = sorted([*shown, *map(tuple, picture.rest.tolist())])
    assert everything == sorted(zip(*map(np.ndarray.tolist, (lower, lower + life, offset, size)), strict=True))
    least = min((b.size_bytes * (b.upper - b.lower) for b in picture.blocks), default=0)
    assert all(size * (upper - lower) <= least for lower, upper, _, size in picture.rest.tolist()) or not most
    assert dict(picture.kinds) == {"buffer": int(size.sum())}


def test_a_plan_that_begins_late_is_drawn_from_its_first_point():
    picture = pool_picture(plan_problem(make_problem([1000, 1001], [1002, 1003], [4, 4]), "fast"))
    assert picture.points == 3
    assert [block.lower for block in picture.blocks] == [0, 1]


def test_bytes_claimed_twice_are_in_the_picture():
    problem = make_problem([0, 2, 9], [4, 6, 10], [10, 10, 10], ("a", "b", "c"))
    picture = pool_picture(broken(problem, [0, 4, 0]))
    (clash,) = picture.clashes
    assert (clash.first, clash.second) == ("a", "b")
    assert (clash.lower, clash.upper, clash.low, clash.high) == (2, 4, 4, 10)
    assert pool_picture(broken(problem, [0, 10, 0])).clashes == ()


def test_colours_are_the_units_that_write(memory):
    kinds = dict(zip(memory.plan.problem.names, buffer_kinds(memory), strict=True))
    assert kinds["m"] == "cube"
    assert kinds["z"] == "vector"


# -- planners -----------------------------------------------------------------------------------------------------


def test_planners_have_a_row_each(memory):
    plans = memory.compare()
    rows = planner_rows(plans)
    for row, plan in zip(rows, plans, strict=True):
        if isinstance(plan, Plan):
            assert (row.name, row.pool_bytes, row.ratio) == (plan.planner, plan.pool_bytes, plan.ratio)
            assert row.verified == plan.is_sound
        assert row.summary
        assert row.cost
    assert json.dumps(comparison(memory.plan.problem, rows))


def test_an_unsound_plan_has_its_defects_by_code():
    problem = make_problem([0, 0, 0], [4, 4, 4], [10, 10, 10], ("a", "b", "c"))
    (row,) = planner_rows([broken(problem, [0, 0, 0])])
    assert (row.verified, row.proved_optimal) == (False, False)
    assert dict(row.findings) == {"pool_below_bound": 1, "overlap": 3}
    assert row.example == "a and b share 10 bytes from byte 0, and both are alive at points 0 to 3"
    assert row.fragmentation < 0


def test_a_planner_that_declines_says_why():
    problem = make_problem([0, 0], [4, 4], [10, 10], pinned=[0, 30])
    rows = {row.name: row for row in planner_rows(compare_planners(problem))}
    assert rows["best_fit"].declined
    assert rows["best_fit"].pool_bytes == 0
    assert any(row.verified for row in rows.values())


def test_what_a_wish_changes(memory):
    after = memory.what_if(never_reuse=("m",))
    moved = {change.label: (change.before, change.after) for change in changes(memory, after)}
    assert moved["pool"] == (memory.pool_bytes, after.pool_bytes)
    assert moved["peak"][0] < moved["peak"][1]


def test_a_pin_above_the_pool_does_not_move_the_peak(memory):
    """The pool must reach to its end; no more is alive than before."""
    end = memory.pool_bytes + 512 * 100
    after = memory.what_if(pins={memory.plan.problem.names[0]: end})
    moved = {change.label: (change.before, change.after) for change in changes(memory, after)}
    assert moved["pool"][1] > end
    assert moved["peak"][0] == moved["peak"][1]


# -- log lines ----------------------------------------------------------------------------------------------------

SET = re.compile(
    r"\[IMAS\]Set (\S+) name\[(.*?)\] optype\[(\w*)\] (output|workspace)\[(\d+)\] offset to \[(\d+)\]"
    r" streamid\[(\d+)\] memtype\[2\] size\[(\d+)\] realsize\[(\d+)\] noalignsize\[(\d+)\]"
    r" life time begin\[(\d+)\] life time end\[(\d+)\]"
    r" child\[(\d:){4}\d\] isref\[[01]\] batch\[\], block_type\[\w+\]"
)


def imas_lines(compiled, memory, *order: str) -> list[str]:
    lines = [line.message for line in log_lines(compiled.steps, memory, *order)]
    return [line for line in lines if line.startswith("[IMAS]")]


def test_log_lines_tell_life_and_place_of_every_tensor_but_weights(compiled, memory):
    lines = imas_lines(compiled, memory)[:-1]
    told = {match[2]: match for match in map(SET.fullmatch, lines)}
    rows = [row for row in tensor_rows(memory) if row.kind not in ("weight", "constant")]
    assert len(lines) == len(rows)
    for row in rows:
        match = told[row.producer or row.name]
        assert int(match[6]) == row.address
        assert int(match[10]) == row.size_bytes
        assert int(match[8]) % 512 == 0
        assert int(match[9]) == (row.size_bytes + 63) // 32 * 32
        outside = memory.liveness.kind[row.buffer] <= Kind.STATE
        assert int(match[12]) == (4294967295 if outside else memory.liveness.last[row.buffer])
    assert told["product"][3].startswith("MatMul")
    assert told["x"][3] == "Data"


def test_the_last_line_tells_the_whole(compiled, memory):
    line = imas_lines(compiled, memory, "bfs")[-1]
    summary = memory_summary(memory)
    assert line == (
        f"[IMAS]AfterAssignMemory : g memoffset[{memory.pool_bytes}], memtype[2],"
        f" theory_min[{summary['lower_bound_bytes']}], zero_copy[{summary['persistent_bytes']}],"
        f" total_size[{summary['unplanned_bytes']}], no_reuse[0], streams[1], topo_mode[BFS], mop[], io_reuse[0:0],"
        " alloc_mode[], smp[0]"
    )


def test_what_may_not_be_reused_is_in_the_last_line(compiled, memory):
    kept = memory.what_if(never_reuse=("m",))
    line = imas_lines(compiled, kept)[-1]
    assert f"no_reuse[{tensor_row_bytes(kept, 'm')}]" in line


def tensor_row_bytes(memory, name: str) -> int:
    return int(memory.liveness.size_bytes[tensor_row(memory, name).buffer])


def test_a_line_end_in_a_name_does_not_end_a_log_line():
    from datetime import datetime

    from gexplorer.views.log import Line

    text = framed(Line("INFO", "memory_assignment", "[IMAS]Set a\nb\x1b[2J"), datetime(2026, 1, 2), 1)
    assert text.isprintable()
    assert text.endswith("[IMAS]Set a\\nb\\x1b[2J")


def test_the_price_of_safety_is_shown_where_it_is_paid():
    compiled = gx.compile("bert-base:small=true")
    safe = compiled.replace(memory="safe")
    price = safe.memory.pool_bytes - compiled.memory.pool_bytes
    assert memory_summary(safe.memory)["safety_price_bytes"] == price > 0
    assert memory_summary(compiled.memory)["safety_price_bytes"] is None
