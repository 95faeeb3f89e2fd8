"""Switching every rule off and on again, live: ``python -m benchmarks.toggles [--write] [--models A,B]``.

Twice: in Python alone (CPU time until all parts are packed), and in JupyterLab in headless Chromium (from the click to
the picture, by the page's clock). Needs Debian's chromium, playwright and JupyterLab; takes some minutes.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import machine

PAGE = Path(__file__).with_name("TOGGLES.md")
# What must be reached from the click to the picture, in ms.
GOALS_MS = {"bert-base": 400, "qwen2.5-7b": 1500}
# How long a person looks at the first picture before the first click.
LOOK_S = 3
SHOWN = 6
# The tab that wants the cost after every step, which comes after the picture.
PRICED = "Rules"
# Finds the switch of a rule in the list of steps, presses it, and waits for the picture.
PRESS = """async (rule) => {
  const root = document.querySelector(".gexplorer"), list = root.querySelector(".gx-steps .gx-virtual");
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const find = async () => {
    for (let top = 0; top <= list.scrollHeight; top += 150) {
      list.scrollTop = top;
      await frame();
      for (const one of list.querySelectorAll("[role=switch]")) if (one.getAttribute("aria-label") === rule) return one;
    }
  };
  const button = await find(), bar = root.querySelector(".gx-work");
  if (!button) return null;
  await frame();
  const done = new Promise((end) => {
    const look = (_, watch) => { if (bar.hidden) { watch.disconnect(); end(); } };
    new MutationObserver(look).observe(bar, { attributes: true });
  });
  const start = performance.now();
  button.click();
  await done;
  await frame();
  return performance.now() - start; }"""
UNFOLD = """async () => {
  const list = document.querySelector(".gexplorer .gx-steps .gx-virtual");
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  for (let top = 0; top <= list.scrollHeight; top += 150) {
    list.scrollTop = top;
    await frame();
    for (const row of list.querySelectorAll(".gx-row-quiet")) {
      if (row.querySelector(".gx-chevron").textContent === "▸") { row.click(); await frame(); }
    }
  } }"""


@dataclass(frozen=True)
class Switched:
    """One rule.

    Attributes:
        rule: its name.
        off: until it is off, in ms.
        on: until it is on again, in ms.
    """

    rule: str
    off: float
    on: float


def rules_of(model: str) -> list[str]:
    """The passes and rules that run."""
    import gexplorer as gx

    return [one.name for one in gx.compile(model, validate="off").plan.passes]


def in_python(model: str, rules: Sequence[str]) -> list[Switched]:
    """CPU time of the process, until what the page is sent is packed."""
    import gexplorer as gx
    from gexplorer.jupyter.warm import warm
    from gexplorer.jupyter.workbench import Wish, Workbench

    bench = Workbench(gx.compile(model, validate="off"), lambda message, buffers: None)
    bench.show()
    bench.wait()
    warm().join()
    found: list[Switched] = []
    for number, rule in enumerate(rules):
        took: list[float] = []
        for which, changes in enumerate(({"fusion": {rule: False}}, {})):
            start = time.process_time()
            bench.change(Wish(2 * number + which + 1, changes))
            bench.wait()
            took.append((time.process_time() - start) * 1e3)
        found.append(Switched(rule, *took))
    return found


def in_the_browser(model: str, rules: Sequence[str], chromium: str, tab: str = "Memory") -> list[Switched]:
    """From the click to the picture, by the page's clock, with a tab open."""
    import nbformat
    from playwright.sync_api import sync_playwright

    from tests.browser.lab_server import lab_server

    cell = nbformat.v4.new_code_cell(f"import gexplorer as gx\ngx.compile({model!r}, validate='off').explore()")
    book = nbformat.v4.new_notebook(cells=[cell])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    found: list[Switched] = []
    with tempfile.TemporaryDirectory() as base, sync_playwright() as playwright:
        books, settings = Path(base, "books"), Path(base, "settings")
        books.mkdir()
        settings.mkdir()
        nbformat.write(book, books / "toggles.ipynb")
        with lab_server(books, settings) as address:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport={"width": 1500, "height": 1000})
            open_notebook(page, f"{address}/lab/tree/toggles.ipynb?reset")
            page.get_by_role("tab", name=tab).click()
            page.wait_for_timeout(LOOK_S * 1e3)
            page.evaluate(UNFOLD)
            for rule in rules:
                took = [page.evaluate(PRESS, rule) for _ in range(2)]
                if None in took:
                    raise SystemExit(f"{model}: {rule} has no switch")
                found.append(Switched(rule, *took))
            browser.close()
    return found


def open_notebook(page: Any, address: str) -> None:
    """Opens a notebook and runs its first cell, until the explorer shows figures."""
    page.goto(address)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=90_000)
    page.wait_for_function("document.querySelector('#jp-main-statusbar')?.innerText.includes('| Idle')", timeout=90_000)
    page.wait_for_timeout(1500)  # before that a key is lost without a word
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector(".gexplorer .gx-figure", timeout=120_000)


def longest(browser: Sequence[Switched]) -> list[Switched]:
    """Those that took longest, either way."""
    return sorted(browser, key=lambda row: -max(row.off, row.on))[:SHOWN]


def lines_of(
    model: str, python: Sequence[Switched], browser: Sequence[Switched], priced: Sequence[Switched]
) -> list[str]:
    """A model's part of the page."""
    goal = GOALS_MS.get(model)
    lines = [
        f"## {model}",
        "",
        f"{len(python)} passes and rules, each off and on again."
        + (f" Wanted from click to picture: {goal:,} ms." if goal else ""),
        "",
        "| | median, ms | longest, ms | the very first, ms | over the goal |",
        "|---|---|---|---|---|",
    ]
    for name, rows in (("Python, CPU", python), ("click to picture", browser)):
        times = [ms for row in rows for ms in (row.off, row.on)]
        over = sum(ms > goal for ms in times) if goal and rows is browser else None
        said = "" if over is None else f"{over} of {len(times)}"
        lines.append(f"| {name} | {statistics.median(times):,.0f} | {max(times):,.0f} | {times[0]:,.0f} | {said} |")
    lines += [
        "",
        f"| the longest | off, ms (CPU) | on, ms (CPU) | the same with {PRICED} open, ms |",
        "|---|---|---|---|",
    ]
    cpu, again = ({row.rule: row for row in rows} for rows in (python, priced))
    for row in longest(browser):
        of, also = cpu[row.rule], again[row.rule]
        lines.append(
            f"| {row.rule} | {row.off:,.0f} ({of.off:,.0f}) | {row.on:,.0f} ({of.on:,.0f}) "
            f"| {also.off:,.0f}, {also.on:,.0f} |"
        )
    return [*lines, ""]


def main() -> None:
    """Measures, prints, and writes with ``--write``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.toggles", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--models", default=",".join(GOALS_MS))
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        parser.error("Debian's chromium is not installed")
    facts = ", ".join(f"{name} {value}" for name, value in machine.facts(("jupyterlab", "anywidget")).items())
    lines = [
        "# Switches in a notebook",
        "",
        f"Written by `python -m benchmarks.toggles --write` on {facts}.",
        "JupyterLab in headless Chromium, which draws in software; the machine is shared, and kernel, server and",
        "browser have its cores together.",
        "",
    ]
    for model in arguments.models.split(","):
        rules = rules_of(model)
        first = "flash_attention"  # plans memory anew, by the exact search
        rules.sort(key=lambda rule: rule != first)
        browser = in_the_browser(model, rules, chromium)
        priced = in_the_browser(model, [row.rule for row in longest(browser)], chromium, PRICED)
        lines += lines_of(model, in_python(model, rules), browser, priced)
    print("\n".join(lines))
    if arguments.write:
        PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
