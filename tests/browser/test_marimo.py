"""The explorer in marimo, in a shadow root: it draws, a rule is ticked off, cells follow the selection, a bar shows."""

from __future__ import annotations

import pytest

pytest.importorskip("marimo", reason="marimo is not installed (the extra 'dev')")

from tests.browser.lab_server import marimo_server
from tests.browser.notebook_page import GROUND, Listener, figure, nodes_of_graph, switch, until

BOOK = """import marimo

app = marimo.App(width="full")


@app.cell
def _():
    import marimo as mo

    import gexplorer as gx

    explorer = mo.ui.anywidget(gx.compile("bert-base:layers=2").explore(height=620))
    explorer
    return explorer, gx, mo


@app.cell
def _(explorer, mo):
    explorer.value  # this cell runs again when something is chosen
    compiled = explorer.compilation
    mo.md(f"chosen {explorer.selection}: {len(compiled.kernels)} kernels, {compiled.options.fusion}")
    return


@app.cell
def _(mo):
    button = mo.ui.run_button(label="choose in Python")
    button
    return (button,)


@app.cell
def _(mo):
    slowly = mo.ui.run_button(label="compile slowly")
    slowly
    return (slowly,)


@app.cell
def _(gx, slowly):
    import time

    from immutables import Map

    class Slow(gx.Pass):
        name, order, messages, seconds = "slow", 500, Map(), 1.2

        def run(self, draft, log, context):
            time.sleep(self.seconds if slowly.value else 0)

    class Later(Slow):
        name, order, seconds = "later", 501, 2.0

    gx.register(Slow), gx.register(Later)
    print(gx.compile("mlp:small=true"))
    return


@app.cell
def _(button, explorer):
    if button.value:
        explorer.selection = {"step": "gelu"}
    return


if __name__ == "__main__":
    app.run()
"""


# Counts every bar that is ever shown.
BARS = """window.bars = 0; new MutationObserver(changes => {
    for (const {addedNodes} of changes) for (const node of addedNodes)
        if (node.matches?.('marimo-progress') || node.querySelector?.('marimo-progress')) bars++;
}).observe(document.documentElement, {childList: true, subtree: true})"""


@pytest.fixture
def book(browser, tmp_path):
    file, settings = tmp_path / "book.py", tmp_path / "settings"
    settings.mkdir()
    file.write_text(BOOK)
    with marimo_server(file, settings) as address:
        context = browser.new_context(viewport={"width": 1280, "height": 1000})
        opened = Listener(context.new_page(), address)
        opened.page.goto(address)
        opened.page.evaluate(BARS)
        yield opened
        context.close()


def test_a_rule_is_ticked_off_and_everything_follows(book):
    page = book.page
    page.locator(".gexplorer .gx-figure").first.wait_for(timeout=60_000)
    until(lambda: page.locator("canvas.gx-canvas").evaluate(GROUND), "the ground has the theme's colour", 30)
    kernels, pool, nodes = figure(page, "kernels"), figure(page, "pool"), nodes_of_graph(page)
    switch(page, "flash_attention").click()
    until(lambda: int(figure(page, "kernels")) > int(kernels), "the figures follow the switch")
    assert figure(page, "pool") != pool
    until(lambda: nodes_of_graph(page) != nodes, "the graph follows the switch")

    page.locator(".gx-row", has_text="matmul_bias").first.click()
    said = page.get_by_text(f"{figure(page, 'kernels')} kernels, {{'flash_attention': False}}")
    said.wait_for()
    assert "chosen {'step'" in said.inner_text()
    page.get_by_role("button", name="choose in Python").click()
    page.locator(".gx-chosen", has_text="gelu").first.wait_for()

    # A compilation that takes longer than a second has a bar.
    bar, before = page.locator("marimo-progress"), page.evaluate("bars")
    page.get_by_role("button", name="compile slowly").click()
    bar.get_by_text("later").wait_for()
    bar.wait_for(state="detached")
    assert page.evaluate("bars") == before + 1

    assert page.evaluate("document.querySelector('.gexplorer')") is None  # in its shadow root, and nowhere else
    assert [url for url in book.outside if "gexplorer" in url] == []
    assert book.outside == []  # marimo itself asks for nothing either
    assert book.errors == []
