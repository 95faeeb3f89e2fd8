"""What goes wrong in JupyterLab leaves the explorer usable, or says in one line what to do."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("jupyterlab", reason="JupyterLab is not installed (the extra 'lab')")
pytest.importorskip("nbformat", reason="nbformat is not installed")

from tests.browser.notebook_page import figure, switch, until, written

CELLS = (
    "import gexplorer as gx\ne = gx.compile('bert-base:small=true').explore(height=560)\ne",
    # A rule that raises, and one that takes its time: registered as a person would in a notebook.
    "import time\n"
    "from immutables import Map\n"
    "class Raising(gx.Pass):\n"
    "    '''Raises while it is armed.'''\n"
    "    name, order, messages, armed = 'raising', 500, Map(), True\n"
    "    def run(self, draft, log, context):\n"
    "        if self.armed:\n"
    "            raise RuntimeError('made to fail\\nin two lines')\n"
    "class Slow(gx.Pass):\n"
    "    '''Takes its time while it is armed.'''\n"
    "    name, order, messages, armed = 'slow', 501, Map(), False\n"
    "    def run(self, draft, log, context):\n"
    "        end = time.monotonic() + (60 if self.armed else 0)\n"
    "        while time.monotonic() < end:\n"
    "            time.sleep(0.01)\n"
    "gx.register(Raising), gx.register(Slow); print('registered')",
    "Raising.armed = False; print('disarmed')",
    "Slow.armed = True\nc = gx.compile('mlp:small=true')",
    "Slow.armed = False\n"
    "short = gx.compile('mlp:small=true'); e.change(memory='safe')\n"
    "print('usable', e.wait(60), e.compilation.options.memory, len(short.kernels) > 0)",
)
# Notes every bar that is ever shown.
BARS = """window.bars = 0; new MutationObserver(changes => {
    for (const {addedNodes} of changes) for (const node of addedNodes)
        if (node.matches?.('.widget-hprogress') || node.querySelector?.('.widget-hprogress')) bars++;
}).observe(document.body, {childList: true, subtree: true})"""


@pytest.fixture
def lab(browser, jupyter):
    with written(browser, jupyter, "failures.ipynb", CELLS) as opened:
        yield opened, jupyter[1]


def notice(page):
    return page.locator(".gx-notice").first.inner_text()


def test_failures_interrupts_and_restarts(lab):
    book, folder = lab
    page = book.page
    book.run_cell(0)
    page.locator(".gexplorer .gx-figure").first.wait_for(timeout=90_000)
    kernels = figure(page, "kernels")
    page.evaluate(BARS)

    # A rule that raises: one line, the last good picture, and the switch goes back.
    book.run_cell(1)
    book.output(1, "registered")
    switch(page, "flash_attention").click()
    page.locator(".gx-notice", has_text="made to fail in two lines").wait_for()
    assert "raising" in notice(page)
    assert figure(page, "kernels") == kernels
    assert switch(page, "flash_attention").get_attribute("aria-checked") == "true"
    page.locator(".gx-row", has_text="matmul_bias").first.click()
    assert "matmul_bias" in page.locator(".gx-right").inner_text()
    book.run_cell(2)
    book.output(2, "disarmed")
    switch(page, "flash_attention").click()
    until(lambda: int(figure(page, "kernels")) > int(kernels), "the explorer works again")
    assert "made to fail" not in notice(page)
    assert page.evaluate("bars") == 0  # nothing took a second

    # Interrupted while it compiles: a bar, then the person's own error, and everything works as before.
    book.run_cell(3, is_long=True)
    bar = page.locator(".widget-hprogress")
    bar.wait_for(timeout=20_000)
    book.cell(3).get_by_text("slow").filter(visible=True).last.wait_for()
    kernel = book.kernel("failures.ipynb")["id"]
    book.post(f"kernels/{kernel}/interrupt")
    book.output(3, "KeyboardInterrupt")
    bar.wait_for(state="detached")
    shown = page.evaluate("bars")
    assert shown
    book.run_cell(4)
    book.output(4, "usable True safe True")
    page.locator(".gx-notice", has_text="safe").wait_for()
    assert page.evaluate("bars") == shown  # a short compilation has none

    # Keys in the explorer are its own ("d d" would delete the cell), but chords are JupyterLab's: it is saved.
    cells = page.locator(".jp-CodeCell").count()
    page.locator(".gx-row", has_text="constant_folding").first.click()
    for key in ("d", "d", "x", "b"):
        page.keyboard.press(key)
    assert page.locator(".jp-CodeCell").count() == cells
    page.keyboard.press("Control+s")
    until(lambda: "usable True" in (folder / "failures.ipynb").read_text(), "the notebook is saved")
    shutil.copy(folder / "failures.ipynb", folder / "saved.ipynb")

    # The kernel is started anew: the picture stays, and says what to do.
    page.locator("[data-jp-item-name=restart] jp-button").click()
    page.locator(".jp-Dialog .jp-mod-accept").click()
    page.locator(".gx-notice", has_text="The kernel of this picture is gone. Run the cell again.").wait_for()
    page.locator(".gx-row", has_text="matmul_bias").first.click()
    assert "matmul_bias" in page.locator(".gx-right").inner_text()
    book.run_cell(0)
    until(lambda: page.locator(".gexplorer").count() == 1 and not page.locator(".gx-notice").first.is_visible(), "anew")
    switch(page, "flash_attention").click()
    until(lambda: "flash_attention off" in notice(page), "the explorer works again")

    assert book.outside == []
    assert book.errors == []

    # Opened again, with a kernel that knows nothing of it: the page as it was saved.
    book.open("saved.ipynb")
    page.frame_locator(".gx-still iframe").get_by_text("bert-base:small=true").first.wait_for()
    assert "no kernel answers" in page.locator(".gx-still").inner_text()
    assert book.outside == []
