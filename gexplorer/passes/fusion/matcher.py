"""Matches one pattern at one place, and says how far it came and what stood in the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isclose

from gexplorer.ir.constant import Constant
from gexplorer.ir.draft import Draft
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node
from gexplorer.ir.types import TensorType
from gexplorer.passes.fusion.pattern import COMMUTATIVE, Const, Either, Op, Pattern, Through, Value

# Operators that only move, retype or reshape data: what usually stands between two that could be one kernel.
BETWEEN = frozenset(
    ("Reshape", "Transpose", "Cast", "Identity", "Expand", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Concat", "Pad")
)


@dataclass(frozen=True, slots=True)
class Match:
    """A pattern found.

    Attributes:
        root: the node that the pattern's outermost operator fits.
        nodes: nodes that become part of the kernel, root first.
        values: values by the pattern's names.
        named: nodes by the pattern's names.
        copied: names of the nodes that stay where they are, since they are used outside too: the kernel gets copies.
    """

    root: Node
    nodes: tuple[Node, ...]
    values: Mapping[str, str]
    named: Mapping[str, Node]
    copied: frozenset[str] = frozenset()

    def __getitem__(self, name: str) -> str:
        """The value that the pattern calls so."""
        return self.values[name]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a pattern does not fit, at the point where it came furthest.

    Attributes:
        matched: how many nodes fitted before.
        code: what kind of reason.
        blocker: the node or value in the way.
        parameters: values for the message.
        nodes: the nodes that fitted before, and the one behind what stands in between.
    """

    matched: int
    code: str
    blocker: str | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()


class Refusal(Failure):
    """A place that the pattern fits whole, and at which the rule declines all the same."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _State:
    nodes: tuple[Node, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    named: Mapping[str, Node] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    exposed: frozenset[str] = frozenset()


def match(root: Op, node: Node, draft: Draft) -> Match | Failure:
    """Matches ``root`` at a node of one of its operators.

    The first way in which it fits is taken, operands in order, then swapped where the operator allows it. Nodes that
    would become part of the kernel must not be used outside of it, save the root.
    """
    search = _Search(draft)
    for state in search.node(root, node, _State()):
        copied = _copied(state, draft)
        found = Match(node, state.nodes, state.values, state.named, copied)
        outside = _used_outside(found, state.exposed, draft)
        if outside is None:
            return found
        # It fitted whole, which is further than any part of it.
        search.note(replace(outside, matched=len(found.nodes) + 1, nodes=found.nodes))
    assert search.furthest is not None
    return search.furthest


class _Search:
    """Backtracking over the ways in which a pattern may fit; remembers the failure that came furthest."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.furthest: Failure | None = None

    def note(self, failure: Failure) -> None:
        if self.furthest is None or failure.matched > self.furthest.matched:
            self.furthest = failure

    def node(self, wanted: Op, node: Node, state: _State) -> Iterator[_State]:
        if wanted.absorbed and node not in state.nodes:
            # spelled out, since this is done at every place of every rule, and ``replace`` takes twice as long
            state = _State((*state.nodes, node), state.values, state.named, state.shared, state.exposed)
        for name, expected in wanted.attributes.items():
            actual = node.attributes.get(name)
            if not (expected(actual) if callable(expected) else actual == expected):
                self._fail(state, "attribute", node.name, op=node.op, attribute=name, value=actual)
                return
        if wanted.exact and len(node.inputs) != len(wanted.inputs):
            self._fail(state, "inputs", node.name, op=node.op, count=len(node.inputs))
            return
        if wanted.shared:
            state = replace(state, shared=state.shared | {node.name})
        if wanted.exposed:
            state = replace(state, exposed=state.exposed | {node.name})
        if wanted.name:
            state = replace(state, named={**state.named, wanted.name: node})
        yield from self._inputs(wanted.inputs, node.inputs, node, state)
        if len(wanted.inputs) >= 2 and node.op in COMMUTATIVE and len(node.inputs) >= 2:
            first, second, *rest = node.inputs
            if first != second:
                yield from self._inputs(wanted.inputs, (second, first, *rest), node, state)

    def _inputs(
        self, patterns: tuple[Pattern, ...], inputs: tuple[str, ...], node: Node, state: _State
    ) -> Iterator[_State]:
        if not patterns:
            yield state
            return
        if not inputs:
            self._fail(state, "inputs", node.name, op=node.op, count=len(node.inputs))
            return
        for following in self.value(patterns[0], inputs[0], node, state):
            yield from self._inputs(patterns[1:], inputs[1:], node, following)

    def value(self, wanted: Pattern, name: str, user: Node, state: _State) -> Iterator[_State]:
        match wanted:
            case Value():
                bound = state.values.get(wanted.name)
                if bound is None:
                    yield replace(state, values={**state.values, wanted.name: name})
                elif bound == name:
                    yield state
                else:
                    self._fail(state, "different_values", name, name=wanted.name, first=bound, second=name)
            case Const():
                yield from self._constant(wanted, name, user, state)
            case Either():
                yield from self._either(wanted, name, user, state)
            case Through():
                yield from self._through(wanted, wanted.most, name, user, state)
            case Op():
                producer = self._draft.producer(name) if name else None
                if producer is None or not _starts(wanted, producer, name):
                    self._no_start(wanted.ops, producer, name, user, state)
                else:
                    yield from self.node(wanted, producer, state)

    def _either(self, wanted: Either, name: str, user: Node, state: _State) -> Iterator[_State]:
        """A choice that does not even start is no failure, unless none does: then all together are what was wanted."""
        producer = self._draft.producer(name) if name else None
        absent: list[Op] = []
        for choice in wanted.choices:
            if isinstance(choice, Op) and (producer is None or not _starts(choice, producer, name)):
                absent.append(choice)
            else:
                yield from self.value(choice, name, user, state)
        if len(absent) == len(wanted.choices):
            ops = tuple(dict.fromkeys(op for choice in absent for op in choice.ops))
            self._no_start(ops, producer, name, user, state)

    def _no_start(self, ops: tuple[str, ...], producer: Node | None, name: str, user: Node, state: _State) -> None:
        if producer is not None:
            self._other_operator(ops, producer, user, state)
            return
        outer = self._draft.producer_around(name)
        if outer is not None and is_one_of(outer, ops):  # it would fit but for the branch or loop
            parameters = {"wanted": "|".join(ops), "user": user.name, "user_op": user.op, "value": name}
            self.note(Failure(len(state.nodes) + 1, "boundary", name, parameters, state.nodes))
        else:
            wanted = "|".join(ops)
            self._fail(state, "no_operator", name or user.name, wanted=wanted, user=user.name, user_op=user.op)

    def _through(self, wanted: Through, most: int, name: str, user: Node, state: _State) -> Iterator[_State]:
        yield from self.value(wanted.inner, name, user, state)
        producer = self._draft.producer(name) if name and most else None
        if producer is None or not is_one_of(producer, wanted.ops):
            return
        state = replace(state, nodes=(*state.nodes, producer))
        for following in producer.inputs if wanted.any_input else producer.inputs[:1]:
            yield from self._through(wanted, most - 1, following, producer, state)

    def _constant(self, wanted: Const, name: str, user: Node, state: _State) -> Iterator[_State]:
        constant = self._draft.constant_of(name) if name else None
        if constant is None:
            self._fail(state, "not_constant", name or user.name, wanted=wanted.wanted, node=user.name, op=user.op)
        elif wanted.number is not None and not is_number(constant, wanted.number):
            self._fail(state, "constant_value", name, wanted=f"{wanted.number:g}", node=user.name, op=user.op)
        elif wanted.test is not None and not wanted.test(constant):
            self._fail(state, "constant_value", name, wanted=wanted.wanted, node=user.name, op=user.op)
        elif wanted.name:
            bound = state.values.get(wanted.name, name)
            if bound == name:
                yield replace(state, values={**state.values, wanted.name: name})
            else:
                self._fail(state, "different_values", name, name=wanted.name, first=bound, second=name)
        else:
            yield state

    def _other_operator(self, ops: tuple[str, ...], found: Node, user: Node, state: _State) -> None:
        """An operator that only moves data, with the wanted one right behind it, is a better answer than its name."""
        behind = self._draft.producer(found.inputs[0]) if found.op in BETWEEN and found.inputs else None
        names = "|".join(ops)
        if behind is not None and is_one_of(behind, ops):
            more = 1  # it fitted but for what stands between
            self.note(
                Failure(
                    len(state.nodes) + more,
                    "in_between",
                    found.name,
                    {"op": found.op, "wanted": behind.op, "behind": behind.name, "user": user.name, "user_op": user.op},
                    (*state.nodes, behind),
                )
            )
        elif found.body is not None and any(is_one_of(inner, ops) for inner in found.body.nodes.values()):
            self._fail(state, "taken", found.name, op=found.op, wanted=names, user=user.name, user_op=user.op)
        else:
            self._fail(state, "other_operator", found.name, op=found.op, wanted=names, user=user.name, user_op=user.op)

    def _fail(self, state: _State, code: str, blocker: str | None, **parameters: object) -> None:
        self.note(Failure(len(state.nodes), code, blocker, parameters, state.nodes))


def is_number(constant: Constant, number: float) -> bool:
    """True when every element of a small constant is the number, to within float32 rounding."""
    if not constant.is_small or constant.dtype == DType.STRING or constant.elements == 0:
        return False
    return all(
        isclose(float(item), number, rel_tol=1e-3 if constant.dtype.bits < 32 else 1e-6)
        for item in constant.array().reshape(-1)
    )


def tensor_of(draft: Draft, name: str) -> TensorType | None:
    """The tensor type of a value, None where it is unknown or no tensor."""
    return draft.tensor(name)


def is_one_of(node: Node, ops: Sequence[str]) -> bool:
    """True when ``ops`` name the node's: ``Relu`` for ONNX's and kernels, ``com.microsoft::Gelu`` for other domains."""
    if node.domain and node.body is None:
        return f"{node.domain}::{node.op}" in ops
    return node.op in ops


def _starts(wanted: Op, producer: Node, name: str) -> bool:
    return is_one_of(producer, wanted.ops) and producer.outputs.index(name) == wanted.output


def _copied(state: _State, draft: Draft) -> frozenset[str]:
    """Which of the nodes that may be shared are: used outside of the kernel, or by another one that is."""
    copied: set[str] = set()
    waiting = [node for node in state.nodes if node.name in state.shared]
    while waiting:
        inside = {node.name for node in state.nodes} - copied
        more = [
            node
            for node in waiting
            if any(draft.is_result(o) or any(u.name not in inside for u in draft.users(o)) for o in node.outputs if o)
        ]
        if not more:
            break
        copied.update(node.name for node in more)
        waiting = [node for node in waiting if node not in more]
    return frozenset(copied)


def _used_outside(found: Match, exposed: frozenset[str], draft: Draft) -> Failure | None:
    inside = {node.name for node in found.nodes} - found.copied
    for node in found.nodes[1:]:
        if node.name in exposed:
            failure = _comes_back(node, found, inside, draft)
            if failure is not None:
                return failure
            continue
        for output in node.outputs:
            if not output or node.name in found.copied:
                continue
            if draft.is_result(output):
                return Failure(len(inside), "is_result", node.name, {"value": output, "op": node.op})
            for user in draft.users(output):
                if user.name not in inside:
                    return Failure(
                        len(inside), "other_user", user.name, {"value": output, "inner": node.name, "op": user.op}
                    )
    return None


# How many nodes are looked at for a way from a kernel's second output back into the kernel.
_SEARCHED = 500


def _comes_back(exposed: Node, found: Match, inside: set[str], draft: Draft) -> Failure | None:
    """Whether what the kernel needs depends on an inner value that it gives to the outside: it could never run."""
    if all(user.name in inside for output in exposed.outputs for user in draft.users(output)):
        return None
    below: tuple[Node, ...] = (exposed,)  # what enters the kernel above the value cannot depend on it
    own = {output for node in found.nodes for output in node.outputs}
    for _ in found.nodes:
        made = {output for node in below for output in node.outputs}
        below = (exposed, *(node for node in found.nodes if node is not exposed and not made.isdisjoint(node.uses)))
    waiting = [(name, name) for node in below[1:] for name in node.uses if name not in own]
    seen: set[str] = set()
    while waiting:
        name, entry = waiting.pop()
        producer = draft.producer(name) if name not in seen else None
        if producer is None:
            continue
        seen.add(name)
        if len(seen) > _SEARCHED or not own.isdisjoint(producer.uses):
            return Failure(len(inside), "comes_back", entry, {"inner": exposed.name, "value": exposed.outputs[0]})
        waiting += [(use, entry) for use in producer.uses]
    return None


def listed(nodes: Sequence[Node], most: int = 8) -> str:
    """Names of nodes for a sentence: the first few, and how many more there are."""
    names = ", ".join(node.name for node in nodes[:most])
    return names if len(nodes) <= most else f"{names} and {len(nodes) - most} more"
