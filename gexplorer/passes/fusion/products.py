"""What the rules for the operands of a product of two matrices share: which way round they lie, and by what they go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node
from gexplorer.passes.fusion.matcher import Match, is_one_of
from gexplorer.passes.fusion.rule import Reject

# Operators that read two matrices first.
PRODUCTS = ("MatMul", "Gemm")
# What a kernel says of its operands, where it is not 0 or 1.
OPERANDS = ("transpose_a", "transpose_b", "alpha", "beta")

# The same for ONNX's and onnxruntime's operators.
_NAMES = Map(transA="transpose_a", transB="transpose_b", alpha="alpha", beta="beta")
_PLAIN = Map(transpose_a=0, transpose_b=0, alpha=1.0, beta=1.0)


def operands_of(product: Node) -> Map[str, object]:
    """Which operands a product transposes (``transpose_a``, ``transpose_b``), and its factors ``alpha`` and ``beta``.

    Whatever is as in a MatMul is left out. The ``beta`` of a Gemm without a third input means nothing.
    """
    if product.body is not None:
        return Map({name: value for name, value in product.attributes.items() if name in OPERANDS})
    said = {ours: product.attributes[theirs] for theirs, ours in _NAMES.items() if theirs in product.attributes}
    if not any(product.inputs[2:]):
        said.pop("beta", None)
    return plain(Map(said))


def plain(attributes: Map[str, object]) -> Map[str, object]:
    """The attributes without those that say what holds anyway."""
    return Map({name: value for name, value in attributes.items() if name not in _PLAIN or value != _PLAIN[name]})


def number(attributes: Map[str, object], name: str) -> float:
    """One of ``OPERANDS`` as a number."""
    return cast("float", attributes.get(name, _PLAIN[name]))


def read_otherwise(draft: Draft, made: str) -> Reject | None:
    """What reads a value in another way than as an operand of a product; None where nothing does.

    If all its readers are products, each can do what the value's node does while it loads, and the value is never
    written. If one is not, the value is written anyway.
    """
    node = draft.producer(made)
    assert node is not None
    if draft.is_result(made):
        return Reject("is_result", node.name, value=made, op=node.op)
    for user in draft.users(made):
        if not is_one_of(user, PRODUCTS) or made not in user.inputs[:2] or made in user.inputs[2:]:
            return Reject("other_user", user.name, value=made, inner=node.name, op=user.op)
    return None


def without(found: Match, nodes: Iterable[Node]) -> Match:
    """The match without some of the nodes in front of it, whose results the kernel then reads.

    A node is known by the name of the value that it reads, with ``_node`` behind.
    """
    left = {node.name: node for node in nodes}
    named = {name: node for name, node in found.named.items() if node.name not in left}
    values = dict(found.values)
    for name, node in found.named.items():
        if node.name in left:
            values[name.removesuffix("_node")] = node.outputs[0]
    return replace(
        found,
        nodes=tuple(node for node in found.nodes if node.name not in left),
        values=values,
        named=named,
        copied=found.copied - left.keys(),
    )
