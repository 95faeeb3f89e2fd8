"""What is said at several places is the same: sums that are not compared, kernels, places far from a pattern."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx import parser

import gexplorer as gx
from gexplorer.cost.graph import UncostedRow
from gexplorer.render.document import document
from gexplorer.views.explorer.cost import cost_part
from gexplorer.views.explorer.far import MOST_PLACES
from gexplorer.views.explorer.figures import beside, figures
from gexplorer.views.explorer.numbering import Numbering
from gexplorer.views.explorer.subject import subject_of
from gexplorer.views.pack import unpack
from gexplorer.views.why import tallies

SUMS = ("hbm_bytes", "latency_us", "launch_share")
# A view of unknown size keeps its place in the schedule: the memory plan cannot prove that it lies in its source.
VIEWS = """<ir_version: 10, opset_import: ["": 21]>
g (float[n, 4] x, float[2, 8] a) => (float[n, 2, 2] y, float[2, 8] b)
<int64[3] shape = {-1, 2, 2}> { r = Reshape(x, shape)  y = Exp(r)  b = Exp(a) }"""


@pytest.fixture(scope="module")
def subject():
    return subject_of(gx.compile("bert-base:small=true,layers=2"), course=True)


def told(subject):
    return {one["key"]: one for one in figures(subject, Numbering(subject.steps))}


def without_price(cost, row):
    """The same cost, were there no price of one kernel."""
    return replace(cost, uncosted=(*cost.uncosted, UncostedRow(cost.rows[row].node, "Odd", "nobody knows")))


def test_sums_over_other_kernels_are_not_compared_and_say_how_many_have_no_price(subject):
    whole = told(subject)
    assert all(whole[key]["first"] is not None for key in SUMS)
    assert {(whole[key]["first_unpriced"], whole[key]["unpriced"]) for key in SUMS} == {(0, 0)}
    other = replace(subject, unfused=without_price(subject.unfused, 0), course=())
    found = told(other)
    assert [found[key]["first"] for key in SUMS] == [None] * 3
    assert {(found[key]["first_unpriced"], found[key]["unpriced"]) for key in SUMS} == {(1, 0)}
    assert "1 then, 0 now" in found["latency_us"]["note"]
    assert found["kernels"]["first"] == whole["kernels"]["first"]
    assert set(cost_part(other, Numbering(other.steps))["unfused"].values()) == {None}


def test_a_course_leaves_out_steps_whose_sum_is_over_other_kernels(subject):
    course = tuple(without_price(cost, 0) if step == 5 else cost for step, cost in enumerate(subject.course))
    before, after = (told(one)["latency_us"]["series"] for one in (subject, replace(subject, course=course)))
    assert not np.isnan(before[5])
    assert np.flatnonzero(np.isnan(after) != np.isnan(before)).tolist() == [5]


def test_two_compilations_are_compared_where_as_many_kernels_have_a_price(subject):
    one, other = told(subject)["latency_us"], told(replace(subject, cost=without_price(subject.cost, 0)))["latency_us"]
    assert beside(one, one)["first"] == one["value"]
    assert (beside(one, other)["first"], beside(one, other)["first_unpriced"]) == (None, 0)


def test_the_schedule_counts_the_kernels_that_the_headline_counts():
    found = document(gx.compile(parser.parse_model(VIEWS)))
    schedule, head = (unpack(found.parts[name]) for name in ("schedule", "head"))
    assert schedule["idle"].tolist().count(1) == 1
    kernels = next(one["value"] for one in head["figures"] if one["key"] == "kernels")
    assert len(schedule["idle"]) - schedule["idle"].sum() == kernels == 2


def test_places_far_from_a_pattern_are_all_counted_by_what_they_lack():
    compiled = gx.compile("bert-base:layers=1")
    far = unpack(document(compiled).parts["far"])
    counted = np.bincount(far["step"], weights=far["count"], minlength=len(compiled.steps))
    for tally in tallies(compiled.steps):
        (step,) = (position for position, one in enumerate(compiled.steps) if one.name == tally.rule)
        assert counted[step] == tally.far, tally.rule
    assert counted.sum() > 50
    assert (np.diff(far["node_at"]) == np.minimum(far["count"], MOST_PLACES)).all()
    row = int(far["count"].argmax())
    nodes = unpack(document(compiled).parts["nodes"])
    place = nodes["strings"][nodes["name"][far["node"][far["node_at"][row]]]]
    assert far["strings"][far["reason"][row]].startswith(place)


@pytest.mark.parametrize("model", ["bert-base:layers=2", "resnet50", "llama2-7b:small=true"])
def test_the_costs_count_as_many_kernels_before_all_passes_as_the_headline(model):
    parts = document(gx.compile(model, validate="off")).parts
    kernels = next(figure for figure in unpack(parts["head"])["figures"] if figure["key"] == "kernels")
    assert unpack(parts["cost"])["unfused"]["kernels"] == kernels["first"]
