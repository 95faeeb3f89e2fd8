"""The built modules under anywidget's contract alone, without any notebook: what VS Code, Colab and others give them.

Covered: a module from a blob; a model with no more than the documented methods, binary parts as views into larger
buffers; a shadow root (marimo); a frame of a foreign, opaque origin under a policy that allows no request at all (the
frames of Colab and the web view of VS Code may more); several views of one model; ends that leave nothing behind. Not
covered: how VS Code and Colab bring the module and the messages there, their themes beyond the classes of ``body``, and
how long their messages take.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

import gexplorer as gx
from gexplorer.jupyter.explorer import PANELS
from gexplorer.render.document import document

STATIC = Path(gx.__file__).parent / "static"
HOST = (Path(__file__).parent / "anywidget_host.js").read_text("utf-8")
MODULES = ["explorer", *(f"panel-{name}" for name in PANELS)]
# Of the graph's canvas: how much has the colour that the style sheet gives the ground of pictures.
GROUND = """canvas => {
    const wanted = getComputedStyle(canvas).getPropertyValue('--gx-sunken').trim();
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let i = 0; i < data.length; i += 4)
        found += '#' + [...data.slice(i, i + 3)].map(v => v.toString(16).padStart(2, '0')).join('') === wanted;
    return found / (data.length / 4);
}"""


@pytest.fixture(scope="module")
def given():
    """What a host has: the texts of the modules, the style sheet, and the parts that a kernel would send."""
    made = document(gx.compile("bert-base:small=true"))
    return {
        "modules": {name: (STATIC / f"{name}.js").read_text("utf-8") for name in MODULES},
        "css": (STATIC / "gexplorer.css").read_text("utf-8"),
        "parts": {name: base64.b64encode(made.parts[name]).decode() for name in made.parts},
        "later": list(made.on_demand),
    }


@pytest.fixture
def host(browser):
    """Opens an empty page that can play the host; at the end nothing was asked for and nothing complained of."""
    pages, seen, complaints = [], [], []

    def opened(head="", body='<div id="cell"></div>', **options):
        page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce", **options)
        page.set_default_timeout(30_000)
        page.on("request", lambda request: seen.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
        page.route("**", lambda route: route.abort())
        text = (
            f"<!doctype html><meta charset=utf-8><link rel=icon href=data:,>{head}<body>{body}<script>{HOST}</script>"
        )
        page.route("http://host.test/", lambda route: route.fulfill(body=text, content_type="text/html; charset=utf-8"))
        page.goto("http://host.test/")
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.close()
    assert [url for url in seen if not url.startswith(("http://host.test/", "blob:", "data:", "about:"))] == []
    assert complaints == []


# One model of the parts, with a view in every element that is named; `window.ends` ends them.
BEGIN = """async ([given, names, where, state]) => {
    const begin = {height: 760, theme: 'auto', selection: {}, static: '', ...state};
    window.model = makeModel(given.parts, given.later, begin);
    window.ends = [];
    for (const module of await Promise.all(names.map(name => load(given.modules[name]))))
        for (const el of where.map(one => document.querySelector(one)))
            ends.push(await view(module, model, el.shadowRoot?.querySelector('.inside') ?? el));
}"""


def begin(page, given, names=("explorer",), where=("#cell",), **state):
    page.evaluate(BEGIN, [{**given, "modules": {name: given["modules"][name] for name in names}}, names, where, state])


def style(given):
    return f"<style>{given['css']}</style>"


def test_importing_changes_nothing(host, given):
    page = host()
    found = page.evaluate(
        """async modules => {
            const held = keepAccount(), before = fingerprint(), exported = {};
            for (const [name, text] of Object.entries(modules)) {
                const module = await load(text);
                exported[name] = [Object.keys(module).join(), Object.keys(module.default).join()];
            }
            return {exported, same: fingerprint() === before, held: held()};
        }""",
        given["modules"],
    )
    # No `initialize`: nothing belongs to the model rather than to a view of it.
    assert found == {"exported": {name: ["default", "render"] for name in MODULES}, "same": True, "held": []}


def test_a_frame_that_may_nothing(host, given):
    """An opaque origin: no storage, no cookies, no parent; and a policy under which every request fails."""
    page = host(
        body='<iframe id="frame" sandbox="allow-scripts" style="width: 1200px; height: 820px; border: 0"></iframe>'
    )
    policy = "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'"
    frame = (
        f'<!doctype html><meta charset=utf-8><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"{style(given)}<body style='margin: 0'><div id=cell></div><script>{HOST}</script>"
    )
    page.evaluate("text => { document.getElementById('frame').srcdoc = text; }", frame)
    inside = page.frame_locator("#frame")
    inside.locator("#cell").wait_for(state="attached")
    handle = page.query_selector("#frame").content_frame()
    handle.wait_for_function("typeof makeModel === 'function'")
    assert (
        handle.evaluate("() => { try { return String(localStorage); } catch (error) { return error.name; } }")
        == "SecurityError"
    )
    begin(handle, given)
    inside.locator(".gx-figure").first.wait_for()
    assert inside.locator("canvas.gx-canvas").evaluate(GROUND) > 0.3
    inside.locator(".gx-row", has_text="flash_attention").first.get_by_role("switch").click()
    assert handle.evaluate("model.sent.at(-1)") == {
        "type": "change",
        "sequence": 1,
        "changes": {"fusion": {"flash_attention": False}},
    }
    handle.evaluate("() => model.post({type: 'failure', message: 'matmul_bias: no such thing'})")
    assert "matmul_bias: no such thing" in inside.locator(".gx-notice").inner_text()
    # The clipboard is closed to such a frame: what cannot be copied says so, or is copied the old way.
    inside.get_by_role("button", name="Copy as").click()
    inside.get_by_role("menuitem").first.click()
    inside.locator(".gx-menu-item", has_text="cop").first.wait_for()
    for tab in inside.get_by_role("tab").all():
        tab.click()
    handle.evaluate("ends[0]()")
    assert inside.locator("#cell > *").count() == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_shadow_root(host, given, dark):
    """Styles and keys stay inside; the theme is that of the page around it."""
    page = host(body=f'<div style="background: {"#111" if dark else "#fff"}"><div id="cell"></div></div>')
    page.evaluate(
        """css => {
            const root = document.getElementById('cell').attachShadow({mode: 'open'});
            root.innerHTML = '<style></style><div class="inside"></div>';
            root.querySelector('style').textContent = css;
        }""",
        given["css"],
    )
    before = page.evaluate("document.head.innerHTML")
    begin(page, given)
    page.locator(".gx-figure").first.wait_for()  # Playwright looks into shadow roots
    assert page.locator(".gexplorer").get_attribute("data-theme") == ("dark" if dark else "light")
    canvas = page.locator("canvas.gx-canvas")
    assert canvas.evaluate(GROUND) > 0.3

    # The keyboard: rows keep the focus when the list is drawn anew, boxes open, menus are walked.
    active = "document.getElementById('cell').shadowRoot.activeElement"
    page.locator(".gx-steps .gx-row, .gx-row").first.click()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("model.state.selection.step")
    assert page.evaluate(f"{active} !== null")
    page.get_by_role("button", name="Copy as").click()
    first = page.evaluate(f"{active}.textContent")
    page.keyboard.press("ArrowDown")
    second = page.evaluate(f"{active}.textContent")
    assert second != first
    page.keyboard.press("ArrowDown")
    assert page.evaluate(f"{active}.textContent") not in (first, second)
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("gelu")
    assert page.locator(".gx-search input").input_value() == "gelu"
    page.keyboard.press("Escape")

    # The wheel is the page's until the graph has the focus.
    page.locator(".gx-row", has_text="infer_shapes").click()
    shot = canvas.evaluate("canvas => canvas.toDataURL()")
    canvas.focus()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -240)
    page.wait_for_function(
        "old => document.getElementById('cell').shadowRoot.querySelector('canvas.gx-canvas').toDataURL() !== old",
        arg=shot,
    )

    assert page.evaluate("document.head.innerHTML") == before
    assert page.evaluate("[...document.body.children].map(one => one.tagName).join()") == "DIV,SCRIPT"


@pytest.mark.parametrize("names", [["explorer"], MODULES[1:]], ids=["explorer", "panels"])
def test_an_end_leaves_nothing(host, given, names):
    """No listener, observer, timer or frame, and nobody holds the canvas."""
    page = host(style(given))
    page.evaluate("() => { window.held = keepAccount(); }")
    begin(page, given, names)
    # No wait_for_function: it would leave listeners of Playwright's in the page's own world.
    page.locator(".gx-explorer .gx-figure, .gx-single :is(.gxt, .gx-graph)").nth(len(names) - 1).wait_for()
    if names == ["explorer"]:
        for tab in page.get_by_role("tab").all():
            tab.click()
        page.get_by_role("button", name="Table").first.click()
        page.locator(".gx-row", has_text="flash_attention").first.get_by_role("switch").click()
    assert page.evaluate("held().length") > 0
    page.evaluate(
        """async () => {
            window.gone = [...document.querySelectorAll('#cell canvas, #cell > *')].map(one => new WeakRef(one));
            for (const end of ends) await end();
            window.ends = null;
        }"""
    )
    assert page.evaluate("held()") == []
    assert page.evaluate("[...model.listeners.values()].reduce((sum, one) => sum + one.size, 0)") == 0
    assert page.evaluate("document.getElementById('cell').childNodes.length") == 0
    page.evaluate("model.post({type: 'parts'}, ['head'])")  # nobody listens
    page.mouse.move(1, 1)
    session = page.context.new_cdp_session(page)
    for _ in range(20):
        session.send("HeapProfiler.collectGarbage")
        left = page.evaluate("gone.filter(one => one.deref()).map(one => one.deref().className)")
        if not left:
            break
        page.wait_for_timeout(50)
    assert left == []


def test_an_end_before_anything_came(host, given):
    """A view that is taken away before it had room, or before its kernel answered."""
    page = host(style(given), '<div id="cell" style="display: none"></div><div id="other"></div>')
    page.evaluate("() => { window.held = keepAccount(); }")
    begin(page, given, where=("#cell", "#other"))
    page.evaluate("Promise.all(ends.map(end => end()))")
    page.evaluate("new Promise(done => setTimeout(done, 100))")
    assert page.evaluate("held()") == []
    assert page.evaluate("[...model.listeners.values()].reduce((sum, one) => sum + one.size, 0)") == 0
    assert page.locator("#cell > *, #other > *").count() == 0


def test_two_views_of_one_model(host, given):
    page = host(style(given), '<div id="cell"></div><div id="other"></div>')
    begin(page, given, where=("#cell", "#other"), height=430)
    one, two = page.locator("#cell"), page.locator("#other")
    for shown in (one, two):
        shown.locator(".gx-figure").first.wait_for()
    one.locator(".gx-row", has_text="matmul_bias").first.click()
    two.locator(".gx-chosen", has_text="matmul_bias").first.wait_for()
    two.locator(".gx-row", has_text="constant_folding").first.click()
    one.locator(".gx-chosen", has_text="constant_folding").first.wait_for()
    assert page.evaluate("model.state.selection.step")

    # One wish, and both show what came of it.
    two.locator(".gx-row", has_text="flash_attention").first.get_by_role("switch").click()
    changes = page.evaluate("model.sent.filter(message => message.type === 'change')")
    assert [change["changes"] for change in changes] == [{"fusion": {"flash_attention": False}}]
    page.evaluate(
        "change => model.post({type: 'parts', sequence: change.sequence, changes: change.changes}, ['head'])",
        changes[0],
    )
    for shown in (one, two):
        assert "flash_attention off" in shown.locator(".gx-notice").inner_text()
    # The next wish of the other is newer than that.
    one.locator(".gx-row", has_text="matmul_bias").first.get_by_role("switch").click()
    newest = page.evaluate("model.sent.at(-1)")
    assert newest["sequence"] > changes[0]["sequence"]
    assert newest["changes"] == {"fusion": {"flash_attention": False, "matmul_bias": False}}

    page.evaluate("ends[0]()")
    assert one.locator("> *").count() == 0
    page.evaluate("model.post({type: 'failure', message: 'too late'})")
    assert "too late" in two.locator(".gx-notice").inner_text()
    two.locator(".gx-row", has_text="matmul_bias").first.click()
    two.locator(".gx-chosen", has_text="matmul_bias").first.wait_for()


def test_themes_of_vs_code(host, given):
    """VS Code says it by classes of ``body``, also when the person changes it."""
    page = host(style(given), '<div id="cell"></div>')
    page.evaluate("document.body.className = 'vscode-dark'")
    begin(page, given)
    page.locator(".gx-figure").first.wait_for()
    root = page.locator(".gexplorer")
    assert root.get_attribute("data-theme") == "dark"
    page.evaluate("document.body.className = 'vscode-light'")
    page.wait_for_function("document.querySelector('.gexplorer').dataset.theme === 'light'")
    page.evaluate("document.body.className = 'vscode-high-contrast'")
    page.wait_for_function("document.querySelector('.gexplorer').dataset.theme === 'dark'")


def test_without_a_kernel(host, given):
    """A saved notebook: nobody answers; what is shown is the page that was saved, in a frame that runs nothing."""
    page = host(style(given))
    still = "<!doctype html><h1>saved</h1>"
    page.evaluate(
        "window.setTimeout = (whole => (call, ms, ...more) => whole(call, Math.min(ms, 50), ...more))(setTimeout)"
    )
    begin(page, {**given, "parts": {}}, static=still)
    assert page.frame_locator("#cell iframe").locator("h1").inner_text() == "saved"
    assert page.locator("#cell iframe").get_attribute("sandbox") == ""
    assert "no kernel answers" in page.locator("#cell").inner_text()
    page.evaluate("ends[0]()")
    assert page.locator("#cell > *").count() == 0


def test_the_host_is_played_as_pythons_side_plays_it(given):
    """The parts of this test are those that the Python side sends to a front end that is ready."""
    widget = gx.compile("mlp:small=true").explore()
    sent = []
    widget.on_result(sent.append)
    widget._handle_custom_msg({"type": "ready"}, [])
    assert widget.wait(60)
    names = next(message["names"] for message in sent if message["type"] == "parts")
    assert set(names) == set(given["parts"]) - set(given["later"])
    assert json.dumps(widget.get_state()["selection"]) == "{}"
