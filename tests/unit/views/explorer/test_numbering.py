"""Numbers of nodes and values: complete, stable, and with the steps between which a node is there."""

from __future__ import annotations

import random

import pytest

import gexplorer as gx
from gexplorer.views.explorer.numbering import Numbering
from tests.random_models import ModelMaker

FIELDS = ("nodes", "values", "typed", "born", "gone", "holder", "scene_steps")


def deep(graph, holder=""):
    for node in graph.nodes.values():
        yield node, holder
        for inner in node.graphs:
            yield from deep(inner, node.name)


def check(steps, numbering):
    for position, step in enumerate(steps):
        there = {numbering.node(node): holder for node, holder in deep(step.after)}
        alive = {n for n, (a, b) in enumerate(zip(numbering.born, numbering.gone, strict=True)) if a <= position < b}
        assert alive == set(there), step.name
        for number, holder in there.items():
            assert numbering.holder[number] == holder
        for name in step.after.values:
            assert numbering.values[numbering.value(name)] == name
    first = {numbering.node(node) for node, _ in deep(steps[0].before)}
    assert {n for n, born in enumerate(numbering.born) if born < 0} == first
    assert all(value is not None for value in numbering.typed)
    for name, value in steps[-1].after.values.items():
        assert numbering.typed[numbering.value(name)] is value


@pytest.mark.parametrize("spec", ["bert-base:small=true,layers=2", "mixtral-8x7b:small=true", "resnet50:small=true"])
def test_models_of_the_zoo(spec):
    steps = gx.compile(spec).steps
    check(steps, Numbering(steps))


@pytest.mark.parametrize("seed", range(30))
def test_random_models_with_nested_graphs(seed):
    steps = gx.compile(ModelMaker(random.Random(seed)).model()).steps
    numbering = Numbering(steps)
    check(steps, numbering)
    for step in steps:
        for rewrite in step.rewrites:
            for node in (*rewrite.removed, *rewrite.added, *(one for pair in rewrite.changed for one in pair)):
                assert numbering.find(node) >= 0


def test_scenes_are_of_steps_that_changed_the_nodes():
    steps = gx.compile("bert-base:small=true,layers=2").steps
    wanted = [0] + [
        n
        for n, s in enumerate(steps)
        if n and {*map(id, s.before.nodes.values())} != {*map(id, s.after.nodes.values())}
    ]
    assert Numbering(steps).scene_steps == wanted
    assert len(wanted) > 5


@pytest.mark.parametrize("seed", range(10))
def test_a_numbering_made_from_another_is_as_a_new_one(seed):
    compiled = gx.compile(ModelMaker(random.Random(seed)).model())
    rules = [step.name for step in compiled.steps if step.stage == "passes" and step.changed] or ["gelu"]
    for rule in (rules[0], rules[-1]):
        changed = compiled.replace(fusion={rule: False})
        old, fresh = Numbering(compiled.steps), Numbering(changed.steps)
        found = Numbering(changed.steps, old)
        assert all(getattr(found, field) == getattr(fresh, field) for field in FIELDS)
        same = sum(a is b for a, b in zip(compiled.steps, changed.steps, strict=False))
        before = [n for n, born in enumerate(old.born) if born < same - 1]
        assert [found.nodes[n] for n in before] == [old.nodes[n] for n in before]


@pytest.mark.parametrize("seed", range(20))
def test_steps_that_change_nothing_may_come_and_go(seed):
    """Also where a step does not begin with what the one before it left, as in traces from elsewhere."""
    randoms = random.Random(seed)
    compiled = gx.compile("bert-base:small=true,layers=1")
    other = compiled.replace(fusion={randoms.choice(["flash_attention", "matmul_bias", "constant_folding"]): False})

    def some(steps):
        return [step for step in steps if step.changed or step.rewrites or randoms.random() < 0.6]

    def gap(steps):
        return [step for step in steps if randoms.random() < 0.9]

    for old, new in (
        (some(compiled.steps), some(compiled.steps)),
        (some(compiled.steps), some(other.steps)),
        (gap(some(compiled.steps)), gap(some(compiled.steps))),
    ):
        fresh, found = Numbering(new), Numbering(new, Numbering(old))
        for field in FIELDS:
            assert getattr(found, field) == getattr(fresh, field), field
        again = Numbering(old, found)  # what it took over it can give on
        assert all(getattr(again, field) == getattr(Numbering(old), field) for field in FIELDS)


def test_a_node_of_nowhere_has_no_number():
    steps = gx.compile("mlp").steps
    node = next(iter(gx.compile("mlp").graph.nodes.values()))
    numbering = Numbering(steps)
    assert numbering.find(node) == numbering.find(None) == numbering.value("nonsense") == -1
    with pytest.raises(KeyError):
        numbering.node(node)


def test_no_steps_no_numbers():
    numbering = Numbering(())
    assert (numbering.nodes, numbering.values, numbering.last) == ([], [], {})
