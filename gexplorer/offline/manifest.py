"""The first section: what the model is, in words and sums, so that nobody must read the rest to tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from gexplorer.execution.program import Place, Program, Tensor
from gexplorer.memory.program import Kind
from gexplorer.offline.encode import dim

if TYPE_CHECKING:
    from gexplorer.memory.stage import Memory
    from gexplorer.offline.constants import ConstantWriter
    from gexplorer.schedule.stage import Schedule

SCHEMA = "gexplorer.om/1"
_LARGEST = 8  # buffers of the pool that are named


@dataclass(frozen=True)
class About:
    """What a program itself does not know.

    Attributes:
        model: name of the model that was compiled.
        sha256: of its file, "" for a model in memory.
        opsets: version of each operator domain.
        soc: the chip.
        options: all options, as plain data.
        index_rows: for an input that indexes tables, the rows of the smallest.
    """

    model: str
    sha256: str
    opsets: Mapping[str, int]
    soc: str
    options: Mapping[str, object]
    index_rows: Mapping[str, int]


def manifest(
    program: Program, about: About, constants: ConstantWriter, memory: Memory, timetable: Schedule
) -> dict[str, object]:
    """The section ``manifest`` as plain data."""
    rows = program.instructions
    spared = sum(row.is_spared for row in rows)
    references = [row for row in constants.rows if "file" in row]
    return {
        "schema": SCHEMA,
        "gexplorer": version("gexplorer"),
        "model": {"name": about.model, "sha256": about.sha256, "opset": dict(sorted(about.opsets.items()))},
        "soc": about.soc,
        "options": dict(about.options),
        "inputs": [_input(name, program, about) for name in program.inputs],
        "outputs": [_value(outside, program.tensors[name]) for outside, name in program.outputs],
        "instructions": {
            "count": len(rows),
            "run": len(rows) - spared,
            "spared": spared,
            "kernels": len(program.kernels),
            "operators": _counted(row.op for row in rows if not row.is_spared),
            "engines": _counted(program.kernels[row.kernel].engine for row in rows if not row.is_spared),
        },
        "constants": {
            "count": len(program.constants),
            "inline": len(constants.rows) - len(references),
            "inline_bytes": constants.inline_bytes,
            "references": len(references),
            "reference_bytes": sum(program.constants[str(row["name"])].nbytes for row in references),
            "files": sorted({str(row["file"]) for row in references}),
        },
        "memory": _memory(program, memory),
        "schedule": {
            "streams": timetable.streams,
            "makespan_us": timetable.makespan_us,
            "critical_path_us": timetable.critical_path_us,
            "syncs": len(timetable.syncs),
        },
    }


def _memory(program: Program, memory: Memory) -> dict[str, object]:
    buffers, rows = program.buffers, program.buffers.in_pool
    found: dict[str, object] = {
        "is_fixed": program.is_fixed,
        "planner": memory.plan.planner if program.is_fixed else program.planner,
        "pool_buffers": len(rows),
        "tensors": _counted(tensor.place.value for tensor in program.tensors.values()),
        "alignment_bytes": program.alignment_bytes,
    }
    if not program.is_fixed:
        return found | {
            "symbols": sorted({str(d) for t in _inputs(program) for d in t.shape or () if not isinstance(d, int)})
        }
    largest = rows[np.argsort(-buffers.size_bytes[rows], kind="stable")[:_LARGEST]].tolist()
    by_kind = {kind.name.lower(): int(buffers.size_bytes[buffers.kind == kind].sum()) for kind in Kind}
    return found | {
        "pool_bytes": program.pool_bytes,
        "lower_bound_bytes": memory.plan.lower_bound_bytes,
        "proved_optimal": memory.proved_optimal,
        "bytes": {kind: size for kind, size in by_kind.items() if size},
        "largest": [
            {
                "name": buffers.names[row],
                "offset_bytes": int(buffers.offset_bytes[row]),
                "size_bytes": int(buffers.size_bytes[row]),
                "first_point": int(buffers.first[row]),
                "last_point": int(buffers.last[row]),
            }
            for row in largest
        ],
    }


def _inputs(program: Program) -> list[Tensor]:
    return [program.tensors[name] for name in program.inputs]


def _input(name: str, program: Program, about: About) -> dict[str, object]:
    found = _value(name, program.tensors[name])
    if name in program.defaults:
        found["optional"] = True
    if name in about.index_rows:
        found["index_rows"] = about.index_rows[name]
    return found


def _value(name: str, tensor: Tensor) -> dict[str, object]:
    dtype = None if tensor.dtype is None else tensor.dtype.label
    shape = None if tensor.shape is None else [dim(d) for d in tensor.shape]
    found: dict[str, object] = {"name": name, "dtype": dtype, "shape": shape}
    if tensor.place is Place.OUTSIDE:
        found["outside"] = True  # on the host: it has no size that the plan could know
    return found


def _counted(items: object) -> dict[str, int]:
    counts = Counter(items)  # pyright: ignore[reportArgumentType, reportUnknownVariableType, reportCallIssue]
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))  # pyright: ignore
