"""Rules that are wrong on purpose, each in another way, for tests that must find them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Ints
from gexplorer.passes.base import Pass
from gexplorer.passes.fusion.pattern import op
from gexplorer.passes.fusion.rule import Rule
from gexplorer.trace.records import Message

MESSAGES = Map(wrong=Message("{node} was made wrong"))


class WrongConstant(Pass):
    """Makes the constant that is multiplied with a quarter larger.

    before:  y = Mul(x, c)
    after:   y = Mul(x, 1.25 c)
    """

    name = "wrong_constant"
    order = 1
    messages = MESSAGES

    def run(self, draft, log, context):
        for node in draft.candidates("Mul"):
            data = draft.constant_of(node.inputs[1])
            if data is not None:
                with log.rewrite(node, "wrong"):
                    name = draft.add_constant(np.asarray(data.array() * 1.25, data.array().dtype), "wrong")
                    draft.update(node, inputs=(node.inputs[0], name))


class DroppedBias(Pass):
    """Drops an Add of a constant.

    before:  y = Add(x, b)
    after:   users of y read x
    """

    name = "dropped_bias"
    order = 1
    messages = MESSAGES

    def run(self, draft, log, context):
        for node in draft.candidates("Add"):
            if draft.constant_of(node.inputs[1]) is not None:
                with log.rewrite(node, "wrong"):
                    draft.replace_uses(node.outputs[0], node.inputs[0])
                    draft.remove(draft.node(node.name))


class WrongAxis(Pass):
    """Takes the softmax along another axis.

    before:  y = Softmax[-1](x)
    after:   y = Softmax[0](x)
    """

    name = "wrong_axis"
    order = 1
    messages = MESSAGES

    def run(self, draft, log, context):
        for node in draft.candidates("Softmax"):
            with log.rewrite(node, "wrong"):
                draft.update(node, attributes=node.attributes.set("axis", 0))


class WrongTurn(Pass):
    """Turns a square matrix the wrong way round, which keeps its shape.

    before:  y = Transpose[1, 0](x)
    after:   y = Transpose[0, 1](x)
    """

    name = "wrong_turn"
    order = 1
    messages = MESSAGES

    def run(self, draft, log, context):
        for node in draft.candidates("Transpose"):
            with log.rewrite(node, "wrong"):
                draft.update(node, attributes=node.attributes.set("perm", Ints((0, 1))))


class WrongOnce(Pass):
    """Rewrites every Relu, all but one of them rightly.

    before:  y = Relu(x)
    after:   y = Max(x, 0), at one place Max(x, 0.01)
    """

    name = "wrong_once"
    order = 1
    messages = MESSAGES
    wrong_at = 5

    def run(self, draft, log, context):
        for number, node in enumerate(draft.candidates("Relu")):
            with log.rewrite(node, "wrong"):
                zero = draft.add_constant(np.array(0.01 if number == self.wrong_at else 0, np.float32), "zero")
                draft.put_node(replace(draft.node(node.name), op="Max", inputs=(node.inputs[0], zero)))


class Unlogged(Pass):
    """Does right what it logs, and something wrong besides that it does not.

    before:  y = Neg(x)
    after:   y = Abs(x)
    """

    name = "unlogged"
    order = 1
    messages = MESSAGES

    def run(self, draft, log, context):
        for node in draft.candidates("Neg"):
            draft.put_node(replace(node, op="Abs"))


class Invalid(Pass):
    """Leaves a graph that keeps all invariants of ours, and that nothing can run.

    before:  y = Neg(x)
    after:   y = NoSuchOperator(x)
    """

    name = "invalid"
    order = 1
    messages = MESSAGES

    def run(self, draft, log, context):
        for node in draft.candidates("Neg"):
            with log.rewrite(node, "wrong"):
                draft.put_node(replace(node, op="NoSuchOperator"))


class WrongKernel(Rule):
    """A fusion rule that leaves the bias out where the matrix is a certain one.

    before:  Add(MatMul(x, w), bias)
    after:   WrongKernel(x, w, bias)
    """

    name = "wrong_kernel"
    order = 601
    kernel = "WrongKernel"
    kind = "graph"
    saves = "Nothing."
    pattern = op.Add(op.MatMul("x", "w"), "bias", exact=True)
    wrong_at = "w2"

    def check(self, found, draft):
        """Takes all."""
        return None

    def fuse(self, found, draft):
        """Makes the kernel; at one place its body adds nothing."""
        kernel = super().fuse(found, draft)
        if self.wrong_at in kernel.inputs:
            inner = Draft(kernel.body)
            (add,) = inner.candidates("Add")
            inner.put_node(replace(add, op="Identity", inputs=add.inputs[:1]))
            kernel = replace(kernel, body=inner.finish())
            draft.put_node(kernel)
        return kernel
