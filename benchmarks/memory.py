"""Memory planners beside each other and beside omnimalloc's: ``python -m benchmarks.memory``."""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks import machine
from benchmarks.memory_instances import FOLDER, LARGE, SMALL, SYNTHETIC
from benchmarks.memory_worker import PEER
from gexplorer.memory.planners.registry import all_planners

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).with_name("MEMORY.md")
PEERS = tuple(PEER + name for name in ("greedy_by_size", "best_fit", "omni"))
# What one planner may use on one instance.
LIMIT_SECONDS, LIMIT_BYTES = 60, 4 << 30
GROUPS = {"The hard small ones": SMALL, "Real programs": LARGE, "Synthetic": SYNTHETIC}

# What ``balanced`` must reach: pool / bound and CPU seconds by instance. Seconds are those of bound, plan and check.
RATIO_TARGETS = {
    "resnet50": 1.001,
    "G_1": 1.0,
    "pangu_2.6B": 1.0076,
    "S_1": 1.0139,
    "Y_1": 1.02,
    "infer-100k": 1.001,
    "train-100k": 1.001,
    "infer-1m": 1.02,
    "train-1m": 1.02,
}
MEAN_TARGET = 1.10  # of ``balanced`` over the hard small ones
# What ``exact`` must reach: the instances whose max live load is a pool, all together, and the two where none is known.
PROVED, PROVED_SECONDS = tuple(name for name in SMALL if name not in ("D", "J")), 10.0
OPEN_BYTES, OPEN_SECONDS = 1 << 20, 30.0
SECONDS_TARGETS = {"infer-100k": 0.5, "train-100k": 0.5, "infer-1m": 5.0, "train-1m": 5.0, "pangu_2.6B": 1.0}


@dataclass(frozen=True)
class Planned:
    """One planner on one instance.

    Attributes:
        planner: ours, a mode, or a peer's.
        instance: name of the instance.
        buffers: how many.
        ratio: pool / bound, None where there is no plan.
        pool_bytes: the pool, None where there is no plan.
        plan_seconds: CPU time of planning, None where there is no plan.
        all_seconds: with the bound before and the check behind.
        fault: why there is no sound plan, "" where there is one.
    """

    planner: str
    instance: str
    buffers: int = 0
    ratio: float | None = None
    pool_bytes: int | None = None
    plan_seconds: float | None = None
    all_seconds: float | None = None
    fault: str = ""


def planners() -> tuple[str, ...]:
    """All of ours, the default mode, and the peers that are installed."""
    own = [planner.name for planner in all_planners() if planner.name != "omnimalloc"]
    return (*own, "balanced", *(PEERS if find_spec("omnimalloc") else ()))


def instances() -> tuple[str, ...]:
    """All that are here."""
    return (*(SMALL + LARGE if FOLDER.exists() else ()), *SYNTHETIC)


def measure(names: Iterable[str], wanted: Sequence[str]) -> list[Planned]:
    """Runs planners on instances, the small ones of one planner in one process; tells each result at once."""
    small = [name for name in wanted if name in SMALL]
    groups = ([small] if small else []) + [[name] for name in wanted if name not in SMALL]
    found: list[Planned] = []
    for name in names:
        for group in groups:
            for run in _run(name, group):
                print(f"{name:28} {run.instance:12} {_cell(run, with_seconds=True)}", flush=True)
                found.append(run)
    return found


def _run(planner: str, group: Sequence[str]) -> list[Planned]:
    command = [sys.executable, "-m", "benchmarks.memory_worker", planner, *group]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def limit() -> None:
        seconds = LIMIT_SECONDS * len(group)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES))

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, preexec_fn=limit)
    found = [_read(planner, json.loads(line)) for line in done.stdout.splitlines()]
    missing = group[len(found) :]
    return found + [Planned(planner, name, fault=_reason(done.returncode, done.stderr)) for name in missing]


def _read(planner: str, line: dict[str, float]) -> Planned:
    fault = "" if line["sound"] else f"{line['overlaps']:,} overlaps" if line["overlaps"] else "unsound"
    return Planned(
        planner,
        str(line["instance"]),
        int(line["buffers"]),
        line["pool_bytes"] / line["bound_bytes"],
        int(line["pool_bytes"]),
        line["plan_seconds"],
        line["bound_seconds"] + line["plan_seconds"] + line["verify_seconds"],
        fault,
    )


def _reason(code: int, complained: str) -> str:
    if code < 0:
        return f"more than {LIMIT_SECONDS} s"
    if "MemoryError" in complained:
        return f"more than {LIMIT_BYTES >> 30} GB"
    last = complained.strip().rpartition("\n")[2]
    return last.partition(": ")[2].split(";")[0][:60].strip() or f"exit status {code}"


def checks(runs: Iterable[Planned]) -> list[tuple[str, str, str, str]]:
    """Every target beside what was measured: name, target, measured, verdict."""
    runs = list(runs)
    found = _search_checks({(run.planner, run.instance): run for run in runs})
    for run in runs:
        if run.planner != "balanced":
            continue
        targets = ((RATIO_TARGETS, run.ratio, "pool / bound", ""), (SECONDS_TARGETS, run.all_seconds, "CPU", " s"))
        for target, value, what, unit in targets:
            if run.instance in target:
                wanted = target[run.instance]
                met = value is not None and value <= wanted and not run.fault
                shown = "-" if value is None else f"{value:.5g}{unit}"
                found.append((f"{run.instance}, {what}", f"{wanted:g}{unit}", shown, "met" if met else "missed"))
    return found


def _search_checks(runs: Mapping[tuple[str, str], Planned]) -> list[tuple[str, str, str, str]]:
    """What the hard small ones ask of ``balanced`` and of ``exact``; only what was measured."""
    found: list[tuple[str, str, str, str]] = []

    def check(name: str, target: float, value: float, unit: str, sound: bool) -> None:
        verdict = "met" if sound and value <= target else "missed"
        found.append((name, f"{target:,.8g}{unit}", f"{value:,.7g}{unit}", verdict))

    small = [runs[key] for name in SMALL if (key := ("balanced", name)) in runs]
    if len(small) == len(SMALL):
        mean = _geometric_mean([run.ratio or math.inf for run in small])
        check("A to K, balanced, geometric mean", MEAN_TARGET, mean, "", not any(run.fault for run in small))
    nine = [runs[key] for name in PROVED if (key := ("exact", name)) in runs]
    if len(nine) == len(PROVED):
        proved = all(run.ratio == 1 and not run.fault for run in nine)
        check(
            "nine proved optimal, CPU together",
            PROVED_SECONDS,
            sum(run.plan_seconds or 0 for run in nine),
            " s",
            proved,
        )
    for name in ("D", "J"):
        run = runs.get(("exact", name))
        if run is not None and run.pool_bytes is not None:
            check(f"{name}, exact, pool", OPEN_BYTES, run.pool_bytes, "", not run.fault)
            check(f"{name}, exact, CPU", OPEN_SECONDS, run.plan_seconds or 0, " s", not run.fault)
    return found


def page(runs: Sequence[Planned], machine: Mapping[str, str]) -> str:
    """The page that ``--write`` writes."""
    lines = ["| | target | measured | |", "|---|---|---|---|", *("| " + " | ".join(row) + " |" for row in checks(runs))]
    parts = [
        "# Memory planners, measured",
        "Made by `python -m benchmarks.memory --write` on " + ", ".join(f"{k} {v}" for k, v in machine.items()) + ".",
        "\n".join(lines),
        *markdown(runs),
    ]
    return "\n\n".join(parts) + "\n"


def markdown(runs: Sequence[Planned]) -> list[str]:
    """The tables of the page."""
    parts = [
        "## The planners",
        "Pool / bound, and CPU seconds of planning, the first compilation of loops and imports left out; the bound is "
        "the max live load. Every plan is checked by the same verifier. A planner may use "
        f"{LIMIT_SECONDS} s and {LIMIT_BYTES >> 30} GB for one instance; quick runs are the median of three. "
        "omnimalloc's time includes making its objects. A to K are minimalloc's challenging instances, the real "
        "programs were collected by idealloc; the synthetic ones are a decoder run forward, and one trained.",
    ]
    for title, group in GROUPS.items():
        here = [run for run in runs if run.instance in group]
        if here:
            parts += [f"### {title}", _table(here, [name for name in group if any(r.instance == name for r in here)])]
    return parts


def _table(runs: Sequence[Planned], columns: Sequence[str]) -> str:
    by_place = {(run.planner, run.instance): run for run in runs}
    mean = tuple(columns) == SMALL
    lines = [["planner", *columns, *(("mean", "CPU s") if mean else ())]]
    lines.append(["---"] * len(lines[0]))
    for planner in dict.fromkeys(run.planner for run in runs):
        row = [by_place.get((planner, column), Planned(planner, column)) for column in columns]
        cells = [planner, *(_cell(run, with_seconds=not mean) for run in row)]
        if mean:
            sound = all(run.ratio and not run.fault for run in row)
            cells.append(f"{_geometric_mean([run.ratio or 1 for run in row]):.3f}" if sound else "-")
            cells.append(f"{sum(run.plan_seconds or 0 for run in row):.3f}")
        lines.append(cells)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _cell(run: Planned, with_seconds: bool) -> str:
    if run.fault or run.ratio is None:
        return run.fault or "-"
    return f"{run.ratio:.4f}, {run.plan_seconds:.3f} s" if with_seconds else f"{run.ratio:.3f}"


def _geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> None:
    """Measures what was asked for and prints it."""
    parser = argparse.ArgumentParser("python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--planners", type=lambda text: text.split(","), default=planners(), help="comma-separated")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--instances", type=lambda text: text.split(","), default=instances(), help="comma-separated")
    asked = parser.parse_args()
    runs = measure(asked.planners, asked.instances)
    for check in checks(runs):
        print("{:40} target {:>8}   measured {:>8}   {}".format(*check))
    print("\n\n".join(markdown(runs)))
    if asked.write:
        PAGE.write_text(page(runs, machine.facts(["numpy", "numba", "omnimalloc"])))


if __name__ == "__main__":
    main()
