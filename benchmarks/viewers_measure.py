"""One viewer on one model: started, opened, looked at, ended."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.processes import Watch
from benchmarks.refusing_proxy import RefusingProxy
from benchmarks.viewers_browser import SETTLED, Chromium, drawn
from benchmarks.viewers_dot import graph_text
from benchmarks.viewers_page import BEATEN, DOT, Shown
from benchmarks.viewers_tools import PAGE, Viewer

ROOT = Path(__file__).parents[1]
WALL_S = 900.0
POLL_MS = 200
PAUSE_MS = 1_500  # Model Explorer does not hear a click at once
DRAWN = 0.002  # of the pixels: three boxes with their names are 1 %
TRIES = 2


@dataclass(frozen=True)
class Setting:
    """What all measurements share.

    Attributes:
        python: interpreter that has the peers.
        chromium: path of the browser.
        limit_s: CPU time, each for what runs before and for the browser.
        pictures: folder for what was seen, None to keep nothing.
    """

    python: str
    chromium: str
    limit_s: float
    pictures: Path | None


def measure(viewer: Viewer, setting: Setting, model: Path, nodes: int, unfold: bool) -> Shown:
    """One viewer on one model; tried again where it failed for another reason than the limit."""
    found = Shown(viewer.name, nodes, fault="not tried")
    for _ in range(TRIES):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try:
                found = _measure(viewer, setting, model, found, unfold, Path(folder))
            except Exception as error:  # whatever a browser may do
                found = Shown(viewer.name, nodes, fault=f"{type(error).__name__}: {error}".splitlines()[0][:100])
        if not found.fault or found.over:
            break
    return found


def _measure(viewer: Viewer, setting: Setting, model: Path, row: Shown, unfold: bool, folder: Path) -> Shown:
    found = Shown(row.viewer, row.nodes)
    with ExitStack() as stack:
        proxies = [stack.enter_context(RefusingProxy()) for _ in range(2)]
        printed = folder / "printed"
        command = viewer.command(setting.python, model, folder, _free_port())
        first = stack.enter_context(_started(command, printed, proxies[0].environment(), setting.limit_s))
        if viewer.serves:
            address = _address(first, printed)
        else:
            first.wait()
            address = (folder / PAGE).as_uri()
        if first.over or address is None:
            fault = f"not before {setting.limit_s:g} CPU s" if first.over else "no address of a page"
            return replace(found, fault=fault, over=first.over, before_bytes=first.peak_bytes)
        profile = folder / "profile"
        browser = Chromium(setting.chromium, profile, proxies[1].address, setting.limit_s, WALL_S)
        stack.enter_context(browser)
        try:
            found = _look(viewer, browser, address, first, found, setting.pictures)
            found = _unfold(viewer, browser, found, setting.pictures) if unfold else replace(found, unfold_fault=BEATEN)
        except Exception:
            fault = _end(browser)
            if not fault:
                raise
            if found.browser_s is None:
                found = replace(found, fault=fault, over=True)
            else:
                found = replace(found, unfold_fault=fault)
        return replace(
            found,
            empty_bytes=browser.empty_bytes,
            browser_bytes=found.browser_bytes or browser.watch.peak_bytes,
            before_bytes=first.peak_bytes,
            requests=dict(browser.requests + Counter(proxies[0].hosts)),
        )


def _end(browser: Chromium) -> str:
    """Why a browser was ended early, "" where it was not."""
    spent_s = browser.watch.read()
    if browser.crashed:
        return f"the page's process died after {spent_s:.0f} CPU s"
    return f"not within {spent_s:.0f} CPU s" if browser.watch.over else ""


def _look(viewer: Viewer, browser: Chromium, address: str, first: Watch, found: Shown, pictures: Path | None) -> Shown:
    """Opens the page and waits until its graph is shown."""
    browser.open(address)
    browser_s, picture = _seen(viewer, browser, viewer.shown)
    before_s = first.read()
    boxes = browser.evaluate(viewer.boxes) if viewer.boxes else None
    found = replace(found, before_s=before_s, browser_s=browser_s, boxes=boxes, browser_bytes=browser.watch.peak_bytes)
    _keep(pictures, found, "shown", picture)
    return found


def _seen(viewer: Viewer, browser: Chromium, said: str) -> tuple[float, bytes]:
    """Waits until the page says so and a picture shows something; the CPU seconds before that picture, and it."""
    while True:
        browser.wait(POLL_MS)
        browser.evaluate(viewer.before)
        if browser.evaluate(said):
            browser.evaluate(SETTLED)
            spent_s = browser.watch.read()
            picture, box = browser.picture(), browser.box(viewer.area)
            if box is not None and drawn(picture, box) > DRAWN:
                return spent_s, picture


def _unfold(viewer: Viewer, browser: Chromium, found: Shown, pictures: Path | None) -> Shown:
    """Opens all that is folded."""
    if viewer.unfold is None:
        return found
    browser.watch.mark()
    browser.wait(PAUSE_MS)
    browser.evaluate(viewer.unfold)
    unfold_s, picture = _seen(viewer, browser, viewer.unfolded)
    _keep(pictures, found, "open", picture)
    boxes = browser.evaluate(viewer.boxes) if viewer.boxes else None
    return replace(found, unfold_s=unfold_s, unfolded_boxes=boxes)


def _keep(folder: Path | None, found: Shown, moment: str, picture: bytes) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        name = found.viewer.lower().replace(" ", "-")
        (folder / f"{name}-{found.nodes}-{moment}.png").write_bytes(picture)


@contextmanager
def _started(command: list[str], printed: Path, more: Mapping[str, str], limit_s: float) -> Generator[Watch]:
    """Runs a program that is watched, and ended at the end."""
    environment = {**os.environ, **more, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with printed.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, text=True, env=environment)
        watch = Watch(process, limit_s, WALL_S)
        try:
            yield watch
        finally:
            watch.kill()


def _address(server: Watch, printed: Path) -> str | None:
    """The last address that a server has printed, once it answers there."""
    import urllib.request

    open_local = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
    while server.alive() and not server.over:
        time.sleep(0.1)
        words = [word for word in printed.read_text().split() if word.startswith("http://127.0.0.1:")]
        if words:
            try:
                open_local(words[-1], timeout=10).close()
            except OSError:
                continue
            return words[-1]
    return None


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def measure_dot(limit_s: float, model: Path, nodes: int, unfold: bool) -> Shown:
    """``dot -Tsvg`` on one model."""
    dot = shutil.which("dot")
    if dot is None:
        return Shown(DOT, nodes, fault="not installed")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "model.dot"
        text, boxes = graph_text(model)
        source.write_text(text, encoding="utf-8")
        command = [dot, "-Tsvg", str(source), "-o", str(source.with_suffix(".svg"))]
        with _started(command, Path(folder) / "printed", {}, limit_s) as watch:
            seconds = watch.wait()
            if watch.over or not source.with_suffix(".svg").exists():
                fault = f"not within {limit_s:g} CPU s" if watch.over else "no picture"
                return Shown(DOT, nodes, fault=fault, over=watch.over, before_bytes=watch.peak_bytes)
            return Shown(DOT, nodes, before_s=seconds, before_bytes=watch.peak_bytes, boxes=boxes)
