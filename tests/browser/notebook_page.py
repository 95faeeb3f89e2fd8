"""A notebook that is open in a real browser, and what went wrong with it; and what is read off an explorer in it."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from contextlib import contextmanager

# A pixel of the graph that has nothing on it has the colour that the style sheet gives the ground of pictures.
GROUND = """canvas => {
    const wanted = getComputedStyle(canvas).getPropertyValue('--gx-sunken').trim();
    const one = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
    one.drawImage(canvas, -3, -3);
    const found = [...one.getImageData(0, 0, 1, 1).data].slice(0, 3);
    return wanted && found.map(v => v.toString(16).padStart(2, '0')).join('') === wanted.slice(1);
}"""


def write_notebook(path, cells):
    import nbformat

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, path)


class Listener:
    """A page, its complaints, and what it asked for elsewhere.

    Attributes:
        errors: of the page or its console.
        outside: addresses that were asked for and are not the server's.
    """

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.errors, self.outside = [], []
        page.on("pageerror", lambda error: self.errors.append(error.stack or str(error)))
        page.on("console", self._hear)
        page.on("request", self._see)

    def _hear(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def _see(self, request):
        if not request.url.startswith((self.address, self.address.replace("http", "ws"), "data:", "blob:", "about:")):
            self.outside.append(request.url)


class Notebook(Listener):
    """A notebook in JupyterLab, or in Notebook 7: cells and outputs are the same there."""

    def open(self, name):
        """Opens it in JupyterLab, alone: that remembers what was open."""
        self._go(f"lab/tree/{name}?reset", name)

    def open_in_notebook_7(self, name):
        self._go(f"notebooks/{name}", name)

    def _go(self, path, name):
        self.page.goto(f"{self.address}/{path}")
        self.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=90_000)
        until(lambda: self.kernel(name).get("execution_state") == "idle", "the kernel is there", 90)

    def kernel(self, name):
        """What the server says of the kernel of a notebook; nothing where it has none."""
        with urllib.request.urlopen(f"{self.address}/api/sessions") as answer:
            return next((one["kernel"] for one in json.load(answer) if one["path"] == name), {})

    def post(self, path):
        urllib.request.urlopen(urllib.request.Request(f"{self.address}/api/{path}", method="POST")).close()

    def run_cell(self, number, *, is_long=False):
        """Runs a cell to its end, or, where that is long, begins to.

        A key is lost without a word while the page still waits for its kernel, so it may come again.
        """
        prompt = self.cell(number).locator(".jp-InputPrompt")
        before = prompt.inner_text()
        for _ in range(30):
            self.cell(number).locator(".cm-content").click()
            self.page.keyboard.press("Control+Enter")
            end = time.monotonic() + 2
            while time.monotonic() < end:
                now = prompt.inner_text()
                if (now != before and re.search(r"\d", now)) or (is_long and "*" in now):
                    return
                if "*" in now:
                    end = time.monotonic() + 2
                time.sleep(0.02)
        raise AssertionError(f"cell {number} never ran")

    def cell(self, number):
        return self.page.locator(".jp-CodeCell").nth(number)

    def output(self, number, text, timeout=60_000):
        outputs = self.cell(number).locator(".jp-OutputArea-output")
        found = outputs.filter(has_text=text).first  # a bar that was taken back may stand before it
        found.wait_for(timeout=timeout)
        return found.inner_text()


@contextmanager
def written(browser, jupyter, name, cells, width=1280, where="open"):
    """A notebook with these cells, opened in JupyterLab or, by ``open_in_notebook_7``, there."""
    address, folder = jupyter
    write_notebook(folder / name, cells)
    context = browser.new_context(viewport={"width": width, "height": 1000})
    notebook = Notebook(context.new_page(), address)
    getattr(notebook, where)(name)
    yield notebook
    context.close()


def until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def figure(page, label):
    """The last number of a headline figure: there may be an older one before it."""
    shown = page.locator(".gx-figure", has=page.locator(".gx-figure-label", has_text=label)).first
    return re.findall(r"[\d.]+ ?\w*", shown.locator(".gx-figure-value").inner_text())[-1]


def switch(page, rule):
    return page.locator(".gx-row", has_text=rule).first.get_by_role("switch")


def nodes_of_graph(page):
    """What a screen reader hears of the graph: how many boxes it has."""
    return page.locator("canvas.gx-canvas").first.get_attribute("aria-label")


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
