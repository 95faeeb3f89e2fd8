"""Recompiling with other options gives what compiling afresh gives, and does again only what the change touches."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gexplorer as gx
from gexplorer.ir.text import to_text
from gexplorer.passes.manager import all_passes

MODEL = "llama2-7b:small=true"
ENCODER = "bert-base:small=true"
NAMES = [p.name for p in all_passes()]


@cache
def base():
    return gx.compile(MODEL)


@cache
def matches() -> list[str]:
    return [f"{step.name}:{rewrite.node}" for step in base().steps if step.is_fusion for rewrite in step.rewrites]


SWITCHES = st.dictionaries(st.sampled_from(NAMES), st.booleans(), max_size=3)
CHANGES = st.fixed_dictionaries(
    {"fusion": st.one_of(SWITCHES, st.sampled_from(matches()).map(lambda match: {match: False}))},
    optional={
        "preset": st.sampled_from(["ge", "unconfigured", "tensorrt-like"]),
        "fusion_mode": st.sampled_from(["full", "fast"]),
        "fuse_when": st.sampled_from(["always", "if_profitable"]),
        "soc": st.sampled_from(["Ascend910B3", "Ascend910A"]),
        "fold_growth_bytes": st.sampled_from([0, 1 << 20]),
        "allowed": st.just({"flash_attention": {"head_dim": (3.0,)}}),
        "priorities": st.just({"elementwise_chain": 1}),
    },
)


@settings(max_examples=25)
@given(CHANGES, CHANGES)
def test_recompiling_is_compiling_afresh(first, second):
    changed = base().replace(**first).replace(**second)
    afresh = compile_source_again(changed.options)
    assert [step.name for step in changed.steps] == [step.name for step in afresh.steps]
    assert [step.index for step in changed.steps] == list(range(len(changed.steps)))
    for ours, theirs in zip(changed.steps, afresh.steps, strict=True):
        assert to_text(ours.after) == to_text(theirs.after), ours.name
        assert [ours.reason(r) for r in ours.rewrites] == [theirs.reason(r) for r in theirs.rewrites]
        assert [ours.reason(r) for r in ours.rejects] == [theirs.reason(r) for r in theirs.rejects]


def compile_source_again(options):
    from gexplorer.compiler import compile_source

    return compile_source(base().source, options)


def figures(compiled):
    """What every stage after the passes comes to."""
    memory, schedule, cost = compiled.memory, compiled.schedule, compiled.cost
    kernels = [(kernel.nodes, kernel.text, kernel.evaluations) for kernel in compiled.kernels.distinct]
    return {
        "order": [node.name for node in compiled.graph],
        "addresses": memory.addresses.tolist(),
        "times": dict(compiled.durations.us),
        "chips": (cost.chip.name, compiled.kernels.chip.name),
        "cost": (cost.latency_us, cost.hbm_bytes, cost.compulsory_bytes, cost.flops, cost.tiling),
        "schedule": (schedule.mode, schedule.streams, schedule.makespan_us),
        "kernels": (compiled.kernels.mode, kernels),
        "validation": (
            compiled.validation.level,
            [
                (check.name, check.status, check.detail)
                for check in compiled.validation.checks
                if check.name == "streams"
            ],
        ),
    }


# A change, and one upon it: each touches something that nothing else here does.
TOUCHING = {
    "a match": ({}, {"fusion": {"matmul_bias:node_linear_3": False}}),
    "an attribute": ({}, {"allowed": {"flash_attention": {"head_dim": (3.0,)}}}),
    "prices": ({"fuse_when": "if_profitable"}, {"soc": "Ascend910A"}),
    "the chip": ({}, {"soc": "Ascend910B1"}),
    "how much is folded": ({}, {"fold_growth_bytes": 0}),
    "tiles": ({}, {"tiling_mode": "fast"}),
    "no more tiles": ({"tiling_mode": "fast"}, {"tiling_mode": "library", "fusion": {"gelu": False}}),
    "reuse": ({}, {"memory": "safe"}),
    "streams": ({"order": "dfs"}, {"streams": "streams:2"}),
    "checked streams": ({"validate": "quick"}, {"streams": "streams:2"}),
    "the order": ({"order": "dfs"}, {"order": "rdfs"}),
    "how it is checked": ({}, {"validate": "quick"}),
    "back again": ({"soc": "Ascend910A", "memory": "safe"}, {"soc": "Ascend910B3", "memory": "balanced"}),
}


@pytest.mark.parametrize("what", TOUCHING)
def test_nothing_is_taken_over_that_has_changed(what):
    first, second = TOUCHING[what]
    before = encoder().replace(**first)
    changed = before.replace(**second)
    afresh = gx.compile(ENCODER, **{**changed.options.as_dict(), "fusion": changed.options.fusion})
    assert figures(changed) == figures(afresh)
    assert figures(changed) != figures(before)


@cache
def encoder():
    return gx.compile(ENCODER, validate="off")


def test_another_order_is_planned_once():
    changed = encoder().replace(order="dfs")
    assert changed.memory is not encoder().memory
    again = changed.replace(streams="streams:2")
    assert again.memory is changed.memory
    assert again.kernels is changed.kernels
    assert changed.replace(order="rdfs").memory is not changed.memory
    assert changed.replace(order="as_written").memory.graph is encoder().memory.graph


def test_only_what_a_change_touches_is_done_again():
    changed = base().replace(fusion={"swiglu": False})
    number = next(i for i, step in enumerate(base().steps) if step.name == "swiglu")
    shared = [a is b for a, b in zip(base().steps, changed.steps, strict=False)]
    assert all(shared[:number])
    assert not any(shared[number:])
    other_chip = base().replace(soc="Ascend910B1")
    assert other_chip.steps["memory_check"] is base().steps["memory_check"]
    assert other_chip.schedule is not base().schedule
    assert base().replace(verify="off", seeds=(1,)).schedule is base().schedule
    assert base().replace(fusion={}) is base()


def test_a_single_match_goes_off_and_the_others_stay():
    match = next(m for m in matches() if m.startswith("rms_norm:"))
    node = match.partition(":")[2]
    before, after = base().steps["rms_norm"], base().replace(fusion={match: False}).steps["rms_norm"]
    assert {r.node for r in before.rewrites} - {r.node for r in after.rewrites} == {node}
    (reject,) = [r for r in after.rejects if r.code == "match_off"]
    assert after.reason(reject) == "this match is switched off"
    assert after.hint(reject) == f"switch it on: --on rms_norm:{node}"
