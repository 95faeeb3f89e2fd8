"""What copies its input goes; what only looks so stays."""

import pytest

from gexplorer.passes.noop_elimination import NoopElimination
from tests.passes import check_codes, check_rewrite, codes, run

X = "input %x : float32[2,3]\n"
N = "input %x : float32[n,3]\n"
I = "input %x : int64[2,3]\n"  # noqa: E741


def one(node, *constants, head=X):
    """A model of one node that gives y."""
    return head + "\n".join([*(f"constant {c}" for c in constants), f"{node} #y", "output %y"])


SAME = {
    "Cast": one("%y = Cast(%x) {to = 1}"),
    "CastLike": one("%y = CastLike(%x, %k)", "%k = float32[1] {2.0}"),
    "Reshape": one("%y = Reshape(%x, %s)", "%s = int64[2] {0, -1}"),
    "Reshape of a symbolic shape": one("%y = Reshape(%x, %s)", "%s = int64[2] {-1, 3}", head=N),
    "Reshape to its own computed shape": N + "%s = Shape(%x) #s\n%y = Reshape(%x, %s) #y\noutput %y",
    "Flatten": one("%y = Flatten(%x)", head=N),
    "Squeeze": one("%y = Squeeze(%x)"),
    "Expand": one("%y = Expand(%x, %s)", "%s = int64[2] {1, 3}", head=N),
    "Tile": one("%y = Tile(%x, %s)", "%s = int64[2] {1, 1}", head=N),
    "Slice": one("%y = Slice(%x, %a, %b)", "%a = int64[2] {0, -99}", "%b = int64[2] {99, 3}"),
    "Slice with steps": one(
        "%y = Slice(%x, %a, %b, %i, %s)",
        "%a = int64[1] {0}",
        "%b = int64[1] {3}",
        "%i = int64[1] {1}",
        "%s = int64[1] {1}",
    ),
    "Slice of one in steps": one(
        "%y = Slice(%x, %a, %b, %a, %s)",
        "%a = int64[1] {0}",
        "%b = int64[1] {9}",
        "%s = int64[1] {2}",
        head="input %x : float32[1]\n",
    ),
    "Pad": one("%y = Pad(%x, %p)", "%p = int64[4] {0, 0, 0, 0}", head=N),
    "Transpose": one("%y = Transpose(%x) {perm = [0, 1]}"),
    "Transpose of rank 1": one("%y = Transpose(%x)", head="input %x : float32[n]\n"),
}
SINGLE = {
    op: one(f"%y = {op}(%x) {a}", head=N) for op, a in (("Concat", "{axis = 1}"), ("Sum", ""), ("Max", ""), ("Min", ""))
}
PART = {"Split": one("%y = Split(%x, %s) {axis = 1}", "%s = int64[1] {3}", head=N)}
NEUTRAL = {
    "x * 1": one("%y = Mul(%x, %k)", "%k = float32[] {1.0}"),
    "1 * x": one("%y = Mul(%k, %x)", "%k = float32[1,3] {1.0, 1.0, 1.0}", head=N),
    "x / 1": one("%y = Div(%x, %k)", "%k = int64[1] {1}", head=I),
    "x - 0": one("%y = Sub(%x, %k)", "%k = float32[] {0.0}"),
    "x + 0 for integers": one("%y = Add(%x, %k)", "%k = int64[] {0}", head=I),
    "0 + x for integers": one("%y = Add(%k, %x)", "%k = int64[2,3] {0, 0, 0, 0, 0, 0}", head=I),
    "x + -0.0": one("%y = Add(%x, %k)", "%k = float32[] {-0.0}"),
    "bfloat16": one("%y = Mul(%x, %k)", "%k = bfloat16[] {1.0}", head="input %x : bfloat16[2]\n"),
}
STAYS = {
    "x + 0.0 makes 0.0 of -0.0": one("%y = Add(%x, %k)", "%k = float32[] {0.0}"),
    "x - -0.0 does too": one("%y = Sub(%x, %k)", "%k = float32[] {-0.0}"),
    "x * 0 keeps NaN and infinities": one("%y = Mul(%x, %k)", "%k = float32[] {0.0}"),
    "1 / x": one("%y = Div(%k, %x)", "%k = float32[] {1.0}"),
    "0 - x": one("%y = Sub(%k, %x)", "%k = int64[] {0}", head=I),
    "x * 1.0000001": one("%y = Mul(%x, %k)", "%k = float32[] {1.0000001}"),
    "a neutral constant that widens": one("%y = Mul(%x, %k)", "%k = float32[1,1,1] {1.0}"),
    "a neutral constant that may widen": one(
        "%y = Mul(%x, %k)", "%k = float32[2] {1.0, 1.0}", head="input %x : float32[n]\n"
    ),
    "a neutral constant without elements": one(
        "%y = Mul(%x, %k)", "%k = float32[0] {}", head="input %x : float32[1]\n"
    ),
    "one of two is not neutral": one("%y = Mul(%x, %k)", "%k = float32[3] {1.0, 2.0, 1.0}"),
    "weights that are not there": one(
        "%y = Mul(%x, %k)", "%k = float32[65] 260 bytes ...", head="input %x : float32[65]\n"
    ),
    "a narrower type": one("%y = Cast(%x) {to = 10}"),
    "another shape": one("%y = Reshape(%x, %s)", "%s = int64[2] {3, 2}"),
    "an unknown shape": "input %x : float32[2,3]\ninput %s : int64[2]\n%y = Reshape(%x, %s) #y\noutput %y",
    "an unknown rank": one("%y = Squeeze(%x)", head="input %x : float32[*]\n"),
    "a slice backwards": one(
        "%y = Slice(%x, %a, %b, %i, %s)",
        "%a = int64[1] {-1}",
        "%b = int64[1] {-99}",
        "%i = int64[1] {1}",
        "%s = int64[1] {-1}",
    ),
    "a slice in unknown steps": (
        X + "input %s : int64[1]\nconstant %a = int64[1] {0}\nconstant %b = int64[1] {2}\n"
        "%y = Slice(%x, %a, %b, %a, %s) #y\noutput %y"
    ),
    "padding that shifts": one("%y = Pad(%x, %p)", "%p = int64[4] {1, 0, -1, 0}"),
    "unknown padding": X + "input %p : int64[4]\n%y = Pad(%x, %p) #y\noutput %y",
    "a transpose of equal sides": one("%y = Transpose(%x) {perm = [1, 0]}", head="input %x : float32[2,2]\n"),
    "a transpose without perm": one("%y = Transpose(%x)", head="input %x : float32[2,2]\n"),
    "two parts": one("%y, %z = Split(%x) {axis = 1}", head="input %x : float32[2,4]\n"),
    "two operands": one("%y = Concat(%x, %x) {axis = 0}"),
    "a mean of one, which is no Sum": one("%y = Mean(%x)"),
    "another domain's": one("%y = Mul<own>(%x, %k)", "%k = float32[] {1.0}"),
}


GOES = {"same_shape": SAME, "single": SINGLE, "part": PART, "neutral": NEUTRAL}


def test_every_code_has_an_example():
    check_codes(NoopElimination, GOES)


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, table in GOES.items() for text in table.values()])
def test_goes(code, text):
    step = run(NoopElimination, text)
    assert codes(step) == [code]
    assert step.after.outputs == ("x",)
    assert step.after.output_names == ("y",)


@pytest.mark.parametrize("name", STAYS)
def test_stays(name):
    assert codes(run(NoopElimination, STAYS[name])) == []


def test_a_chain_goes_at_once():
    check_rewrite(
        NoopElimination,
        "neutral",
        X + "constant %k = float32[] {1.0}\n%a = Mul(%x, %k) #a\n%b = Div(%a, %k) #b\n%c = Mul(%k, %b) #c\n"
        "%y = Relu(%c) #y\noutput %y",
        "constant %k = float32[] {1.0}\n%y = Relu(%x) #y\noutput %y",
    )


def test_a_neutral_constant_around_the_loop():
    check_rewrite(
        NoopElimination,
        "neutral",
        """
        input %x : float32[2]
        constant %k = float32[] {1.0}
        constant %trips = int64[] {2}
        %y = Loop(%trips, _, %x) #loop
          body = graph body
            input %i : int64[]
            input %go : bool[]
            input %v : float32[2]
            %m = Mul(%v, %k) #m
            %w = Neg(%m) #w
            output %go
            output %w
        output %y
        """,
        """
        constant %k = float32[] {1.0}
        constant %trips = int64[] {2}
        %y = Loop(%trips, _, %x) #loop
          body = graph body
            %w = Neg(%v) #w
            output %go
            output %w
        output %y
        """,
    )


@pytest.mark.parametrize("opset", [7, 9])
@pytest.mark.parametrize(
    ("node", "goes"),
    [
        ("Slice(%x) {starts = [0], ends = [99], axes = [0]}", True),
        ("Slice(%x) {starts = [1], ends = [99], axes = [0]}", False),
        ("Pad(%x) {pads = [0, 0, 0, 0]}", True),
        ("Pad(%x) {pads = [1, 0, -1, 0]}", False),
        ("Split(%x) {axis = 0, split = [2]}", True),
    ],
)
def test_attributes_of_old_versions(node, goes, opset):
    assert codes(run(NoopElimination, one(f"%y = {node}"), opset=opset)) == (
        ["part" if "Split" in node else "same_shape"] if goes else []
    )


def test_nothing_before_version_7():
    assert codes(run(NoopElimination, one("%y = Mul(%x, %k) {broadcast = 1}", "%k = float32[] {1.0}"), opset=6)) == []


def test_a_constant_that_comes_through_an_idle_node():
    text = X + "constant %k = float32[1] {1.0}\n%r = Cast(%k) {to = 1} #r\n%y = Mul(%x, %r) #y\noutput %y"
    assert codes(run(NoopElimination, text)) == ["same_shape", "neutral"]
