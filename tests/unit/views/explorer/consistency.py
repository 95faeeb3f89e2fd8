"""Says where the parts of a document contradict each other: indices out of range, columns of different lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gexplorer.render.document import Document
from gexplorer.views.pack import unpack
from tests.unit.views.explorer.typescript import contract

# Columns of a part that hold numbers of texts; True where -1 may stand for none.
TEXTS: Mapping[str, Mapping[str, bool]] = {
    "nodes": dict.fromkeys(("name", "type", "onnx_type", "scope", "detail", "attributes", "origin", "body"), False)
    | {"holder": True},
    "values": dict.fromkeys(("name", "dtype", "shape"), False),
    "memory": dict.fromkeys(("name", "kind"), False),
    "far": dict.fromkeys(("kind", "reason"), False),
    "schedule": dict.fromkeys(("name", "core", "event_reason", "held_why"), False) | {"held_tensor": True},
    "cost": dict.fromkeys(("name", "type", "family", "bound", "unpriced", "unpriced_reason"), False)
    | dict.fromkeys(("tile", "warning"), True),
}


def unpacked(document: Document, *, on_demand: bool = True, scenes: bool = True) -> dict[str, Any]:
    """The parts as the front end gets them."""
    left_out = {*(() if on_demand else document.on_demand), *(() if scenes else ("scenes",))}
    return {name: unpack(document.parts[name]) for name in document.parts if name not in left_out}


def faults(parts: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with a document."""
    known = contract()
    found = [fault for name, part in parts.items() for fault in known.faults(part, known.types["Parts"][0][name][0])]
    if found:
        return found
    nodes, values = len(parts["nodes"]["name"]), len(parts["values"]["name"])
    for name, columns in TEXTS.items():
        for column, maybe in columns.items() if name in parts else ():
            found += _within(f"{name}.{column}", parts[name][column], len(parts[name]["strings"]), maybe=maybe)
    for name, check in _CHECKS.items():
        if name in parts:
            found += [f"{name}: {fault}" for fault in check(parts[name], parts, nodes, values)]
    return found


def _within(what: str, column: np.ndarray, end: int, *, maybe: bool = False) -> list[str]:
    low = -1 if maybe else 0
    bad = np.flatnonzero((column < low) | (column >= end))
    return [f"{what}[{bad[0]}] = {column[bad[0]]} is not in {low}..{end - 1}"] if len(bad) else []


def _offsets(what: str, at: np.ndarray, rows: int, length: int) -> list[str]:
    fine = len(at) == rows + 1 and at[0] == 0 and at[-1] == length and (np.diff(at) >= 0).all()
    return [] if fine else [f"{what} are no {rows} rows of {length} numbers: {at[:3]}...{at[-1:]}"]


def _lengths(part: Mapping[str, Any], *names: str) -> list[str]:
    lengths = {name: len(part[name]) for name in names}
    return [] if len(set(lengths.values())) == 1 else [f"columns differ in length: {lengths}"]


def _head(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    steps = len(parts["steps"]["steps"])
    for figure in part["figures"]:
        if figure["series"] is not None and len(figure["series"]) != steps:
            yield f"{figure['key']} has {len(figure['series'])} entries for {steps} steps"
        if figure["value"] is None and not figure["note"]:
            yield f"{figure['key']} is not known, and nobody says why"
    if len(part["stages"]) != 6:
        yield "there are always six stages"


def _steps(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    texts = len(part["strings"])
    for position, step in enumerate(part["steps"]):
        done, left = step["rewrites"], step["rejects"]
        count = len(done["node"])
        yield from _lengths(done, "node", "reason")
        yield from _within("rewrites.node", done["node"], nodes, maybe=True)
        yield from _within("rewrites.reason", done["reason"], texts)
        for kind in ("removed", "added", "changed"):
            yield from _offsets(kind, done[f"{kind}_at"], count, len(done[kind]))
            yield from _within(kind, done[kind], nodes)
        yield from _lengths(left, *left)
        for column in ("node", "blocker"):
            yield from _within(f"rejects.{column}", left[column], nodes, maybe=True)
        yield from _within("rejects.blocker_value", left["blocker_value"], values, maybe=True)
        for column in ("place", "code", "reason"):
            yield from _within(f"rejects.{column}", left[column], texts)
        for column in ("hint", "blocker_name"):
            yield from _within(f"rejects.{column}", left[column], texts, maybe=True)
        if (left["blocker_name"] < 0).any() and (left["blocker"][left["blocker_name"] < 0] >= 0).any():
            yield "a blocker has no name"
        if "scenes" in parts:
            shown = [at if at >= 0 else _after_passes(part["steps"]) for at in parts["scenes"]["steps"].tolist()]
            if not 0 <= step["scene"] < len(shown) or shown[step["scene"]] > position:
                yield f"step {position} shows the picture {step['scene']} of step {shown[step['scene']]}"
            if step["scene"] + 1 < len(shown) and shown[step["scene"] + 1] <= position:
                yield f"step {position} has a later picture than {step['scene']}"


def _after_passes(steps: list[Any]) -> int:
    """Position of the first step of the stages after the passes: those have the picture of the result."""
    return next(k for k, step in enumerate(steps) if step["stage"] not in ("parse", "passes"))


def _nodes(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    rows = ("name", "type", "onnx_type", "unit", "scope", "detail", "bytes", "attributes", "holder", "born", "gone")
    yield from _lengths(part, *rows)
    yield from _within("unit", part["unit"], 8)
    for kind in ("inputs", "outputs"):
        yield from _offsets(kind, part[f"{kind}_at"], nodes, len(part[kind]))
        yield from _within(kind, part[kind], values, maybe=True)
    for kind in ("origin", "body"):
        yield from _offsets(kind, part[f"{kind}_at"], nodes, len(part[kind]))
    steps = len(parts["steps"]["steps"])
    yield from _within("born", part["born"], max(steps, 1), maybe=True)
    yield from _within("gone", part["gone"], steps + 1)
    if (part["born"] > part["gone"]).any():
        yield "a node is gone before it is born"


def _values(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    yield from _lengths(part, "name", "dtype", "shape", "bytes", "kind")
    yield from _within("kind", part["kind"], 5)
    if len(np.unique(part["name"])) != values:
        yield "two values have one name"


def _scenes(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    containers, templates = part["containers"], part["templates"]
    yield from _lengths(part, "roots", "steps")
    yield from _within("roots", part["roots"], len(containers))
    yield from _within("steps", part["steps"], len(parts["steps"]["steps"]), maybe=True)
    for template in templates:
        boxes = len(template["x"])
        yield from _lengths(template, "x", "y", "w", "h", "rank")
        yield from _within("edge_from", template["edge_from"], boxes)
        yield from _within("edge_to", template["edge_to"], boxes)
        yield from _within("stub_box", template["stub_box"], boxes)
        yield from _lengths(template, "stub_box", "stub_side")
        yield from _offsets("routes", template["route_at"], len(template["edge_from"]), len(template["route"]) // 2)
    for container in containers:
        members = container["members"]
        yield from _within("container.label", np.array([container["label"]]), len(part["strings"]))
        yield from _within("container.template", np.array([container["template"]]), len(templates), maybe=True)
        yield from _within("member node", members[members >= 0], nodes)
        yield from _within("member container", -1 - members[members < 0], len(containers))
        yield from _lengths(container, "members", "status")
        yield from _lengths(container, "edge_values", "edge_status")
        yield from _within("edge_values", container["edge_values"], values)
        yield from _within("stub_values", container["stub_values"], values)
        if container["template"] >= 0:
            template = templates[container["template"]]
            for own, its in (("members", "x"), ("edge_values", "edge_from"), ("stub_values", "stub_box")):
                if len(container[own]) != len(template[its]):
                    yield f"{len(container[own])} {own} for {len(template[its])} in the template"
    yield from _ends(part, parts, values)
    yield from _bodies(part, nodes, values)


def _ends(part: Any, parts: Any, values: int) -> Iterator[str]:
    """Inputs and outputs of the graph."""
    ends, containers, names = part["ends"], part["containers"], parts["values"]
    yield from _lengths(ends, "container", "value")
    yield from _within("end", ends["container"], len(containers))
    yield from _within("end's value", ends["value"], values)
    kinds = {"input", "output"}
    if sorted(ends["container"].tolist()) != [k for k, one in enumerate(containers) if one["kind"] in kinds]:
        yield "inputs and outputs are not those that are told of"
    for number, value in zip(ends["container"].tolist(), ends["value"].tolist(), strict=True):
        if part["strings"][containers[number]["label"]] != names["strings"][names["name"][value]]:
            yield f"container {number} is not called as its value"
        if containers[number]["nodes"] or len(containers[number]["members"]):
            yield f"there is something in the input or output {number}"


def _bodies(part: Any, nodes: int, values: int) -> Iterator[str]:
    """What is inside kernels."""
    bodies, templates = part["bodies"], part["templates"]
    members, rows = bodies["members"], len(bodies["node"])
    yield from _lengths(bodies, "node", "template")
    yield from _within("kernel", bodies["node"], nodes)
    yield from _within("kernel's template", bodies["template"], len(templates))
    yield from _within("operator", members[members >= 0], nodes)
    yield from _within("operator's text", -1 - members[members < 0], len(part["strings"]))
    yield from _within("kernel's stub", bodies["stubs"], values, maybe=True)
    if len(np.unique(bodies["node"])) != rows:
        yield "a kernel is told of twice"
    for name, its in (("members", "x"), ("stubs", "stub_box")):
        at = bodies[f"{name}_at"]
        yield from _offsets(name, at, rows, len(bodies[name]))
        found, wanted = np.diff(at).tolist(), [len(templates[one][its]) for one in bodies["template"].tolist()]
        yield from (
            f"kernel {node} has {own} {name} for {drawn} in its template"
            for node, own, drawn in zip(bodies["node"].tolist(), found, wanted, strict=True)
            if own != drawn
        )


def _memory(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    buffers, points = len(part["name"]), len(part["order"])
    columns = ("value", "name", "offset_bytes", "size_bytes", "first", "last", "tensors", "kind")
    yield from _lengths(part, *columns)
    yield from _lengths(part, "order", "load_bytes")
    yield from _within("order", part["order"], nodes)
    yield from _within("value", part["value"], values, maybe=True)
    yield from _within("member", part["member"], values, maybe=True)
    yield from _offsets("member", part["member_at"], buffers, len(part["member"]))
    yield from _within("first", part["first"], points)
    yield from _within("last", part["last"], points)
    yield from _within("conflict_a", part["conflict_a"], buffers)
    yield from _within("conflict_b", part["conflict_b"], buffers)
    if (part["first"] > part["last"]).any():
        yield "a buffer ends before it begins"
    if buffers and (part["offset_bytes"] + part["size_bytes"]).max() > part["pool_bytes"]:
        yield "a buffer ends outside of the pool"
    if points and part["load_bytes"][part["peak"]] != part["load_bytes"].max():
        yield "the peak is not where the most is alive"
    for point in range(points) if points < 500 else ():
        alive = part["size_bytes"][(part["first"] <= point) & (part["last"] >= point)].sum()
        if alive != part["load_bytes"][point]:
            yield f"{alive} bytes are alive at {point}, not {part['load_bytes'][point]}"


def _planners(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    for row in part["planners"]:
        if row["offset_bytes"] is None and not row["note"]:
            yield f"{row['name']} did nothing, and nobody says why"
        if row["offset_bytes"] is not None and len(row["offset_bytes"]) != len(parts["memory"]["name"]):
            yield f"{row['name']} has other buffers"


def _schedule(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    columns = "node name stream core start_us duration_us slack_us wait_us held_by held_why held_tensor critical"
    yield from _lengths(part, *columns.split())
    yield from _lengths(part, "name", "idle")
    yield from _lengths(part, "event_from", "event_to", "event_reason")
    tasks = len(part["node"])
    yield from _within("node", part["node"], nodes)
    yield from _within("stream", part["stream"], len(part["streams"]))
    yield from _within("event_from", part["event_from"], tasks)
    yield from _within("event_to", part["event_to"], tasks)
    ends = part["start_us"] + part["duration_us"]
    if tasks and not np.isclose(ends.max(), part["makespan_us"]):
        yield "the makespan is not where the last task ends"
    held = part["held_by"] >= 0
    yield from _within("held_by", part["held_by"][held], tasks)
    if not np.allclose(part["start_us"], np.where(held, ends[part["held_by"]], 0)):
        yield "a task does not start where the one that holds it ends"


def _cost(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    columns = "node name type family error flops compulsory_bytes hbm_bytes l2_bytes l1_bytes ub_bytes latency_us"
    yield from _lengths(part, *columns.split(), "launch_us", "bound", "tile", "warning")
    yield from _lengths(part, "unpriced", "unpriced_node", "unpriced_reason")
    yield from _within("node", part["node"], nodes)
    yield from _within("unpriced_node", part["unpriced_node"], nodes)
    if len(part["pipe_us"]) != len(part["node"]) * len(part["pipes"]):
        yield "pipes are not kernels x pipes"


def _tiling(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    for kernel in part["kernels"]:
        tiles = len(kernel["m"])
        texts = np.array([kernel["name"], kernel["type"], kernel["text"], kernel["program"]])
        yield from _lengths(kernel, "m", "n", "k", "time_us", "blocker")
        yield from _within("text", texts, len(part["strings"]))
        yield from _within("blocker", kernel["blocker"], len(part["strings"]), maybe=True)
        yield from _within("alike", kernel["alike"], nodes)
        yield from _within("chosen", np.array([kernel["chosen"], kernel["best"]]), tiles, maybe=True)
        if (np.isnan(kernel["time_us"]) != (kernel["blocker"] >= 0)).any():
            yield "a tile has no time and no blocker, or both"
        if not kernel["program"] and not kernel["note"]:
            yield "there is no program, and nobody says why"


def _kernel(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    texts = len(part["strings"])
    for lacking in part["missing"]:
        yield from _within("alike", lacking["alike"], nodes)
        if not part["strings"][lacking["reason"]]:
            yield "there is no program, and nobody says why"
    for program in part["programs"]:
        steps = program["steps"]
        yield from _lengths(steps, *(name for name in steps if not name.startswith("reads")))
        yield from _offsets("reads", steps["reads_at"], len(steps["line"]), len(steps["reads"]))
        yield from _within("reads", steps["reads"], len(program["buffers"]))
        yield from _within("program", np.array([program[name] for name in ("name", "type", "text", "tile")]), texts)
        yield from _within("lines", program["lines"], texts)
        yield from _within("alike", program["alike"], nodes)
        yield from _within("line", steps["line"], len(program["lines"]))
        yield from _within("buffer", steps["buffer"], len(program["buffers"]))
        yield from _within("path", steps["path"], len(program["paths"]), maybe=True)
        yield from _within("block", steps["block"], program["blocks"], maybe=True)
        for text in ("where", "content", "pipe"):
            yield from _within(text, steps[text], texts)
        copies = np.array([buffer["copies"] for buffer in program["buffers"]])
        if (steps["reads_copy"] >= copies[steps["reads"]]).any():
            yield "a copy is read that the buffer does not have"
        if (steps["copy"] >= copies[steps["buffer"]]).any():
            yield "a copy is written that the buffer does not have"
        sizes = np.array([buffer["copy_bytes"] for buffer in program["buffers"]])
        if (steps["held_bytes"] > sizes[steps["buffer"]]).any():
            yield "a buffer holds more than its size"
        if ((steps["path"] < 0) != (steps["moved_bytes"] == 0)).any():
            yield "something moved on no path, or nothing on one"


def _rules(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    yield from _lengths(part, *(name for name in part if name != "strings"))
    yield from _within("step", part["step"], len(parts["steps"]["steps"]), maybe=True)
    for row, step in enumerate(part["step"].tolist()):
        if step >= 0 and parts["steps"]["steps"][step]["name"] != part["name"][row]:
            yield f"{part['name'][row]} is not step {step}"


def _course(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    yield from _lengths(part, *part)
    if len(part["kernels"]) != len(parts["steps"]["steps"]):
        yield "the course has other steps"
    if (np.isnan(part["latency_us"]) != (part["unpriced"] < 0)).any():
        yield "a step has a price and was not costed, or the other way round"
    if (part["launch_us"] > part["latency_us"]).any():
        yield "launches take longer than the kernels"


def _log(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    steps = parts["steps"]["steps"]
    yield from _lengths(part, *(name for name in part if name != "strings"))
    for column in ("level", "stage", "place"):
        yield from _within(f"log.{column}", part[column], len(part["strings"]))
    yield from _within("log.step", part["step"], len(steps), maybe=True)
    yield from _within("log.node", part["node"], nodes, maybe=True)
    for row, step in enumerate(part["step"].tolist()):
        for kind in ("rewrite", "reject"):
            if part[kind][row] >= (len(steps[step][f"{kind}s"]["node"]) if step >= 0 else 0):
                yield f"line {row} tells a {kind} that step {step} does not have"
    yield from (f"a line ends within: {line!r:.50}" for line in part["lines"] if "\n" in line)


def _sources(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    yield from _lengths(part, "name", "text")
    acted = {s["name"] for s in parts["steps"]["steps"] if len(s["rewrites"]["node"]) or len(s["rejects"]["node"])}
    yield from (f"{name} did nothing, and its code is kept" for name in part["name"] if name not in acted)
    yield from (f"{text[:40]!r} is no class" for text in part["text"] if not text.lstrip().startswith("class "))


def _far(part: Any, parts: Any, nodes: int, values: int) -> Iterator[str]:
    yield from _lengths(part, "step", "kind", "reason", "count")
    yield from _within("step", part["step"], len(parts["steps"]["steps"]))
    yield from _offsets("node", part["node_at"], len(part["step"]), len(part["node"]))
    yield from _within("node", part["node"], nodes, maybe=True)


_CHECKS = {
    "head": _head,
    "steps": _steps,
    "nodes": _nodes,
    "values": _values,
    "scenes": _scenes,
    "memory": _memory,
    "planners": _planners,
    "schedule": _schedule,
    "cost": _cost,
    "tiling": _tiling,
    "kernel": _kernel,
    "rules": _rules,
    "course": _course,
    "far": _far,
    "sources": _sources,
    "log": _log,
}
