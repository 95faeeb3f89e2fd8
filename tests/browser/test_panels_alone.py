"""Rules, Tiling, Kernel, Compile time, Figures and Log as widgets by themselves, in a real browser."""

import base64
import json
from pathlib import Path

import onnx.parser
import pytest

import gexplorer as gx
from gexplorer.render.document import document

STATIC = Path(gx.__file__).parent / "static"
HOSTILE = ["</script><img src=x onerror=window.hacked=1>", "<b onmouseover=window.hacked=1>&amp;\"'", "n" * 10_000]

# What anywidget gives a panel: a model whose kernel answers at once.
PAGE = """<!doctype html><html><head><meta charset="utf-8"><link rel="stylesheet" href="/gexplorer.css">
<link rel="icon" href="data:,"></head><body style="margin: 0"><div id="cell"></div><script type="module">
import panel from "/panel-NAME.js";
const parts = await (await fetch("/parts.json")).json();
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
const state = { height: 420, theme: "light", selection: {} };
const heard = {};
window.sent = [];
const post = (names) => queueMicrotask(() =>
    heard["msg:custom"]({ type: "parts", names }, names.map((name) => bytes(parts[name].data))));
const model = {
  get: (name) => state[name], set: (name, value) => { state[name] = value; }, save_changes() {},
  on: (name, call) => { heard[name] = call; }, off() {},
  send(message) {
    sent.push(message);
    if (message.type === "ready") post(Object.keys(parts).filter((name) => !parts[name].later));
    if (message.type === "ask" && parts[message.part]) post([message.part]);
  },
};
window.state = state;
window.told = (selection) => { state.selection = selection; heard["change:selection"](); };
panel.render({ model, el: document.getElementById("cell") });
</script></body></html>"""


@pytest.fixture(scope="module")
def compiled():
    return gx.compile("bert-base:layers=2")


@pytest.fixture
def show(browser):
    """Opens one panel in a cell so many px wide; at the end nothing may have been complained of."""
    pages, complaints = [], []

    def opened(name, compilation, width=1000, left_out=()):
        made = document(compilation)
        parts = {
            part: {"data": base64.b64encode(made.parts[part]).decode(), "later": part in made.on_demand}
            for part in made.parts
            if part not in left_out
        }
        answers = {"/": PAGE.replace("NAME", name), "/parts.json": json.dumps(parts)}

        def answer(route):
            path = "/" + route.request.url.split("/", 3)[3]
            if path in answers:
                kind = "application/json" if path.endswith("json") else "text/html; charset=utf-8"
                route.fulfill(body=answers[path], content_type=kind)
            else:
                route.fulfill(path=STATIC / path[1:])

        page = browser.new_page(viewport={"width": width, "height": 700})
        page.set_default_timeout(8000)
        pages.append(page)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
        page.route("http://panel.test/**", answer)
        page.goto("http://panel.test/")
        page.wait_for_selector(".gxt")
        return page

    yield opened
    for page in pages:
        assert page.evaluate("document.body.scrollWidth <= innerWidth")
        assert page.evaluate("window.hacked") is None
        page.close()
    assert complaints == []


def words(page):
    return page.locator(".gxt-words").inner_text()


@pytest.mark.parametrize("width", [1000, 640])
def test_rules_tell_what_each_brought_and_where_it_nearly_matched(show, compiled, width):
    page = show("rules", compiled, width)
    page.wait_for_function("document.querySelector('.gxt-words').textContent.includes('latency')")
    assert {"type": "ask", "part": "course"} in page.evaluate("sent")
    assert "rules fired" in words(page)
    row = page.get_by_role("row").filter(has_text="flash_attention")
    assert "µs" in row.inner_text()
    assert "of 16 places" in row.inner_text()
    row.click()
    assert "kernels fewer" in page.locator(".gxt-heading").inner_text()
    assert page.evaluate("state.selection.rule") == "flash_attention"
    page.get_by_role("button", name="near misses").click()
    page.get_by_role("row").filter(has_text="norm_qkv").click()
    near = page.get_by_role("table", name="Near misses")
    assert near.is_visible()  # below the rules where there is no room beside them
    assert "KiB" in near.inner_text()
    near.get_by_role("row").nth(2).click()
    assert page.evaluate("state.selection.node")
    page.get_by_role("button", name="found nothing").click()
    page.get_by_role("searchbox").fill("add_rms")
    assert "no RmsNorm" in page.get_by_role("row").filter(has_text="add_rms_norm").inner_text()


def test_rules_ask_for_the_places_far_from_a_pattern_when_somebody_unfolds_them(show, compiled):
    page = show("rules", compiled)
    page.get_by_role("row").filter(has_text="matmul_bias").click()
    fold = page.locator(".gxt-fold", has_text="far from its pattern")
    assert "press to list them" in page.get_by_role("table", name="Near misses").inner_text()
    assert {"type": "ask", "part": "far"} not in page.evaluate("sent")
    fold.click()
    page.get_by_role("row").filter(has_text="such as: ").first.wait_for()
    assert {"type": "ask", "part": "far"} in page.evaluate("sent")


def test_a_rule_is_switched_where_a_kernel_listens(show, compiled):
    page = show("rules", compiled)
    page.get_by_role("row").filter(has_text="flash_attention").get_by_role("switch").click()
    change = page.evaluate("sent.find((message) => message.type === 'change')")
    assert change["changes"] == {"fusion": {"flash_attention": False}}


def test_a_kernel_is_stepped_by_keys_and_in_words(show, compiled):
    page = show("kernel", compiled)
    doing = page.locator(".gxt-doing")
    doing.wait_for()
    first = doing.inner_text()
    assert first.startswith("MTE2 moves")
    page.locator(".gxt-lines").focus()
    page.keyboard.press("ArrowRight")
    assert doing.inner_text() != first
    page.keyboard.press("ArrowLeft")
    assert doing.inner_text() == first
    page.keyboard.press("Shift+ArrowRight")
    assert "instruction 2 " not in words(page)
    box = page.locator(".gxt-machine .gxt-surface").bounding_box()
    page.mouse.click(box["x"] + 112 + 1, box["y"] + 9)
    assert "instruction 1 " in words(page)
    assert page.locator(".gxt-lines [aria-current]").count() == 1


def test_a_kernel_without_a_program_says_why(show, compiled):
    page = show("kernel", compiled)
    lacking = next(kernel for kernel in compiled.kernels.distinct if kernel.missing is not None)
    page.get_by_role("table", name="Kernels").locator(".gxt-scroller").focus()
    page.keyboard.press("End")
    said = page.locator(".gxt-lacking .gxt-empty")
    assert "no tile program to step through" in said.inner_text()
    reasons = [kernel.missing.reason for kernel in compiled.kernels.distinct if kernel.missing is not None]
    assert lacking.missing.reason in reasons
    assert any(reason in said.inner_text() for reason in reasons)


def test_a_tile_is_pressed_and_walked(show, compiled):
    page = show("tiling", compiled)
    picture = page.locator(".gxt-tiling canvas").first
    box = picture.bounding_box()
    page.mouse.click(box["x"] + 80, box["y"] + box["height"] - 60)
    picked = page.locator(".gxt-tile")
    assert "best k" in picked.inner_text()
    assert "the one taken" in picked.inner_text()
    before = picked.inner_text()
    picture.focus()
    page.keyboard.press("ArrowRight")
    assert picked.inner_text() != before
    page.keyboard.press("Escape")
    assert not picked.is_visible()


def test_the_log_is_filtered_and_leads_to_what_it_tells_of(show, compiled):
    page = show("log", compiled)
    page.get_by_role("button", name="warnings").click()
    page.get_by_role("row").filter(has_text="not matched").first.click()
    assert page.evaluate("state.selection.step")
    assert "[WARNING]" in page.locator(".gxt-line").inner_text()
    page.get_by_role("button", name="all").click()
    page.locator("select").select_option("memory")
    said = {row.split("\n")[2] for row in page.get_by_role("row").all_inner_texts()[1:]}
    assert said
    assert said <= {step.name for step in compiled.steps if step.stage == "memory"} | {"memory", "memory_assignment"}
    page.get_by_role("searchbox").fill("imas")
    assert page.locator("mark").first.inner_text() == "IMAS"


def test_the_log_follows_a_step_that_is_chosen_elsewhere(show, compiled):
    page = show("log", compiled)
    page.evaluate("told({step: 'flash_attention'})")
    assert "flash_attention: AutoFusion flash_attention" in page.locator(".gxt-line").inner_text()
    page.evaluate("told({})")
    assert not page.locator(".gxt-line").is_visible()


def test_figures_name_the_step_that_changed_them_most(show, compiled):
    page = show("figures", compiled)
    row = page.get_by_role("row").filter(has_text="kernels").first
    assert "flash_attention −" in row.inner_text() or "shape_folding −" in row.inner_text()
    row.click()
    assert page.evaluate("state.selection.step")


def test_time_is_this_explorers_not_ges(show, compiled):
    page = show("time", compiled)
    assert "by this explorer" in words(page)
    assert "slowest: " in words(page)


@pytest.mark.parametrize("name", ["rules", "tiling", "kernel", "time", "figures", "log"])
def test_hostile_names_stay_text(show, tmp_path, name):
    graph = onnx.parser.parse_graph("g (float[8, 16] x) => (float[8, 16] y) { a = MatMul(x, w)\n y = Relu(a) }")
    weight = onnx.helper.make_tensor("w", 1, [16, 16], [0.5] * 256)
    graph.initializer.append(weight)
    for node, hostile in zip(graph.node, HOSTILE, strict=False):
        node.name = hostile
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])
    model.ir_version = 9
    path = tmp_path / "hostile.onnx"
    onnx.save(model, path)
    page = show(name, gx.compile(path))
    page.wait_for_timeout(100)
    assert page.locator("#cell img, #cell b[onmouseover]").count() == 0


@pytest.mark.parametrize("name", ["rules", "tiling", "kernel", "time", "figures", "log"])
def test_nothing_at_all_is_said_in_words(show, tmp_path, name):
    graph = onnx.parser.parse_graph("g (float[8] x) => (float[8] x) { }")
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])
    model.ir_version = 9
    path = tmp_path / "nothing.onnx"
    onnx.save(model, path)
    page = show(name, gx.compile(path))
    page.wait_for_timeout(100)
    assert page.locator(".gxt").inner_text().strip()
