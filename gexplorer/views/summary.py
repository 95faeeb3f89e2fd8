"""The compilation as one JSON object, schema ``gexplorer.summary/1`` (the public surface that scripts read)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gexplorer.frontends.onnx import SourceModel
from gexplorer.ir.graph import Graph
from gexplorer.ir.types import TensorType
from gexplorer.options import Options
from gexplorer.passes.manager import all_passes
from gexplorer.trace.records import STAGES, Step, Steps
from gexplorer.views.cost import cost_summary
from gexplorer.views.kernels import kernels_summary
from gexplorer.views.memory import memory_summary
from gexplorer.views.schedule import schedule_summary
from gexplorer.views.validation import validation_summary

if TYPE_CHECKING:
    from gexplorer.cost.graph import GraphCost
    from gexplorer.kernels.stage import Kernels
    from gexplorer.memory.stage import Memory
    from gexplorer.schedule.durations import Durations
    from gexplorer.schedule.stage import Schedule
    from gexplorer.validation.record import Validation

SCHEMA = "gexplorer.summary/1"


class Compiled(Protocol):
    """What a summary is made of."""

    @property
    def source(self) -> SourceModel:
        """The model as read."""
        ...

    @property
    def options(self) -> Options:
        """What was asked for."""
        ...

    @property
    def steps(self) -> Steps:
        """Every step."""
        ...

    @property
    def cost(self) -> GraphCost:
        """What every kernel costs."""
        ...

    @property
    def durations(self) -> Durations:
        """The time of each kernel, as far as it is known."""
        ...

    @property
    def schedule(self) -> Schedule:
        """Streams and timeline."""
        ...

    @property
    def memory(self) -> Memory:
        """The memory's plan."""
        ...

    @property
    def kernels(self) -> Kernels:
        """How each kernel is tiled."""
        ...

    @property
    def validation(self) -> Validation:
        """What was checked."""
        ...


def summarise(compilation: Compiled) -> dict[str, object]:
    """The summary object."""
    steps = compilation.steps
    return {
        "schema": SCHEMA,
        "model": _model(compilation.source, steps),
        "options": compilation.options.as_dict(),
        "stages": [
            {
                "name": stage,
                "seconds": sum(step.seconds for step in steps if step.stage == stage),
                "steps": sum(step.stage == stage for step in steps),
            }
            for stage in STAGES
        ],
        "steps": [step_row(step) for step in steps],
        "rules": rule_rows(steps, compilation.options),
        "graph": {**graph_summary(steps[-1].after), "kernels": compilation.schedule.kernels.launches},
        "memory": memory_summary(compilation.memory),
        "schedule": {**schedule_summary(compilation.schedule), "unpriced": len(compilation.durations.unpriced)},
        "cost": cost_summary(compilation.cost),
        "kernels": kernels_summary(compilation.kernels),
        "validation": validation_summary(compilation.validation),
    }


def step_row(step: Step) -> dict[str, object]:
    """One row of ``steps``."""
    return {
        "index": step.index,
        "stage": step.stage,
        "name": step.name,
        "ge_name": step.ge_name,
        "seconds": step.seconds,
        "nodes_before": step.nodes_before,
        "nodes_after": step.nodes_after,
        "rewrites": len(step.rewrites),
        "rejects": len(step.rejects),
    }


def rule_rows(steps: Steps, options: Options) -> list[dict[str, object]]:
    """One row per pass: places tried, matched and acted on, the time it took, and every near miss."""
    enabled = {p.name for p in options.plan().passes}
    ran = {step.name: step for step in steps if step.stage == "passes"}
    rows: list[dict[str, object]] = []
    for pass_class in all_passes():
        step = ran.get(pass_class.name)
        rewrites = len(step.rewrites) if step else 0
        rejects = reject_rows(step) if step else []
        rows.append(
            {
                "name": pass_class.name,
                "ge_name": pass_class.ge_name,
                "enabled": pass_class.name in enabled,
                "tried": step.tried if step else 0,
                "seconds": step.seconds if step else 0.0,
                "matched": rewrites + len(rejects),
                "effective": rewrites,
                "rejects": rejects,
            }
        )
    return rows


def reject_rows(step: Step) -> list[dict[str, object]]:
    """The near misses of a step, each with its sentence."""
    return [
        {
            "node": reject.node,
            "code": reject.code,
            "reason": step.reason(reject),
            "blocker": reject.blocker,
            "hint": step.hint(reject),
        }
        for reject in step.rejects
    ]


def _model(source: SourceModel, steps: Steps) -> dict[str, object]:
    typed = steps[-1].after
    inputs: list[dict[str, object]] = []
    for name in typed.inputs:
        type_ = typed.values[name].type
        tensor = type_ if isinstance(type_, TensorType) else None
        shape = [d if isinstance(d, int) else None if d is None else str(d) for d in (tensor and tensor.shape) or ()]
        inputs.append({"name": name, "dtype": tensor.dtype.label if tensor else str(type_), "shape": shape})
    return {
        "name": source.name,
        "sha256": source.sha256,
        "nodes": source.nodes,
        "weight_bytes": source.weight_bytes,
        "missing_data": list(source.missing),
        "inputs": inputs,
        "opset": {domain or "ai.onnx": version for domain, version in sorted(source.graph.opsets.items())},
    }


def graph_summary(graph: Graph) -> dict[str, object]:
    """What a graph counts by itself; how many kernels a compilation launches is its memory plan's word."""
    nodes = list(graph.nodes.values())
    return {
        "nodes": graph.nodes_deep,
        "kernels": len(kernels(graph)),
        "fused_kernels": sum(node.body is not None for node in nodes),
    }


def kernels(graph: Graph) -> list[str]:
    """Names of the nodes that launch a kernel, as far as it shows before memory is planned."""
    from gexplorer.schedule.kernels import computes

    values = graph.values
    return [
        node.name
        for node in graph.nodes.values()
        if computes(node, [values[name].type for name in node.outputs if name])
    ]
