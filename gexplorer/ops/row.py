"""What one line of the operator table says, and the words that it uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from gexplorer.ir.graph import Node
from gexplorer.ir.types import Type


class Outcome(StrEnum):
    """What becomes of an ONNX operator on the way to the chip."""

    MAPPED = "mapped"
    COMPOSED = "composed"
    FALLBACK = "fallback"


class Engine(StrEnum):
    """GE's engines by their ids. Source: GE's engine design document; CANN 8.1 ``engine_conf.json``."""

    AICORE = "AIcoreEngine"
    AICPU = "DNN_VM_AICPU_ASCEND"
    GE_LOCAL = "DNN_VM_GE_LOCAL"
    RTS = "DNN_VM_RTS"
    HOST_CPU = "DNN_VM_HOST_CPU"


class Unit(StrEnum):
    """Who does the work: a part of the AI Core, the chip's Arm cores, the host, or nobody."""

    CUBE = "cube"
    VECTOR = "vector"
    MTE = "mte"
    SCALAR = "scalar"
    AICPU = "aicpu"
    HOST = "host"
    NONE = "none"


# How operations are counted: the closed form in ``ops/formulas.py`` that a family uses.
Work = Literal[
    "none", "unknown", "output", "input", "inputs",
    "matmul", "conv", "conv_transpose", "einsum", "attention", "recurrent",
    "pool", "interpolation", "lrn",
]  # fmt: skip

# What has to be read: everything; nothing (an alias, or a question about the shape); of the first input only
# as much as comes out again; of the first input only its shape; unknown before the run.
Traffic = Literal["whole", "view", "gathered", "shape_only", "unknown"]

# Names the CANN operator by the node and its input types; a second value False marks the name as not certain.
Chooser = Callable[[Node, Sequence[Type | None]], tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class Row:
    """One ONNX operator.

    Attributes:
        op: its ONNX name.
        cann: the CANN operator type; "" where it has the ONNX name.
        flops: operations per counted element, see ``ops/work.py`` for what is counted.
        certain: False where the CANN name, or that ONNX's operator arrives there, is not public knowledge.
        choose: names the CANN operator where that depends on the node.
        random: two runs on equal inputs give different results.
    """

    op: str
    cann: str = ""
    flops: int = 1
    certain: bool = True
    choose: Chooser | None = None
    random: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """Operators that share all that a row does not say.

    Attributes:
        name: for people, and for the passes: ``elementwise`` and ``control`` have a meaning there.
        rows: the operators.
        engine: GE's engine.
        unit: who does the work.
        work: how operations are counted.
        traffic: what has to be read.
        outcome: what becomes of the operators.
        code: for a fallback, which of the reasons in ``ops/table.py``.
        domain: the ONNX domain, "" for ai.onnx.
    """

    name: str
    rows: tuple[Row, ...]
    engine: Engine = Engine.AICORE
    unit: Unit = Unit.VECTOR
    work: Work = "output"
    traffic: Traffic = "whole"
    outcome: Outcome = Outcome.MAPPED
    code: str = ""
    domain: str = ""
