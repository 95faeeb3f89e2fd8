"""Every view of the explorer as pictures: ``python -m benchmarks.screenshots [-o FOLDER] [--model MODEL] [--sheets]``.

At 1280 and 1920 px wide, light and dark: the graph, each tab, a node, why not, search, a switch, a difference; some at
900 px too.
Needs Debian's chromium and playwright; ``--sheets`` puts all of one size and theme on one picture, which needs pillow.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
SIZES = ((1280, 860), (1920, 1080))
SMALL = (900, 700)
THEMES = ("light", "dark")
MODEL = "bert-base:layers=4"
ACROSS = 3
SHEET_WIDTH = 960


def views(page: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """Name of each view of a report, and the way to it."""
    move = "selection => gexplorer.store.move({step: undefined, node: undefined, value: undefined, ...selection})"
    steps = page.evaluate(
        """() => gexplorer.store.parts.steps.steps.map((step, index) => ({
            index, stage: step.stage, kind: step.kind, done: step.rewrites.node.length,
            near: step.rejects.node.length }))"""
    )
    rules = [step for step in steps if step["kind"] == "rule"]
    fused = max(rules, key=lambda step: step["done"])["index"]
    missed = max((step for step in steps if step["stage"] == "passes"), key=lambda step: step["near"])["index"]
    yield "graph", lambda: page.evaluate(move, {})
    yield "step", lambda: page.evaluate(move, {"step": fused})
    yield "rewrite", lambda: page.evaluate(move, {"step": fused, "rewrite": 0})
    yield "why-not", lambda: page.evaluate(move, {"step": missed, "reject": 0})
    yield (
        "node",
        lambda: page.evaluate(
            """step => { const {steps} = gexplorer.store.parts;
            const node = steps.steps[step].rewrites.changed[0];
            gexplorer.store.move({step: undefined, reject: undefined, node}); }""",
            fused,
        ),
    )
    for tab in page.locator("[role=tab]").all():
        yield f"tab-{tab.inner_text().lower().replace(' ', '-')}", tab.click
    yield "search", lambda: _search(page)
    yield "switched", lambda: _switch(page)
    yield "keys", lambda: _keys(page)


def _search(page: Any) -> None:
    page.evaluate("() => gexplorer.store.move({node: undefined, step: undefined})")
    page.keyboard.press("/")
    page.keyboard.type("type:matmul")


def _switch(page: Any) -> None:
    page.keyboard.press("Escape")
    page.evaluate("() => gexplorer.store.change({memory: 'safe'})")
    page.wait_for_timeout(400)


def _keys(page: Any) -> None:
    page.evaluate("() => gexplorer.store.reset()")
    page.keyboard.press("?")


def take(model: str, folder: Path, chromium: str) -> list[Path]:
    """Takes all pictures; returns their paths. Anything that a page logs is printed."""
    from playwright.sync_api import sync_playwright

    import gexplorer as gx

    folder.mkdir(parents=True, exist_ok=True)
    compiled = gx.compile(model)
    report = compiled.report(folder / "report.html", variants=1)
    fused = next(step.name for step in compiled.steps if step.is_fusion and step.rewrites)
    difference = gx.diff(compiled, compiled.replace(fusion={fused: False})).report(folder / "difference.html")
    taken: list[Path] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for theme in THEMES:
            for width, height in (*SIZES, SMALL):
                page = _page(browser, report, theme, width, height)
                for name, go in views(page):
                    if (width, height) == SMALL and name not in ("graph", "why-not", "tab-memory"):
                        continue
                    go()
                    page.wait_for_timeout(350)
                    taken.append(folder / f"{theme}-{width}-{name}.png")
                    page.screenshot(path=taken[-1])
                page.close()
                page = _page(browser, difference, theme, width, height)
                taken.append(folder / f"{theme}-{width}-difference.png")
                page.screenshot(path=taken[-1])
                page.close()
        words = browser.new_page(viewport={"width": 1280, "height": 860}, java_script_enabled=False)
        words.goto(report.as_uri())
        taken.append(folder / "words.png")
        words.screenshot(path=taken[-1])
        browser.close()
    return taken


def _page(browser: Any, path: Path, theme: str, width: int, height: int) -> Any:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce")
    page.on("console", lambda message: print(f"{path.name}: {message.text}"))
    page.on("pageerror", lambda error: print(f"{path.name}: {error}"))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-gexplorer=complete]")
    page.wait_for_timeout(300)
    return page


def sheets(taken: list[Path], folder: Path) -> None:
    """All pictures of one theme and width on sheets of six."""
    from PIL import Image

    groups: dict[str, list[Path]] = {}
    for path in taken:
        groups.setdefault("-".join(path.stem.split("-")[:2]), []).append(path)
    for name, paths in groups.items():
        for first in range(0, len(paths), 2 * ACROSS):
            pictures = [Image.open(path) for path in paths[first : first + 2 * ACROSS]]
            small = [one.resize((SHEET_WIDTH, round(one.height * SHEET_WIDTH / one.width))) for one in pictures]
            row = max(one.height for one in small)
            sheet = Image.new("RGB", (SHEET_WIDTH * min(len(small), ACROSS), row * -(-len(small) // ACROSS)), "#888")
            for number, one in enumerate(small):
                sheet.paste(one, (number % ACROSS * SHEET_WIDTH, number // ACROSS * row))
            sheet.save(folder / f"sheet-{name}-{first // (2 * ACROSS) + 1}.png")


def main() -> None:
    """Takes the pictures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.screenshots", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("screenshots"))
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--sheets", action="store_true")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        parser.error("Debian's chromium is not installed")
    taken = take(arguments.model, arguments.output, chromium)
    if arguments.sheets:
        sheets(taken, arguments.output)
    print(f"{len(taken)} pictures in {arguments.output.resolve()}")


if __name__ == "__main__":
    main()
