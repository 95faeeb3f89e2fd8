"""Presets, switches by name, single matches, suggestions."""

from __future__ import annotations

import pytest

from gexplorer.errors import OptionError
from gexplorer.passes.base import Pass
from gexplorer.passes.switches import PRESETS, make_plan


def known(*rows):
    return tuple(
        type(
            name, (Pass,), {"name": name, "ge_name": ge, "order": i, "default": on, **({"kernel": "K"} if rule else {})}
        )
        for i, (name, ge, on, rule) in enumerate(rows)
    )


KNOWN = known(
    ("fold", "FoldPass", True, False),
    ("formats", None, False, False),
    ("conv_batchnorm", "ConvBn", True, True),
    ("conv_activation", "Elemwise", True, True),
    ("matmul_activation", "Elemwise", True, True),
    ("mega", None, False, True),
)


def names(preset="ge", **switches):
    return [p.name for p in make_plan(KNOWN, preset, switches).passes]


def test_presets_switch_rules_and_leave_general_passes_alone():
    assert names("ge") == ["fold", "conv_batchnorm", "conv_activation", "matmul_activation"]
    assert names("unconfigured") == ["fold"]
    assert names("all") == ["fold", "conv_batchnorm", "conv_activation", "matmul_activation", "mega"]
    assert names("tensorrt-like") == ["fold", "conv_batchnorm", "conv_activation", "matmul_activation"]
    with pytest.raises(OptionError, match="no preset 'fast'; there are: ge, unconfigured, tensorrt-like, all"):
        names("fast")
    assert all(PRESETS.values())


def test_switches_go_by_our_name_and_by_ges_which_may_mean_several_rules():
    assert names(fold=False, formats=True) == ["formats", "conv_batchnorm", "conv_activation", "matmul_activation"]
    assert names(Elemwise=False) == ["fold", "conv_batchnorm"]


def test_all_means_every_rule_and_names_win_over_it():
    assert names(ConvBn=True, ALL=False) == ["fold", "conv_batchnorm"]
    assert "mega" in names(ALL=True)
    assert "formats" not in names(ALL=True)


def test_a_single_match_goes_off_and_on_again():
    plan = make_plan(KNOWN, "ge", {"conv_batchnorm:a/b:c": False, "conv_batchnorm:d": False, "conv_activation:x": True})
    assert plan.matches_off == {"conv_batchnorm": frozenset({"a/b:c", "d"})}
    assert make_plan(KNOWN, "ge", {"conv_batchnorm:d": False} | {"conv_batchnorm:d": True}).matches_off == {}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("conv_batchnrom", "no pass or rule 'conv_batchnrom'; did you mean conv_batchnorm"),
        ("zzzz", "no pass or rule 'zzzz'; gexplorer rules lists them"),
        ("conv_batchnom:n", "no rule 'conv_batchnom'; did you mean conv_batchnorm"),
        ("fold:n", "no rule 'fold'"),
    ],
)
def test_unknown_names_are_errors_that_suggest_the_nearest(name, message):
    with pytest.raises(OptionError) as caught:
        names(**{name: True})
    assert str(caught.value).startswith(message)


def test_all_off_leaves_on_what_the_real_ge_leaves_on():
    rules = known(("conv_bias", "AABiasaddConvFusion", True, True), ("conv_batchnorm", "ConvBn", True, True))
    assert [p.name for p in make_plan(rules, "ge", {"ALL": False}).passes] == ["conv_bias"]
    assert make_plan(rules, "ge", {"ALL": False, "conv_bias": False}).passes == ()


def test_priorities_put_rules_before_all_others():
    rules = known(
        ("fold", None, True, False), ("a", "GeA", True, True), ("b", None, True, True), ("c", None, True, True)
    )
    for order, rule in zip((100, 610, 620, 630), rules, strict=True):
        rule.order = order
    order = [p.name for p in make_plan(rules, "ge", {}, priorities={"c": 5, "b": 7}).passes]
    assert order == ["fold", "c", "b", "a"]
    assert [p.name for p in make_plan(rules, "ge", {}, priorities={"GeA": 1}).passes] == ["fold", "a", "b", "c"]
    with pytest.raises(OptionError, match="no pass or rule 'zz'"):
        make_plan(rules, "ge", {}, priorities={"zz": 1})


def test_fast_leaves_out_costly_rules_unless_they_are_named():
    rules = known(("cheap", None, True, True), ("dear", None, True, True))
    rules[1].costly = True
    assert [p.name for p in make_plan(rules, "ge", {}, fast=True).passes] == ["cheap"]
    assert [p.name for p in make_plan(rules, "ge", {"dear": True}, fast=True).passes] == ["cheap", "dear"]
