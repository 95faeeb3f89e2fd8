"""Identity goes, whatever its type and wherever it stands."""

import pytest

from gexplorer.passes.identity_elimination import IdentityElimination
from tests.passes import check_codes, check_rewrite, codes, run

REWRITES = {
    "identity": (
        "input %x : float32[2]\n%a = Identity(%x) #a\n%b = Identity(%a) #b\n%y = Relu(%b) #y\noutput %y",
        "%y = Relu(%x) #y\noutput %y",
    ),
    "identity of an input that is a result twice": (
        "input %x : float32[2]\n%a = Identity(%x) #a\n%b = Identity(%x) #b\noutput %a\noutput %b",
        "output %x as a\noutput %x as b",
    ),
    "identity of a constant that is a result": (
        "constant %k = float32[1] {2.0}\n%a = Identity(%k) #a\noutput %a",
        "constant %k = float32[1] {2.0}\noutput %k as a",
    ),
    "identity of a sequence": (
        "input %x : float32[2]\n%s = SequenceConstruct(%x, %x) #s\n%a = Identity(%s) #a\n"
        "%n = SequenceLength(%a) #n\noutput %n",
        "%s = SequenceConstruct(%x, %x) #s\n%n = SequenceLength(%s) #n\noutput %n",
    ),
    "identity captured by a branch, and in it": (
        """
        input %x : float32[2]
        input %c : bool[]
        %a = Identity(%x) #a
        %y = If(%c) #if
          else_branch = graph else
            %e = Identity(%a) #e
            output %e
          then_branch = graph then
            %n = Neg(%a) #n
            output %n
        output %y
        """,
        """
        %y = If(%c) #if
          else_branch = graph else
            output %x as e
          then_branch = graph then
            %n = Neg(%x) #n
            output %n
        output %y
        """,
    ),
    "identity in a loop": (
        """
        input %x : float32[2]
        constant %trips = int64[] {3}
        constant %on = bool[] {true}
        %y, %z = Loop(%trips, %on, %x) #loop
          body = graph body
            input %i : int64[]
            input %go : bool[]
            input %v : float32[2]
            %go_out = Identity(%go) #go_out
            %w = Add(%v, %x) #w
            %copy = Identity(%v) #copy
            output %go_out
            output %w
            output %copy
        output %y
        output %z
        """,
        """
        constant %on = bool[] {true}
        constant %trips = int64[] {3}
        %y, %z = Loop(%trips, %on, %x) #loop
          body = graph body
            %w = Add(%v, %x) #w
            output %go as go_out
            output %w
            output %v as copy
        output %y
        output %z
        """,
    ),
}


def test_every_code_has_an_example():
    check_codes(IdentityElimination, REWRITES)


@pytest.mark.parametrize("name", REWRITES)
def test_rewrites(name):
    check_rewrite(IdentityElimination, "identity", *REWRITES[name])


def test_another_domain_s_stays():
    assert codes(run(IdentityElimination, "input %x : float32[2]\n%a = Identity<own>(%x) #a\noutput %a")) == []
