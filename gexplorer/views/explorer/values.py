"""The part ``values``: every value of the trace by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gexplorer.ir.types import TensorType
from gexplorer.memory.program import Kind
from gexplorer.views.describe import type_text
from gexplorer.views.explorer.columns import Texts, floats, ints
from gexplorer.views.explorer.nodes import shape_text, size_of

if TYPE_CHECKING:
    from gexplorer.ir.types import Type
    from gexplorer.views.explorer.numbering import Numbering
    from gexplorer.views.explorer.subject import Subject

INTERMEDIATE, INPUT, OUTPUT, CONSTANT, STATE = range(5)


def values_part(subject: Subject, numbering: Numbering) -> dict[str, object]:
    """Every value, in the order of its numbers; ``kind``: 0 intermediate, 1 input, 2 output, 3 constant, 4 state.

    Types are those of the last graph that has the value; "" where it has none. A size is NaN where it is not known.
    State (an input that goes on as an output) is known where the memory is planned.
    """
    texts = Texts()
    kinds = np.zeros(len(numbering.values), np.uint8)
    types: list[Type | None] = []
    for number, value in enumerate(numbering.typed):
        types.append(value.type if value is not None else None)
        if value is not None and value.constant is not None:
            kinds[number] = CONSTANT
    graphs = [subject.steps[0].before, subject.steps[-1].after] if len(subject.steps) else []
    for graph in graphs:
        for names, kind in ((graph.inputs, INPUT), (graph.outputs, OUTPUT)):
            for name in names:
                if (number := numbering.value(name)) >= 0:
                    kinds[number] = kind
    if subject.memory is not None:
        program = subject.memory.program
        for index in np.flatnonzero(program.kind == Kind.STATE).tolist():
            if (number := numbering.value(program.tensors[index])) >= 0:
                kinds[number] = STATE
    known: dict[int, tuple[int, int, int | None]] = {}
    rows: list[tuple[int, int, int | None]] = []
    for type_ in types:
        row = known.get(id(type_))
        if row is None:
            row = known[id(type_)] = _row(texts, type_)
        rows.append(row)
    return {
        "name": texts.column(numbering.values),
        "dtype": ints(dtype for dtype, _, _ in rows),
        "shape": ints(shape for _, shape, _ in rows),
        "bytes": floats(size for _, _, size in rows),
        "kind": kinds,
        "strings": texts.strings,
    }


def _row(texts: Texts, type_: Type | None) -> tuple[int, int, int | None]:
    if isinstance(type_, TensorType):
        return texts(type_.dtype.label), texts(shape_text(type_)), size_of(type_)
    return texts(type_text(type_)), texts(""), None
