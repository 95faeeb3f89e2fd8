"""A notebook that is open in a real browser, and what went wrong with it; and what is read off an explorer in it."""

from __future__ import annotations

import json
import re
import time
import urllib.request

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
        page.on("pageerror", lambda error: self.errors.append(str(error)))
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
        self.page.goto(f"{self.address}/lab/tree/{name}?reset")
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=90_000)

    def open_in_notebook_7(self, name):
        self.page.goto(f"{self.address}/notebooks/{name}")
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=90_000)

    def run_cell(self, number):
        """Runs a cell; a key that comes before the kernel is there is lost without a word, so it may come again."""
        cell = self.page.locator(".jp-CodeCell").nth(number)
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text()
        for _ in range(60):
            cell.locator(".cm-content").click()
            self.page.keyboard.press("Control+Enter")
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                if prompt.inner_text() != before:
                    return
                time.sleep(0.02)
        raise AssertionError(f"cell {number} never ran")

    def cell(self, number):
        return self.page.locator(".jp-CodeCell").nth(number)

    def output(self, number, text, timeout=60_000):
        outputs = self.cell(number).locator(".jp-OutputArea-output")
        found = outputs.filter(has_text=text).first  # a bar that was taken back may stand before it
        found.wait_for(timeout=timeout)
        return found.inner_text()

    def sessions(self):
        with urllib.request.urlopen(f"{self.address}/api/sessions") as answer:
            return json.load(answer)

    def post(self, path, method="POST"):
        urllib.request.urlopen(urllib.request.Request(f"{self.address}/api/{path}", method=method)).close()


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
