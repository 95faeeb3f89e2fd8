"""Widgets' modules in a page, taken in as a notebook does, with a model that answers or not."""

import base64
import re
from pathlib import Path

import pytest

import gexplorer as gx
from gexplorer.render.document import document
from gexplorer.views.pack import unpack

STATIC = Path(gx.__file__).parent / "static"


@pytest.fixture
def widget_page(browser):
    """A page that widgets' modules can be taken into, as a notebook does."""
    page = browser.new_page(viewport={"width": 900, "height": 800})
    kinds = {"js": "text/javascript", "css": "text/css"}

    def serve(route):
        name = route.request.url.split("/", 3)[3]
        start = '<!doctype html><link rel="icon" href="data:,"><link rel="stylesheet" href="gexplorer.css"><body>'
        body = (STATIC / name).read_text("utf-8") if name else start
        route.fulfill(body=body, content_type=kinds.get(name.rsplit(".", 1)[-1], "text/html"))

    page.route("http://explorer.test/**", serve)
    page.goto("http://explorer.test/")
    yield page
    page.close()


@pytest.mark.parametrize("script", ["explorer.js", "panel-graph.js"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_widget_made_before_it_is_part_of_the_page_has_its_colours_and_size(widget_page, script, theme):
    """As JupyterLab does it, sometimes: it renders into an element that it attaches later."""
    found = widget_page.evaluate(
        """async ([script, theme]) => {
            const traits = {theme, height: 600}, sent = [];
            const model = {get: name => traits[name], set() {}, save_changes() {}, on() {}, off() {},
                send: message => sent.push(message.type)};
            const el = document.createElement('div'), widget = (await import('/' + script)).default;
            const end = widget.render({model, el});
            await new Promise(done => setTimeout(done, 50));
            document.body.append(el);
            await new Promise(done => setTimeout(done, 300));
            const canvas = el.querySelector('.gx-canvas'), one = canvas.getContext('2d');
            const colour = [...one.getImageData(3, 3, 1, 1).data].slice(0, 3);
            const wanted = getComputedStyle(canvas).getPropertyValue('--gx-sunken').trim();
            const {width, height} = canvas.getBoundingClientRect();
            end();
            return {sent, wanted, width, height, left: el.children.length,
                colour: '#' + colour.map(v => v.toString(16).padStart(2, '0')).join('')}; }""",
        [script, theme],
    )
    assert found["sent"] == ["ready"]
    assert found["colour"] == found["wanted"] == {"light": "#f8f9fb", "dark": "#11161d"}[theme]
    assert 200 < found["width"] <= 900
    assert 150 < found["height"] <= 600
    assert found["left"] == 0


def test_a_panel_by_itself_asks_for_what_is_made_on_demand(widget_page):
    made = document(gx.compile("bert-base:small=true,layers=2"))
    parts = {name: base64.b64encode(made.parts[name]).decode() for name in ("head", "nodes", "steps", "kernel")}
    found = widget_page.evaluate(
        """async parts => {
            const sent = [], heard = {};
            const model = {get: name => ({height: 420})[name], set() {}, save_changes() {}, off() {},
                on: (name, act) => { heard[name] = act; }, send: message => sent.push(message)};
            const send = names => heard['msg:custom']({type: 'parts', names},
                names.map(name => new DataView(Uint8Array.from(atob(parts[name]), c => c.charCodeAt(0)).buffer)));
            const el = document.createElement('div');
            document.body.append(el);
            (await import('/panel-kernel.js')).default.render({model, el});
            await new Promise(done => setTimeout(done, 100));
            send(['head', 'steps', 'nodes']);
            const waiting = el.textContent;
            send(['kernel']);
            return {sent, waiting, lines: el.querySelectorAll('.gxt-lines li').length}; }""",
        parts,
    )
    assert found["sent"] == [{"type": "ready"}, {"type": "ask", "part": "kernel"}]
    assert "waiting for the numbers" in found["waiting"]
    assert found["lines"] > 3


# A page whose widget talks to a test: what it says is kept until it is fetched, what it is told comes as base64.
TALK = """async () => {
    const heard = {}, sent = [], traits = {theme: 'light', height: 780};
    const model = {get: name => traits[name], set(name, value) { traits[name] = value; }, save_changes() {}, off() {},
        on: (name, act) => { heard[name] = act; }, send: message => sent.push(message)};
    window.said = () => sent.splice(0);
    window.tell = (message, buffers) => heard['msg:custom'](message,
        buffers.map(text => new DataView(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer)));
    const el = document.createElement('div');
    document.body.append(el);
    (await import('/explorer.js')).default.render({model, el});
}"""


class Talk:
    """The explorer in a page, and its Python side; the test carries the messages between them, one by one."""

    def __init__(self, page, compiled):
        self.page, self.widget, self.told = page, compiled.explore(), []
        self.widget.send = lambda message, buffers: self.told.append((message, buffers))
        page.evaluate(TALK)
        self.carry()

    def ask(self):
        """What the page has said, to Python; the answers wait in ``told``."""
        for message in self.page.evaluate("said()"):
            self.widget._handle_custom_msg(message, [])
        assert self.widget.wait(60)

    def answer(self):
        """The next answer, to the page."""
        message, buffers = self.told.pop(0)
        self.page.evaluate(
            "([message, buffers]) => tell(message, buffers)",
            [message, [base64.b64encode(data).decode() for data in buffers]],
        )
        return message

    def carry(self):
        """All that is said, both ways, until nobody says anything."""
        self.ask()
        while self.told:
            while self.told:
                self.answer()
            self.ask()


def test_what_was_chosen_in_a_tab_survives_a_switch_and_what_is_shown_is_of_the_new_compilation(widget_page):
    page = widget_page
    page.set_viewport_size({"width": 1280, "height": 800})
    talk = Talk(page, gx.compile("bert-base:small=true,layers=2"))
    panel = page.locator("[role=tabpanel]:visible")

    def tab(name):
        page.get_by_role("tab", name=name, exact=True).click()
        talk.carry()

    def shown():
        lines = unpack(document(talk.widget.compilation).parts["log"])
        stage, place = ([lines["strings"][i] for i in lines[key]] for key in ("stage", "place"))
        rows = zip(stage, place, lines["lines"], strict=True)
        return len(lines["lines"]), sum(s == "passes" and "matmul" in f"{p} {line}".lower() for s, p, line in rows)

    def said():
        words = panel.locator(".gxt-words").inner_text()
        return tuple(int(re.search(rf"([\d,]+) {word}", words)[1].replace(",", "")) for word in ("lines", "shown"))

    tab("Kernel")
    panel.locator(".gxt-first .gxt-row[data-row='2']").click()
    for _ in range(3):
        page.get_by_role("button", name="›", exact=True).click()
    stood = panel.locator(".gxt-words").inner_text().partition(" · tile")[0]
    assert "instruction 4 of" in stood
    tab("Tiling")
    kernel = panel.locator(".gxt-first [aria-selected=true]").inner_text().split("\n")[0]
    tab("Log")
    panel.get_by_role("searchbox").fill("matmul")
    panel.get_by_role("combobox", name="Stage").select_option("passes")
    before = shown()
    assert said() == before

    page.locator(".gx-row", has_text="flash_attention").first.get_by_role("switch").click()
    talk.ask()
    first = talk.answer()
    while first["type"] != "parts":
        first = talk.answer()
    # What only one tab wants comes after the rest: until then the tab keeps its picture, and cannot be used.
    assert {"log", "tiling", "kernel"} <= set(first["coming"])
    assert panel.locator(".gxt-body").get_attribute("aria-busy") == "true"
    assert said() == before
    talk.carry()
    assert panel.locator(".gxt-body").get_attribute("aria-busy") == "false"
    assert panel.get_by_role("searchbox").input_value() == "matmul"
    assert panel.get_by_role("combobox", name="Stage").input_value() == "passes"
    assert said() == shown() != before

    tab("Tiling")
    assert panel.locator(".gxt-first [aria-selected=true]").inner_text().split("\n")[0] == kernel
    tab("Kernel")
    assert panel.locator(".gxt-words").inner_text().partition(" · tile")[0] == stood
