"""The report in a real browser, from a file with the network off: the explorer works, and the words without it."""

import json
import re
from pathlib import Path

import pytest
from onnx import TensorProto, helper

import gexplorer as gx
from gexplorer.render.page import zipped
from gexplorer.render.variants import possible

MODEL = "bert-base:layers=2"
HOSTILE = [
    "</script><img src=x onerror=window.hacked=1>",
    "<b onmouseover=window.hacked=1>&amp;\"'</b>",
    "\u202egnp.exe 🜁 \n second line",
    "n" * 10_000,
]
LONG = "/model/layers.0/self_attn/" + "very_long_name_without_a_break_" * 6


def hostile_model():
    """Hostile names in nodes, values, attributes, the graph, and a foreign operator."""
    a, b, c, d = HOSTILE
    nodes = [
        helper.make_node("Identity", [a], ["i"], name=a),
        helper.make_node("Neg", ["i"], [b], name=b),
        helper.make_node("Relu", [b], [c], name=c),
        helper.make_node(a, [c], [d], name=d, domain=b, **{"attribute <b>": a}),
        helper.make_node("Sin", [d], ["y"], name=LONG),
    ]
    graph = helper.make_graph(
        nodes,
        a,
        [helper.make_tensor_value_info(a, TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(b, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


@pytest.fixture(scope="module")
def compiled():
    return gx.compile(MODEL)


@pytest.fixture(scope="module")
def report(compiled, tmp_path_factory):
    return compiled.report(tmp_path_factory.mktemp("report") / "a report #1.html", variants=2)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return gx.compile(hostile_model()).report(tmp_path_factory.mktemp("report") / "r.html", variants="none")


@pytest.fixture
def show(browser, report):
    """Opens a page without a network; at the end it has asked for nothing but itself, and complained of nothing."""
    opened = []

    def open_page(fragment="", width=1280, path=None, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 860}, offline=True, reduced_motion="reduce", **options
        )
        page = context.new_page()
        page.requests, page.complaints = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        opened.append((context, page))
        page.goto((path or report).as_uri() + fragment)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-gexplorer=complete]", timeout=30_000)
        return page

    yield open_page
    for context, page in opened:
        assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
        assert page.complaints == []
        context.close()


def cursor(page):
    return page.evaluate("gexplorer.store.cursor")


def until(page, expression):
    """Waits until an expression holds; Playwright's own way evaluates text in the page, which its policy forbids."""
    for _ in range(100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never held: {expression}")


def open_all(page):
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")


def test_the_explorer_is_shown_and_the_words_are_not(show):
    page = show()
    assert page.locator(".gx-title h1").inner_text() == MODEL
    assert page.locator(".gx-canvas").is_visible()
    assert not page.locator("#summary").is_visible()
    assert page.evaluate("getComputedStyle(document.body).margin") == "0px"


def test_steps_search_sides_and_links_by_keyboard(show, compiled):
    page = show("#step=matmul_bias")
    step = compiled.steps["matmul_bias"].index
    assert cursor(page) == {"step": step}
    page.keyboard.press("ArrowRight")
    assert cursor(page) == {"step": step, "rewrite": 0}
    assert page.url.endswith(f"#step={step}&rewrite=0")
    mode = page.locator(".gx-segment[aria-pressed=true]").inner_text()
    page.keyboard.press("b")
    assert page.locator(".gx-segment[aria-pressed=true]").inner_text() != mode
    page.keyboard.press("ArrowDown")
    assert cursor(page)["step"] > step
    page.keyboard.press("/")
    page.keyboard.type("type:matmul pooler")
    assert page.locator(".gx-hit").count() > 0
    page.keyboard.press("Enter")
    node = page.evaluate(
        "n => gexplorer.store.parts.nodes.strings[gexplorer.store.parts.nodes.name[n]]", cursor(page)["node"]
    )
    assert f"node={node}" in page.url


def test_a_switch_shows_what_compiling_would_give(show, compiled):
    rule = next(name for one in possible(compiled) for name in one.changes.get("fusion", ()))
    page = show(f"#step={rule}")
    kernels = "gexplorer.store.parts.head.figures.find(figure => figure.key === 'kernels').value"
    own = page.evaluate(kernels)
    page.locator(".gx-inspector .gx-switch").click()
    other = compiled.replace(fusion={rule: False})
    until(page, f"{kernels} !== {own}")
    figures = page.evaluate("Object.fromEntries(gexplorer.store.parts.head.figures.map(f => [f.key, f.value]))")
    assert figures["hbm_bytes"] == pytest.approx(other.cost.hbm_bytes)
    assert figures["pool_bytes"] == other.memory.pool_bytes
    assert page.evaluate("gexplorer.store.changes") == {"fusion": {rule: False}}
    page.evaluate("gexplorer.store.reset()")
    until(page, f"{kernels} === {own}")


def test_a_memory_mode_is_a_switch_too(show, compiled):
    page = show()
    page.evaluate("gexplorer.store.change({memory: 'safe'})")
    safe = compiled.replace(memory="safe").memory.pool_bytes
    until(page, f"gexplorer.store.parts.memory.pool_bytes === {safe}")
    assert safe != compiled.memory.pool_bytes


def test_a_damaged_variant_is_one_line_and_the_page_stays(show, report, tmp_path):
    written = Path(report).read_text(encoding="utf-8")
    found = re.search(r'(id="gexplorer-document">)(.*?)(</script>)', written, re.DOTALL)
    carried = json.loads(found[2])
    carried["variants"]['{"memory":"safe"}']["memory"] = zipped(b"GXD1" + bytes(16))
    spoiled = tmp_path / "spoiled.html"
    spoiled.write_text(written.replace(found[2], json.dumps(carried).replace("<", "\\u003c")), encoding="utf-8")
    page = show(path=spoiled)
    own = page.evaluate("gexplorer.store.parts.memory.pool_bytes")
    page.evaluate("gexplorer.store.change({memory: 'safe'})")
    until(page, "gexplorer.store.failure !== null")
    assert page.evaluate("gexplorer.store.failure") == "this variant's data is damaged"
    assert page.evaluate("gexplorer.store.parts.memory.pool_bytes") == own
    assert page.evaluate("gexplorer.store.changes") == {}
    assert page.get_by_text("this variant's data is damaged").first.is_visible()


def test_what_is_not_carried_is_refused_with_the_reason(show):
    page = show()
    refusal = page.evaluate("gexplorer.store.refusal({soc: 'Ascend310P3'})")
    assert "does not carry" in refusal
    page.evaluate("gexplorer.store.change({soc: 'Ascend310P3'})")
    assert page.evaluate("gexplorer.store.changes") == {}


def test_hostile_names_stay_text(show, hostile):
    page = show(path=hostile)
    for tab in page.locator("[role=tab]").all():
        tab.click()
    for step in range(page.evaluate("gexplorer.store.parts.steps.steps.length")):
        page.evaluate("step => gexplorer.store.move({step, rewrite: 0})", step)
    for name in HOSTILE:
        page.evaluate(
            """name => { const {nodes} = gexplorer.store.parts;
                gexplorer.store.move({node: [...nodes.name].findIndex(n => nodes.strings[n] === name)}); }""",
            name,
        )
        shown = page.locator(".gx-inspector").inner_text()
        assert re.sub(r"\s", "", name)[:60] in re.sub(r"\s", "", shown)
    page.keyboard.press("/")
    page.keyboard.type("script")
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, .gexplorer script, .gexplorer b[onmouseover]").count() == 0


def test_the_words_hold_hostile_names_as_text(show, hostile):
    page = show(path=hostile, java_script_enabled=False)
    assert page.locator("#summary img, #summary script").count() == 0
    words = page.locator("#summary").text_content()
    assert HOSTILE[0] in words
    assert HOSTILE[1] in words


def test_a_script_put_into_it_would_not_run(browser, report, tmp_path):
    spoiled = tmp_path / "spoiled.html"
    written = Path(report).read_text(encoding="utf-8")
    assert "<main>" in written
    spoiled.write_text(written.replace("<main>", "<main><script>window.hacked=1</script>"), encoding="utf-8")
    page = browser.new_page()
    page.goto(spoiled.as_uri())
    page.wait_for_selector("html[data-gexplorer=complete]")
    assert page.evaluate("window.hacked") is None
    page.close()


def test_where_the_program_cannot_be_unpacked_the_words_are_shown(browser, report, tmp_path):
    spoiled = tmp_path / "spoiled.html"
    written = Path(report).read_text(encoding="utf-8")
    spoiled.write_text(re.sub(r'(id="gexplorer-code">)[^<]{40}', r"\1", written), encoding="utf-8")
    page = browser.new_page()
    page.goto(spoiled.as_uri())
    page.wait_for_selector("#gexplorer-note:not([hidden])")
    assert "same in words" in page.locator("#gexplorer-note").inner_text()
    assert page.locator("#summary h1").is_visible()
    page.close()


class TestWords:
    """The same without scripts, and on paper."""

    def test_they_are_complete_without_scripts(self, show, compiled):
        page = show(java_script_enabled=False)
        assert page.locator("#summary h1").inner_text() == MODEL
        page.locator("details.step:not([open]) > summary").first.click()
        assert page.locator("details.step[open] .body").first.is_visible()
        words = page.locator("#summary").text_content()
        for step in compiled.steps:
            if step.rewrites or step.rejects:
                assert step.name in words

    @pytest.mark.parametrize("width", [400, 1400])
    def test_no_part_of_them_is_wider_than_the_screen(self, show, hostile, width):
        page = show(width=width, path=hostile)
        page.evaluate("dispatchEvent(new CustomEvent('gexplorer-failed', {detail: 'a test'}))")
        open_all(page)
        assert page.locator("#summary").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_they_follow_the_colour_scheme(self, show, scheme):
        page = show(color_scheme=scheme)
        page.evaluate("dispatchEvent(new CustomEvent('gexplorer-failed', {detail: 'a test'}))")
        red = page.evaluate("parseInt(getComputedStyle(document.body).backgroundColor.match(/[0-9]+/)[0])")
        assert (red > 128) == (scheme == "light")
        assert page.evaluate("getComputedStyle(document.querySelector('.figures')).display") == "grid"

    def test_they_are_what_is_printed(self, show):
        page = show()
        page.emulate_media(media="print")
        assert page.locator("#summary h1").is_visible()
        assert not page.locator(".gexplorer").is_visible()
        hidden = page.evaluate(
            "[...document.querySelectorAll('details.step > .body')].filter(b => !b.checkVisibility()).length"
        )
        assert hidden == 0
