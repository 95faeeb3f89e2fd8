"""Widgets' modules in a page, taken in as a notebook does, with a model that answers or not."""

import base64
from pathlib import Path

import pytest

import gexplorer as gx
from gexplorer.render.document import document

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
