"""Shape arithmetic whose result is known becomes a constant."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.ir.types import TensorType
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message


class ShapeFolding(Pass):
    """Replaces integer tensors that follow from the shapes alone by constants.

    before:  s = Shape(x: float32[1, 64, s]); n = Gather(s, 1); y = Reshape(a, Concat(n, [-1]))
    after:   y = Reshape(a, [64, -1])

    Only the last values of such a chain are replaced; what fed them is then dead and goes too. What depends on symbols
    stays, but is computed once:

    before:  t1 = Concat(Shape(x)[0:1], [-1]); t2 = Concat(Shape(Relu(x))[0:1], [-1])
    after:   users of t2 read t1
    """

    name = "shape_folding"
    ge_name = "DimensionComputePass"
    order = 100
    messages = Map(
        folded=Message("{node} ({op}) always gives {content}"),
        same_content=Message("{node} ({op}) gives {content}, which {value} already holds"),
        symbolic=Message(
            "{node} ({op}) depends on {symbols}, which is not known before run time",
            "bind it: --shape INPUT:… with a number in place of {symbols}",
        ),
    )

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Walks the values with known contents from the last to the first, so that only frontiers are kept."""
        import numpy as np

        found = [
            (node, name)
            for name in context.contents
            if (node := draft.producer(name)) is not None and all(not o or o == name for o in node.outputs)
        ]
        _merge(found, draft, log, context)
        for node, name in sorted(found, key=lambda item: (item[0].position, item[0].name), reverse=True):
            content = context.contents[name]
            if draft.current(node) is None:
                continue
            value = draft.own_value(name)
            type_ = value.tensor if value is not None else None
            if not isinstance(type_, TensorType) or type_.elements != len(content):
                continue
            if not all(isinstance(item, int) for item in content):
                symbols = sorted({str(item) for item in content if item is not None and not isinstance(item, int)})
                if symbols and draft.use_count(name):
                    log.reject(node, "symbolic", op=node.op, symbols=", ".join(symbols))
                continue
            if not draft.use_count(name):
                continue
            array = np.array(content, dtype=type_.dtype.numpy()).reshape(list(type_.shape or ()))  # pyright: ignore
            with log.rewrite(node, "folded", op=node.op, content=list(content)):
                constant = draft.add_constant(array, name)
                draft.replace_uses(name, constant)
                _remove_dead(draft, node)


def _merge(found: list[tuple[Node, str]], draft: Draft, log: Log, context: Context) -> None:
    """Lets users of a value with symbols in it read the first value that holds the same."""
    first: dict[object, str] = {}
    keys: dict[str, object] = {}
    known = dict(found)
    for node in draft.base.order if known else ():
        name = known.get(node)
        value = draft.own_value(name) if name is not None else None
        if name is None or value is None or value.tensor is None or value.tensor.elements is None:
            continue
        content = context.contents[name]
        if None not in content and not all(isinstance(item, int) for item in content):
            keys[name] = (value.tensor, content)
            first.setdefault(keys[name], name)
    for name, key in reversed(keys.items()):
        node = draft.producer(name)
        if node is None or first[key] == name or not draft.use_count(name):
            continue
        if draft.producer(first[key]) is None:  # gone with what it fed
            first[key] = name
            continue
        content = ", ".join(map(str, context.contents[name]))
        with log.rewrite(node, "same_content", op=node.op, content=f"[{content}]", value=first[key]):
            draft.replace_uses(name, first[key])
            _remove_dead(draft, node)


def _remove_dead(draft: Draft, node: Node) -> None:
    """Removes a node that nothing uses, and what only it used."""
    waiting = [node]
    while waiting:
        dead = waiting.pop()
        if draft.current(dead) is None or any(draft.use_count(output) for output in dead.outputs if output):
            continue
        sources = [producer for name in dead.uses if (producer := draft.producer(name)) is not None]
        draft.remove(dead)
        waiting.extend(sources)
