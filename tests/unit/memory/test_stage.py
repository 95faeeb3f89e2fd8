"""The memory stage as a whole: wishes are honoured, what cannot be is one clear line, every plan is proved."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import gexplorer as gx
from gexplorer.errors import ModelError, OptionError
from gexplorer.memory.modes import MODES, find_mode
from gexplorer.memory.planners.registry import all_planners
from gexplorer.memory.program import Kind, Sharing

CORPUS = sorted((Path(__file__).parents[3] / ".." / "shared" / "corpus").glob("*/*.onnx"))
MODEL = "bert-base:small=true"


@cache
def compiled(model: str = MODEL):
    return gx.compile(model)


def address(memory, tensor: str) -> int:
    index = list(memory.program.tensors).index(tensor)
    return int(memory.addresses[memory.liveness.buffer[index]] + memory.liveness.offset_bytes[index])


def pool_tensors(memory) -> list[str]:
    return list(memory.plan.problem.names)


def test_the_stage_is_three_steps_that_leave_the_graph_alone():
    steps = [step for step in compiled().steps if step.stage == "memory"]
    assert [step.name for step in steps] == ["liveness", "memory_assignment", "memory_check"]
    assert not any(step.changed for step in steps)
    assert compiled().steps["AssignMemory"] is steps[1]
    assert steps[2].rejects == ()


@pytest.mark.parametrize("mode", ["fast", "balanced", "safe", *(p.name for p in all_planners() if p.is_safe)])
def test_every_mode_and_planner_gives_a_sound_plan(mode):
    if mode == "omnimalloc":
        pytest.importorskip("omnimalloc", reason="omnimalloc is an extra")
    memory = compiled().replace(memory=mode).memory
    assert memory.is_sound
    assert memory.plan.lower_bound_bytes <= memory.pool_bytes <= memory.plan.problem.unplanned_bytes
    assert memory.plan.planner == find_mode(mode).planner


def test_the_literal_article_planner_runs_when_named_and_is_caught():
    changed = compiled().replace(memory="article_literal")
    assert not changed.memory.is_sound
    assert changed.steps["memory_check"].rejects
    assert "overlap" in changed.memory.plan.findings.counts
    assert all(changed.steps["memory_check"].reason(r) for r in changed.steps["memory_check"].rejects)


def test_what_never_shares_lies_behind_the_pool_and_apart():
    memory = compiled().memory
    live = memory.liveness
    rest = np.setdiff1d(np.arange(len(live.size_bytes)), memory.pool_buffers)
    start = memory.addresses[rest]
    order = np.argsort(start)
    assert (start >= memory.pool_bytes).all()
    assert (start[order][1:] >= (start + live.size_bytes[rest])[order][:-1]).all()
    assert memory.weight_bytes + memory.persistent_bytes == int(live.size_bytes[rest].sum())


def test_safe_never_costs_less():
    memory = compiled().memory
    safe = compiled().replace(memory="safe").memory
    assert memory.safety_price_bytes == safe.pool_bytes - memory.pool_bytes
    assert memory.safety_price_bytes > 0
    assert not safe.liveness.policy.in_place
    limited = memory.what_if(limit_bytes=memory.pool_bytes)
    assert limited.safety_price_bytes == memory.safety_price_bytes  # though the safe plan would be too large


def test_all_of_it_is_short_to_look_at():
    """A notebook shows what a cell ends with: a line, not all numbers."""
    memory = gx.compile("qwen2.5-7b:layers=4").memory
    for part in (memory, memory.plan, memory.plan.problem, memory.plan.placement, memory.liveness, memory.bounds):
        assert len(repr(part)) < 200
    assert len(repr(memory.program)) < 200
    assert "proved optimal" in repr(memory)
    assert "UNSOUND" in repr(memory.what_if(mode="article_literal"))


def test_tensors_larger_than_any_memory_are_one_line():
    """64-bit sums would wrap."""
    for dim in (1 << 29, 1 << 40):
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [dim, dim]) for name in "xy"]
        nodes = [helper.make_node("Softmax", ["x"], ["a"]), helper.make_node("Softmax", ["a"], ["y"])]
        model = helper.make_model(
            helper.make_graph(nodes, "large", values[:1], values[1:]), opset_imports=[helper.make_opsetid("", 18)]
        )
        with pytest.raises(ModelError, match=r"^the tensors take more bytes than any memory has .*the largest is x"):
            gx.compile(model)


def test_without_reuse_everything_has_its_own_place():
    memory = compiled().replace(enable_mem_reuse=False).memory
    assert memory.plan.planner == "none"
    assert memory.pool_bytes == memory.plan.problem.unplanned_bytes
    sharing = memory.program.may_share.sharing
    assert (sharing == Sharing.IN_PLACE).any()  # it could have been done
    assert not (sharing[memory.liveness.shared[memory.liveness.shared >= 0]] == Sharing.IN_PLACE).any()


@pytest.mark.parametrize("name", ["disable_reuse_memory", "ge.exec.disableReuseMemory"])
def test_ges_names_for_no_reuse(name):
    compilation = compiled().replace(**{name: 1})
    assert compilation.memory.plan.planner == "none"
    assert not compilation.options.enable_mem_reuse
    assert compilation.replace(**{name: 0}).memory.plan.planner == "portfolio"
    with pytest.raises(OptionError, match="contradict each other"):
        compiled().replace(**{name: 1}, enable_mem_reuse=True)
    with pytest.raises(OptionError, match="0 or 1 is wanted, not 'yes'"):
        compiled().replace(**{name: "yes"})


def test_the_articles_strategy_1_is_greedy():
    assert compiled().replace(mem_allocator_strategy=1).memory.plan.planner == "greedy_by_size"


def test_a_pool_above_the_limit_says_by_how_much_and_what_is_alive():
    memory = compiled().memory
    assert compiled().replace(mem_workspace_size=memory.pool_bytes).memory.pool_bytes == memory.pool_bytes
    with pytest.raises(OptionError, match=r"^mem_workspace_size") as caught:
        compiled().replace(mem_workspace_size=memory.pool_bytes - 1000)
    assert " 1,000 more than " in str(caught.value)
    largest = max(memory.bounds.alive, key=lambda entry: entry.size_bytes)
    assert str(largest.tensor) in str(caught.value)


def test_no_alignment_costs_nothing():
    memory = compiled().replace(memory_alignment="none").memory
    assert memory.plan.problem.alignment_bytes == 1
    assert memory.bounds.alignment_cost_bytes == 0
    assert memory.pool_bytes <= compiled().memory.pool_bytes


def test_a_tensor_that_is_never_reused_keeps_its_place_to_itself():
    memory = compiled().memory
    name = pool_tensors(memory)[0]
    alone = memory.what_if(never_reuse=(name,))
    problem, offsets = alone.plan.problem, alone.plan.placement.offsets
    row = list(problem.names).index(name)
    overlap = (offsets < offsets[row] + problem.size_bytes[row]) & (offsets[row] < offsets + problem.size_bytes)
    assert overlap.sum() == 1
    assert alone.is_sound
    assert alone.pool_bytes > memory.pool_bytes


def test_operators_by_type_are_never_reused():
    memory = compiled().memory
    operators = {node.op for node in memory.graph.nodes.values() if node.body is not None}
    assert operators
    assert memory.what_if(never_reuse=tuple(operators)).pool_bytes > memory.pool_bytes


def test_operators_are_known_by_the_type_that_cann_gives_them_for_their_rank():
    nodes = [helper.make_node("MatMul", ["x", "x"], ["a"]), helper.make_node("MatMul", ["a", "a"], ["y"])]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4, 4]) for name in "xy"]
    graph = helper.make_graph(nodes, "batched", value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    for wanted, fixed in (("BatchMatMulV2", {"a", "y", "BatchMatMulV2"}), ("MatMulV2", {"MatMulV2"})):
        memory = gx.compile(model, validate="off", no_reuse=(wanted,)).memory
        assert memory.liveness.policy.never_reuse == fixed


def test_a_pinned_tensor_is_where_it_should_be():
    memory = compiled().memory
    name = pool_tensors(memory)[3]
    wanted = 7 * memory.plan.problem.alignment_bytes
    pinned = memory.what_if(pins={name: wanted})
    assert address(pinned, name) == wanted
    assert pinned.is_sound


def test_two_tensors_are_kept_apart():
    memory = compiled().memory
    names = pool_tensors(memory)
    spans = {n: (address(memory, n), int(s)) for n, s in zip(names, memory.plan.problem.size_bytes, strict=True)}
    first, second = next(
        (a, b) for a in names for b in names if a < b and spans[a][0] == spans[b][0] and spans[a][1] and spans[b][1]
    )
    apart = memory.what_if(apart=((first, second),))
    low, high = sorted((address(apart, name), spans[name][1]) for name in (first, second))
    assert low[0] + low[1] <= high[0]
    assert apart.is_sound


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"apart": (("linear", "linear"),)}, "linear cannot be kept apart from itself"),
        ({"order": 3}, "no 3"),
        ({"pins": {"nobody": 0}}, "no tensor 'nobody'"),
        ({"apart": (("nobody", "x"),)}, "no tensor 'nobody'"),
        ({"colour": "red"}, "the wishes are"),
        ({"mode": "balancd"}, "did you mean balanced?"),
        ({"limit_bytes": -1}, "a number of bytes"),
        ({"alignment": "half"}, "ge or none"),
        ({"order": "widdershins"}, "no 'widdershins'"),
    ],
)
def test_a_wish_that_means_nothing_is_one_line(wishes, words):
    with pytest.raises(OptionError, match=r"^.*$") as caught:
        compiled().memory.what_if(**wishes)
    assert words in str(caught.value)


def test_a_weight_cannot_be_pinned():
    memory = compiled().memory
    index = int(np.flatnonzero(memory.program.kind == Kind.WEIGHT)[0])
    with pytest.raises(OptionError, match="is not in the pool: it is of kind weight"):
        memory.what_if(pins={memory.program.tensors[index]: 0})


@pytest.mark.parametrize("order", ["bfs", "dfs", "rdfs", "stable_rdfs", "memory_aware"])
def test_another_order_is_planned_and_is_a_step(order):
    changed = compiled().replace(order=order)
    assert changed.steps["TopologicalSorting"].stage == "passes"
    assert changed.memory.is_sound
    assert sorted(changed.graph.nodes) == sorted(compiled().graph.nodes)


def test_only_what_a_wish_touches_is_done_again():
    assert compiled().replace(soc="Ascend910B1").memory is compiled().memory
    changed = compiled().replace(memory="fast").memory
    assert changed.program is compiled().memory.program
    assert compiled().replace(fusion={"flash_attention": False}).memory.program is not changed.program


def test_planners_are_compared_on_one_liveness():
    rows = compiled().memory.compare(("none", "greedy_by_size", "portfolio"))
    assert [row.planner for row in rows] == ["none", "greedy_by_size", "portfolio"]
    assert len({id(row.problem) for row in rows}) == 1
    pinned = compiled().memory.what_if(pins={pool_tensors(compiled().memory)[0]: 0})
    assert pinned.compare(("none",)) == [("none", "none cannot pin offsets or keep pairs apart")]


def test_environment_variables_are_honoured(monkeypatch):
    monkeypatch.setenv("GE_MEM_PLANNING_MODE", "safe")
    monkeypatch.setenv("OP_NO_REUSE_MEM", "one,two")
    options = gx.compile("mlp:small=true").options
    assert (options.memory, options.no_reuse) == ("safe", ("one", "two"))
    monkeypatch.setenv("GE_MEM_PLANNING_MODE", "brave")
    with pytest.raises(OptionError, match="GE_MEM_PLANNING_MODE: fast or safe is wanted"):
        gx.compile("mlp:small=true")


def test_every_mode_names_a_planner_that_exists():
    names = {planner.name for planner in all_planners()}
    assert {mode.planner for mode in MODES.values()} <= names


@pytest.mark.skipif(not CORPUS, reason="the corpus of models is not beside this checkout")
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_every_real_model_is_planned_soundly(path):
    fused = gx.compile(path)
    for memory in (fused.memory, fused.replace(memory="safe").memory, fused.replace(preset="unconfigured").memory):
        assert memory.is_sound
        assert memory.pool_bytes >= memory.plan.problem.bound_bytes
