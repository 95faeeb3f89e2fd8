"""The report's memory section: complete, escaped, small, and true to the plan."""

from __future__ import annotations

import ast
import dataclasses
import re
import shlex

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import gexplorer as gx
from gexplorer.commands.report import report
from gexplorer.memory.plan import DEFINITIONS, Plan
from gexplorer.memory.planners.registry import all_planners
from gexplorer.memory.problem import make_problem
from gexplorer.memory.standalone import plan_problem
from gexplorer.options import Options, parse_settings
from gexplorer.render import report as report_page
from gexplorer.render.html import text
from gexplorer.render.pool import POOL_HEIGHT, pool_figure
from gexplorer.render.pool_shapes import PLANE, Scale, hatch, rest_shape
from gexplorer.render.report_memory import memory_section
from gexplorer.units import bytes_text, percent_text, ratio_text
from gexplorer.views.memory_picture import pool_picture
from gexplorer.views.memory_report import memory_report
from gexplorer.views.report import command_line, python_line, report_data

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>&lt;'


@pytest.fixture(scope="module")
def bert():
    return gx.compile("bert-base:small=true,layers=2")


def section_of(memory) -> str:
    return text(memory_section(memory_report(memory), closely=True))


def words_of(html: str) -> str:
    import html as library

    return library.unescape(re.sub(r"<[^>]*>", "", html))


def rectangles(html: str) -> list[tuple[float, ...]]:
    """Left, top, width and height of every rectangle of the large picture's buffers, drawn alone or in a path."""
    plane = html[html.index("<svg viewBox") : html.index('class="peak"')]
    alone = re.findall(r'<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)"/>', plane)
    inside = re.findall(r"M([\d.-]+) ([\d.-]+)h([\d.]+)v([\d.]+)h-[\d.]+z", plane)
    return [tuple(map(float, found)) for found in (*alone, *inside)]


def test_the_report_has_the_section_and_the_headline(bert):
    page = text(report_page.words_of(report_data(bert)))
    assert 'aria-label="Memory"' in page
    assert "Memory pool" in words_of(page)
    assert bytes_text(bert.memory.pool_bytes) in words_of(page)


def test_every_number_stands_beside_its_definition(bert):
    words = words_of(section_of(bert.memory))
    for name in ("bound", "fragmentation", "internal", "reuse_rate", "reach_theory_rate", "occupancy"):
        assert DEFINITIONS[name] in words
    plan = bert.memory.plan
    for value in (plan.pool_bytes, plan.problem.bound_bytes, plan.problem.unplanned_bytes):
        assert bytes_text(value) in words


def test_every_buffer_is_drawn_where_the_plan_puts_it(bert):
    memory = bert.memory
    picture = pool_picture(memory.plan, points=len(memory.program))
    drawn = rectangles(text(pool_figure(picture, memory.program.operators)))
    problem = memory.plan.problem
    assert len(drawn) == len(problem)
    scale = Scale(picture.points, round(picture.height_bytes * 1.09), POOL_HEIGHT)
    low = memory.plan.placement.offsets
    columns = (problem.lower, problem.upper, low, low + problem.size_bytes)
    expected = [scale.box(*values) for values in zip(*map(np.ndarray.tolist, columns), strict=True)]
    for one, other in zip(sorted(drawn), sorted(expected), strict=True):
        assert one == pytest.approx(other, abs=0.25)


def test_a_buffer_that_can_be_pointed_at_says_what_it_is(bert):
    html = section_of(bert.memory)
    titles = words_of("".join(re.findall("<title>.*?</title>", html, re.DOTALL)))
    largest = max(bert.memory.bounds.alive, key=lambda one: one.size_bytes)
    assert f"{largest.tensor}\n{bytes_text(largest.size_bytes)} at " in titles


def test_what_is_alive_at_the_peak_is_listed(bert):
    words = words_of(section_of(bert.memory))
    for one in bert.memory.bounds.alive:
        assert one.tensor in words
        assert one.operator in words
    assert bert.memory.bounds.operator in words


def test_every_planner_has_a_row_and_the_unsound_one_is_red(bert):
    html = section_of(bert.memory)
    rows = re.findall(r'<tr class="(planner[^"]*)"><td class="name">(\w+)', html)
    names = [planner.name for planner in all_planners() if planner.name != "omnimalloc"]
    assert [name for _, name in rows] == names
    plans = bert.memory.compare(names)
    for (class_, name), plan in zip(rows, plans, strict=True):
        assert ("unsound" in class_) == (isinstance(plan, Plan) and not plan.is_sound)
        assert ("chosen" in class_) == (name == bert.memory.plan.planner)


def test_an_unsound_plan_is_told_and_hatched():
    memory = gx.compile("bert-base:small=true,layers=2", memory="article_literal").memory
    assert not memory.is_sound
    html = section_of(memory)
    assert "The plan is unsound." in words_of(html)
    assert "claimed twice" in words_of(html)
    assert memory.plan.findings[0].sentence in words_of(html)
    assert 'class="clash"' in html


def test_a_sound_plan_is_not_hatched(bert):
    picture = text(pool_figure(pool_picture(bert.memory.plan), ()))
    assert "clash" not in picture
    assert "claimed twice" not in picture


def test_tensors_without_a_size_are_listed_with_the_reason():
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 18]> g (float[8] x) => (float[8] y) {
          i = NonZero(x) h = Cast <to = 1> (i) z = ReduceSum <keepdims = 0> (h) y = Mul(x, z) }"""
    )
    memory = gx.compile(model).memory
    words = words_of(section_of(memory))
    assert memory.program.unsized
    for name, reason in memory.program.unsized.items():
        assert name in words
        assert reason in words


def test_nothing_to_place_says_so():
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {y=Neg(x)}'
    )
    words = words_of(section_of(gx.compile(model).memory))
    assert "Nothing to place" in words
    assert "placed by every planner" not in words


def test_hostile_names_stay_text():
    nodes = [
        helper.make_node("Sin", ["x"], [HOSTILE], name=f"{HOSTILE}a"),
        helper.make_node("Softmax", [HOSTILE], [f"{HOSTILE}b"], name=f"{HOSTILE}b"),
        helper.make_node("Softmax", [f"{HOSTILE}b"], ["y"], name=f"{HOSTILE}c"),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, 64]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    html = section_of(gx.compile(model, fusion={"ALL": False}).memory)
    assert "<script" not in html
    assert "<img" not in html
    assert HOSTILE in words_of(html)
    assert not re.search(r'\s(style|on\w+|href)="', html)


def many(n: int):
    rng = np.random.default_rng(1)
    lower = np.arange(n)
    life = 1 + rng.geometric(0.2, n)
    return make_problem(lower, lower + life, rng.integers(1, 1 << 20, n), alignment_bytes=512)


def test_more_buffers_than_can_be_seen_are_drawn_together():
    picture = pool_picture(plan_problem(many(20_000), "fast"))
    html = text(pool_figure(picture, ()))
    assert "The 2,000 buffers with the most bytes x operators are drawn one by one, the other 18,000" in html
    assert len(html) < 600_000


def test_a_scale_reaches_from_corner_to_corner():
    scale = Scale(10, 400, 64)
    assert (scale.x(0), scale.x(10), scale.y(0), scale.y(400)) == (0, PLANE, 64, 0)
    assert scale.box(0, 5, 100, 400) == (0, 0, PLANE / 2, 48)


@pytest.mark.parametrize(("part", "drawn"), [(0.3, False), (0.7, True)])
def test_a_cell_is_filled_when_half_of_it_is_taken(part, drawn):
    rest = np.array([[0, round(1000 * part), 0, 1000]])  # a part of the one cell on the left, from bottom to top
    assert bool(rest_shape(rest, Scale(250_000, 1000, 64)).get("d")) == drawn


def test_what_is_drawn_together_covers_what_it_should():
    rest = np.array([[0, 100, 0, 50], [50, 100, 50, 50]])  # the lower half, and a quarter above it on the right
    shape = rest_shape(rest, Scale(100, 100, 64))
    boxes = [tuple(map(float, box)) for box in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h", shape.get("d"))]
    assert sum(width * height for _, _, width, height in boxes) == pytest.approx(PLANE * 64 * 0.75, rel=0.01)
    assert all(left >= PLANE / 2 for left, top, _, _ in boxes if top < 32)
    assert rest_shape(np.zeros((0, 4), np.int64), Scale(1, 1, 1)) is None


@pytest.mark.parametrize("lines", ["across", "up", "both", "slanted"])
def test_hatching_stays_inside_of_its_box(lines):
    path = hatch([(10.0, 20.0, 33.0, 17.0)], lines).get("d")
    points = [(10.0, 20.0)]
    for command, values in re.findall(r"([MLhv])([\d. -]+)", path):
        numbers = list(map(float, values.split()))
        x, y = points[-1]
        points.append({"h": (x + numbers[0], y), "v": (x, y + numbers[0])}.get(command, tuple(numbers)))
    assert len(points) > 4
    assert all(9.9 <= x <= 43.1 and 19.9 <= y <= 37.1 for x, y in points)


def test_on_paper_the_largest_buffers_are_drawn_one_by_one():
    memory = gx.compile("bert-base:small=true,layers=8").memory
    data = memory_report(memory, 20)
    assert len(data.picture.blocks) == 20
    assert "The 20 buffers with the most bytes x operators" in text(memory_section(data))


def test_two_reports_differ_in_times_only(bert):
    def page(memory):
        data = memory_report(memory)
        rows = [dataclasses.replace(row, seconds=1.0) for row in data.planners]
        return text(memory_section(dataclasses.replace(data, planners=tuple(rows))))

    assert page(bert.memory) == page(gx.compile("bert-base:small=true,layers=2").memory)


def test_what_was_asked_of_memory_is_repeated():
    options = Options(memory="safe", no_reuse=("a", "b"), enable_mem_reuse=False, pins={"a": 512}, apart=(("a", "b"),))
    words = shlex.split(command_line("m.onnx", options))
    assert words[3:] == ["--memory", "safe", "--set", "enable_mem_reuse=False", "--set", "no_reuse=a,b"]
    parsed = report.make_context("report", words[2:]).params
    assert Options().with_changes(parse_settings(parsed["settings"])).no_reuse == ("a", "b")
    assert parsed["memory"] == "safe"
    call = ast.parse(python_line("m.onnx", options)).body[1].value
    assert Options().with_changes({word.arg: ast.literal_eval(word.value) for word in call.keywords}) == options


def test_numbers_are_not_rounded_to_what_they_are_not():
    assert [ratio_text(r) for r in (1, 1.000001, 1.31, 0.99999, 12.34)] == [
        "1.0000",
        "1.0001",
        "1.3100",
        "0.9999",
        "12.3",
    ]
    assert [percent_text(p) for p in (0, 1e-6, 0.5, 0.99999, 1, -0.4)] == [
        *("0.0 %", "<0.1 %", "50.0 %", ">99.9 %", "100.0 %", "-40.0 %")
    ]
