"""The report in headless Chromium: size, first picture, frames, steps, and the memory of 100,000 tensors.

``python -m benchmarks.report [--write] [--layers 6,13,66]``. Needs Debian's chromium and playwright. CPU time is that
of all of the browser's processes, drawing in software included.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import machine
from benchmarks.synthetic import irregular
from benchmarks.viewers_tools import OPEN

if TYPE_CHECKING:
    from gexplorer.compiler import ModelLike

PAGE = Path(__file__).with_name("REPORT.md")
MODEL = "qwen2.5-7b:layers={}"
LAYERS = (6, 13, 66, 133, 200)
# Nodes of a model in which nothing folds: as many boxes in one picture.
IRREGULAR = 5_000
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
TENSORS = 100_000
FRAMES = 40
REPEATS = 3
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
# What must be reached, by nodes: bytes of the file, ms to the first picture.
BYTES = {1_000: 400_000, 10_000: 2_000_000, 30_000: 5_000_000}
FIRST_MS = {2_000: 1_000, 20_000: 2_000}
# Times every callback of an animation frame, and notes when the first picture stood.
WATCH = """
(() => {
  const ask = window.requestAnimationFrame.bind(window);
  window.frames_ms = [];
  window.settled = () => new Promise((done) => ask(() => setTimeout(done)));
  window.requestAnimationFrame = (work) => ask((now) => {
    const start = performance.now(); work(now); window.frames_ms.push(performance.now() - start);
  });
  new MutationObserver((_, watch) => {
    if (!document.documentElement.classList.contains("gexplorer-ready")) return;
    watch.disconnect();
    ask(() => setTimeout(() => { window.first_ms = performance.now(); }));
  }).observe(document, { attributes: true, subtree: true, attributeFilter: ["class"] });
})();
"""
SETTLE = "() => window.settled()"
# Waits until the picture stands.
GLIDED = """async () => {
  const { camera } = gexplorer.explorer.graph, at = () => `${camera.x} ${camera.y} ${camera.k}`;
  for (let was = ""; was !== at();) {
    was = at();
    for (let i = 0; i < 5; i++) await window.settled();
  } }"""
STEP = """async (index) => {
  const start = performance.now();
  gexplorer.store.move({ step: index });
  await window.settled();
  return performance.now() - start; }"""
# A plan of so many buffers that live briefly, each at a place of its own.
MEMORY = """async (count) => {
  const column = (make, type) => type.from({ length: count }, (_, i) => make(i));
  const size = 65536, rows = 400;
  const memory = { strings: ["buffer", "intermediate"], planner: "synthetic", pool_bytes: size * rows,
    bound_bytes: size * rows, unplanned_bytes: size * count, weight_bytes: 0, persistent_bytes: 0, proved: true,
    unsized: 0,
    order: new Int32Array(count), load_bytes: new Float64Array(count).fill(size * rows), peak: 0,
    value: new Int32Array(count).fill(-1), name: new Int32Array(count),
    offset_bytes: column((i) => (i % rows) * size, Float64Array), size_bytes: new Float64Array(count).fill(size),
    first: column((i) => i, Int32Array), last: column((i) => Math.min(i + rows - 1, count - 1), Int32Array),
    tensors: new Int32Array(count).fill(1), member_at: Int32Array.from({ length: count + 1 }, (_, i) => i),
    member: new Int32Array(count).fill(-1),
    kind: new Int32Array(count).fill(1), conflict_a: new Int32Array(0), conflict_b: new Int32Array(0) };
  const start = performance.now();
  gexplorer.store.receive({ memory });
  await window.settled();
  return performance.now() - start; }"""


@dataclass(frozen=True)
class Measured:
    """One report.

    Attributes:
        nodes: of the model as read.
        steps: of the compilation.
        size_bytes: of the file, without variants.
        write_s: CPU time of making it.
        first_ms: from opening the file to the first picture, by the clock.
        first_cpu_ms: CPU time until everything is unpacked.
        zoomed_ms: median of what drawing a frame takes, close up.
        zoomed_cpu_ms: CPU time of a frame, close up.
        boxes: in the picture with everything open.
        overview_ms: the same as ``zoomed_ms`` with everything open and the whole graph in view.
        overview_cpu_ms: the same with the whole graph in view.
        step_ms: median and longest from choosing a step to its picture.
        memory_ms: to the picture of a plan of ``TENSORS`` buffers.
        memory_cpu_ms: its CPU time.
    """

    nodes: int
    steps: int
    changed: int
    size_bytes: int
    write_s: float
    first_ms: float
    first_cpu_ms: float
    zoomed_ms: float
    zoomed_cpu_ms: float
    boxes: int
    overview_ms: float
    overview_cpu_ms: float
    step_ms: tuple[float, float]
    memory_ms: float
    memory_cpu_ms: float


def measure(model: ModelLike, chromium: str) -> Measured:
    """Compiles, writes and opens one report."""
    import gexplorer as gx

    compiled = gx.compile(model)
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        path = compiled.report(Path(folder) / "report.html", variants="none")
        write_s = time.process_time() - start
        runs = [_open(path, chromium) for _ in range(REPEATS)]
        size = path.stat().st_size
    least: dict[str, Any] = {key: min(run[key] for run in runs) for key in runs[0]}
    nodes = compiled.steps[0].nodes_before
    changed = sum(step.changed for step in compiled.steps)
    return Measured(nodes=nodes, steps=len(compiled.steps), changed=changed, size_bytes=size, write_s=write_s, **least)


def _open(path: Path, chromium: str) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.add_init_script(WATCH)
        before = _cpu_ms()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-gexplorer=complete]", timeout=120_000)
        page.evaluate(SETTLE)
        first_cpu = _cpu_ms() - before
        box = page.locator(".gx-canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.evaluate("() => gexplorer.explorer.graph.zoom(1 / gexplorer.explorer.graph.camera.k)")
        zoomed = _pan(page)
        steps = page.evaluate("gexplorer.store.parts.steps.steps.map((s, i) => s.changed ? i : -1).filter(i => i >= 0)")
        page.evaluate(STEP, steps[0])
        times = [page.evaluate(STEP, step) for step in steps[1:]]
        before = _cpu_ms()
        memory_ms = page.evaluate(MEMORY, TENSORS)
        memory_cpu = _cpu_ms() - before
        page.evaluate(STEP, steps[0])  # the largest graph
        page.evaluate(OPEN)
        page.evaluate(GLIDED)
        boxes = page.evaluate("gexplorer.explorer.graph.stage.scene.count")
        overview = _pan(page)
        first_ms = page.evaluate("window.first_ms")
        browser.close()
    return {
        "first_ms": first_ms,
        "first_cpu_ms": first_cpu,
        "zoomed_ms": zoomed[0],
        "zoomed_cpu_ms": zoomed[1],
        "boxes": boxes,
        "overview_ms": overview[0],
        "overview_cpu_ms": overview[1],
        "step_ms": (statistics.median(times), max(times)),
        "memory_ms": memory_ms,
        "memory_cpu_ms": memory_cpu,
    }


def _pan(page: Any) -> tuple[float, float]:
    """Median ms of drawing a frame, and CPU ms a frame, while the picture is moved."""
    page.evaluate(SETTLE)
    page.evaluate("() => { window.frames_ms.length = 0; }")
    before = _cpu_ms()
    drawn = page.evaluate(
        """async (frames) => {
            const { graph } = gexplorer.explorer;
            for (let i = 0; i < frames; i++) {
                graph.camera.x += 3; graph.camera.y -= 2; graph.draw();
                await window.settled();
            }
            return window.frames_ms; }""",
        FRAMES,
    )
    return statistics.median(drawn), (_cpu_ms() - before) / FRAMES


def _cpu_ms() -> float:
    """CPU time of all processes that this one has started, so far."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdecimal():
            continue
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry))
        ticks[int(entry)] = int(fields[11]) + int(fields[12])
    waiting, total = list(children.get(os.getpid(), [])), 0
    while waiting:
        process = waiting.pop()
        total += ticks.get(process, 0)
        waiting += children.get(process, [])
    return total * TICK_S * 1e3


def _verdict(targets: dict[int, int], nodes: int, value: float, show: Callable[[float], str]) -> str:
    """The value, with the target of the next size that it must reach."""
    wanted = [limit for size, limit in sorted(targets.items()) if nodes <= size * 1.05]
    if not wanted:
        return show(value)
    return f"{show(value)} ({'within' if value <= wanted[0] else '**over**'} {show(wanted[0])})"


def _machine() -> str:
    return ", ".join(f"{name} {said}" for name, said in machine.facts(["playwright"]).items())


def page_text(found: list[Measured]) -> str:
    """The page of results."""
    lines = [
        "# The report in a browser",
        "",
        f"Written by `python -m benchmarks.report --write` on {_machine()}. {MODEL.format('N')} without variants;",
        "headless Chromium draws in software. Least of three runs; the machine is shared. Times of a frame and a step",
        "are by the page's clock, CPU time is that of all of the browser's processes.",
        "",
        "| nodes | steps (that change the graph) | file | made in, CPU s | first picture, ms "
        "| CPU until all is there, ms |",
        "|---|---|---|---|---|---|",
    ]
    mb = lambda value: f"{value / 1e6:.2f} MB"  # noqa: E731
    ms = lambda value: f"{value:,.0f}"  # noqa: E731
    lines += [
        f"| {one.nodes:,} | {one.steps} ({one.changed}) | {_verdict(BYTES, one.nodes, one.size_bytes, mb)} "
        f"| {one.write_s:.1f} | {_verdict(FIRST_MS, one.nodes, one.first_ms, ms)} | {one.first_cpu_ms:,.0f} |"
        for one in found
    ]
    lines += [
        "",
        "| nodes | frame close up, ms (CPU) | boxes, all open | frame of them all, ms (CPU) "
        f"| step to step, median (longest), ms | {TENSORS:,} tensors, ms (CPU) |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.nodes:,} | {one.zoomed_ms:.1f} ({one.zoomed_cpu_ms:.0f}) | {one.boxes:,} | {one.overview_ms:.1f} "
        f"({one.overview_cpu_ms:.0f}) | {one.step_ms[0]:.0f} ({one.step_ms[1]:.0f}) "
        f"| {one.memory_ms:.0f} ({one.memory_cpu_ms:.0f}) |"
        for one in found
    ]
    lines += [
        "",
        "Wanted: a frame 16 ms close up and 30 ms of the whole, 100 ms from step to step, 600 ms for the tensors.",
        "The last row is a model in which nothing folds, so that all of its nodes are boxes in one picture.",
        "Other viewers beside ours, in one run: [VIEWERS.md](VIEWERS.md).",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures, prints, and writes the page if asked to."""
    import shutil

    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"also write {PAGE.name} in this folder")
    parser.add_argument("--layers", type=lambda text: [int(one) for one in text.split(",")], default=list(LAYERS))
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        parser.error("Debian's chromium is not installed")
    found: list[Measured] = []
    for model in (*map(MODEL.format, arguments.layers), irregular(IRREGULAR)):
        found.append(measure(model, chromium))
        print(found[-1], flush=True)
    text = page_text(found)
    print(text)
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
