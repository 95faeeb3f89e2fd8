"""What values between kernels cost HBM, and what of it fusing would save."""

from __future__ import annotations

import pytest

import gexplorer as gx
from gexplorer.cost.between import between_kernels
from gexplorer.cost.graph import cost_of
from gexplorer.hardware.catalogue import load_chip
from tests.passes import graph_of

CHIP = load_chip("Ascend910B3")
# 400 MB a value: no L2 holds it. 4 KB: any does.
LARGE, SMALL = "float32[100000,1000]", "float32[1,1000]"


def between(text):
    graph = graph_of(text)
    return between_kernels(graph, cost_of(graph, CHIP))


def chain(type_):
    return between(
        f"input %x : {type_}\n%a = Exp(%x) #a\n%r = Reshape(%a, %s) #r\n%b = Tanh(%r) #b\noutput %b".replace(
            "%a = Exp", "constant %s = int64[1] {-1}\n%a = Exp"
        )
    )


@pytest.mark.parametrize("model", ["bert-base", "qwen2.5-7b:layers=2", "qwen2.5-7b:mode=decode,past=64,layers=2"])
def test_the_values_add_up_to_the_graphs_traffic(model):
    compiled = gx.compile(model)
    found = compiled.between.account
    total = sum(found.written.values()) + sum(found.fetched.values())
    assert total == pytest.approx(compiled.cost.hbm_bytes, rel=1e-9)


def test_what_a_kernel_fetches_again_is_not_between_kernels():
    """Nor are the tokens of each expert, of whose number only the kernel's cost makes an assumption."""
    compiled = gx.compile("mixtral-8x7b:layers=1")
    found = compiled.between.account
    assert 0 < sum(found.written.values()) + sum(found.fetched.values()) < compiled.cost.hbm_bytes


def test_a_value_that_l2_cannot_hold_is_written_once_and_read_once():
    assert chain(LARGE).saved_bytes("a", "b") == 2 * 4 * 100_000 * 1000
    assert chain(LARGE).saved_bytes("r", "b") == 2 * 4 * 100_000 * 1000  # the view is the same bytes


def test_a_value_that_l2_holds_costs_hbm_nothing():
    assert chain(SMALL).saved_bytes("a", "b") == 0


def test_what_others_read_or_want_is_written_all_the_same():
    two = between(f"input %x : {LARGE}\n%a = Exp(%x) #a\n%b = Tanh(%a) #b\n%c = Sqrt(%a) #c\noutput %b\noutput %c")
    assert two.saved_bytes("a", "b") == 4 * 100_000 * 1000
    assert two.saved_bytes("a", "neither") is None
    result = between(f"input %x : {LARGE}\n%a = Exp(%x) #a\n%b = Tanh(%a) #b\noutput %a\noutput %b")
    assert result.saved_bytes("a", "b") == 4 * 100_000 * 1000


def test_a_value_inside_a_kernel_costs_nothing_any_more():
    assert chain(LARGE).saved_bytes("gone", "b") == 0


def test_near_misses_say_what_of_the_saving_is_hbms():
    large, small = (
        gx.compile(f"bert-base:layers=2,batch={batch}", fusion={"add_layer_norm": False}) for batch in (512, 1)
    )
    pairs = [miss for miss in large.why("norm_qkv") if miss.code == "other_user"]
    assert pairs
    for miss in pairs:
        assert 0 < miss.saved_bytes <= miss.freed_bytes
    assert {miss.saved_bytes for miss in small.why("norm_qkv")} == {0}


def test_what_was_priced_says_its_price():
    compiled = gx.compile("llama2-7b:layers=1,seq=512", preset="all", fuse_when="if_profitable")
    priced = [(miss, record) for miss, record in _records(compiled) if miss.code == "does_not_fit"]
    assert priced
    for miss, record in priced:
        assert miss.saved_bytes == record.parameters["before_bytes"] - record.parameters["after_bytes"]


def _records(compiled):
    rejects = [reject for step in compiled.steps if step.is_fusion for reject in step.rejects]
    return zip(compiled.why(), rejects, strict=True)
