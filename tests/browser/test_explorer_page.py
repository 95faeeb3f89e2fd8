"""The explorer as a page by itself, in a real browser: everything by keyboard, and nothing but itself."""

import base64
import hashlib
import json
from pathlib import Path

import onnx.parser
import pytest

import gexplorer as gx
from gexplorer.render.document import document
from gexplorer.render.page import zipped

STATIC = Path(gx.__file__).parent / "static"
MODEL = "bert-base:layers=4"
HOSTILE = [
    "</script><img src=x onerror=window.hacked=1>",
    "<b onmouseover=window.hacked=1>&amp;\"'",
    "\u202egnp.exe 🜁 \n second line",
    "n" * 10_000,
]


def carried(made, names=None):
    return {name: zipped(made.parts[name]) for name in names or made.parts}


def page_of(compilation, variants=None, parts=None):
    """The page with the document inside, as widgets/README.md says.

    Args:
        compilation: what is shown.
        variants: compilations by their changes' key.
        parts: names of the parts that it carries; all of them by default.
    """
    made = document(compilation)
    others = {key: carried(document(other, previous=made)) for key, other in (variants or {}).items()}
    data = json.dumps({"parts": carried(made, parts), "variants": others}).replace("<", "\\u003c")
    script, sheet = (STATIC / "report.js").read_text("utf-8"), (STATIC / "gexplorer.css").read_text("utf-8")
    script_hash, sheet_hash = (base64.b64encode(hashlib.sha256(x.encode()).digest()).decode() for x in (script, sheet))
    policy = f"default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{sheet_hash}'; img-src data:"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<link rel="icon" href="data:,"><title>explorer</title><style>{sheet}</style></head><body>'
        f'<div id="gexplorer"></div><script type="application/json" id="gexplorer-document">{data}</script>'
        f"<script>{script}</script></body></html>"
    )


@pytest.fixture(scope="module")
def compiled():
    return gx.compile(MODEL)


@pytest.fixture(scope="module")
def file(compiled, tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "page.html"
    path.write_text(page_of(compiled), encoding="utf-8")
    return path


@pytest.fixture
def show(opened, file):
    """Opens the page, or another."""
    return lambda fragment="", width=1280, path=file, **options: opened(path, fragment, width, **options)


def cursor(page):
    return page.evaluate("gexplorer.store.cursor")


def until(page, expression):
    """Waits until an expression holds; Playwright's own way evaluates text in the page, which its policy forbids."""
    for _ in range(100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never held: {expression}")


def heading(page):
    return page.locator(".gx-inspector-body h2").first.inner_text()


def choose(page, selection):
    page.evaluate("selection => gexplorer.store.move(selection)", selection)


def boxes(page):
    """Types of the boxes of nodes in the picture, with their status."""
    return page.evaluate(
        """() => { const {stage} = gexplorer.explorer.graph, {nodes} = gexplorer.store.parts, s = stage.scene;
            return [...s.member].map((m, i) => [m >= 0 ? nodes.strings[nodes.name[m]] : s.path[i], s.status[i]]); }"""
    )


def test_the_frame_is_there_and_says_what_is_compiled(show, compiled):
    page = show()
    assert page.locator(".gx-title h1").inner_text() == MODEL
    labels = page.locator(".gx-figure-label").all_inner_texts()
    assert len(labels) >= 5
    assert f"{len(compiled.steps):,}" in page.locator(".gx-steps .gx-pane-head").inner_text()
    assert page.locator(".gx-canvas").is_visible()
    assert page.locator("[role=tab]").count() >= 5


def test_it_opens_as_the_repeated_block_and_can_be_read(show):
    """The result: a block that stands for all layers, in the middle, its badge seen, no label cut."""
    for width in (1280, 1920):
        page = show(width=width)
        assert cursor(page) == {}
        seen = page.evaluate(
            """() => { const g = gexplorer.explorer.graph, s = g.stage.scene, c = g.camera, found = [];
                for (let i = 0; i < s.count; i++) {
                    const x = s.x[i] * c.k + c.x, top = (s.y[i] - s.h[i] / 2) * c.k + c.y;
                    if (top < 0 || top > c.height - 30 || x < 0 || x > c.width) continue;
                    const cut = g.labels.title(i, 0) !== g.labels.full(i);  // the text that was drawn
                    found.push([s.path[i], s.open[i], g.labels.times(i), x / c.width, cut]); }
                return {k: c.k, found, statuses: [...new Set(s.status)]}; }"""
        )
        assert seen["k"] >= 0.8
        blocks = [one for one in seen["found"] if one[1] and one[2]]
        assert [(times, abs(middle - 0.5) < 0.02) for _, _, times, middle, _ in blocks] == [("× 4", True)]
        assert [one[0] for one in seen["found"] if one[4]] == []
        assert seen["statuses"] == [3]  # the result alone: nothing that a pass removed


@pytest.mark.parametrize("width", [900, 1280, 1920])
def test_no_figure_is_cut(show, width):
    page = show(width=width)
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.gx-figure-value > span, .gx-figure-note > span, .gx-title h1')]
            .filter(e => { const box = (e.closest('.gx-figure') ?? e).getBoundingClientRect();
                return e.scrollWidth > e.clientWidth + 1 && e.clientWidth
                    || e.getBoundingClientRect().right > box.right + 1; })
            .map(e => e.textContent)"""
    )
    assert cut == []
    assert page.locator(".gx-figure-now").nth(3).inner_text().endswith("s")
    assert page.locator("[data-figure=latency_us] .gx-figure-error").inner_text().startswith("±")


def test_a_kernel_goes_step_by_step(show):
    """By key: what is moved grows, the line goes on, the buffers fill; back again it is as it was."""
    page = show()
    page.get_by_role("tab", name="Kernel").click()
    panel = page.locator(".gxt-kernel")
    program = panel.locator(".gxt-lines")
    state = lambda: (panel.locator(".gxt-path b").all_inner_texts(), program.locator("[aria-current]").inner_text())  # noqa: E731
    first = state()
    assert panel.locator(".gxt-new").count() == 1
    program.click()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    later = state()
    assert later[0] != first[0]
    assert later[1] != first[1]
    page.keyboard.press("Shift+ArrowRight")
    assert "tile 1," in page.locator(".gxt-words:visible").inner_text()
    page.keyboard.press("Shift+ArrowRight")
    assert "tile 2," in page.locator(".gxt-words:visible").inner_text()
    assert cursor(page) == {}  # its keys are its own
    for _ in range(40):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    assert state() == first


def test_steps_go_by_arrow_and_the_page_says_where(show):
    page = show()
    page.keyboard.press("ArrowDown")
    first = cursor(page)["step"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    third = cursor(page)["step"]
    assert third > first
    name = page.evaluate("gexplorer.store.parts.steps.steps[gexplorer.store.cursor.step].name")
    assert heading(page) == name
    assert page.locator(".gx-row-step.gx-chosen").inner_text().startswith(("▸", "▾", name))
    assert page.locator(".gx-what b").inner_text() == name
    assert page.url.endswith(f"#step={third}")
    page.keyboard.press("ArrowUp")
    assert cursor(page)["step"] < third


def test_rewrites_go_sideways_and_are_framed(show, compiled):
    page = show()
    step = next(i for i, step in enumerate(compiled.steps) if step.name == "matmul_bias")
    choose(page, {"step": step})
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert cursor(page) == {"step": step, "rewrite": 1}
    assert "rewrite 2 of" in page.locator(".gx-inspector-body").inner_text()
    rewrite = compiled.steps[step].rewrites[1]
    names = {node.name for node in rewrite.removed} | {new.name for _, new in rewrite.changed}
    seen = page.evaluate(
        """names => {
            const g = gexplorer.explorer.graph, s = g.stage.scene, {nodes} = gexplorer.store.parts, c = g.camera;
            return names.map(name => { for (let i = 0; i < s.count; i++) {
                if (s.member[i] < 0 || nodes.strings[nodes.name[s.member[i]]] !== name) continue;
                const x = s.x[i] * c.k + c.x, y = s.y[i] * c.k + c.y;
                return x > 0 && x < c.width && y > 0 && y < c.height; } return false; }); }""",
        sorted(names),
    )
    assert seen == [True] * len(names)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert cursor(page) == {"step": step}


def test_enter_unfolds_a_step(show, compiled):
    page = show()
    step = next(i for i, step in enumerate(compiled.steps) if step.name == "matmul_bias")
    choose(page, {"step": step})
    assert page.locator(".gx-row-in").count() == 0
    page.keyboard.press("Enter")
    assert page.locator(".gx-row-in").count() > 3
    page.keyboard.press("Enter")
    assert page.locator(".gx-row-in").count() == 0


def test_before_after_and_both_show_what_they_say(show, compiled):
    page = show()
    step = next(i for i, step in enumerate(compiled.steps) if step.name == "matmul_bias")
    choose(page, {"step": step, "rewrite": 0})
    removed = compiled.steps[step].rewrites[0].removed[0].name
    assert dict(boxes(page))[removed] & 3 == 1
    spot = page.evaluate(
        """name => { const g = gexplorer.explorer.graph, s = g.stage.scene, {nodes} = gexplorer.store.parts;
            const i = [...s.member].findIndex(m => m >= 0 && nodes.strings[nodes.name[m]] === name);
            return [s.x[i], s.y[i]]; }""",
        removed,
    )
    for mode in ("after", "before", "both"):
        page.keyboard.press("b")
        assert page.locator(".gx-segment[aria-pressed=true]").inner_text() == mode
        index = page.evaluate("([x, y]) => gexplorer.explorer.graph.stage.index.box(x, y, gexplorer.store.mode)", spot)
        member = page.evaluate("i => gexplorer.explorer.graph.stage.scene.member[i]", index)
        assert (member >= 0) == (mode != "after")


def test_search_lights_and_goes(show):
    page = show()
    page.keyboard.press("/")
    page.keyboard.type("type:matmul pooler")
    count = page.locator(".gx-hit-count").inner_text()
    assert count.split()[0].isdigit()
    assert page.locator(".gx-hit").count() > 0
    page.keyboard.press("Enter")
    assert not page.locator(".gx-search").is_visible()
    node = cursor(page)["node"]
    name = page.evaluate("n => gexplorer.store.parts.nodes.strings[gexplorer.store.parts.nodes.name[n]]", node)
    assert name in page.locator(".gx-name").first.inner_text()
    page.keyboard.press("/")
    page.keyboard.press("Control+A")
    page.keyboard.type("no such node b f m")
    assert "No node" in page.locator(".gx-hits").inner_text()
    page.keyboard.press("Escape")
    assert not page.locator(".gx-search").is_visible()
    assert cursor(page)["node"] == node


def test_escape_releases(show):
    page = show()
    choose(page, {"step": 3, "node": 0})
    page.keyboard.press("Escape")
    assert cursor(page) == {"step": 3}


def test_why_not_names_the_blocker_and_lights_it(show, compiled):
    page = show()
    step, row, reject = next(
        (i, k, reject)
        for i, step in enumerate(compiled.steps)
        for k, reject in enumerate(step.rejects)
        if reject.blocker and step.stage == "passes" and step.name != "constant_folding"
    )
    choose(page, {"step": step, "reject": row})
    text = page.locator(".gx-why-large").inner_text()
    assert "stands in the way" in text
    assert str(reject.blocker) in text
    node = page.evaluate("([s, r]) => gexplorer.store.parts.steps.steps[s].rejects.node[r]", [step, row])
    choose(page, {"reject": None, "node": node})
    assert page.locator(".gx-why.gx-missed").count() >= 1
    assert compiled.steps[step].name in page.locator(".gx-why-list").inner_text()


def test_a_link_opens_what_it_names(show, compiled):
    step = next(i for i, step in enumerate(compiled.steps) if step.name == "matmul_bias")
    name = compiled.steps[step].rewrites[2].node
    page = show(f"#step={step}&rewrite=2&node={name}")
    assert cursor(page)["rewrite"] == 2
    assert name in page.locator(".gx-name").first.inner_text()
    page.evaluate("location.hash = '#step=matmul_bias'")
    until(page, f"JSON.stringify(gexplorer.store.cursor) === '{{\"step\":{step}}}'")


def test_nothing_is_wider_than_the_screen_and_sides_become_drawers(show):
    page = show(width=700)
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    for name in ("Inspector", "Fit (0)", "Table"):
        box = page.get_by_role("button", name=name, exact=True).bounding_box()
        assert box["x"] + box["width"] <= 700
    assert not page.locator(".gx-steps").is_visible()
    page.get_by_role("button", name="☰ Steps").click()
    assert page.locator(".gx-steps").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(show, scheme):
    page = show("#step=matmul_bias", color_scheme=scheme)
    low = page.evaluate(
        """() => {
            const rgb = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
            const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
            const lum = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
            const ground = e => {
                for (; e; e = e.parentElement) {
                    const c = rgb(getComputedStyle(e).backgroundColor);
                    if (c.length === 3 || c[3] > 0.9) return c;
                }
                return [255, 255, 255];
            };
            const bad = [], parts = ['header', 'steps', 'inspector', 'toolbar', 'tab-bar'];
            for (const e of document.querySelectorAll(parts.map(part => `.gx-${part} *`).join())) {
                const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join('').trim();
                if (!text || e.closest(':disabled, [hidden]')) continue;
                const a = lum(rgb(getComputedStyle(e).color)), b = lum(ground(e));
                const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                if (ratio < 4.5) bad.push([e.className, text, ratio]);
            }
            return bad; }"""
    )
    assert low == []


def test_a_theme_is_taken_up_by_page_and_picture(show):
    page = show(color_scheme="light")
    corner = """() => {
        const one = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
        one.drawImage(document.querySelector('.gx-canvas'), -3, -3);
        return [...one.getImageData(0, 0, 1, 1).data].slice(0, 3).reduce((a, b) => a + b); }"""
    assert page.evaluate(corner) > 600
    page.get_by_role("button", name="Dark theme").click()
    until(page, f"({corner})() < 200")
    assert page.evaluate("getComputedStyle(document.querySelector('.gexplorer')).colorScheme") == "dark"


def test_what_cannot_be_changed_says_why(show):
    page = show("#step=matmul_bias")
    switch = page.locator(".gx-inspector .gx-switch")
    assert switch.get_attribute("aria-disabled") == "true"
    assert "cannot compile" in switch.get_attribute("title")
    switch.click(force=True)
    assert page.evaluate("gexplorer.store.changes") == {}


def test_a_table_stands_behind_the_picture(show):
    page = show()
    until(page, "document.querySelectorAll('.gx-graph tbody tr').length > 3")
    page.keyboard.press("t")
    assert page.locator(".gx-node-table").is_visible()
    link = page.locator(".gx-node-table .gx-link:not([data-member^='-'])").first
    member = link.get_attribute("data-member")
    link.evaluate("link => { link.focus(); link.dataset.old = true; }")
    page.keyboard.press("Enter")
    assert cursor(page) == {"node": int(member)}
    # The table is written again, and the focus stays in its row.
    until(page, f"(({{member, old}}) => member === '{member}' && !old)(document.activeElement.dataset)")
    page.keyboard.press("t")
    assert page.locator(".gx-graph-host .gx-hidden").count() == 1


def test_keys_are_told(show):
    page = show()
    page.keyboard.press("?")
    assert page.locator("dialog[open]").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.press("m")
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "Memory"


def test_every_tab_shows_something(show):
    page = show()
    for tab in page.locator("[role=tab]").all():
        tab.click()
        panel = page.locator("[role=tabpanel]:not([hidden])")
        assert panel.bounding_box()["height"] > 80
        assert len(panel.inner_text()) > 20
        assert "cannot be shown" not in panel.inner_text()


def hostile_model():
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 4])
    names = ["x", *HOSTILE]
    nodes = [
        onnx.helper.make_node("Selu" if i % 2 else "Elu", [names[i]], [names[i + 1]], name=HOSTILE[i])
        for i in range(len(HOSTILE))
    ]
    y = onnx.helper.make_tensor_value_info(HOSTILE[-1], onnx.TensorProto.FLOAT, [2, 4])
    graph = onnx.helper.make_graph(nodes, HOSTILE[0], [x], [y])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


def test_hostile_names_stay_text_everywhere(show, tmp_path):
    path = tmp_path / "hostile.html"
    path.write_text(page_of(gx.compile(hostile_model(), fusion={"elementwise_chain": False})), encoding="utf-8")
    page = show(path=path)
    page.keyboard.press("/")
    page.keyboard.type("script")
    assert page.locator(".gx-hit").first.inner_text().count(HOSTILE[0]) == 1
    page.keyboard.press("Escape")
    nodes = page.evaluate("gexplorer.store.parts.nodes.name.length")
    for node in range(nodes):
        choose(page, {"node": node})
        assert page.locator(".gx-subject h2").count() == 1
    for tab in page.locator("[role=tab]").all():
        tab.click()
    page.mouse.move(500, 300)
    assert page.evaluate("document.querySelectorAll('img, b[onmouseover]').length") == 0
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_a_carried_variant_is_shown_and_compared(show, compiled, tmp_path):
    path = tmp_path / "variants.html"
    off = compiled.replace(fusion={"matmul_bias": False})
    path.write_text(page_of(compiled, {'{"fusion":{"matmul_bias":false}}': off}), encoding="utf-8")
    page = show("#step=matmul_bias", path=path)
    kernels = page.locator(".gx-figure", has_text="kernels").first
    before = kernels.locator(".gx-figure-value > span").last.inner_text()
    switch = page.locator(".gx-inspector .gx-switch")
    assert switch.get_attribute("aria-disabled") is None
    switch.click()
    until(page, "gexplorer.store.baseline !== null && gexplorer.store.work === null")
    after = kernels.locator(".gx-figure-value > span").last.inner_text()
    assert int(after.replace(",", "")) > int(before.replace(",", ""))
    assert before in kernels.locator(".gx-figure-then").inner_text()
    assert kernels.locator(".gx-worse").count() == 1
    assert "matmul_bias off" in page.locator(".gx-notice").inner_text()
    other = page.locator(".gx-row-step", has_text="flash_attention").locator(".gx-switch")
    assert "does not carry" in other.get_attribute("title")
    page.get_by_role("button", name="Reset").click()
    until(page, "gexplorer.store.work === null && !Object.keys(gexplorer.store.changes).length")
    until(page, f"document.querySelector('.gx-figure-value > span:last-child').textContent === '{before}'")
