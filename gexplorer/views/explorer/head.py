"""The part ``head``: what was compiled, with what options, and the headline figures."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from gexplorer.hardware.catalogue import chip_names
from gexplorer.memory.modes import MODES
from gexplorer.memory.planners.registry import all_planners
from gexplorer.passes.switches import PRESETS
from gexplorer.trace.records import STAGES
from gexplorer.views.binding import shape_argument
from gexplorer.views.describe import type_text
from gexplorer.views.explorer.copies import copies
from gexplorer.views.explorer.figures import figures
from gexplorer.views.report import version_text

if TYPE_CHECKING:
    from gexplorer.ir.graph import Graph
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject

SCHEMA = "gexplorer.explorer/1"


def head_part(subject: Subject, numbering: Numbering) -> dict[str, object]:
    """The top of the page.

    Args:
        subject: what is shown.
        numbering: the numbers of its nodes and values.
    """
    source, options, failure = subject.source, subject.options, subject.failure
    graph = subject.steps[0].before if len(subject.steps) else None
    opsets = graph.opsets if graph is not None else {}
    return {
        "schema": SCHEMA,
        "version": version_text(),
        "model": {
            "name": subject.name,
            "sha256": source.sha256 if source is not None else "",
            "nodes": source.nodes if source is not None else graph.nodes_deep if graph is not None else 0,
            "weight_bytes": source.weight_bytes if source is not None else None,
            "opset": {domain or "ai.onnx": number for domain, number in sorted(opsets.items())},
        },
        "options": options.as_dict() if options is not None else {},
        "copy": copies(subject),
        "figures": figures(subject, numbering),
        "stages": [_stage(name, subject) for name in STAGES],
        "choices": _choices(subject, graph),
        "binding": "" if graph is None or options is None else shape_argument(subject.steps[-1].after, options.shapes),
        "failure": None if failure is None else {"name": failure.name, "why": failure.why},
        "difference": None,
    }


def _stage(name: str, subject: Subject) -> dict[str, object]:
    """``done``; ``failed`` for the stage that a failure ended; ``absent`` for one that has no steps."""
    own = [step for step in subject.steps if step.stage == name]
    at_fault = subject.failure is not None and name == "passes"
    return {
        "name": name,
        "seconds": sum(step.seconds for step in own),
        "steps": len(own),
        "status": "failed" if at_fault else "done" if own else "absent",
    }


def _choices(subject: Subject, graph: Graph | None) -> dict[str, list[str]]:
    """What the controls may be set to; ``shapes`` are the inputs in the form of ``--shape``, as they are now."""
    options = subject.options
    if options is None:
        return {"soc": [], "memory": [], "planner": [], "tiling": [], "preset": [], "shapes": []}
    return {
        "soc": list(dict.fromkeys((*chip_names(), options.soc))),
        "memory": list(MODES),
        "planner": [planner.name for planner in all_planners()],
        "tiling": _tilings() if any(f.name == "tiling_mode" for f in fields(options)) else [],
        "preset": list(PRESETS),
        "shapes": [] if graph is None else _shapes(subject, graph),
    }


def _tilings() -> list[str]:
    from gexplorer.kernels.tiling import MODES as TILINGS

    return list(TILINGS)


def _shapes(subject: Subject, graph: Graph) -> list[str]:
    typed = subject.steps[-1].after
    found: list[str] = []
    for name in graph.inputs:
        tensor = typed.tensor(name)
        if tensor is not None and tensor.shape is not None:
            found.append(f"{name}:{','.join('?' if dim is None else str(dim) for dim in tensor.shape)}")
        else:
            value = typed.values.get(name)
            found.append(f"{name}:{type_text(value.type) if value is not None else ''}")
    return found
