"""Shape arithmetic becomes constants, where shapes say it all."""

import pytest

from gexplorer.passes.shape_folding import ShapeFolding
from tests.passes import check_codes, check_reject, check_rewrite, codes, run

REWRITES = {
    "folded": (
        """
        input %x : float32[1,64,n]
        constant %one = int64[1] {1}
        constant %rest = int64[1] {-1}
        %s = Shape(%x) #s
        %c = Gather(%s, %one) #c
        %t = Concat(%c, %rest) {axis = 0} #t
        %y = Reshape(%x, %t) #y
        output %y
        """,
        """
        constant %one = int64[1] {1}
        constant %rest = int64[1] {-1}
        constant %t@0 = int64[2] {64, -1}
        %y = Reshape(%x, %t@0) #y
        output %y
        """,
    ),
    "folded to a result": (
        "input %x : float32[2,3]\n%s = Size(%x) #s\noutput %s",
        "constant %s@0 = int64[] {6}\noutput %s@0 as s",
    ),
    "folded where a dimension is 0": (
        "input %x : float32[0,3]\n%s = Shape(%x) #s\noutput %s",
        "constant %s@0 = int64[2] {0, 3}\noutput %s@0 as s",
    ),
    "folded to booleans": (
        "input %x : float32[2,3]\nconstant %k = int64[] {2}\n%s = Shape(%x) #s\n%e = Equal(%s, %k) #e\noutput %e",
        "constant %e@0 = bool[2] {true, false}\nconstant %k = int64[] {2}\noutput %e@0 as e",
    ),
    "folded in a branch": (
        """
        input %x : float32[4,2]
        input %c : bool[]
        %s = Shape(%x) #s
        %y = If(%c) #if
          else_branch = graph else
            output %x
          then_branch = graph then
            %z = ConstantOfShape(%s) #z
            output %z
        output %y
        """,
        """
        constant %s@0 = int64[2] {4, 2}
        %y = If(%c) #if
          else_branch = graph else
            output %x
          then_branch = graph then
            %z = ConstantOfShape(%s@0) #z
            output %z
        output %y
        """,
    ),
}
SAME = {
    "same_content": (
        """
        input %x : float32[n,6]
        constant %zero = int64[1] {0}
        constant %rest = int64[1] {-1}
        %s = Shape(%x) #s
        %a = Gather(%s, %zero) #a
        %t = Concat(%a, %rest) {axis = 0} #t
        %y = Reshape(%x, %t) #y
        %u = Shape(%y) #u
        %b = Gather(%u, %zero) #b
        %v = Concat(%b, %rest) {axis = 0} #v
        %z = Reshape(%y, %v) #z
        output %z
        """,
        """
        constant %rest = int64[1] {-1}
        constant %zero = int64[1] {0}
        %s = Shape(%x) #s
        %a = Gather(%s, %zero) #a
        %t = Concat(%a, %rest) {axis = 0} #t
        %y = Reshape(%x, %t) #y
        %z = Reshape(%y, %t) #z
        output %z
        """,
    ),
    "same_content as a result": (
        "input %x : float32[n,6]\n%s = Shape(%x) #s\n%r = Neg(%x) #r\n%t = Shape(%r) #t\noutput %s\noutput %t",
        "%s = Shape(%x) #s\noutput %s\noutput %s as t",
    ),
    "same_content of values that die on the way": (
        """
        input %x : float32[n,6]
        constant %zero = int64[1] {0}
        %s = Shape(%x) #s
        %a = Gather(%s, %zero) #a
        %r = Neg(%x) #r
        %t = Shape(%r) #t
        %b = Gather(%t, %zero) #b
        %q = Shape(%r) {start = 0} #q
        output %a
        output %b
        output %q
        """,
        """
        constant %zero = int64[1] {0}
        %s = Shape(%x) #s
        %a = Gather(%s, %zero) #a
        output %a
        output %a as b
        output %s as q
        """,
    ),
}
REJECTS = {
    "symbolic": (
        "input %x : float32[n,m]\n%s = Shape(%x) #s\noutput %s",
        ("s", None, "s (Shape) depends on m, n, which is not known before run time"),
    ),
}
STAYS = {
    "what comes from the elements": "input %x : int64[2]\nconstant %k = int64[] {1}\n%y = Mul(%x, %k) #y\noutput %y",
    "a shape of unknown rank": "input %x : float32[*]\n%s = Shape(%x) #s\noutput %s",
    "shapes that differ": (
        "input %x : float32[n,m]\ninput %z : float32[m,n]\n%s = Shape(%x) #s\n%t = Shape(%z) #t\noutput %s\noutput %t"
    ),
    "the same as another type": "input %x : float32[n]\n%s = Shape(%x) #s\n%t = Size(%x) #t\noutput %s\noutput %t",
    "what a loop changes": """
        input %x : float32[2]
        constant %trips = int64[] {3}
        %n = Size(%x) #n
        %y = Loop(%trips, _, %n) #loop
          body = graph body
            input %i : int64[]
            input %go : bool[]
            input %v : int64[]
            %w = Add(%v, %v) #w
            output %go
            output %w
        output %y
        """,
}


def test_every_code_has_an_example():
    check_codes(ShapeFolding, REWRITES, SAME, REJECTS)


@pytest.mark.parametrize("name", REWRITES)
def test_rewrites(name):
    check_rewrite(ShapeFolding, "folded", *REWRITES[name])


@pytest.mark.parametrize("name", SAME)
def test_what_is_computed_twice(name):
    check_rewrite(ShapeFolding, "same_content", *SAME[name])


@pytest.mark.parametrize("name", REJECTS)
def test_near_misses(name):
    check_reject(ShapeFolding, name, *REJECTS[name])


@pytest.mark.parametrize("name", STAYS)
def test_stays(name):
    step = run(ShapeFolding, STAYS[name])
    assert [rewrite.node for rewrite in step.rewrites if rewrite.node != "n"] == []


def test_the_hint_says_how_to_bind_the_symbol():
    step = run(ShapeFolding, "input %x : float32[n]\n%s = Shape(%x) #s\noutput %s")
    assert step.hint(step.rejects[0]) == "bind it: --shape INPUT:… with a number in place of n"


def test_only_the_last_values_become_constants():
    assert codes(run(ShapeFolding, REWRITES["folded"][0])) == ["folded"]
