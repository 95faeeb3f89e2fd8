"""Rules for siblings: kernels that read one value, side by side, merged into one kernel with several results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import NO_ATTRIBUTES, Node
from gexplorer.passes.base import Context, Log
from gexplorer.passes.fusion.kernel import group
from gexplorer.passes.fusion.matcher import Failure, Match, is_one_of, listed, match, tensor_of
from gexplorer.passes.fusion.pattern import Op
from gexplorer.passes.fusion.rule import Reject, Rule, count_places, declined, off_the_ai_core
from gexplorer.trace.records import Message

# How many nodes are looked at for a way from one sibling to another.
_SEARCHED = 500

SIBLING_MESSAGES = Map(
    waits=Message("{blocker} may be computed from what {sibling} makes: merged, they would wait for themselves"),
    alone=Message("{node} alone reads {value}, {wanted} are wanted"),
    count=Message("{count} kernels read {value} ({members}), {wanted} are wanted"),
)


class SiblingRule(Rule):
    """A rule whose pattern is one of several siblings: they agree in one input, and none waits for another.

    Attributes:
        number: how many siblings there must be.
        shared: which input they have in common.
    """

    number: ClassVar[int]
    shared: ClassVar[int] = 0
    kinds = Map(
        alone="{op} that alone reads what it reads",
        count="{op} that reads what {count} read, not {wanted}",
        waits="a sibling that would wait for another",
    )
    pattern: ClassVar[Op]  # pyright: ignore[reportIncompatibleVariableOverride]

    def families(self, readers: Sequence[Node], draft: Draft) -> list[list[Node]]:
        """Those of the readers of one value that belong together."""
        return [list(readers)]

    def check_family(self, family: Sequence[Match], draft: Draft) -> Reject | None:
        """Why a family must not be merged; None when it may."""
        return None

    def describe_family(self, family: Sequence[Match], draft: Draft) -> Map[str, object]:
        """Attributes of the kernel."""
        return NO_ATTRIBUTES

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Finds every family by its shared value, in program order."""
        off = context.matches_off.get(self.name, frozenset())
        tried = draft.tried + count_places(draft.base, self.pattern.ops)
        places = self.places(draft)
        known: dict[str, Failure] = {}
        seen: set[str] = set()
        for node in places:
            value = self._shared(node)
            if not value or value in seen:
                continue
            seen.add(value)
            readers = [one for one in draft.users(value) if self._shared(one) == value and draft.is_read(one)]
            if self.every:
                known |= self._too_few(value, readers)
            for family in self.families(readers, draft) if len(readers) >= self.number else ():
                if self.every:
                    known |= self._too_few(value, family)
                if len(family) >= self.number:
                    self._merge(value, family, draft, log, off, known)
        draft.tried = tried
        if self.every:
            unread = {node.name: _no_input(node) for node in places if not self._shared(node)}
            self.tell_rest(places, log, unread | known, {})

    def _too_few(self, value: str, readers: Sequence[Node]) -> dict[str, Failure]:
        """What is to be said of each, unless something else turns up."""
        code = "count" if len(readers) > 1 else "alone"
        return {reader.name: Failure(1, code, value, self._counted(value, readers)) for reader in readers}

    def _shared(self, node: Node) -> str:
        return node.inputs[self.shared] if is_one_of(node, self.pattern.ops) and len(node.inputs) > self.shared else ""

    def _merge(
        self,
        value: str,
        readers: Sequence[Node],
        draft: Draft,
        log: Log,
        off: frozenset[str],
        known: dict[str, Failure],
    ) -> None:
        """Merges a family, or says why not; ``known`` gets what stood in the way of each."""
        family: list[Match] = []
        failures: list[tuple[Node, Failure]] = []
        for reader in readers:
            found = match(self.pattern, reader, draft)
            if isinstance(found, Match):
                family.append(found)
            else:
                failures.append((reader, found))
        known |= {reader.name: failure for reader, failure in failures}
        if len(family) < self.number:
            known |= self._too_few(value, [member.root for member in family])
            reader, failure = failures[0]
            if len(readers) == self.number:
                log.reject(reader, failure.code, failure.blocker, **failure.parameters)
            return
        anchor = family[0].root
        nodes = [node for member in family for node in member.nodes]
        refused = self._count(value, family) or self.check_family(family, draft) or off_the_ai_core(nodes, draft)
        refused = refused or _waiting(family, draft)
        if refused is None and any(member.root.name in off for member in family):
            refused = Reject("match_off", anchor.name, rule=self.name)
        if refused is not None:
            said = Failure(len(nodes), refused.code, refused.blocker, refused.parameters)
            known |= {member.root.name: said for member in family}
            log.reject(anchor, refused.code, refused.blocker, **refused.parameters)
            return
        names = listed([member.root for member in family])
        with log.rewrite(anchor, "fused", kernel=self.kernel, members=names, count=len(family)) as edit:
            group(
                draft,
                nodes,
                self.kernel,
                anchor=anchor,
                attributes=self.describe_family(family, draft),
                first=[member[name] for name in self.reads for member in family if name in member.values],
            )
        if edit.declined is not None:
            said = declined(edit.declined, anchor, nodes)
            known |= {member.root.name: said for member in family}
            log.reject(anchor, said.code, said.blocker, **said.parameters)

    def _count(self, value: str, family: Sequence[Match]) -> Reject | None:
        if len(family) == self.number:
            return None
        return Reject("count", value, **self._counted(value, [member.root for member in family]))

    def _counted(self, value: str, roots: Sequence[Node]) -> dict[str, object]:
        members = ", ".join(root.name for root in roots[:4]) + (", …" if len(roots) > 4 else "")
        return {"count": len(roots), "value": value, "members": members, "wanted": self.number, "op": roots[0].op}


def _no_input(node: Node) -> Failure:
    return Failure(1, "inputs", node.name, {"op": node.op, "count": len(node.inputs)})


def _waiting(family: Sequence[Match], draft: Draft) -> Reject | None:
    """A sibling whose inputs are computed from another sibling.

    What a sibling is computed from cannot wait for it; so where the ways up from all of them meet, they need not be
    followed further.
    """
    made = {output: member.root.name for member in family for output in member.root.outputs}
    reached: dict[str, set[int]] = {}
    waiting = [(name, index) for index, member in enumerate(family) for node in member.nodes for name in node.uses]
    while waiting:
        for name, index in waiting:
            if name in made or len(reached) > _SEARCHED:
                return Reject("waits", family[index].root.name, sibling=made.get(name, family[0].root.name))
            reached.setdefault(name, set()).add(index)
        above: dict[tuple[str, int], None] = {}
        for name, index in waiting:
            producer = draft.producer(name) if len(reached[name]) < len(family) else None
            if producer is not None:
                above |= {(use, index): None for use in producer.uses if index not in reached.get(use, ())}
        waiting = list(above)
    return None


def columns(family: Sequence[Match], draft: Draft) -> tuple[int, ...]:
    """How many columns each of several linear layers gives, as far as it is known."""
    types = [tensor_of(draft, member.root.outputs[0]) for member in family]
    last = [type_.shape[-1] for type_ in types if type_ is not None and type_.shape]
    return tuple(number for number in last if isinstance(number, int))
