"""What no result depends on goes, and nothing else."""

import pytest

from gexplorer.passes.dead_code_elimination import DeadCodeElimination
from tests.passes import check_codes, codes, lines_of, run

BRANCH = """
    input %x : float32[2]
    input %c : bool[]
    constant %k = float32[1] {2.0}
    %a = Relu(%x) #a
    %y = If(%c) #if
      else_branch = graph else
        %u = Neg(%a) #u
        constant %l = float32[1] {3.0}
        output %x
      then_branch = graph then
        %v = Mul(%x, %k) #v
        output %v
    output %y
    """
GONE = {
    "dead": (
        "input %x : float32[2]\n%a = Neg(%x) #a\n%b = Neg(%a) #b\n%y = Relu(%x) #y\noutput %y",
        "%y = Relu(%x) #y\noutput %y",
    ),
    "dead with no outputs": ("input %x : float32[2]\n_ = Neg(%x) #a\noutput %x", "output %x"),
    "dead with nested graphs": (
        BRANCH.replace("output %y", "output %x"),
        "output %x",
    ),
    "dead in a branch, and what only it used": (
        BRANCH,
        "constant %k = float32[1] {2.0}\n%y = If(%c) #if\n  else_branch = graph else\n    output %x\n"
        "  then_branch = graph then\n    %v = Mul(%x, %k) #v\n    output %v\noutput %y",
    ),
    "unused_constants": (
        "input %x : float32[2]\nconstant %k = float32[2] {1.0, 2.0}\n%y = Relu(%x) #y\noutput %y",
        "%y = Relu(%x) #y\noutput %y",
    ),
    "unused_constants where no node is left": (
        "input %x : float32[2]\nconstant %k = float32[1] {2.0}\n%a = Neg(%k) #a\noutput %x",
        "output %x",
    ),
}
STAYS = {
    "one of two outputs": "input %x : float32[4]\n%a, %b = Split(%x) #s\noutput %b",
    "what only a branch uses": """
        input %x : float32[2]
        input %c : bool[]
        constant %k = float32[1] {2.0}
        %a = Mul(%x, %k) #a
        %y = If(%c) #if
          else_branch = graph else
            output %a
          then_branch = graph then
            output %x
        output %y
        """,
    "a constant that is a result": (
        "input %x : float32[1]\nconstant %k = float32[1] {2.0}\n%y = Relu(%x) #y\noutput %y\noutput %k"
    ),
    "an input that nothing uses": "input %x : float32[1]\ninput %z : float32[1]\n%y = Relu(%x) #y\noutput %y",
}


def test_every_code_has_an_example():
    check_codes(DeadCodeElimination, GONE)


@pytest.mark.parametrize("name", GONE)
def test_goes(name):
    before, after = GONE[name]
    step = run(DeadCodeElimination, before)
    assert lines_of(step.after) == after
    assert name.split()[0] in codes(step)


@pytest.mark.parametrize("name", STAYS)
def test_stays(name):
    assert codes(run(DeadCodeElimination, STAYS[name])) == []


def test_the_sentence_counts_constants_and_bytes():
    step = run(DeadCodeElimination, GONE["unused_constants"][0])
    assert step.reason(step.rewrites[0]) == "1 constants (8 bytes) are used by nothing"
