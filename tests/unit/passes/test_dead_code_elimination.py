"""What no result depends on goes, and nothing else."""

import pytest

import gexplorer as gx
from gexplorer.passes.base import Context
from gexplorer.passes.dead_code_elimination import DeadCodeElimination
from gexplorer.passes.fusion.rules.elementwise_chain import ElementwiseChain
from gexplorer.passes.fusion.rules.matmul_scale import MatMulScale
from gexplorer.passes.fusion.rules.qkv import Qkv
from gexplorer.passes.manager import run_passes
from gexplorer.passes.pruning import Pruning
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


DEAD_READER = """
    input %x : float32[8,8]
    input %w : float32[8,8]
    constant %two = float32[] {2.0}
    %m = MatMul(%x, %w) #m
    %n = Exp(%m) #n
    %y = Mul(%m, %two) #y
    output %y
    """


def test_a_reader_that_nobody_reads_keeps_no_rule_from_fusing():
    blocked = run(MatMulScale, DEAD_READER)
    assert codes(blocked) == []
    (_, step) = run_passes(blocked.before, [DeadCodeElimination, MatMulScale], Context())
    assert codes(step) == ["fused"]


DEAD_ROOT = """
    input %x : float32[8,8]
    input %w : float32[8,8]
    constant %two = float32[] {2.0}
    %m = MatMul(%x, %w) #m
    %y = Mul(%m, %two) #y
    %e = Exp(%x) #e
    %n = Neg(%e) #n
    output %x
    """
DEAD_SIBLINGS = """
    input %x : float32[2,2]
    constant %a = float32[2,2] {1.0, 1.5, 2.0, 2.5}
    constant %b = float32[2,2] {2.0, 2.5, 3.0, 3.5}
    constant %c = float32[2,2] {3.0, 3.5, 4.0, 4.5}
    %q = MatMul(%x, %a) #q
    %k = MatMul(%x, %b) #k
    %v = MatMul(%x, %c) #v
    output %x
    """


@pytest.mark.parametrize("rule", [MatMulScale, ElementwiseChain, Qkv])
def test_what_nobody_reads_is_not_fused(rule):
    """A kernel without outputs would come of it."""
    step = run(rule, DEAD_SIBLINGS if rule is Qkv else DEAD_ROOT)
    assert codes(step) == []


def test_what_fusing_left_is_pruned_at_the_end():
    compiled = gx.compile("bert-base:small=true,layers=1", validate="off")
    (rewrite,) = compiled.steps["pruning"].rewrites
    assert rewrite.code == "unused_constants"
    kept = compiled.replace(fusion={"pruning": False})
    assert len(kept.graph.values) > len(compiled.graph.values)
    assert issubclass(Pruning, DeadCodeElimination)
