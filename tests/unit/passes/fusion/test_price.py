"""Fusing only where it pays: what is declined, with which reckoning, and that nothing is left of what was tried."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import gexplorer as gx
from gexplorer.cost.graph import cost_of
from gexplorer.cost.saving import savings_of_rewrites
from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.draft import Draft
from gexplorer.ir.text import to_text
from gexplorer.passes.base import Context, Declined, Limits
from gexplorer.passes.fusion.account import tell_every
from gexplorer.passes.fusion.kernel import group
from gexplorer.passes.fusion.price import Price
from gexplorer.passes.fusion.rule import Rule
from gexplorer.passes.fusion.rules.layer_norm import LayerNorm
from gexplorer.passes.fusion.rules.matmul_activation import MatMulActivation
from gexplorer.passes.manager import all_passes, run_passes
from tests.passes import graph_of

CHIP = load_chip("Ascend910B3")
PRICED = ("does_not_pay", "does_not_fit")
ZOO = (
    "bert-base:layers=2",
    "qwen2.5-7b:layers=1,seq=64",
    "mixtral-8x7b:layers=1",
    "resnet50:weights=random,small=true",
)
# A product whose result the vector unit must see before it is stored: the two kinds of core wait for each other.
GELU = """
input %x : float16[128,768]
input %w : float16[768,3072]
%y = MatMul(%x, %w) #product
%z = Gelu(%y) #gelu
output %z
"""


def judged(rule, text, judge, opset=20):
    (step,) = run_passes(graph_of(text, opset), [rule], Context(Limits(), {}, judge=judge))
    return step


def test_a_fusion_that_does_not_pay_is_declined_with_its_reckoning():
    step = judged(MatMulActivation, GELU, Price(CHIP))
    assert step.after is step.before
    (miss,) = step.rejects
    assert (miss.node, miss.code, miss.blocker) == ("gelu", "does_not_pay", "gelu")
    # The same numbers as from two compilations: the whole graph is the place.
    fused = judged(MatMulActivation, GELU, None)
    apart, together = cost_of(step.before, CHIP), cost_of(fused.after, CHIP)
    assert miss.parameters["before_us"] == pytest.approx(apart.latency_us)
    assert miss.parameters["after_us"] == pytest.approx(together.latency_us)
    assert miss.parameters["before_bytes"] == pytest.approx(apart.hbm_bytes)
    assert miss.parameters["before_us"] < miss.parameters["after_us"]
    said = step.reason(miss)
    assert f"would take {together.latency_us:.1f} us; apart, 2 kernels take {apart.latency_us:.1f} us" in said


def test_a_fusion_that_pays_is_done():
    compiled = gx.compile("bert-base:layers=1", fuse_when="if_profitable")
    step = compiled.steps["add_layer_norm"]
    assert step.rewrites
    assert all(saved.us > 0 for saved in savings_of_rewrites(step, CHIP))
    assert not [miss for miss in step.rejects if miss.code in PRICED]


def test_a_kernel_that_overflows_l1_does_not_fit():
    compiled = gx.compile(
        "llama2-7b:layers=1,seq=512",
        preset="unconfigured",
        fuse_when="if_profitable",
        fusion={"matmul_transpose": True, "swish": True, "swiglu": True, "gate_up": True, "ffn": True},
    )
    (miss,) = [miss for miss in compiled.steps["ffn"].rejects if miss.code in PRICED]
    assert miss.code == "does_not_fit"
    assert miss.parameters["buffer"] == "L1"
    assert miss.parameters["excess_bytes"] == miss.parameters["need_bytes"] - CHIP.capacity.l1_bytes > 0
    assert miss.parameters["spilled_bytes"] > 0
    assert "more than there are" in compiled.steps["ffn"].reason(miss)


@pytest.mark.parametrize("model", ZOO)
def test_whatever_is_declined_leaves_nothing_behind(model):
    """A judge that declines everything: each rule gives back the graph that it was given, and says so of each place."""
    compiled = gx.compile(model, preset="all")
    rules = {rule.name: rule for rule in compiled.plan.passes}
    never = replace(compiled.context, judge=lambda draft, changes: Declined("does_not_pay", dict.fromkeys(_FIGURES, 0)))
    for fused in compiled.steps:
        if not fused.is_fusion:
            continue
        rule = rules[fused.name]
        (step,) = run_passes(fused.before, [rule], never)
        assert step.after is fused.before, rule.name
        assert step.rewrites == ()
        assert bool(fused.rewrites) <= any(miss.code in PRICED for miss in step.rejects), rule.name
        told = tell_every(step, rule, never)
        assert step.tried == told.tried == len(told.rejects), rule.name
        assert not {miss.code for miss in told.rejects} & {"part_off", "match_off", "swallowed"}


_FIGURES = ("kernel", "kernels", "before_us", "after_us", "before_bytes", "after_bytes")


@pytest.mark.parametrize("model", ["bert-base:layers=2", "llama2-7b:layers=2,seq=512"])
def test_all_rules_where_they_pay_are_no_slower_than_all_rules(model):
    always, priced = (gx.compile(model, preset="all", fuse_when=when) for when in ("always", "if_profitable"))
    assert priced.cost.latency_us < always.cost.latency_us
    assert {miss.code for miss in priced.why()} & {*PRICED}
    assert not {miss.code for miss in always.why()} & {*PRICED}
    for miss in priced.why():
        assert not re.search(r"[{}]|None", miss.reason + (miss.hint or ""))


def test_equal_structures_are_priced_once():
    graph = gx.compile("bert-base:layers=4", preset="unconfigured").graph
    asked, price = 0, Price(CHIP)

    def counting(draft, changes):
        nonlocal asked
        asked += 1
        return price(draft, changes)

    run_passes(
        graph, [p for p in all_passes() if issubclass(p, Rule) and p.default], Context(Limits(), {}, judge=counting)
    )
    assert price.priced <= asked / 3


def test_shapes_attributes_and_exponents_tell_structures_apart():
    price = Price(CHIP)
    for width in (768, 1024, 768):
        judged(MatMulActivation, GELU.replace("768", str(width)), price)
    assert price.priced == 2


def test_bodies_of_kernels_tell_structures_apart():
    """Two kernels of one name, which another takes in: only their bodies differ."""
    price = Price(CHIP)
    for first, second in (("Exp", "Tanh"), ("Abs", "Neg"), ("Exp", "Tanh")):
        text = f"input %x : float16[64]\n%a = {first}(%x) #a\n%b = {second}(%a) #b\n%c = Sqrt(%b) #c\noutput %c"
        draft = Draft(graph_of(text))
        kernel = group(draft, [draft.node("a"), draft.node("b")], "Chain", anchor=draft.node("b"))
        start = len(draft.changes)
        group(draft, [kernel, draft.node("c")], "Longer", anchor=draft.node("c"))
        price(draft, draft.changes[start:])
    assert price.priced == 2


@pytest.mark.parametrize("model", ZOO)
def test_what_is_remembered_is_what_asking_anew_gives(model):
    price = Price(CHIP)

    def both(draft, changes):
        remembered = price(draft, changes)
        assert remembered == Price(CHIP)(draft, changes)
        return remembered

    compiled = gx.compile(model, preset="all")
    run_passes(compiled.steps["infer_shapes"].after, compiled.plan.passes, replace(compiled.context, judge=both))


def test_where_no_time_can_be_told_fusing_is_as_always():
    text = GELU.replace("128,768", "rows,768")
    assert judged(MatMulActivation, text, Price(CHIP)).rewrites


def test_the_chip_counts():
    compiled = gx.compile("bert-base:layers=1", fuse_when="if_profitable")
    other = compiled.replace(soc="Ascend910A")
    afresh = gx.compile("bert-base:layers=1", fuse_when="if_profitable", soc="Ascend910A")
    assert to_text(other.graph) == to_text(afresh.graph)
    assert to_text(compiled.replace(fuse_when="always").graph) == to_text(gx.compile("bert-base:layers=1").graph)


def test_another_word_is_an_option_error():
    with pytest.raises(OptionError, match="fuse_when: always or if_profitable is wanted, not 'sometimes'"):
        gx.compile("bert-base:layers=1", fuse_when="sometimes")


def test_recompositions_pay():
    """Many small kernels become one: nothing that a price could say against it."""
    text = """
    input %x : float32[64,256]
    input %scale : float32[256]
    input %bias : float32[256]
    constant %two = float32[] {2.0}
    constant %eps = float32[] {0.00001}
    %m = ReduceMean(%x) {axes = [-1]} #m
    %c = Sub(%x, %m) #c
    %p = Pow(%c, %two) #p
    %v = ReduceMean(%p) {axes = [-1]} #v
    %e = Add(%v, %eps) #e
    %q = Sqrt(%e) #q
    %h = Div(%c, %q) #h
    %s = Mul(%h, %scale) #s
    %y = Add(%s, %bias) #y
    output %y
    """
    assert judged(LayerNorm, text, Price(CHIP), opset=17).rewrites
