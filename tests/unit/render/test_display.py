"""What a notebook shows of each result: short text, a static page in a frame, figures of plotly."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import gexplorer as gx
from gexplorer.errors import OptionError
from gexplorer.memory.standalone import plan_problem
from gexplorer.render import figures
from gexplorer.render.display import BUDGET_BYTES, bundle

MODEL = "bert-base:small=true,layers=2"


@pytest.fixture(scope="module")
def compiled():
    return gx.compile(MODEL)


@pytest.fixture(scope="module")
def results(compiled):
    return {
        "compilation": compiled,
        "steps": compiled.steps,
        "step": compiled.steps["matmul_bias"],
        "quiet": next(s for s in compiled.steps if not s.rewrites and not s.rejects and s.stage == "passes"),
        "memory": compiled.memory,
        "schedule": compiled.schedule,
        "cost": compiled.cost,
        "kernels": compiled.kernels,
        "validation": compiled.validation,
        "difference": gx.diff(compiled, compiled.replace(memory="safe")),
    }


NAMES = ("compilation", "steps", "step", "quiet", "memory", "schedule", "cost", "kernels", "validation", "difference")


def page_in(data):
    return html.unescape(re.fullmatch(r'<iframe .*srcdoc="(.*)"></iframe>', data["text/html"], re.DOTALL)[1])


@pytest.mark.parametrize("name", NAMES)
def test_each_has_short_text_and_a_small_static_page(results, name):
    data = results[name]._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html"}
    assert 0 < len(data["text/plain"]) < 400
    assert len(data["text/html"]) < BUDGET_BYTES
    assert re.match(
        r'<iframe sandbox="allow-scripts" title="[^"]*" style="[^"]*" loading="lazy" srcdoc="', data["text/html"]
    )
    assert data["text/html"].count("<") == 2
    page = page_in(data)
    assert "default-src 'none'" in html.unescape(page)
    assert "<script" not in page
    assert not re.search(r"\ssrc=", page)


def words_of(result):
    return html.unescape(re.sub("<[^>]*>", "", page_in(bundle(result))))


def test_a_step_shows_before_and_after_and_why(results):
    step = results["step"]
    page, words = page_in(bundle(step)), words_of(step)
    assert "Before" in words
    assert "After" in words
    assert page.count("<figure") >= 1
    assert step.reason(step.rewrites[0]) in words
    near = next(s for s in results["steps"] if s.rejects and s.stage == "passes")
    assert near.reason(near.rejects[0]) in words_of(near)
    assert "nothing to do" in words_of(results["quiet"])


def test_the_others_say_what_they_are(results):
    cost, schedule = results["cost"], results["schedule"]
    dearest = max(cost.rows, key=lambda row: row.total_us)
    assert dearest.node in words_of(cost)
    assert max(schedule.kernels.nodes, key=lambda node: len(node.name)).name in words_of(schedule)
    assert all(step.name in words_of(results["steps"]) for step in results["steps"])
    for check in results["validation"].checks:
        assert check.name in words_of(results["validation"])
    assert "memory pool" in words_of(results["difference"])


def test_what_would_be_too_large_is_left_to_the_text(results, monkeypatch):
    monkeypatch.setattr("gexplorer.render.display.BUDGET_BYTES", 1000)
    assert set(bundle(results["step"])) == {"text/plain"}


def test_importing_results_imports_nothing_that_draws():
    code = "import sys, gexplorer.compiler; print([m for m in sys.modules if 'gexplorer.render' in m or 'plotly' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class TestFigures:
    @pytest.mark.parametrize("name", ["memory", "schedule", "cost", "steps"])
    def test_they_are_plain_plotly(self, results, name):
        import plotly.graph_objects as go

        figure = results[name].figure()
        assert type(figure) is go.Figure
        assert json.loads(figure.to_json())["data"]

    def test_bars_are_where_the_plan_puts_the_buffers(self, results):
        memory = results["memory"]
        problem, offsets = memory.plan.problem, memory.plan.placement.offsets
        drawn = sorted(
            (float(x - width / 2), float(x + width / 2), int(base), int(size))
            for bar in memory.figure().data
            for x, width, base, size in zip(bar.x, bar.width, bar.base, bar.y, strict=True)
        )
        columns = (problem.lower, problem.upper, offsets, problem.size_bytes)
        assert drawn == sorted(zip(*(column.tolist() for column in columns), strict=True))

    def test_many_buffers_are_a_raster_that_covers_what_they_cover(self, results, monkeypatch):
        monkeypatch.setattr(figures, "MOST_BARS", 1)
        memory = results["memory"]
        (raster,) = memory.figure().data
        assert raster.type == "heatmap"
        problem = memory.plan.problem
        area = int(((problem.upper - problem.lower) * problem.size_bytes).sum())
        share = area / (len(memory.program) * memory.pool_bytes)
        assert np.asarray(raster.z).mean() == pytest.approx(share, rel=1e-6)
        assert np.asarray(raster.z).max() <= 1 + 1e-9

    def test_a_busy_schedule_is_a_raster_too(self, results, monkeypatch):
        monkeypatch.setattr(figures, "MOST_BARS", 1)
        schedule = results["schedule"]
        (raster,) = schedule.figure().data
        busy = schedule.serial_us / (schedule.makespan_us * schedule.streams)
        assert np.asarray(raster.z).mean() == pytest.approx(busy, rel=1e-6)

    def test_what_has_none_says_so(self):
        with pytest.raises(OptionError, match="has no figure"):
            figures.figure(plan_problem)
