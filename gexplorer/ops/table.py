"""The operator table: which CANN operator, engine and unit an ONNX operator becomes.

Three outcomes:

* **mapped**: one CANN operator computes it;
* **composed**: none does, but ONNX says how to build it from basic operators (``ops/compose.py``), and those
  are looked up in turn;
* **fallback** (``UnsupportedOp``): neither; it runs on the host, with a copy of its tensors both ways.

The third is the articles' "performance disaster", and it is torch_npu's doing (``npu_cpu_fallback``, in eager
mode). GE itself never falls back silently: an operator that no engine takes stops the build with EZ3003, one
that the ONNX parser does not know with E19010. A fallback is not to be mixed up with an AI CPU kernel, which
runs on the chip's own Arm cores.

Sources of the names: CANN's public operator prototypes (``REG_OP``) and ONNX parser plugins (hicann/ops-math,
ops-nn; the earlier canndev), and the list of ONNX operators in the CANN 8.0.0 manual. Of the engines: GE's
engine design document. What is not known from there is marked ``certain=False``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph, Node
from gexplorer.ir.types import OptionalType, SequenceType, TensorType, Type
from gexplorer.ops.row import Engine, Family, Outcome, Row, Unit
from gexplorer.ops.rows import elementwise, foreign, matrix, movement, other, reduction

# Why an operator falls back, by code; the places are filled by name.
REASONS: Mapping[str, str] = {
    "no_kernel": "no CANN operator is known to compute it, and ONNX gives no function body for it",
    "text": "it works on strings, for which the chip has no kernel",
    "classical": "classical machine learning (ai.onnx.ml) has no CANN operators",
    "training": "CANN's ONNX parser takes no training operators",
    "foreign": "CANN's ONNX parser knows no operator {op} in the domain {domain} (GE: E19010)",
    "unknown": "ONNX has no operator of that name",
    "element_type": "GE has no kernel for elements of type {dtype}",
}

# Arithmetic that the vector and cube units do not have; CANN serves it from its AI CPU kernels (W11001).
_WIDE = frozenset((DType.FLOAT64, DType.COMPLEX64, DType.COMPLEX128))
# Elements that change what becomes of an operator: those, strings, and types that GE has no name for.
_SPECIAL = (_WIDE | {dtype for dtype in DType if dtype.ge_name is None or dtype is DType.STRING}) - {DType.UNDEFINED}


@dataclass(frozen=True, slots=True)
class Lowering:
    """What becomes of one node.

    Attributes:
        outcome: mapped, composed or fallback.
        cann: the CANN operator type; "" unless mapped.
        engine: GE's engine; for a composed operator, that of most of what it is composed of.
        unit: who does the work.
        family: name of the group of operators that it belongs to.
        certain: False where the CANN name, or that ONNX's operator arrives there, is not public knowledge.
        code: for a fallback, which of ``REASONS``; else "".
        reason: for a fallback, that reason as a sentence without a full stop; else "".
    """

    outcome: Outcome
    cann: str
    engine: Engine
    unit: Unit
    family: str
    certain: bool = True
    code: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table with its family and the lowering that holds unless the node says otherwise."""

    row: Row
    family: Family
    lowering: Lowering


def lookup(node: Node, inputs: Sequence[Type | None] = (), outputs: Sequence[Type | None] = ()) -> Lowering:
    """What becomes of a node. Never fails: an operator that nobody knows is a fallback.

    Args:
        node: an ONNX operator, or a fused node (one kernel that keeps its own name).
        inputs: types of its inputs as far as known; they decide names that go by rank, and element types.
        outputs: types of its outputs as far as known.
    """
    if node.body is not None:
        return _fused(node, node.body)
    entry = _TABLE.get((node.domain, node.op))
    if entry is None:
        return _unknown(node.domain, node.op)
    lowering = entry.lowering
    if entry.row.choose is not None:
        name, certain = entry.row.choose(node, inputs)
        lowering = _chosen(lowering, name, certain and entry.row.certain)
    if lowering.outcome is Outcome.MAPPED:
        for type_ in (*inputs, *outputs):
            if type_ is not None and (dtype := _element(type_)) in _SPECIAL:
                lowering = _for_elements(lowering, dtype)
    return lowering


def entry_of(node: Node) -> Entry | None:
    """The table's entry of an ONNX operator; None for fused nodes and for operators that it does not hold."""
    return None if node.body is not None else _TABLE.get((node.domain, node.op))


def entries() -> Iterator[tuple[str, Entry]]:
    """Every entry with its domain, in the table's order; "ai.onnx" is written ""."""
    return ((domain, entry) for (domain, _), entry in _TABLE.items() if domain != "ai.onnx")


def unsupported_line(node: Node, lowering: Lowering, within: Sequence[str] = ()) -> str:
    """The log line of a fallback, to be grepped by its first word.

    Example: ``UnsupportedOp: node split_1 (StringSplit) in If_0 runs on the host: it works on strings, …``.

    Args:
        node: the node.
        lowering: what becomes of it.
        within: names of the nodes whose graphs hold it, outermost first.
    """
    op = f"{node.domain}::{node.op}" if node.domain else node.op
    place = "".join(f" in {name}" for name in reversed(within))
    return f"UnsupportedOp: node {node.name} ({op}){place} runs on the host: {lowering.reason}"


def _fused(node: Node, body: Graph) -> Lowering:
    entries = [entry_of(inner) for inner in body.nodes.values()]
    cube = any(entry is not None and entry.family.unit is Unit.CUBE for entry in entries)
    return _one_kernel(node.op, Unit.CUBE if cube else Unit.VECTOR)


@lru_cache(maxsize=1024)
def _one_kernel(op: str, unit: Unit) -> Lowering:
    return Lowering(Outcome.MAPPED, op, Engine.AICORE, unit, "fused")


@lru_cache(maxsize=1024)
def _unknown(domain: str, op: str) -> Lowering:
    code = "unknown" if domain in ("", "ai.onnx") else "foreign"
    return _fallback(code, "fallback", REASONS[code].format(op=op, domain=domain))


@lru_cache(maxsize=1024)
def _chosen(default: Lowering, cann: str, certain: bool) -> Lowering:
    engine, unit = (Engine.GE_LOCAL, Unit.NONE) if cann == "Identity" else (default.engine, default.unit)
    return Lowering(Outcome.MAPPED, cann, engine, unit, default.family, certain)


@lru_cache(maxsize=4096)
def _for_elements(lowering: Lowering, dtype: DType) -> Lowering:
    """The same operator for elements that the AI Core, or all of GE, has no arithmetic for."""
    if lowering.outcome is not Outcome.MAPPED:
        return lowering
    kernel = lowering.engine in (Engine.AICORE, Engine.AICPU)
    if dtype.ge_name is None or (dtype is DType.STRING and kernel and lowering.family != "text"):
        return _fallback("element_type", lowering.family, REASONS["element_type"].format(dtype=dtype.label))
    if dtype in _WIDE and lowering.unit in (Unit.CUBE, Unit.VECTOR):
        return Lowering(Outcome.MAPPED, lowering.cann, Engine.AICPU, Unit.AICPU, lowering.family, lowering.certain)
    return lowering


def _fallback(code: str, family: str, reason: str) -> Lowering:
    return Lowering(Outcome.FALLBACK, "", Engine.HOST_CPU, Unit.HOST, family, code=code, reason=reason)


def _element(type_: Type) -> DType:
    while isinstance(type_, SequenceType | OptionalType):
        type_ = type_.element
    return type_.dtype if isinstance(type_, TensorType) else DType.UNDEFINED


def _entry(family: Family, row: Row) -> Entry:
    if family.outcome is Outcome.FALLBACK:
        reason = REASONS[family.code].format(op=row.op, domain=family.domain)
        return Entry(row, family, _fallback(family.code, family.name, reason))
    cann = (row.cann or row.op) if family.outcome is Outcome.MAPPED else ""
    return Entry(row, family, Lowering(family.outcome, cann, family.engine, family.unit, family.name, row.certain))


def _build() -> dict[tuple[str, str], Entry]:
    table: dict[tuple[str, str], Entry] = {}
    for module in (elementwise, matrix, reduction, movement, other, foreign):
        for family in module.FAMILIES:
            for row in family.rows:
                key = (family.domain, row.op)
                if key in table:
                    raise ValueError(f"operator {row.op} of domain {family.domain!r} is in the table twice")
                table[key] = _entry(family, row)
    # ONNX allows both names for its own domain.
    return table | {("ai.onnx", op): entry for (domain, op), entry in table.items() if not domain}


_TABLE: Mapping[tuple[str, str], Entry] = _build()
