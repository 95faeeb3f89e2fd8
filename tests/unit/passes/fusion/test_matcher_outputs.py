"""What the matcher and the rule do around a place: second outputs, the largest place first, telling operators."""

from itertools import pairwise

import numpy as np

from gexplorer.ir.constant import constant
from gexplorer.ir.draft import Draft
from gexplorer.passes.base import Context, Log
from gexplorer.passes.fusion.matcher import is_number
from gexplorer.passes.fusion.pattern import const, either, extent, op, through
from gexplorer.passes.fusion.rule import Rule
from gexplorer.passes.manager import run_passes
from tests.fused import check_kernels, check_miss
from tests.passes import graph_of, run


class Pair(Rule):
    """Relu and Neg behind it, the first of which may be used again."""

    name = "pair"
    order = 999
    kernel = "Pair"
    pattern = op.Sub(op.Neg(op.Relu("x", exposed=True)), "y")


def test_outputs_of_the_root_come_first():
    model = "input %x : float32[2]\ninput %y : float32[2]\n%a = Relu(%x) #a\n%b = Neg(%a) #b\n%c = Sub(%b, %y) #c\n"
    check_kernels(Pair, model + "output %a\noutput %c", "%c, %a = Pair<ge>(%x, %y) #c\noutput %a\noutput %c")
    check_kernels(Pair, model + "output %c", "%c = Pair<ge>(%x, %y) #c\noutput %c")


def test_a_way_out_that_leads_back_in():
    model = "input %x : float32[2]\n%a = Relu(%x) #a\n%s = Exp(%a) #s\n%t = Log(%s) #t\n%b = Neg(%a) #b\n"
    said = ("t", "a, which a makes, is used outside too, and t may come of it: it would wait for itself")
    check_miss(Pair, model + "%c = Sub(%b, %t) #c\noutput %c", "comes_back", *said)


def test_a_way_that_does_not():
    model = "input %x : float32[2]\n%a = Relu(%x) #a\n%s = Exp(%a) #s\n%t = Log(%x) #t\n%b = Neg(%a) #b\n"
    after = "%t = Log(%x) #t\n%c, %a = Pair<ge>(%x, %t) #c\n%s = Exp(%a) #s\noutput %c\noutput %s"
    check_kernels(Pair, model + "%c = Sub(%b, %t) #c\noutput %c\noutput %s", after)


class Triple(Rule):
    """The same with an Abs in front."""

    name = "triple"
    order = 999
    kernel = "Triple"
    pattern = op.Sub(op.Neg(op.Relu(op.Abs("x"), exposed=True)), "y")


def long_history(name):
    """600 operators that lead up to a value, and the input that they begin with."""
    names = [f"%{name}0", *(f"%{name}_{i}" for i in range(599)), f"%{name}"]
    steps = "".join(f"{made} = Tanh({read}) #{made[1:]}\n" for read, made in pairwise(names))
    return f"input {names[0]} : float32[2]\n{steps}"


def outcomes(rule, model):
    (step,) = run_passes(graph_of(model), [rule], Context())
    return [rewrite.code for rewrite in step.rewrites], [reject.code for reject in step.rejects]


def test_what_enters_above_a_way_out_cannot_lead_back_in_however_long_its_history():
    model = long_history("x") + "input %y : float32[2]\n%p = Abs(%x) #p\n%a = Relu(%p) #a\n%s = Exp(%a) #e\n"
    assert outcomes(Triple, model + "%b = Neg(%a) #b\n%c = Sub(%b, %y) #c\noutput %c\noutput %s") == (["fused"], [])


def test_a_history_too_long_to_look_through_might_lead_back_in():
    model = "input %x : float32[2]\n" + long_history("y") + "%a = Relu(%x) #a\n%s = Exp(%a) #e\n%b = Neg(%a) #b\n"
    assert outcomes(Pair, model + "%c = Sub(%b, %y) #c\noutput %c\noutput %s") == ([], ["comes_back"])


class Twice(Rule):
    """One constant that is multiplied with and then added."""

    name = "twice"
    order = 999
    kernel = "Twice"
    pattern = op.Add(op.Mul("x", const("k")), const("k"))


def test_a_constant_of_one_name_is_one_constant():
    model = "input %x : float32[2]\nconstant %k = float32[2] {2.0, 3.0}\nconstant %m = float32[2] {2.0, 4.0}\n"
    model += "%a = Mul(%x, %k) #a\n"
    check_kernels(Twice, model + "%c = Add(%a, %k) #c\noutput %c", "%c = Twice<ge>(%x, %k) #c\noutput %c")
    assert outcomes(Twice, model + "%c = Add(%a, %m) #c\noutput %c") == ([], ["different_values"])


def test_a_number_is_one_to_within_the_rounding_of_its_type():
    for dtype, near, far in (
        (np.float32, 0.5000002, 0.500001),
        (np.float16, 0.5004, 0.501),
        (np.float64, 0.5, 0.50001),
    ):
        assert is_number(constant(np.array([0.5, near], dtype)), 0.5)
        assert not is_number(constant(np.array([0.5, far], dtype)), 0.5)


class Chain(Rule):
    """Abs, with or without Neg behind it."""

    name = "chain"
    order = 999
    kernel = "Chain"
    latest_first = True
    telling = frozenset(("Abs",))
    pattern = (op.Neg(op.Abs("x")), op("Abs", "x"))


CHAIN = "input %x : float32[2]\n%a = Abs(%x) #a\n%b = Neg(%a) #b\n%c = Neg(%b) #c\noutput %c"


def test_the_larger_place_is_taken():
    check_kernels(Chain, CHAIN, "%b = Chain<ge>(%x) #b\n%c = Neg(%b) #c\noutput %c")


def test_a_place_that_is_off_is_not_taken_in_part():
    graph = graph_of(CHAIN)
    (step,) = run_passes(graph, [Chain], Context(matches_off={"chain": frozenset(("b",))}))
    assert step.after is graph
    assert [(r.node, r.code) for r in step.rejects] == [("b", "match_off")]


def test_what_fused_as_a_part_is_no_near_miss():
    step = run(Chain, CHAIN.replace("output %c", "output %c\noutput %a"))
    assert [rewrite.node for rewrite in step.rewrites] == ["a"]
    assert step.rejects == ()


def test_only_places_near_a_telling_operator_are_looked_at():
    tried = []

    class Spy(Chain):
        name = "spy"

        def _try(self, patterns, node, draft, log, **settings):
            tried.append(node.name)

    far = "".join(f"%d{i + 1} = Neg(%d{i}) #d{i + 1}\n" for i in range(5))
    draft = Draft(graph_of(f"input %d0 : float32[2]\n{far}output %d5\n" + CHAIN))
    Spy().run(draft, Log(draft), Context())
    assert tried == ["c", "b", "a"]


def test_the_extent_of_a_pattern():
    inner = either(op.Mul("x", op("com.microsoft::Gelu", "x")), through("Cast|Reshape", op.Add("x", 1), most=3))
    assert extent([op.Neg(inner)]) == (frozenset(("Neg", "Mul", "Gelu", "Cast", "Reshape", "Add")), 5)
