"""A headless Chromium of its own for one page, whose requests go nowhere and whose work is counted.

Netron replaces ``window.eval``, which playwright needs; so scripts go through the DevTools protocol's own
``Runtime.evaluate``.
"""

from __future__ import annotations

import base64
import io
import subprocess
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.processes import Watch
from benchmarks.refusing_proxy import outside

WIDTH, HEIGHT = 1280, 860
# Model Explorer draws with WebGL, which without a GPU runs on SwiftShader.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-breakpad",
]
START_S = 60.0
SETTLED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
BOX = """(() => { const box = document.querySelector(%r)?.getBoundingClientRect();
    return box && [box.left, box.top, box.right, box.bottom]; })()"""


class Chromium:
    """An open browser with one empty page.

    Args:
        program: path of chromium.
        folder: an empty folder, for its profile.
        proxy: address of the proxy that refuses.
        limit_s: CPU seconds from the empty page on, after which it is killed.
        wall_s: the same by the clock.

    Attributes:
        watch: follows all of its processes.
        empty_bytes: resident memory with the empty page.
        requests: how often the page asked for something outside, by host.
        crashed: the page's process has died; all of the browser is ended then, as nothing answers any more.
    """

    def __init__(self, program: str, folder: Path, proxy: str, limit_s: float, wall_s: float) -> None:
        self.requests: Counter[str] = Counter()
        self.crashed = False
        self._stack = ExitStack()
        command = [program, *FLAGS, f"--window-size={WIDTH},{HEIGHT}", f"--proxy-server={proxy}"]
        command += [f"--user-data-dir={folder}", "--remote-debugging-port=0", "about:blank"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdout=quiet, stderr=quiet, text=True)
        self.watch = Watch(self._process, limit_s, wall_s)
        self._stack.callback(self.watch.kill)
        try:
            self._connect(folder / "DevToolsActivePort")
        except BaseException:
            self._stack.close()
            raise

    def _connect(self, port_file: Path) -> None:
        from playwright.sync_api import sync_playwright

        end = time.monotonic() + START_S
        while not (port_file.exists() and port_file.read_text()):
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError("chromium did not start")
            time.sleep(0.05)
        port = port_file.read_text().split()[0]
        playwright = self._stack.enter_context(sync_playwright())
        browser = playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
        context = browser.contexts[0]
        self._page = context.pages[0]
        self._page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        context.on("request", lambda request: self._note(request.url))
        self._page.on("crash", lambda _: self._crash())
        self._session = context.new_cdp_session(self._page)
        time.sleep(1.5)  # what a browser does on its own at the start
        self.watch.mark()
        self.empty_bytes = self.watch.peak_bytes

    def _note(self, address: str) -> None:
        host = outside(address)
        if host is not None:
            self.requests[host] += 1

    def _crash(self) -> None:
        self.crashed = True
        self.watch.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None):
        self._stack.close()

    def open(self, address: str) -> None:
        """Goes to a page without waiting for what it loads."""
        self._page.goto(address, wait_until="commit", timeout=START_S * 1e3)

    def evaluate(self, script: str) -> Any:
        """Value of an expression, awaited if it is a promise; None where it throws."""
        told = self._session.send(
            "Runtime.evaluate", {"expression": script, "returnByValue": True, "awaitPromise": True, "timeout": 600_000}
        )
        return told["result"].get("value")

    def wait(self, milliseconds: float) -> None:
        """Waits, while events of the page are taken in."""
        self._page.wait_for_timeout(milliseconds)

    def picture(self) -> bytes:
        """The page as it stands, PNG."""
        return base64.b64decode(self._session.send("Page.captureScreenshot", {"format": "png"})["data"])

    def box(self, selector: str) -> tuple[int, int, int, int] | None:
        """Left, top, right and bottom of an element in px, cut to the page; None where there is none."""
        found = self.evaluate(BOX % selector)
        if not found:
            return None
        left, top, right, bottom = (round(edge) for edge in found)
        return max(left, 0), max(top, 0), min(right, WIDTH), min(bottom, HEIGHT)


def drawn(picture: bytes, box: tuple[int, int, int, int]) -> float:
    """Part of a PNG's pixels in the middle third of a box, each way, that differ from the most frequent colour there.

    The edges do not count: our map of the whole and the others' buttons lie there.
    """
    from PIL import Image

    left, top, right, bottom = box
    wide, high = (right - left) // 3, (bottom - top) // 3
    middle = (left + wide, top + high, right - wide, bottom - high)
    part = Image.open(io.BytesIO(picture)).convert("RGB").crop(middle)
    counts = [count for count, _ in part.getcolors(part.width * part.height) or []]
    return 1 - max(counts) / sum(counts) if counts else 0.0
