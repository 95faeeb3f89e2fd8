"""For each bug of the museum a small model whose sound plan has room for it, and what running the spoilt plan tells."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

import onnx
from onnx import parser


@dataclass(frozen=True)
class Scene:
    """One bug on one model.

    Attributes:
        body: the operators; ``x`` is [16, 16] float32, ``y`` the result, ``w`` [16, 64] and ``v`` [64, 16] constants.
        tensor: what is read after it was lost; "" where that is all that can be told.
        culprit: what was written over it, "" where the bytes were never written or given away as dead.
        streams: the option of that name.
        waits: kernels and those that wait for them, by place in the order; None for what the schedule says.
        why_not: why running cannot show the bug, "" where it does.
    """

    body: str
    tensor: str = ""
    culprit: str = ""
    streams: str = "single"
    waits: tuple[tuple[int, int], ...] | None = None
    why_not: str = ""

    def model(self) -> onnx.ModelProto:
        rows, columns = (", ".join(f"0.{i % 7 + 1}" for i in range(1024)) for _ in range(2))
        text = f"""
            <ir_version: 10, opset_import: ["": 21]>
            scene (float[16, 16] x) => (float[16, 16] y)
            <float[16, 64] w = {{{rows}}}, float[64, 16] v = {{{columns}}}, int64[1] four = {{4}},
             int64[2] wide = {{8, 32}}, int64[2] square = {{16, 16}}, int64 turns = {{3}}>
            """
        return parser.parse_model(dedent(text) + "{\n" + dedent(self.body) + "\n}")


SCENES = {
    "alias_planned_twice": Scene("""
        a = Softmax(x)
        flat = Reshape(a, wide)
        b = Softmax(flat)
        c = Reshape(b, square)
        y = MatMul(c, c)
        """),
    "alias_still_used": Scene(
        """
        a = Softmax(x)
        flat = Reshape(a, wide)
        other = Softmax<axis = 0>(x)
        b = Softmax(flat)
        c = Reshape(b, square)
        y = MatMul(c, other)
        """,
        "flat",
        "other",
    ),
    "early_free_across_streams": Scene(
        """
        a = Softmax(x)
        l = Softmax<axis = 0>(a)
        l2 = Softmax(l)
        l3 = Softmax<axis = 0>(l2)
        c = ReduceMax<keepdims = 1>(x)
        d = Softmax<axis = 0>(c)
        y = Sub(l3, d)
        """,
        streams="streams:2",
    ),
    "enlarged_output": Scene("""
        big = MatMul(x, w)
        h = MatMul(big, v)
        k = Softmax(h)
        y = Softmax<axis = 0>(k)
        """),
    "first_reader_only": Scene(
        """
        r = Softmax(x)
        n = Softmax<axis = 0>(r)
        p = Softmax(n)
        s = MatMul(p, r)
        y = Softmax(s)
        """,
        "r",
        "p",
    ),
    "in_place_beside_a_branch": Scene(
        """
        a = Softmax(x)
        l = Softmax<axis = 0>(a)
        l2 = Softmax(l)
        l3 = Softmax<axis = 0>(l2)
        r = Exp(a)
        y = MatMul(l3, r)
        """,
        "a",
        "r",
        streams="streams:2",
        waits=((0, 4), (4, 5)),  # Exp for what it reads, and for nothing else
    ),
    "in_place_with_a_later_reader": Scene(
        """
        a = Softmax(x)
        b = Exp(a)
        c = MatMul(b, a)
        y = Softmax(c)
        """,
        "a",
        "b",
    ),
    "int32_size": Scene(
        """
        mask = Softmax(x)
        scale = Softmax<axis = 0>(mask)
        logits = MatMul(scale, w)
        some = MatMul(logits, v)
        y = MatMul(some, scale)
        """,
        "scale",
        "logits",
    ),
    "missing_size_check": Scene(
        """
        hidden = ReduceMax<keepdims = 1>(x)
        residual = Softmax(hidden)
        ffn = MatMul(x, w)
        down = MatMul(ffn, v)
        y = Add(down, residual)
        """,
        "ffn",
        "down",
    ),
    "output_over_input": Scene(
        """
        h = Softmax(x)
        y = Softmax<axis = 0>(h)
        """,
        "x",
        "y",
    ),
    "sub_byte_buffer": Scene(
        """
        a = Softmax(x)
        b = Softmax<axis = 0>(a)
        big = MatMul(b, w)
        c = MatMul(big, v)
        y = Softmax(c)
        """,
        "b",
        "big",
    ),
    "undersized_whole": Scene(
        """
        a = MatMul(x, w)
        b = Softmax(a)
        whole = Concat<axis = 0>(a, b)
        kept = Softmax<axis = 0>(x)
        s = MatMul(whole, v)
        sum = ReduceSum<keepdims = 0>(s)
        y = Mul(kept, sum)
        """,
        "whole",
        "kept",
    ),
    "unread_output": Scene(
        """
        b = Softmax(x)
        s = Softmax<axis = 0>(x)
        best, at = TopK(s, four)
        m = ReduceMax<keepdims = 1>(best)
        n = MatMul(b, b)
        y = Div(n, m)
        """,
        "b",
        "at",
    ),
    "shifted_in_place": Scene(
        """
        a = Softmax(x)
        r = Exp(a)
        y = MatMul(r, r)
        """,
        why_not="a kernel reads all of its inputs before it writes, so it cannot overrun itself",
    ),
    "loop_carried": Scene(
        """
        go = Constant<value = bool {1}>()
        scale = Softmax(x)
        y = Loop(turns, go, x) <
            body = turn (int64 i, bool on, float[16, 16] s) => (bool on_out, float[16, 16] s_out) {
                on_out = Identity(on)
                a = MatMul(s, scale)
                b = Softmax(a)
                s_out = Softmax<axis = 0>(b)
            }
        >
        """,
        why_not="a loop is one instruction: what is inside lies in the evaluator's memory",
    ),
    "bodies_share_results": Scene(
        """
        go = Constant<value = bool {1}>()
        first = Loop(turns, go, x) <
            body = one (int64 i, bool on, float[16, 16] s) => (bool on_out, float[16, 16] s_out) {
                on_out = Identity(on)
                a = Softmax(s)
                s_out = Softmax<axis = 0>(a)
            }
        >
        second = Loop(turns, go, x) <
            body = two (int64 j, bool on2, float[16, 16] t) => (bool on2_out, float[16, 16] t_out) {
                on2_out = Identity(on2)
                b = Softmax(t)
                t_out = Softmax<axis = 0>(b)
            }
        >
        y = MatMul(first, second)
        """,
        why_not="no room: what a loop gives has a place outside of it, and nothing inside outlasts it",
    ),
}
