"""Measures gexplorer and its peers: ``python -m benchmarks``, or ``make bench ARGS=...``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks import growth, machine, models, results, startup
from benchmarks.measure import Limits, Run, measure
from benchmarks.prepare import prepare
from benchmarks.tools import TOOLS

PAGE = Path(__file__).parent / "RESULTS.md"


def main() -> None:
    """Runs what was asked for, tells each result at once, then writes files."""
    asked = _arguments()
    limits = Limits(asked.limit, int(asked.memory * (1 << 30)))
    facts = machine.facts(["onnx", *(TOOLS[tool].package for tool in asked.tools)])
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    with tempfile.TemporaryDirectory() as folder:
        runs = _compare(asked.models, asked.tools, Path(folder), limits)
        grown = {} if asked.only_peers else growth.measure_growth(Path(folder), limits)
    started = {} if asked.only_peers else startup.measure()
    for check in results.checks(runs, grown, started):
        print("{:40} target {:>8}   measured {:>8}   {}".format(*check))
    if asked.json:
        document = {
            "machine": facts,
            "limits": asdict(limits),
            "runs": [asdict(run) | {"ratio": ratio} for run, ratio in zip(runs, results.ratios(runs), strict=True)],
            "growth": {"exponent": growth.exponent(grown), "cpu_seconds": grown} if grown else None,
            "startup": started or None,
        }
        text = json.dumps(document, indent=1) + "\n"
        sys.stdout.write(text) if asked.json == "-" else Path(asked.json).write_text(text)
    if asked.write:
        PAGE.write_text(results.markdown(runs, grown, started, facts, limits))


def _compare(names: list[str], tools: list[str], folder: Path, limits: Limits) -> list[Run]:
    runs: list[Run] = []
    tiny = prepare("27", folder)
    print(results.line(results.HEAD))
    for name in names:
        if name == models.EXPORT and not models.EXPORT_FILE.exists():
            print(f"{name}: skipped, the corpus of real exports is not beside this repository")
            continue
        model = prepare(name, folder)
        for tool in tools:
            runs.append(measure(tool, model, tiny, limits))
            print(results.line(results.row(runs[-1], results.ratios(runs)[-1])), flush=True)
    return runs


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("--models", type=_names(models.NAMES), default=list(models.NAMES), help="comma-separated")
    parser.add_argument("--tools", type=_names(tuple(TOOLS)), default=list(TOOLS), help="comma-separated")
    parser.add_argument("--limit", type=int, default=120, help="CPU seconds that a run may use (120)")
    parser.add_argument("--memory", type=float, default=4.0, help="GB that a run may ask for (4)")
    parser.add_argument("--only-peers", action="store_true", help="leave out growth and start-up")
    parser.add_argument("--json", metavar="FILE", help="also write everything as JSON (-: to the terminal)")
    parser.add_argument("--write", action="store_true", help=f"also write {PAGE.name} in this folder")
    return parser.parse_args()


def _names(known: tuple[str, ...]) -> object:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"no {name!r}; there are: {', '.join(known)}")
        return names

    return parse


if __name__ == "__main__":
    main()
