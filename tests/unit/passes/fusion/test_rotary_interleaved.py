"""Rotary embedding of neighbours, and of a part of each head: the ways in which exporters write them."""

import pytest

from gexplorer.passes.fusion.rules.rotary_interleaved import RotaryInterleaved
from gexplorer.passes.fusion.rules.rotary_pair import RotaryPair
from gexplorer.passes.fusion.rules.rotary_partial import RotaryPartial
from tests.fused import check_kernels, check_miss
from tests.passes import run

HEAD = """
input %x : float32[1,2,n,4]
input %cos : float32[1,1,n,4]
input %sin : float32[1,1,n,4]
input %c : float32[1,1,n,2]
input %s : float32[1,1,n,2]
input %far : float32[3,1,n,4]
constant %zero = int64[1] {0}
constant %first = int64[] {0}
constant %second = int64[] {1}
constant %one = int64[1] {1}
constant %two = int64[1] {2}
constant %four = int64[1] {4}
constant %end = int64[1] {9223372036854775807}
constant %last = int64[1] {3}
constant %new = int64[1] {-1}
constant %flat = int64[4] {0, 0, 0, 4}
constant %pairs = int64[5] {0, 0, 0, 2, 2}
constant %other = int64[4] {1, 4, 1, 4}
"""
SLICES = "%e = Slice(%x, %zero, %end, %last, %two) #e\n%o = Slice(%x, %one, %end, %last, %two) #o\n"
PAIRS = "%q = Reshape(%x, %pairs) #q\n"
GATHERS = PAIRS + "%e = Gather(%q, %first) {axis = -1} #e\n%o = Gather(%q, %second) {axis = 4} #o\n"
SPLIT = PAIRS + "%e1, %o1 = Split(%q) {axis = -1} #eo\n%e = Squeeze(%e1, %new) #e\n%o = Squeeze(%o1, %new) #o\n"
TURNED = (
    "%n = Neg(%o) #n\n%nu = Unsqueeze(%n, %new) #nu\n%eu = Unsqueeze(%e, %new) #eu\n"
    "%p = Concat(%nu, %eu) {axis = -1} #p\n%r = Reshape(%p, %flat) #r\n"
)
SUM = "%a = Mul(%x, %cos) #a\n%b = Mul(%r, %sin) #b\n%y = Add(%a, %b) #y\noutput %y"
HALVES = (
    "%ec = Mul(%e, %c) #ec\n%os = Mul(%o, %s) #os\n%d = Sub(%ec, %os) #d\n"
    "%oc = Mul(%o, %c) #oc\n%es = Mul(%e, %s) #es\n%g = Add(%oc, %es) #g\n"
    "%du = Unsqueeze(%d, %new) #du\n%gu = Unsqueeze(%g, %new) #gu\n"
    "%p = Concat(%du, %gu) {axis = -1} #p\n%y = Reshape(%p, %flat) #y\noutput %y"
)
KERNEL = "%y = RotaryPositionEmbedding<ge>(%x, {}) {{mode = 1}} #{}\noutput %y"
FIRES = {
    "every other one, turned": (SLICES + TURNED + SUM, KERNEL.format("%cos, %sin", "y")),
    "every other one, in halves": (SLICES + HALVES, KERNEL.format("%c, %s", "p")),
    "pairs by Gather": (GATHERS + HALVES, KERNEL.format("%c, %s", "p")),
    "pairs by Split": (SPLIT + HALVES, KERNEL.format("%c, %s", "p")),
}
MISSES = {
    "part": (
        SLICES.replace("%x, %zero", "%x, %one") + TURNED + SUM,
        ("e", "e (Slice) does not take the elements at even places of the last axis of x"),
    ),
    "part, halves": (
        "%e = Slice(%x, %zero, %two, %last) #e\n%o = Slice(%x, %two, %end, %last) #o\n" + HALVES,
        ("e", "e (Slice) does not take the elements at even places of the last axis of x"),
    ),
    "part, swapped": (
        GATHERS.replace("%first", "%third").replace("%second", "%first").replace("%third", "%second") + HALVES,
        ("e", "e (Gather) does not take the elements at even places of the last axis of q"),
    ),
    "axis": (
        SLICES + TURNED.replace("{axis = -1}", "{axis = 3}") + SUM,
        ("p", "p joins along axis 3, not along the new last one"),
    ),
    "layout": (
        SLICES + TURNED.replace("%flat", "%other") + SUM,
        ("p", "what p interleaves is not laid out like x (float32[1,1,4,4]) by one Reshape alone"),
    ),
    "widens": (
        SLICES + TURNED + SUM.replace("%cos", "%far"),
        ("y", "y is float32[3,2,n,4], but x is float32[1,2,n,4]: cos and sin widen it"),
    ),
    "other_user": (
        SLICES + TURNED + SUM + "\n%z = Abs(%r) #z\noutput %z",
        ("z", "r, which r makes, is also used by z (Abs)"),
    ),
}


@pytest.mark.parametrize(("model", "nodes"), FIRES.values(), ids=FIRES)
def test_fires(model, nodes):
    check_kernels(RotaryInterleaved, HEAD + model, nodes)


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(",")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    head = HEAD.replace("[1,2,n,", "[1,1,4,").replace("[1,1,n,", "[1,1,4,") if code == "layout" else HEAD
    check_miss(RotaryInterleaved, head + model, code, *said)


def test_how_heads_are_laid_out_and_casts_come_along():
    model = HEAD + (
        "input %w : float16[1,n,2,4]\n%t = Transpose(%w) {perm = [0, 2, 1, 3]} #t\n%u = Cast(%t) {to = 1} #u\n"
        + (SLICES + TURNED + SUM.replace("output %y", "%z = Cast(%y) {to = 10} #z\noutput %z")).replace("%x,", "%u,")
    )
    nodes = "%z = RotaryPositionEmbedding<ge>(%w, %cos, %sin) {mode = 1} #y\noutput %z"
    check_kernels(RotaryInterleaved, model, nodes)


BODY = """
  body graph RotaryPositionEmbedding
    input %in0 : float32[1,2,n,4]
    input %in1 : float32[1,1,n,4]
    input %in2 : float32[1,1,n,4]
    %v0 = Mul(%in0, %in1) #n0
    %v1 = Mul(%v0, %in2) #n1
    output %v1
"""


def rotary(x, name, attributes=""):
    return f"%{name} = RotaryPositionEmbedding<ge>(%{x}, %cos, %sin) {attributes} #{name}{BODY}"


WHOLE = HEAD.replace("%x : float32[1,2,n,4]", "%x : float32[1,2,n,6]")
FRONT = "%t = Slice(%x, %zero, %four, %last) #t\n%r = Slice(%x, %four, %end, %last) #r\n" + rotary(
    "t", "k", "{mode = 1}"
)
BACK = "%t = Slice(%x, %two, %end, %last) #t\n%r = Slice(%x, %zero, %two, %last) #r\n" + rotary("t", "k")
PARTS = "constant %parts = int64[2] {4, 2}\n%t, %r = Split(%x, %parts) {axis = -1} #t\n" + rotary("t", "k")
JOINED, JOINED_BACK = ("%y = Concat(" + order + ") {axis = -1} #y\noutput %y" for order in ("%k, %r", "%r, %k"))
PARTIAL = "%y = RotaryPositionEmbedding<ge>(%x, %cos, %sin) {{{}}} #y\noutput %y"


@pytest.mark.parametrize(
    ("model", "attributes"),
    [
        (FRONT + JOINED, "mode = 1, rotary_dim = 4"),
        (BACK + JOINED_BACK, "rotary_dim = 4, rotary_offset = 2"),
        (PARTS + JOINED, "rotary_dim = 4"),
    ],
    ids=["the first elements", "the last elements", "by Split"],
)
def test_a_part_of_each_head(model, attributes):
    check_kernels(RotaryPartial, WHOLE + model, PARTIAL.format(attributes))


PARTIAL_MISSES = {
    "parts, not from the first on": (
        "constant %five = int64[1] {5}\n" + FRONT.replace("%x, %zero, %four", "%x, %one, %five") + JOINED,
        ("r", "t and r do not take x apart where y joins it: one of them is elsewhere"),
    ),
    "parts": (FRONT + JOINED_BACK, ("r", "t and r do not take x apart where y joins it: one of them is elsewhere")),
    "parts, that overlap": (
        FRONT.replace("%x, %four, %end", "%x, %two, %four") + JOINED,
        ("r", "t and r do not take x apart where y joins it: one of them is elsewhere"),
    ),
    "axis": (
        (FRONT + JOINED).replace("%x, %four, %end, %last", "%x, %zero, %four, %last").replace("axis = -1", "axis = 1"),
        ("y", "y joins the parts along axis 1, not the last"),
    ),
    "other_user": (
        FRONT + JOINED + "\n%z = Neg(%k) #z\noutput %z",
        ("z", "k, which k makes, is also used by z (Neg)"),
    ),
}


@pytest.mark.parametrize(
    ("code", "model", "said"), [(c.split(",")[0], *m) for c, m in PARTIAL_MISSES.items()], ids=PARTIAL_MISSES
)
def test_why_no_part(code, model, said):
    check_miss(RotaryPartial, WHOLE + model, code, *said)


def test_a_cache_in_front_is_not_near():
    model = (
        HEAD + "input %past : float32[1,2,n,4]\n" + rotary("x", "k") + "%y = Concat(%past, %k) {axis = 2} #y\noutput %y"
    )
    step = run(RotaryPartial, model)
    assert (step.rewrites, step.rejects) == ((), ())


@pytest.mark.parametrize(("mode", "pairs"), [("", 0), ("{mode = 1}", 1)])
def test_only_embeddings_of_one_mode_are_a_pair(mode, pairs):
    model = HEAD + "%a, %b = Split(%w) {axis = 0} #w\n" + rotary("a", "k", "{mode = 1}") + rotary("b", "l", mode)
    model = model.replace("input %x", "input %w : float32[2,2,n,4]\ninput %x", 1) + "output %k\noutput %l"
    assert len(run(RotaryPair, model).rewrites) == pairs
