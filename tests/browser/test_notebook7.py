"""The explorer in Notebook 7: it draws, a rule is ticked off, the selection goes both ways, nothing goes out."""

from __future__ import annotations

import pytest

pytest.importorskip("notebook", reason="Notebook 7 is not installed (the extra 'dev')")

from tests.browser.notebook_page import (
    GROUND,
    figure,
    nodes_of_graph,
    switch,
    until,
    written,
)

CELLS = (
    "import gexplorer as gx\ne = gx.compile('bert-base:layers=2').explore(height=620)\ne",
    "c = e.compilation; print('rule', c.options.fusion, 'kernels', c.summary()['graph']['kernels'], e.selection)",
    "e.selection = {'step': 'flash_attention', 'rewrite': 1}",
)


@pytest.fixture
def book(browser, jupyter):
    with written(browser, jupyter, "seven.ipynb", CELLS, where="open_in_notebook_7") as opened:
        yield opened


def test_a_rule_is_ticked_off_and_everything_follows(book):
    page = book.page
    book.run_cell(0)
    page.locator(".gexplorer .gx-figure").first.wait_for(timeout=90_000)
    until(lambda: page.locator("canvas.gx-canvas").evaluate(GROUND), "the ground has the theme's colour", 30)
    kernels, pool, nodes = figure(page, "kernels"), figure(page, "pool"), nodes_of_graph(page)
    switch(page, "flash_attention").click()
    until(lambda: int(figure(page, "kernels")) > int(kernels), "the figures follow the switch")
    assert figure(page, "pool") != pool
    until(lambda: nodes_of_graph(page) != nodes, "the graph follows the switch")
    book.run_cell(1)
    assert f"rule {{'flash_attention': False}} kernels {figure(page, 'kernels')}" in book.output(1, "rule")
    switch(page, "flash_attention").click()
    until(lambda: figure(page, "kernels") == kernels, "and back")

    book.run_cell(2)
    page.locator(".gx-chosen", has_text="#2").first.wait_for()
    page.locator(".gx-row", has_text="#1").first.click()
    book.run_cell(1)
    assert "'rewrite': 0" in book.output(1, "'rewrite': 0")

    # Keys of the explorer are not those of the notebook: "d d" would delete the cell.
    cells = page.locator(".jp-CodeCell").count()
    page.locator(".gx-row", has_text="flash_attention").first.click()
    for key in ("d", "d", "x", "b"):
        page.keyboard.press(key)
    assert page.locator(".jp-CodeCell").count() == cells
    assert book.outside == []
    # Notebook 7 complains of itself, in its own code, also on a page without any output.
    assert [error for error in book.errors if "/static/notebook/" not in error] == []
