"""The report and other people's viewers on the same files in one run: ``python -m benchmarks.viewers [--write]``.

Netron, Model Explorer (with its adapter for ONNX) and Graphviz' ``dot``; what is missing gets a row that says so. The
two packages may lie in another environment: ``--peers .../bin/python``. Needs Debian's chromium, playwright and pillow.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks import machine
from benchmarks.models import count
from benchmarks.viewers_measure import ROOT, Setting, measure, measure_dot
from benchmarks.viewers_page import BEATEN, DOT, Shown, page_text
from benchmarks.viewers_tools import PAGE, VIEWERS, Viewer

RESULTS = Path(__file__).with_name("VIEWERS.md")
MODEL = "qwen2.5-7b:layers={}"
LAYERS = (13, 66, 133)
LIMIT_S = 150.0


def write_model(layers: int, folder: Path) -> tuple[Path, int]:
    """Writes a model of the zoo without its weights; its path and nodes, Constant nodes apart."""
    import onnx
    import onnx_ir

    from gexplorer.frontends import zoo

    name, options = zoo.parse_spec(MODEL.format(layers))
    model = onnx_ir.to_proto(zoo.build(name, **options))
    path = folder / f"model-{layers}.onnx"
    onnx.save(model, path)
    return path, count(model)


def ask(python: str) -> dict[str, str]:
    """Asks an interpreter which of the peers' packages it has; their versions."""
    names = sorted({package for viewer in VIEWERS for package in viewer.packages})
    script = (
        "import importlib.metadata as m, json, sys\nfound = {}\nfor name in sys.argv[1:]:\n"
        "    try: found[name] = m.version(name)\n    except m.PackageNotFoundError: pass\nprint(json.dumps(found))"
    )
    done = subprocess.run([python, "-c", script, *names], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def compare(layers: list[int], versions: Mapping[str, str], setting: Setting, jobs: int) -> list[Shown]:
    """All viewers on all models, some at a time; tells each result as soon as it is there."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        models = [write_model(number, Path(folder)) for number in sorted(layers)]

        def look(viewer: Viewer) -> list[Shown]:
            missing = [package for package in viewer.packages if package not in versions]
            if missing:
                return [Shown(viewer.name, nodes, fault=f"{', '.join(missing)} not installed") for _, nodes in models]
            return climb(viewer.name, partial(measure, viewer, setting), models)

        # The slowest first, so that the last does not run alone.
        waiting = [pool.submit(climb, DOT, partial(measure_dot, setting.limit_s), models)]
        waiting += [pool.submit(look, viewer) for viewer in reversed(VIEWERS)]
        rows = [one.result() for one in reversed(waiting)]
    return [row[size] for size in range(len(models)) for row in rows]


def climb(name: str, run: Callable[[Path, int, bool], Shown], models: list[tuple[Path, int]]) -> list[Shown]:
    """One viewer on models of growing size; nobody is asked for more than what was too much."""
    found: list[Shown] = []
    for model, nodes in models:
        beaten = any(one.over for one in found)
        unfold = not any(one.unfold_fault for one in found)
        found.append(Shown(name, nodes, fault=BEATEN) if beaten else run(model, nodes, unfold))
        print(found[-1], flush=True)
    return found


def _warm() -> None:
    """Loops are compiled once an installation, and kept; that is not what is measured here."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "gexplorer", "report", "mlp", "-o", str(Path(folder) / PAGE)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)})


def main() -> None:
    """Measures, tells each result at once, and writes the page if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewers", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"also write {RESULTS.name} in this folder")
    parser.add_argument("--layers", type=lambda text: [int(one) for one in text.split(",")], default=list(LAYERS))
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="interpreter that has the peers")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="keep what was seen when a graph was shown")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="CPU seconds, see the page")
    parser.add_argument("--jobs", type=int, default=1, help="so many viewers at a time; CPU seconds hardly mind")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        parser.error("Debian's chromium is not installed")
    try:
        versions = ask(arguments.peers)
    except (OSError, subprocess.CalledProcessError) as error:
        parser.error(f"{arguments.peers} cannot be asked for the peers: {error}")
    _warm()
    setting = Setting(arguments.peers, chromium, arguments.limit, arguments.pictures)
    found = compare(arguments.layers, versions, setting, arguments.jobs)
    facts = {**machine.facts(["playwright"]), **versions, **_programs(chromium)}
    text = page_text(found, facts, arguments.limit, arguments.jobs)
    print(text)
    if arguments.write:
        RESULTS.write_text(text, encoding="utf-8")


def _programs(chromium: str) -> dict[str, str]:
    said: dict[str, str] = {}
    done = subprocess.run([chromium, "--version"], capture_output=True, text=True, check=False)
    said["Chromium"] = done.stdout.split()[1] if done.stdout.split() else "unknown"
    if shutil.which("dot"):
        told = subprocess.run(["dot", "-V"], capture_output=True, text=True, check=False).stderr
        said["Graphviz"] = told.partition("version ")[2].split()[0]
    return said


if __name__ == "__main__":
    main()
