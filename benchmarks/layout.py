"""Layout of flat graphs, ours beside Graphviz's and fast-sugiyama's; and pictures of whole models.

``python -m benchmarks.layout [--write]``. Every run is a process of its own with a limit on its CPU time.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from benchmarks import machine

PAGE = Path(__file__).with_name("LAYOUT.md")
ROOT = Path(__file__).parents[1]
SIZES = (1_000, 3_000, 10_000, 30_000)
KINDS = ("skip", "mask")
ENGINES = ("gexplorer", "fast-sugiyama", "dot")
MODELS = ("resnet50", "bert-base", "qwen2.5-7b", "mixtral-8x7b")
LIMIT_S = 10
# CPU seconds that must be reached, by nodes and by model.
TARGETS = {10_000: 0.5, 30_000: 1.5}
MODEL_TARGETS = {"bert-base": 0.5, "qwen2.5-7b": 0.5}
# The stated machine is shared: each of ours is measured so many times, and the least counts.
REPEATS = 2

Edges = list[tuple[int, int]]


def edges_of(kind: str, nodes: int) -> tuple[int, Edges]:
    """Layers of 12 nodes and 16 edges with two residuals; a skip over eight layers from every fourth.

    ``mask`` has one more input that feeds every layer, as an attention mask does.
    """
    layers = nodes // 12
    inner = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (4, 5), (3, 6), (5, 6), (6, 7), (7, 8), (0, 8), (8, 9), (9, 10)]
    inner += [(10, 11), (8, 11)]
    edges = [(12 * layer + a, 12 * layer + b) for layer in range(layers) for a, b in inner]
    edges += [(12 * layer + 11, 12 * layer + 12) for layer in range(layers - 1)]
    edges += [(12 * layer + 11, 12 * layer + 96) for layer in range(0, layers - 8, 4)]
    if kind == "mask":
        edges += [(12 * layers, 12 * layer + 5) for layer in range(layers)]
    return 12 * layers + (kind == "mask"), edges


def work(engine: str, kind: str, size: str) -> None:
    """Lays one graph out and prints its CPU seconds and how wide it became."""
    count, edges = edges_of(kind, int(size))
    if engine == "gexplorer":
        from gexplorer.layout.layered import lay_out

        start = _cpu_s()
        placed = lay_out([120.0] * count, [57.0] * count, [a for a, _ in edges], [b for _, b in edges])
        seconds, width = _cpu_s() - start, placed.width
    elif engine == "fast-sugiyama":
        import fast_sugiyama

        start = _cpu_s()
        layouts = fast_sugiyama.from_edges(edges)
        seconds = _cpu_s() - start
        width = max(x for layout in layouts for _, (x, _) in layout[0])
    else:
        source = 'digraph{node[shape=box,fixedsize=true,width=1.67,height=0.8,label=""];splines=polyline;'
        source += "".join(f"{a}->{b};" for a, b in edges) + "}"
        start = _cpu_s(resource.RUSAGE_CHILDREN)
        done = subprocess.run([engine, "-Tplain"], input=source, capture_output=True, text=True, check=True)
        seconds, width = _cpu_s(resource.RUSAGE_CHILDREN) - start, float(done.stdout.split(maxsplit=4)[2]) * 72
    print(seconds, width)


def work_on_model(name: str) -> None:
    """Makes all pictures of a compilation; prints CPU seconds afresh, and after one rule was switched off."""
    import gc

    import gexplorer as gx
    from gexplorer.layout.scenes import scenes_of
    from gexplorer.views.explorer.numbering import Numbering

    compiled = gx.compile(name)
    numbering = Numbering(compiled.steps)
    rule = next(step.name for step in compiled.steps if step.is_fusion and step.rewrites)
    changed = compiled.replace(fusion={rule: False})
    gc.disable()  # as the document's maker does
    start = _cpu_s()
    scenes = scenes_of(compiled.steps, numbering)
    afresh = _cpu_s() - start
    other = Numbering(changed.steps, numbering)
    start = _cpu_s()
    scenes_of(changed.steps, other, scenes)
    print(afresh, _cpu_s() - start, len(numbering.nodes), len(numbering.scene_steps), rule)


def measured(*arguments: str) -> list[str] | str:
    """What a process printed; a reason where it did not come to an end."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_CPU, ({LIMIT_S}, {LIMIT_S + 1})); "
    code = limit + f"from benchmarks import layout; layout.{arguments[0]}(*{arguments[1:]!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        killed = done.returncode < 0 or "died with" in done.stderr
        return f"> {LIMIT_S} s or crashed" if killed else done.stderr.strip().splitlines()[-1][:60]
    return done.stdout.split()


def main() -> None:
    """Measures and tells; ``--write`` makes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args()
    facts = machine.facts(["numpy", "fast-sugiyama"])
    facts["dot"] = _dot_version()
    lines = [
        "# Layout, measured",
        "",
        "Made by `python -m benchmarks.layout --write` on " + ", ".join(f"{k} {v}" for k, v in facts.items()) + ".",
        "",
        "## Flat graphs",
        "",
        "CPU seconds; imports left out, for dot the whole process. Layers of 12 nodes with residuals; `skip` has an "
        f"edge over eight layers from every fourth, `mask` one more input that feeds every layer. Limit {LIMIT_S} s. "
        "fast-sugiyama takes no box sizes and gives no routes. The last column is how wide our picture became.",
        "",
        "| graph | nodes | " + " | ".join(ENGINES) + " | target | | px wide |",
        "|---|---|" + "---|" * (len(ENGINES) + 3),
    ]
    for kind in KINDS:
        failed: dict[str, int] = {}
        for nodes in SIZES:
            lines.append(_flat_row(kind, nodes, failed))
            print(lines[-1], flush=True)
    lines += [
        "",
        "## Pictures of a compilation",
        "",
        "All pictures of all steps (grouping, folding, layout of every container); then again after the first rule "
        "that fused something was switched off, going on from the first.",
        "",
        "| model | nodes of all steps | pictures | CPU s | target | | rule off | CPU s again |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in MODELS:
        lines.append(_model_row(name))
        print(lines[-1], flush=True)
    if asked.write:
        PAGE.write_text("\n".join(lines) + "\n")


def _flat_row(kind: str, nodes: int, failed: dict[str, int]) -> str:
    """One row; an engine that failed on a smaller graph of the kind is not tried on a larger one."""
    cells, width = [], ""
    ours = math.inf
    for engine in ENGINES:
        if engine == "fast-sugiyama" and find_spec("fast_sugiyama") is None:
            cells.append("not installed")
            continue
        if engine in failed:
            cells.append(f"failed at {failed[engine]:,}")
            continue
        runs = [measured("work", engine, kind, str(nodes)) for _ in range(REPEATS if engine == "gexplorer" else 1)]
        good = [run for run in runs if isinstance(run, list)]
        if not good:
            cells.append(str(runs[0]))
            failed[engine] = nodes
            continue
        seconds = min(float(run[0]) for run in good)
        cells.append(f"{seconds:.2f}")
        if engine == "gexplorer":
            ours, width = seconds, f"{float(good[0][1]):,.0f}"
    target = TARGETS.get(nodes)
    verdict = "" if target is None else "met" if ours <= target else "missed"
    return f"| {kind} | {nodes:,} | {' | '.join(cells)} | {target or ''} | {verdict} | {width} |"


def _model_row(name: str) -> str:
    good = [run for run in (measured("work_on_model", name) for _ in range(REPEATS)) if isinstance(run, list)]
    if not good:
        return f"| {name} | failed | | | | | | |"
    afresh, again = (min(float(run[at]) for run in good) for at in (0, 1))
    _, _, nodes, pictures, rule = good[0]
    target = MODEL_TARGETS.get(name)
    verdict = "" if target is None else "met" if afresh <= target else "missed"
    return (
        f"| {name} | {int(nodes):,} | {pictures} | {afresh:.2f} | {target or ''} | {verdict} | {rule} | {again:.2f} |"
    )


def _cpu_s(who: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _dot_version() -> str:
    try:
        return subprocess.run(["dot", "-V"], capture_output=True, text=True, check=True).stderr.split()[4]
    except (OSError, subprocess.SubprocessError, IndexError):
        return "not installed"


if __name__ == "__main__":
    main()
