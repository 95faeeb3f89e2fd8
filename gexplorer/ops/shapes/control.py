"""If, Loop, Scan and SequenceMap: what holds after any of the runs that their nested graphs may take."""

from __future__ import annotations

from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph
from gexplorer.ir.symbols import Dim, maximum
from gexplorer.ir.types import SequenceType, TensorType
from gexplorer.ops.shapes.fact import UNKNOWN, Fact, join, tensor
from gexplorer.ops.shapes.registry import Call, shape_of

# A state's dimensions are given up one by one; a loop that needs longer is taken as unknown altogether.
ROUNDS = 12


@shape_of("If")
def if_(call: Call) -> tuple[Fact, ...]:
    """What both branches agree on; the taken one's results where the condition is known."""
    yes, no = call.node.attribute("then_branch"), call.node.attribute("else_branch")
    if not isinstance(yes, Graph) or not isinstance(no, Graph):
        raise call.error("then_branch and else_branch must be graphs")
    then_facts, else_facts = call.nested("then_branch", yes, ()), call.nested("else_branch", no, ())
    if not len(then_facts) == len(else_facts) == len(call.node.outputs):
        raise call.error("the branches differ in their number of results")
    condition = call.fact(0).content
    if condition is not None and isinstance(condition[0], int):
        return then_facts if condition[0] else else_facts
    return tuple(join(a, b) for a, b in zip(then_facts, else_facts, strict=True))


@shape_of("Loop")
def loop(call: Call) -> tuple[Fact, ...]:
    """State that no iteration contradicts, then the scan outputs of all iterations stacked."""
    body = _body(call)
    states = tuple(call.fact(index) for index in range(2, len(call.inputs)))
    if len(body.inputs) != len(states) + 2 or len(body.outputs) != len(call.node.outputs) + 1:
        raise call.error("the body's inputs or outputs do not fit the node's")
    iteration, going = _iteration(body), _going(call, body)
    states, results = _settled(call, body, (iteration, going), states, 1)
    count = _iterations(call, going, results[0])
    return states + tuple(_stacked(fact, count, 0) for fact in results[1 + len(states) :])


def _body(call: Call) -> Graph:
    body = call.node.attribute("body")
    if not isinstance(body, Graph):
        raise call.error("body must be a graph")
    return body


def _iteration(body: Graph) -> Fact:
    """The iteration number: a scalar, or one element where the body says so."""
    return tensor(DType.INT64, _one(body, 0))


def _one(body: Graph, index: int) -> tuple[int, ...]:
    value = body.values[body.inputs[index]]
    declared = value.declared or value.type
    return (1,) if isinstance(declared, TensorType) and declared.rank == 1 else ()


def _going(call: Call, body: Graph) -> Fact:
    """The condition as the body sees it: true, or the body would not run."""
    shape = _one(body, 1)
    given = call.shape(1)
    if call.has(1) and given is not None and len(given) != len(shape):
        return tensor(DType.BOOL, None)
    return tensor(DType.BOOL, shape, (1,))


def _settled(
    call: Call,
    body: Graph,
    before: tuple[Fact, ...],
    states: tuple[Fact, ...],
    skip: int,
    after: tuple[Fact, ...] = (),
) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """State facts that the body keeps (the initial ones, widened as needed), and the body's results."""
    for _ in range(ROUNDS):
        results = call.nested("body", body, before + states + after)
        wider = tuple(join(old, new) for old, new in zip(states, results[skip:], strict=False))
        if wider == states:
            return states, results
        states = wider
    states = (UNKNOWN,) * len(states)
    return states, call.nested("body", body, before + states + after)


def _iterations(call: Call, going: Fact, condition: Fact) -> Dim:
    """Number of iterations: the trip count, where no condition can end the loop earlier."""
    trips = call.content(0) if call.has(0) else None
    if not trips or trips[0] is None:
        return None
    if call.has(1):
        first = call.fact(1).content
        if first is None or first[0] is None or going.content is None:
            return None
        if first[0] == 0:
            return 0
        if condition.content != (1,):
            return None
    return maximum(trips[0], 0)


def _stacked(fact: Fact, count: Dim, axis: int) -> Fact:
    """All iterations' values of a result along a new axis."""
    if not isinstance(fact.type, TensorType):
        return UNKNOWN
    shape = fact.type.shape
    if shape is None or not -len(shape) - 1 <= axis <= len(shape):
        return Fact(fact.type.with_shape(None))
    at = axis if axis >= 0 else axis + len(shape) + 1
    return Fact(fact.type.with_shape((*shape[:at], count, *shape[at:])))


@shape_of("Scan")
def scan(call: Call) -> tuple[Fact, ...]:
    """As Loop, over the elements of the scan inputs."""
    body = _body(call)
    if call.version < 9:  # it had a batch axis and per-sequence lengths then
        return (UNKNOWN,) * len(call.node.outputs)
    scans = call.node.integer("num_scan_inputs", 1)
    kept = len(call.inputs) - scans
    if kept < 0 or len(body.inputs) != len(call.inputs) or len(body.outputs) != len(call.node.outputs):
        raise call.error("the body's inputs or outputs do not fit the node's")
    axes = call.node.integers("scan_input_axes") or (0,) * scans
    length: Dim = None
    elements: list[Fact] = []
    for place in range(scans):
        element, dim = _element(call, kept + place, axes[place])
        elements.append(element)
        if length is None or isinstance(dim, int):
            length = dim
    states = tuple(call.fact(index) for index in range(kept))
    states, results = _settled(call, body, (), states, 0, tuple(elements))
    places = call.node.integers("scan_output_axes") or (0,) * (len(results) - kept)
    stacked = (_stacked(fact, length, axis) for fact, axis in zip(results[kept:], places, strict=True))
    return states + tuple(stacked)


def _element(call: Call, index: int, axis: int) -> tuple[Fact, Dim]:
    """One element of a scan input, and how many there are."""
    type_ = call.tensor(index)
    if type_ is None or type_.shape is None:
        return Fact(type_), None
    at = call.axis(axis, len(type_.shape))
    return Fact(TensorType(type_.dtype, type_.shape[:at] + type_.shape[at + 1 :])), type_.shape[at]


@shape_of("SequenceMap")
def sequence_map(call: Call) -> tuple[Fact, ...]:
    """Sequences of the body's results; further inputs may be sequences or plain tensors."""
    body = _body(call)
    facts = []
    for index in range(len(call.inputs)):
        type_ = call.fact(index).type
        facts.append(Fact(type_.element) if isinstance(type_, SequenceType) else Fact(type_))
    results = call.nested("body", body, tuple(facts))
    return tuple(Fact(SequenceType(fact.type) if fact.type is not None else None) for fact in results)
