"""Options of the wrong kind are told in one line, whatever they are."""

from __future__ import annotations

from dataclasses import fields

import pytest

from gexplorer.compiler import compile as compile_
from gexplorer.errors import GexplorerError, OptionError
from gexplorer.options import Options

ODD = (None, "", -1, 1 << 70, 1.5, "nonsense", [], ["a"], {}, {"a": 1}, {"a": None}, {1: 2}, b"x", object(), "a\nb")


@pytest.mark.parametrize("name", [field.name for field in fields(Options)])
def test_whatever_an_option_is_it_works_or_is_refused_in_a_line(name):
    refused = []
    for value in ODD:
        try:
            compile_("mlp:small=true", **{"validate": "off", name: value})
        except GexplorerError as error:
            refused.append(str(error))
    assert [line for line in refused if "\n" in line] == []
    assert refused


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"preset": ["ge"]}, "preset: a name is wanted, not ['ge']"),
        ({"fusion": {1: False}}, "fusion: 1 is no name"),
        ({"priorities": {b"x": 1}}, "priorities: b'x' is no name"),
        ({"shapes": {"x": "1,1"}}, "shapes: x: dimensions such as (1, 3, 224, 224) are wanted, not '1,1'"),
        ({"shapes": {"x": 5}}, "shapes: x: dimensions such as (1, 3, 224, 224) are wanted, not 5"),
        ({"fusion": {"gelu": "off"}}, "fusion: gelu: true or false is wanted, not 'off'"),  # any text would mean on
        ({"priorities": {"gelu": "1", "swish": 2}}, "priorities: gelu: a whole number is wanted, not '1'"),
        ({"allowed": {"gelu": 3}}, "allowed: gelu: numbers by the name of an attribute are wanted, not 3"),
        ({"verify": "per-step", "seeds": ()}, "seeds: whole numbers from 0 are wanted, at least one, not ()"),
        ({"seeds": (True,)}, "seeds: whole numbers from 0 are wanted, at least one, not (True,)"),
    ],
)
def test_the_line_says_what_is_wanted(options, why):
    with pytest.raises(OptionError) as caught:
        compile_("mlp:small=true", **options)
    assert str(caught.value) == why


def test_of_two_switches_for_one_rule_the_later_one_holds():
    base = compile_("mlp:small=true", validate="off", fusion={"matmul_bias": False})
    on = base.replace(fusion={"MatMulBiasAddFusionPass": True})
    assert "matmul_bias" in [one.name for one in on.plan.passes]
    off = on.replace(fusion={"matmul_bias": False})
    assert "matmul_bias" not in [one.name for one in off.plan.passes]
    assert list(off.options.fusion) == ["MatMulBiasAddFusionPass", "matmul_bias"]


@pytest.mark.parametrize("mode", ["full", "fast"])
def test_a_rule_is_said_to_be_on_exactly_where_it_runs(mode):
    compiled = compile_("mlp:small=true", validate="off", fusion_mode=mode, preset="all", fusion={"gelu": False})
    running = [one.name for one in compiled.plan.passes]
    assert running == [one.name for one in compiled.options.plan().passes]
    assert ("elementwise_chain" in running) == (mode == "full")
    said = {rule["name"]: rule["enabled"] for rule in compiled.summary()["rules"]}
    assert [name for name, enabled in said.items() if enabled] == sorted(running, key=list(said).index)
