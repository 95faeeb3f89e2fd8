"""What an explorer shows when there is little to opened: a pass that failed, nothing rewritten, two graphs alike."""

import re

import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.errors import PassError
from gexplorer.passes import manager
from gexplorer.passes.base import Pass

MODEL = "bert-base:small=true,layers=2"
WHY = "index 7 is out of bounds for axis 1 with size 4"


class Broken(Pass):
    """Never comes to an end."""

    name = "broken_pass"
    order = 655

    def run(self, draft, log, context):
        raise IndexError(WHY)


@pytest.fixture
def broken(monkeypatch):
    """A pass that fails is among all others, for one test."""
    passes = sorted((*manager.all_passes(), Broken), key=lambda one: one.order)
    monkeypatch.setattr(manager, "all_passes", lambda: tuple(passes))


def test_a_pass_that_failed_is_named_with_what_can_still_be_seen(broken, opened, tmp_path):
    path = tmp_path / "failed.html"
    done = CliRunner().invoke(cli, ["report", MODEL, "-o", str(path)])
    assert done.exit_code == 1
    page = opened(path)
    card = page.locator(".gx-failure-card").inner_text()
    assert "broken_pass" in card
    assert WHY in card
    assert "memory, schedule, kernels, validation" in card
    assert "broken_pass" in page.locator(".gx-row-failed").inner_text()
    assert page.locator(".gx-row-stage", has_text="memory").inner_text().split("\n")[-1] == "not reached"
    assert "not reached" in page.locator("[role=tabpanel]:visible").inner_text()
    assert page.evaluate("gexplorer.explorer.graph.stage.scene.count") > 3
    page.locator(".gx-inspector .gx-part .gx-link").first.click()
    step = page.evaluate("gexplorer.store.cursor.step")
    assert step == page.evaluate("gexplorer.store.parts.steps.steps.length") - 1
    page.get_by_role("button", name="What can still be seen").click()
    assert page.locator(".gx-failure-card").count() == 1


def test_the_error_itself_writes_the_page(broken, tmp_path):
    with pytest.raises(PassError) as caught:
        gx.compile(MODEL)
    path = caught.value.report(tmp_path / "failed.html")
    assert "broken_pass" in path.read_text("utf-8")
    assert "error.report(" in "".join(caught.value.__notes__)
    with pytest.raises(gx.OptionError, match="run without one"):
        PassError("alone", (), "it was so").report(tmp_path / "none.html")


def model_of(nodes, outputs):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in outputs]
    graph = helper.make_graph(nodes, "g", [x], values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


NAMES = ["n" * 200, "卷积层" * 60, "\u05e9\u05db\u05d1\u05d4 " * 40]


@pytest.mark.parametrize(
    "model",
    [
        model_of([], ["x"]),
        model_of([helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Cast", ["i"], ["y"], to=1)], ["y"]),
        model_of(
            [helper.make_node("Selu", [("x", *NAMES)[i]], [name], name=name) for i, name in enumerate(NAMES)],
            [NAMES[-1]],
        ),
    ],
    ids=["no nodes", "sizes that are free", "long and foreign names"],
)
def test_odd_models_are_shown_without_a_blank_panel(opened, tmp_path, model):
    page = opened(gx.compile(model, fusion={"elementwise_chain": False}).report(tmp_path / "odd.html", variants="none"))
    for tab in page.locator("[role=tab]").all():
        tab.click()
        said = page.locator("[role=tabpanel]:visible").inner_text()
        assert len(said) > 20, tab.inner_text()
        assert "cannot be shown" not in said
    for figure in page.locator(".gx-figure").all():
        value, title = figure.locator(".gx-figure-now").inner_text().strip(), figure.get_attribute("title")
        assert value
        assert len(title.splitlines()) >= 2, f"{title} does not say what it means"
    for node in range(page.evaluate("gexplorer.store.parts.nodes.name.length")):
        page.evaluate("node => gexplorer.store.move({node})", node)
        inside = page.evaluate(
            "() => { const e = document.querySelector('.gx-inspector-body'); return e.scrollWidth <= e.clientWidth; }"
        )
        assert inside
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_where_every_candidate_was_rejected_the_near_misses_are_a_press_away(opened, tmp_path):
    """A linear layer whose bias is no row: nothing is rewritten, and the rule says why."""
    w = helper.make_tensor("w", TensorProto.FLOAT, [4, 4], [0.5] * 16)
    b = helper.make_tensor("b", TensorProto.FLOAT, [2, 1], [1.0, 2.0])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y], [w, b])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    compiled = gx.compile(model)
    passes = [step for step in compiled.steps if step.stage == "passes"]
    near = sum(len(step.rejects) for step in passes)
    assert near
    assert not any(step.rewrites for step in passes)
    page = opened(compiled.report(tmp_path / "rejected.html", variants="none"))
    link = page.locator(".gx-inspector .gx-empty .gx-link")
    assert link.inner_text().startswith(f"{near} near miss")
    link.click()
    assert page.locator(".gx-why-large").count() == 1


def test_open_sizes_are_bound_by_what_is_said_as_it_stands(opened, tmp_path):
    compiled = gx.compile(model_of([helper.make_node("Exp", ["x"], ["y"])], ["y"]))
    page = opened(compiled.report(tmp_path / "open.html", variants="none"))
    for tab in ("Schedule", "Traffic", "Roofline"):
        page.get_by_role("tab", name=tab, exact=True).click()
        code = page.locator("[role=tabpanel]:visible .gx-cure code")
        assert code.inner_text() == "shapes={'x': (1, 4)}", tab
    assert page.locator(".gx-inspector .gx-cure code").inner_text() == code.inner_text()
    assert not eval(f"compiled.replace({code.inner_text()})").cost.uncosted


def test_where_nothing_computes_the_roofline_says_so(opened, tmp_path):
    compiled = gx.compile(model_of([helper.make_node("Transpose", ["x"], ["y"])], ["y"]), shapes={"x": (64, 4)})
    page = opened(compiled.report(tmp_path / "moves.html", variants="none"))
    page.get_by_role("tab", name="Roofline", exact=True).click()
    panel = page.locator("[role=tabpanel]:visible")
    assert "only moves data" in panel.locator(".gxt-empty").inner_text()
    assert not panel.locator("canvas").first.is_visible()


@pytest.fixture(scope="module")
def first():
    return gx.compile(MODEL)


def test_two_option_sets_say_what_got_worse_and_why(opened, first, tmp_path):
    second = first.replace(fusion={"matmul_bias": False}, memory="safe")
    page = opened(gx.diff(first, second).report(tmp_path / "d.html"))
    body = page.locator(".gx-inspector-body").inner_text()
    lines = page.locator(".gx-differs-line").all_inner_texts()
    kernels = next(line for line in lines if line.startswith("kernels"))
    assert f"{len(first.kernels)} → {len(second.kernels)}" in kernels
    assert "▲" in kernels
    worse, better = (int(n) for n in re.match(r"(\d+) worse(?:, (\d+) better)?", body).groups("0"))
    # More fused kernels are no verdict: they are told with those that are neither.
    neither = page.locator(".gx-part", has_text="Neither better nor worse").locator(".gx-differs-line")
    assert any(line.startswith("fused kernels") for line in neither.all_inner_texts())
    assert neither.locator(".gx-worse, .gx-better").count() == 0
    assert worse + better == len(lines) - neither.count()
    assert "matmul_bias off" in body
    assert "balanced → safe" in body.replace("\n", " ")
    assert "switched off" in body
    assert re.search(r"\d+ of \d+ kernel designs", body)
    for nonsense in ("cannot compile again", "pass · passes"):
        assert nonsense not in page.locator("body").inner_text()
    assert page.locator(".gx-inspector .gx-switch").count() == 0
    assert page.locator(".gx-row .gx-mark").count() > 3
    page.keyboard.press("ArrowRight")
    assert page.evaluate("gexplorer.store.cursor.rewrite") == 0


def test_the_same_twice_differs_in_nothing(opened, first, tmp_path):
    page = opened(gx.diff(first, first).report(tmp_path / "same.html"))
    assert page.locator(".gx-inspector h2").nth(1).inner_text() == "No figure differs"
    assert re.search(r"None of \d+ kernel designs", page.locator(".gx-inspector-body").inner_text())
    assert "The graphs are the same." in page.locator(".gx-inspector-body").inner_text()


def test_another_shape_says_which_kernels_are_compiled_again(opened, first, tmp_path):
    other = gx.compile(f"{MODEL},seq=16")
    page = opened(gx.diff(first, other).report(tmp_path / "shape.html"))
    body = page.locator(".gx-inspector-body").inner_text()
    assert "16]" in body
    found = re.search(r"(\d+) of (\d+) kernel designs", body)
    assert 0 < int(found[1]) <= int(found[2])
