"""A second run of a rule tells every place: part of a match, part of one that is off, or far from the pattern."""

import pytest

from gexplorer.ir.text import from_text
from gexplorer.passes.base import Context
from gexplorer.passes.fusion.account import tell_every
from gexplorer.passes.fusion.messages import MATCHER_KINDS, MATCHER_MESSAGES
from gexplorer.passes.fusion.pattern import either, op
from gexplorer.passes.fusion.rule import Rule
from gexplorer.passes.fusion.rules.conv_scale import ConvScale
from gexplorer.passes.fusion.rules.elementwise_chain import ElementwiseChain
from gexplorer.passes.fusion.rules.gate_up import GateUp
from gexplorer.passes.fusion.rules.moe_experts import MoeExperts
from gexplorer.passes.fusion.rules.qkv import Qkv
from gexplorer.passes.manager import run_passes
from tests.passes import graph_of


def told(rule, model, **knowledge):
    """What a second run says of each place that is no match, after a first that had the same result."""
    context = Context(**knowledge)
    (step,) = run_passes(graph_of(model), [rule], context)
    again = tell_every(step, rule, context)
    assert [(r.node, r.code) for r in again.rewrites] == [(r.node, r.code) for r in step.rewrites]
    assert again.tried == step.tried == len(again.rewrites) + len(again.rejects)
    near = {(reject.node, reject.code) for reject in step.rejects}
    rejects = {reject.node: reject for reject in again.rejects}
    assert len(rejects) == len(again.rejects)
    assert near <= {(reject.node, reject.code) for reject in again.rejects}
    for reject in again.rejects:
        assert "None" not in again.reason(reject)
    return {node: (reject.code, again.reason(reject)) for node, reject in rejects.items()}


class Chain(Rule):
    """Neg of Abs, or Abs of Neg."""

    name = "chain"
    order = 999
    kernel = "Chain"
    near = 2
    pattern = (op.Neg(op.Abs("x")), op.Abs(op.Neg("x")))


CHAIN = "input %x : float32[2]\n%a = Abs(%x) #a\n%b = Neg(%a) #b\n%c = Abs(%b) #c\n%d = Exp(%c) #d\n"
CHAIN += "%e = Neg(%d) #e\noutput %c\noutput %e"


def test_every_place_has_its_reason():
    assert told(Chain, CHAIN) == {
        "a": ("swallowed", "a became part of what this rule fused at b"),
        "c": ("taken_here", "the Neg that c (Abs) reads went into b (Chain), which this rule fused"),
        "e": ("other_operator", "e (Neg) reads d (Exp), not Abs"),
    }


def test_what_is_part_of_a_match_that_is_off():
    found = told(Chain, CHAIN.replace("Abs(%b)", "Relu(%b)"), matches_off={"chain": frozenset("b")})
    assert found["b"] == ("match_off", "this match is switched off")
    assert found["a"] == ("part_off", "a is part of the match at b, which is switched off")


class Telling(Chain):
    """The same where an Exp is near."""

    name = "telling"
    telling = frozenset(("Exp",))
    pattern = (op.Neg(either(op.Exp("x"), op.Abs(op.Exp("x")))),)


def test_places_that_nothing_telling_leads_to_count_too():
    model = "input %x : float32[2]\ninput %i : int64[2]\n%a = Neg(%x) #a\n%b = Exp(%a) #b\n%c = Neg(%b) #c\n"
    assert told(Telling, model + "%d = Neg(%i) #d\noutput %c\noutput %d") == {
        "a": ("no_operator", "a reads x, which no Exp|Abs makes: it is an input or a constant"),
        "d": ("no_operator", "d reads i, which no Exp|Abs makes: it is an input or a constant"),
    }


class Two(Chain):
    """Neg of Abs, or of Exp, or of Relu with one more input than it has."""

    name = "two"
    pattern = (op.Neg(op.Abs("x")), op.Neg(op.Exp("x")), op.Neg(op.Relu("x", "y")))


def test_what_all_patterns_want_is_named():
    model = "input %x : float32[2]\n%a = Tanh(%x) #a\n%b = Neg(%a) #b\n%c = Abs(%b) #c\noutput %c"
    assert told(Two, model)["b"][1] == "b (Neg) reads a (Tanh), not Abs|Exp|Relu"
    (step,) = run_passes(graph_of(model), [Two], Context())
    assert step.rejects == ()


@pytest.mark.parametrize("rule", [Chain, Telling])
def test_an_operator_of_another_domain_is_no_place(rule):
    model = "graph g opset(17, own=1)\n  input %x : float32[2]\n  %e = Exp(%x) #e\n  %a = Neg<own>(%e) #a\n"
    graph = from_text(model + "  %b = Neg(%a) #b\n  output %b\n")
    (step,) = run_passes(graph, [rule], Context())
    assert step.tried == 1
    assert [reject.node for reject in tell_every(step, rule, Context()).rejects] == ["b"]


@pytest.mark.parametrize(("rule", "name", "inputs"), [(GateUp, "MatMul", 2), (MoeExperts, "ScatterND", 3)])
def test_nor_is_it_for_rules_with_a_run_of_their_own(rule, name, inputs):
    reads = ", ".join(["%x"] * inputs)
    model = f"graph g opset(17, own=1)\n  input %x : float32[2,2]\n  %a = {name}<own>({reads}) #a\n  output %a\n"
    (step,) = run_passes(from_text(model), [rule], Context())
    assert (step.tried, tell_every(step, rule, Context()).rejects) == (0, ())


class Foreign(Chain):
    """Abs of another domain's Neg."""

    name = "foreign"
    pattern = (op("own::Neg", op.Abs("x")),)


def test_an_operator_of_this_domain_is_no_place_for_one_of_another():
    (step,) = run_passes(graph_of(CHAIN), [Foreign], Context())
    assert (step.tried, tell_every(step, Foreign, Context()).rejects) == (0, ())


def test_places_of_nested_graphs_are_told_with_their_way_in():
    model = "input %x : float32[2]\ninput %c : bool[]\n%y = If(%c) #if\n  then_branch = graph yes\n"
    model += (
        "    %n = Neg(%x) #n\n    output %n\n  else_branch = graph no\n    %m = Neg(%x) #m\n    output %m\noutput %y"
    )
    (step,) = run_passes(graph_of(model), [Chain], Context())
    again = tell_every(step, Chain, Context())
    ways = [(reject.node, [(place.node, place.attribute) for place in reject.path]) for reject in again.rejects]
    assert sorted(ways) == [("m", [("if", "else_branch")]), ("n", [("if", "then_branch")])]
    assert (step.tried, again.tried, step.rejects) == (2, 2, ())


def test_siblings():
    model = "input %x : float32[4,2]\ninput %r : float32[2,3]\nconstant %a = float32[2,3] {1, 2, 3, 4, 5, 6}\n"
    model += "constant %b = float32[2,3] {2, 2, 3, 4, 5, 6}\n%z = Relu(%x) #z\n%s = MatMul(%z, %a) #s\n"
    model += "%g = MatMul(%x, %a) #g\n%q = MatMul(%x, %r) #q\n%u = MatMul(%x, %b) #u\n%y = Mul(%g, %u) #y\n"
    model += "output %y\noutput %q\noutput %s"
    assert told(GateUp, model) == {
        "s": ("alone", "s alone reads z, 2 are wanted"),
        "q": ("not_constant", "q (MatMul) reads r, which is computed at run time; a constant weight is needed"),
        "u": ("swallowed", "u became part of what this rule fused at g"),
    }
    two = ("count", "2 kernels read x (g, u), 3 are wanted")
    assert {node: told(Qkv, model)[node] for node in "gu"} == {"g": two, "u": two}
    assert told(Qkv, model)["q"][0] == "not_constant"


def test_a_family_that_is_declined_is_told_of_each():
    model = "input %x : float32[4,2]\nconstant %a = float32[2,3] {1, 2, 3, 4, 5, 6}\n%g = MatMul(%x, %a) #g\n"
    model += "%u = MatMul(%x, %a) #u\noutput %g\noutput %u"
    apart = ("apart", "what g and u make does not meet soon: they are no branches of a gated unit")
    assert told(GateUp, model) == {"g": apart, "u": apart}


def test_chains_of_elementwise_operators():
    model = "input %x : float32[2]\n%a = Neg(%x) #a\n%b = Abs(%a) #b\n%s = Size(%b) #s\n%t = Shape(%b) #t\n"
    model += "%c = Relu(%x) #c\noutput %b\noutput %c\noutput %s\noutput %t"
    alone = ("alone", "c (Relu) reads nothing that an operator makes which could join it")
    assert told(ElementwiseChain, model) == {
        "a": ("swallowed", "a became part of what this rule fused at b"),
        "c": alone,
    }
    found = told(ElementwiseChain, model, matches_off={"elementwise_chain": frozenset("b")})
    assert found["a"] == ("part_off", "a is part of the match at b, which is switched off")


def test_scatters_that_add_no_expert():
    model = (
        "input %x : float32[4]\ninput %i : int64[2,1]\ninput %u : float32[2]\n%y = ScatterND(%x, %i, %u) #y\noutput %y"
    )
    said = "y reads i, which no Unsqueeze makes: it is an input or a constant"
    assert told(MoeExperts, model) == {"y": ("no_operator", said)}


def test_sweeps_until_nothing_folds_count_each_place_once():
    model = "input %x : float32[1,1,3]\nconstant %w = float32[1,1,1] {2.0}\nconstant %s = float32[1] {3.0}\n"
    model += "constant %t = float32[1] {5.0}\n%c = Conv(%x, %w) #c\n%a = Mul(%c, %s) #a\n%b = Mul(%a, %t) #b\n"
    model += "%d = Mul(%b, %x) #d\noutput %d"
    (step,) = run_passes(graph_of(model), [ConvScale], Context())
    assert (step.tried, [rewrite.node for rewrite in step.rewrites]) == (3, ["a", "b"])
    assert told(ConvScale, model)["d"][0] == "not_constant"


def test_every_code_of_the_matcher_has_a_kind():
    assert {*MATCHER_KINDS} == {*MATCHER_MESSAGES} - {"fused"}
