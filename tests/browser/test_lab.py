"""The explorer in a real JupyterLab: it draws, a rule is ticked off, the selection goes both ways, nothing goes out."""

from __future__ import annotations

import re
import time

import pytest

pytest.importorskip("jupyterlab", reason="JupyterLab is not installed (the extra 'lab')")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")

from tests.browser.lab_server import lab_server  # noqa: E402

CELLS = (
    "import gexplorer as gx\ne = gx.compile('bert-base').explore(height=800)\ne",
    "from gexplorer.jupyter.controls import Controls\ne.wait(60); controls = Controls(e); controls",
    "c = e.compilation; print('rule', c.options.fusion, 'kernels', c.summary()['graph']['kernels'], e.selection)",
    "e.selection = {'step': 'flash_attention', 'rewrite': 2}",
)


# A pixel of the graph that has nothing on it has the colour that the style sheet gives the ground of pictures.
GROUND = """() => {
    const canvas = document.querySelector('.gexplorer .gx-canvas');
    const wanted = getComputedStyle(canvas).getPropertyValue('--gx-sunken').trim();
    const one = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
    one.drawImage(canvas, -3, -3);
    const found = [...one.getImageData(0, 0, 1, 1).data].slice(0, 3);
    return wanted && found.map(v => v.toString(16).padStart(2, '0')).join('') === wanted.slice(1);
}"""


def write_notebook(path, cells):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, path)


class Lab:
    """A notebook that is open, and what went wrong with it."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.errors, self.outside = [], []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)
        page.on("request", self._see)

    def _hear(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def _see(self, request):
        if not request.url.startswith((self.address, self.address.replace("http", "ws"), "data:", "blob:")):
            self.outside.append(request.url)

    def open(self, name):
        self.page.goto(f"{self.address}/lab/tree/{name}?reset")  # alone: JupyterLab remembers what was open
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=90_000)
        self.page.wait_for_function(
            "document.querySelector('#jp-main-statusbar')?.innerText.includes('| Idle')", timeout=90_000
        )
        time.sleep(1.5)  # before that a key is lost without a word

    def run_cell(self, number):
        self.page.locator(".jp-CodeCell .cm-content").nth(number).click()
        self.page.keyboard.press("Shift+Enter")

    def output(self, number, text, timeout=60_000):
        outputs = self.page.locator(".jp-CodeCell").nth(number).locator(".jp-OutputArea-output")
        found = outputs.filter(has_text=text).first  # a bar that was taken back may stand before it
        found.wait_for(timeout=timeout)
        return found.inner_text()


@pytest.fixture
def lab(browser, tmp_path):
    folder, settings = tmp_path / "books", tmp_path / "settings"
    folder.mkdir()
    settings.mkdir()
    write_notebook(folder / "explorer.ipynb", CELLS)
    with lab_server(folder, settings) as address:
        context = browser.new_context(viewport={"width": 1500, "height": 1000})
        opened = Lab(context.new_page(), address)
        opened.open("explorer.ipynb")
        yield opened
        context.close()


def figure(page, label):
    """The last number of a headline figure: there may be an older one before it."""
    shown = page.locator(".gx-figure", has=page.locator(".gx-figure-label", has_text=label)).first
    return re.findall(r"[\d.]+ ?\w*", shown.locator(".gx-figure-value").inner_text())[-1]


def light_share(page):
    """How much of the graph's canvas is light: without the page's colours it is black."""
    return page.locator("canvas.gx-canvas").first.evaluate(
        """canvas => {
            const bytes = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            let light = 0;
            for (let i = 0; i < bytes.length; i += 4) {
                light += bytes[i] > 200 && bytes[i + 1] > 200 && bytes[i + 2] > 200 && bytes[i + 3] === 255;
            }
            return light / (bytes.length / 4);
        }"""
    )


def until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def test_a_rule_is_ticked_off_and_everything_follows(lab, tmp_path):
    page = lab.page
    lab.run_cell(0)
    page.wait_for_selector(".gexplorer .gx-figure", timeout=90_000)
    kernels, pool = figure(page, "kernels"), figure(page, "pool")
    # The canvas has the theme's colours, though JupyterLab renders a widget before it is part of the page.
    page.wait_for_function(GROUND, timeout=30_000)
    until(lambda: light_share(page) > 0.5, "the graph is drawn in the page's colours: a light theme is light")

    # In the explorer: a switch in the list of steps.
    row = page.locator(".gx-row", has_text="flash_attention").first
    row.locator("[role=switch], input[type=checkbox]").first.click()
    until(lambda: int(figure(page, "kernels")) > int(kernels), "the figures follow the switch")
    assert figure(page, "pool") != pool
    assert "flash_attention" in page.locator(".gx-notice").inner_text()

    row = page.locator(".gx-row.gx-off", has_text="flash_attention")
    assert row.locator("[role=switch], input[type=checkbox]").count() == 1, "the switch stays where it was"

    # In Python: the same compilation.
    more = figure(page, "kernels")
    lab.run_cell(2)
    assert f"rule {{'flash_attention': False}} kernels {more}" in lab.output(2, "rule")

    # Ordinary ipywidgets beside it show it too, and change it back.
    lab.run_cell(1)
    box = page.locator(".widget-checkbox", has_text="flash_attention").locator("input")
    box.wait_for(timeout=60_000)
    assert not box.is_checked()
    box.check()
    until(lambda: figure(page, "kernels") == kernels, "the figures follow the other switch")

    # From Python to the page, and from the page to Python.
    lab.run_cell(3)
    page.locator(".gx-chosen", has_text="#3").first.wait_for(timeout=60_000)
    page.locator(".gx-row", has_text="#5").first.click()
    lab.run_cell(2)
    assert "'rewrite': 4" in lab.output(2, "'rewrite': 4")

    page.screenshot(path=tmp_path / "lab.png")

    # The tour that ``gexplorer lab`` opens.
    lab.open("01_tour.ipynb")
    assert "A tour in ten minutes" in page.locator(".jp-MarkdownOutput h1").first.inner_text()
    lab.run_cell(0)
    assert re.search(r"validation +\d+ steps", lab.output(0, "validation"))
    assert lab.outside == []
    assert lab.errors == []
