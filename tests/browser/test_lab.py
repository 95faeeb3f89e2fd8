"""The explorer in a real JupyterLab: it draws, a rule is ticked off, the selection goes both ways, nothing goes out."""

from __future__ import annotations

import re
import urllib.request

import pytest

pytest.importorskip("jupyterlab", reason="JupyterLab is not installed (the extra 'lab')")
pytest.importorskip("nbformat", reason="nbformat is not installed")

from tests.browser.notebook_page import GROUND, figure, light_share, until, written

CELLS = (
    "import gexplorer as gx\ne = gx.compile('bert-base').explore(height=800)\ne",
    "from gexplorer.jupyter.controls import Controls\ne.wait(60); controls = Controls(e); controls",
    "c = e.compilation; print('rule', c.options.fusion, 'kernels', c.summary()['graph']['kernels'], e.selection)",
    "e.selection = {'step': 'flash_attention', 'rewrite': 2}",
    """import ipywidgets
below = ipywidgets.Output()
def tell(change):
    node = change["new"].get("node")
    if node is not None:
        with below:
            below.clear_output()
            print("chosen:", node)
e.observe(tell, names="selection")
below""",
    "e.selection = {'node': 'node_linear'}",
)


@pytest.fixture
def lab(browser, jupyter):
    with written(browser, jupyter, "explorer.ipynb", CELLS, width=1500) as opened:
        yield opened


def test_a_rule_is_ticked_off_and_everything_follows(lab, tmp_path):
    page = lab.page
    lab.run_cell(0)
    page.wait_for_selector(".gexplorer .gx-figure", timeout=90_000)
    kernels, pool = figure(page, "kernels"), figure(page, "pool")
    # The canvas has the theme's colours, though JupyterLab renders a widget before it is part of the page.
    until(lambda: page.locator("canvas.gx-canvas").first.evaluate(GROUND), "the ground has the theme's colour", 30)
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

    # The guide's recipe: a function is told what is chosen, by Python and on the page.
    lab.run_cell(4)
    lab.run_cell(5)
    lab.output(4, "chosen: node_linear")
    page.locator("canvas.gx-canvas").first.press("j")
    until(lambda: not lab.output(4, "chosen:").endswith("node_linear"), "Python is told of the next node")

    page.screenshot(path=tmp_path / "lab.png")

    # The tour that ``gexplorer lab`` opens, and that its address leads to without a browser of its own.
    with urllib.request.urlopen(lab.address) as answer:
        assert answer.url == f"{lab.address}/lab/tree/01_tour.ipynb"
    lab.open("01_tour.ipynb")
    assert "A tour in ten minutes" in page.locator(".jp-MarkdownOutput h1").first.inner_text()
    lab.run_cell(0)
    assert re.search(r"1,060 nodes of the file -> \d+ kernels", lab.output(0, "kernels"))
    assert lab.outside == []
    assert lab.errors == []
