"""What a notebook shows of each result: short text, a static page in a frame, figures of plotly."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest

import gexplorer as gx
from gexplorer.compared import Compared
from gexplorer.errors import OptionError
from gexplorer.memory.standalone import plan_problem
from gexplorer.render import figures
from gexplorer.render.display import BUDGET_BYTES, bundle
from gexplorer.views.kernels import heat_map

MODEL = "bert-base:small=true,layers=2"


@pytest.fixture(scope="module")
def compiled():
    return gx.compile(MODEL)


@pytest.fixture(scope="module")
def results(compiled):
    product = next(kernel for kernel in compiled.kernels.distinct if kernel.op == "MatMulActivation")
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
        "misses": compiled.why(),
        "kernel": product,
        "program": product.programs[0],
        "landscape": product.programs[0].landscape,
    }


NAMES = (
    *("compilation", "steps", "step", "quiet", "memory", "schedule", "cost", "kernels", "validation", "difference"),
    *("misses", "kernel", "program", "landscape"),
)


def page_in(data):
    return html.unescape(re.fullmatch(r'<iframe .*srcdoc="(.*)"></iframe>', data["text/html"], re.DOTALL)[1])


@pytest.mark.parametrize("name", NAMES)
def test_each_has_short_text_and_a_small_static_page(results, name):
    data = results[name]._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html"}
    assert 0 < len(data["text/plain"]) < (4000 if name == "misses" else 400)
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
    named = set(re.findall(r'<td class="name">([^<]+)</td>', page_in(bundle(results["steps"]))))
    quiet = [s for s in results["steps"] if s.stage == "passes" and not s.rewrites and not s.rejects]
    assert named == {s.name for s in results["steps"]} - {s.name for s in quiet}
    assert f"{len(quiet)} passes found nothing to do" in words_of(results["steps"])
    for check in results["validation"].checks:
        assert check.name in words_of(results["validation"])
    assert "memory pool" in words_of(results["difference"])


def test_misses_say_why_and_what_would_cure(compiled, results):
    words, text = words_of(results["misses"]), repr(results["misses"])
    for miss in results["misses"]:
        for said in (words, text):
            assert miss.reason in said
            assert miss.hint is None or miss.hint in said
    assert text.startswith(f"{len(results['misses'])} near misses\n")
    assert results["misses"] == list(results["misses"]), "a list like any other"
    assert "nothing was nearly fused" in words_of(compiled.why("gelu"))
    assert repr(compiled.why("gelu")) == "0 near misses"
    far = compiled.why("matmul_bias", every=True)
    assert repr(far).startswith(f"{len(far)} misses\n")
    assert repr(type(far)(far * 10)).endswith(f"... {len(far) * 10 - 20} more")


def test_a_kernel_shows_its_buffers_and_its_program(results):
    kernel, (program,) = results["kernel"], results["kernel"].programs
    words = words_of(kernel)
    assert program.text in words
    assert all(part.level in words for part in program.occupied)
    assert "mmad" in words, "the program"
    assert str(kernel.count) in words


def test_a_kernel_without_a_program_says_why():
    odd = gx.compile(
        onnx.parser.parse_model(
            """<ir_version: 10, opset_import: ["": 18, "mine": 1]>
            odd (float[4] x) => (float[4] y) { y = mine.Strange(x) }"""
        ),
        validate="off",
    )
    (kernel,) = odd.kernels.distinct
    assert "knows no operator Strange" in words_of(kernel)
    assert "knows no operator Strange" in words_of(odd.kernels)


def test_every_cell_of_a_landscape_is_drawn(results):
    landscape = results["landscape"]
    page = page_in(bundle(landscape))
    cells = sum(path.count("M") for path in re.findall(r'<path d="([^"]*)" fill="var\(--accent\)"', page))
    seen = heat_map(landscape, 16, 48)
    assert cells == sum(one is not None for row in seen.slower for one in row) > 0
    assert re.search(r"<tspan [^>]*>X</tspan>", page)
    assert "style=" not in page, "the page's policy would not let it work"


def test_a_frame_has_the_room_that_its_page_needs(results):
    def height(name):
        return int(re.search(r"height:(\d+)px", bundle(results[name])["text/html"])[1])

    assert height("quiet") < height("schedule") < height("step") <= 660
    one = Compared(results["compilation"].steps[0], results["compilation"].steps[1])
    assert int(re.search(r"height:(\d+)px", bundle(one)["text/html"])[1]) < height("difference")


def test_what_hangs_on_a_compilation_is_told_in_a_few_words(compiled):
    """In a notebook the last line of a cell is shown: nobody wants sixty thousand signs of a dataclass."""
    step = compiled.steps["matmul_bias"]
    kernel = compiled.kernels.distinct[0]
    session_like = (compiled.program, compiled.graph, compiled.memory.plan, compiled.memory.bounds, compiled.source)
    for thing in (step.rewrites[0], *compiled.why()[:1], kernel, *kernel.programs, *session_like, compiled.options):
        assert len(repr(thing)) < 800, type(thing)
    assert re.fullmatch(r"Rewrite\('\w+', 'fused', 1 removed, 0 added, 1 changed\)", repr(step.rewrites[0]))


def test_the_kernel_that_a_fused_operator_went_into_is_named(compiled):
    rewrite = compiled.steps["matmul_bias"].rewrites[0]
    gone = rewrite.removed[0].name
    with pytest.raises(OptionError, match=f"{gone}' is no node that launches a kernel; it went into '"):
        compiled.kernels[gone]
    with pytest.raises(OptionError, match=r"launches a kernel$"):
        compiled.kernels["nothing of the kind"]


def test_what_would_be_too_large_is_left_to_the_text(results, monkeypatch):
    monkeypatch.setattr("gexplorer.render.display.BUDGET_BYTES", 1000)
    assert set(bundle(results["step"])) == {"text/plain"}


def test_importing_results_imports_nothing_that_draws():
    code = "import sys, gexplorer.compiler; print([m for m in sys.modules if 'gexplorer.render' in m or 'plotly' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class TestFigures:
    @pytest.mark.parametrize("name", ["memory", "schedule", "cost", "steps", "landscape"])
    def test_they_are_plain_plotly_and_say_what_they_show(self, results, name):
        import plotly.graph_objects as go

        figure = results[name].figure()
        assert type(figure) is go.Figure
        assert json.loads(figure.to_json())["data"]
        layout = figure.layout
        assert len(layout.title.text) > 10
        assert layout.xaxis.title.text
        assert layout.yaxis.title.text or name == "steps", "its ticks are names"
        assert all(trace.name for trace in figure.data if trace.type != "heatmap")

    @pytest.mark.parametrize("name", ["memory", "schedule", "cost", "steps"])
    def test_colour_is_never_alone(self, results, name):
        """Colours are of a palette for the colour-blind, and no two of a figure look the same without them."""
        drawn = [trace for trace in results[name].figure().data if len(trace.x)]
        looks = [
            (trace.type, trace.mode, trace.line.dash, trace.marker.symbol)
            if trace.type == "scatter"
            else (trace.type, trace.marker.pattern.shape)
            for trace in drawn
        ]
        assert len(set(looks)) == len(looks) > 1
        used = {trace.marker.color or trace.line.color for trace in drawn}
        assert used <= {*figures._PALETTE, "#b3261e", "#999999"}

    def test_addresses_are_told_in_round_sizes(self, results):
        ticks = results["memory"].figure().layout.yaxis
        assert 4 <= len(ticks.tickvals) <= 9
        assert all(re.fullmatch(r"[\d.]+ (B|KiB|MiB)", words) for words in ticks.ticktext)

    def test_the_landscape_is_the_times_of_the_tiles(self):
        wide = "wide (float16[256, 512] x, float16[512, 2048] w) => (float16[256, 2048] y) { y = MatMul(x, w) }"
        model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 18]> {wide}')
        (kernel,) = gx.compile(model, validate="off").kernels.distinct
        landscape = kernel.programs[0].landscape
        heat, *marks = landscape.figure().data
        best = landscape.space.tile(landscape.best)
        assert best.m != best.n, "else rows and columns could change places"
        at = np.asarray(heat.z)[list(heat.y).index(best.m), list(heat.x).index(best.n)]
        assert at == pytest.approx(landscape.best_us)
        assert (marks[0].x[0], marks[0].y[0]) == (best.n, best.m)
        assert [mark.name for mark in marks] == ["fastest", "taken"]

    def test_kernels_without_memory_traffic_are_counted_in_the_rooflines_title(self, results):
        rows = [row for row in results["cost"].rows if row.flops]
        left = sum(1 for row in rows if not row.hbm_bytes)
        drawn = sum(len(trace.x) for trace in results["cost"].figure().data if trace.mode == "markers")
        assert drawn == len(rows) - left
        title = results["cost"].figure().layout.title.text
        assert (f"{left} kernels without HBM traffic" in title) == (left > 1)

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
