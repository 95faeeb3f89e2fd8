"""Every place that a rule tried is told once: it fused, or somebody can say why not; and the numbers add up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gexplorer.compiler import compile
from gexplorer.passes.fusion.account import tell_every
from gexplorer.passes.fusion.rule import Rule
from gexplorer.passes.manager import all_passes
from gexplorer.views.why import tallies

SHARED = Path(__file__).parents[2] / ".." / "shared"
MODELS = sorted((SHARED / "corpus").glob("*/*.onnx"))
ZOO = ("bert-base:layers=2", "qwen2.5-7b:layers=2", "mixtral-8x7b:layers=1", "resnet50:weights=random,small=true")


def places(graph, roots):
    """Every node that the names fit, nested graphs included, as (way in, name)."""
    for node in graph.nodes.values():
        name = f"{node.domain}::{node.op}" if node.domain and node.body is None else node.op
        if name in roots:
            yield node.name
        for inner in node.graphs:
            yield from places(inner, roots)


def require_account(compiled):
    """Each rule of a compilation: the second run does the same, tells what the first told, and leaves no place out."""
    classes = {p.name: p for p in compiled.plan.passes}
    steps = [step for step in compiled.steps if step.is_fusion]
    assert steps
    for step in steps:
        rule = classes[step.name]
        assert issubclass(rule, Rule)
        told = tell_every(step, rule, compiled.context)
        assert [(r.path, r.node, r.code) for r in told.rewrites] == [(r.path, r.node, r.code) for r in step.rewrites]
        assert not Counter(map(shown, step.rejects)) - Counter(map(shown, told.rejects)), step.name
        records = [(record.path, record.node) for record in (*told.rewrites, *told.rejects)]
        assert len({*records}) == len(records), step.name
        assert step.tried == told.tried == len(records), step.name
        if rule.roots():
            assert sorted(name for _, name in records) == sorted(places(step.before, rule.roots())), step.name
        for reject in told.rejects:
            assert reject.code in step.messages
            assert "{" not in told.reason(reject) + (told.hint(reject) or "")
    misses = compiled.why(every=True)
    for tally in tallies(compiled.steps, misses):
        own = [miss for miss in misses if miss.rule == tally.rule]
        assert tally.tried == tally.fused + tally.near + tally.far
        assert (tally.near, tally.far) == (sum(m.near for m in own), sum(not m.near for m in own))
        assert sum(tally.kinds.values()) + (tally.inside or 0) == tally.far
        assert not any("{" in kind for kind in tally.kinds)


def shown(reject):
    return reject.path, reject.node, reject.code, reject.blocker, str(sorted(reject.parameters.items()))


@pytest.mark.parametrize("model", ZOO)
def test_models_of_the_zoo(model):
    require_account(compile(model))


@pytest.mark.parametrize("model", ZOO)
def test_with_a_match_of_every_rule_switched_off(model):
    compiled = compile(model, preset="all")
    off = {
        f"{step.name}:{step.rewrites[-1].node}": False for step in compiled.steps if step.is_fusion and step.rewrites
    }
    changed = compiled.replace(fusion=off)
    assert "match_off" in {reject.code for step in changed.steps for reject in step.rejects}
    require_account(changed)


@pytest.mark.parametrize("model", ZOO)
def test_where_fusions_that_do_not_pay_are_declined(model):
    require_account(compile(model, preset="all", fuse_when="if_profitable"))


@pytest.mark.parametrize("model", ZOO)
def test_each_rule_alone(model):
    """Others take its places before it comes; alone it sees all of them."""
    compiled = compile(model, preset="unconfigured")
    for rule in all_passes():
        if issubclass(rule, Rule):
            require_account(compiled.replace(fusion={rule.name: True}))


@pytest.mark.skipif(not MODELS, reason="the corpus of models is not beside this checkout")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_corpus(path):
    require_account(compile(path))
