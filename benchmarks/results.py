"""Measurements as a table for the terminal and as ``RESULTS.md``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.growth import exponent
from benchmarks.measure import Limits, Run

HEAD = ("tool", "model", "nodes", "after", "CPU s", "ratio", "peak MB", "weights", "failure")

# What gexplorer must reach: CPU seconds by model.
TARGETS = {"qwen2.5-7b": 1.0, "mixtral-8x7b": 1.4, "synthetic-100k": 10.0}
MEMORY_TARGET = ("synthetic-100k", 1024)
GROWTH_TARGET = 1.1
STARTUP_TARGET = 0.5


def ratios(runs: Sequence[Run]) -> list[float | None]:
    """CPU seconds of each run over those of gexplorer on the same model."""
    own = {run.model: run.cpu_seconds for run in runs if run.tool == "gexplorer"}
    return [
        run.cpu_seconds / base if run.cpu_seconds is not None and (base := own.get(run.model)) else None for run in runs
    ]


def row(run: Run, ratio: float | None) -> tuple[str, ...]:
    """One run as the cells of a line."""
    return (
        run.tool,
        run.model,
        f"{run.nodes_before:,}",
        "-" if run.nodes_after is None else f"{run.nodes_after:,}",
        "-" if run.cpu_seconds is None else f"{run.cpu_seconds:.2f}",
        "-" if ratio is None else f"{ratio:.2f}",
        f"{run.peak_rss_mb:,.0f}",
        run.weights,
        run.failure,
    )


def line(cells: Sequence[str]) -> str:
    """Cells as a line for the terminal."""
    widths = (14, 15, 8, 8, 8, 8, 8, 13, 0)
    parts = [c.rjust(w) if 2 <= i <= 6 else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
    return " ".join(parts).rstrip()


def checks(runs: Iterable[Run], growth: Mapping[int, float], startup: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Every target beside what was measured: name, target, measured, verdict."""
    found: list[tuple[str, float, float | None, str]] = []
    for run in runs:
        if run.tool == "gexplorer" and run.model in TARGETS:
            found.append((f"{run.model}, CPU", TARGETS[run.model], run.cpu_seconds, "s"))
            if run.model == MEMORY_TARGET[0]:
                found.append((f"{run.model}, peak memory", MEMORY_TARGET[1], run.peak_rss_mb, "MB"))
    if growth:
        found.append(("growth from 1k to 100k nodes, exponent", GROWTH_TARGET, exponent(growth), ""))
    found += [(f"`{name}`, CPU", STARTUP_TARGET, spent, "s") for name, spent in startup.items() if "gexplorer" in name]
    return [
        (
            name,
            f"{target:g} {unit}".strip(),
            "-" if value is None else f"{value:.3g} {unit}".strip(),
            "met" if value is not None and value <= target else "missed",
        )
        for name, target, value, unit in found
    ]


def markdown(
    runs: Sequence[Run],
    growth: Mapping[int, float],
    startup: Mapping[str, float],
    machine: Mapping[str, str],
    limits: Limits,
) -> str:
    """The page that ``--write`` writes."""
    by_run = list(zip(runs, ratios(runs), strict=True))
    memory = f"{limits.memory_bytes / (1 << 30):g} GB"
    parts = [
        "# Measured",
        "Written by `make bench ARGS=--write`; do not edit. CPU seconds are user and system time of one call in a "
        "process of its own: read the file, optimise. Every tool is given a model of one block first, so that "
        "imports and other first-time costs do not count. For gexplorer that is reading and all general passes (preset "
        "`unconfigured`), in the second row all fusion rules too, every step kept; in the third `gexplorer.compile`, "
        "which also plans memory, writes and prices kernels, schedules and validates. Quick runs are the median of "
        "three. A run may use "
        f"{limits.cpu_seconds} s CPU and {memory} of memory. Nodes are those of the outermost graph, Constant nodes "
        "apart.",
        "The zoo's models have no weight bytes. Tools that do not start without a weight file get one of zeros that "
        "takes no room on disk (*sparse zeros*). onnxruntime then optimises in memory, as saving would write all "
        "those zeros; elsewhere it saves its result, as its offline mode does. The zoo's weights are float16 and "
        "stored transposed, as exported: a tool that folds the transposes reads and copies them all.",
        "## Targets",
        _table(("", "target", "measured", ""), checks(runs, growth, startup)),
    ]
    for model in dict.fromkeys(run.model for run in runs):
        cells = [row(run, ratio) for run, ratio in by_run if run.model == model]
        parts += [f"## {model}: {cells[0][2]} nodes"]
        parts += [_table(("tool", *HEAD[3:]), [(cell[0], *cell[3:]) for cell in cells])]
    if growth:
        parts += [f"## Growth: N^{exponent(growth):.2f}", "gexplorer on synthetic models."]
        cells = [(f"{n:,}", f"{s:.2f}", f"{s / n * 1e6:.0f}") for n, s in growth.items()]
        parts += [_table(("nodes", "CPU s", "us a node"), cells)]
    if startup:
        parts += ["## Start-up", "CPU seconds of a fresh process, the interpreter included; median of five."]
        parts += [_table(("command", "CPU s"), [(f"`{name}`", f"{s:.3f}") for name, s in startup.items()])]
    parts += ["## Machine", _table(("", ""), list(machine.items()))]
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines)
