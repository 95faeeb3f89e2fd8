"""Nodes that compute the same become one; those that may not stay two."""

import pytest

from gexplorer.passes.common_subexpression_elimination import CommonSubexpressionElimination
from tests.passes import check_codes, check_reject, check_rewrite, codes, lines_of, run

X = "input %x : float32[8]\n"
REWRITES = {
    "same": (
        X + "%a = Sqrt(%x) #a\n%b = Sqrt(%x) #b\n%c = Neg(%a) #c\n%d = Neg(%b) #d\n%y = Add(%c, %d) #y\noutput %y",
        "%a = Sqrt(%x) #a\n%c = Neg(%a) #c\n%y = Add(%c, %c) #y\noutput %y",
    ),
    "same results": (
        X + "%a = Relu(%x) #a\n%b = Relu(%x) #b\noutput %b\noutput %a",
        "%a = Relu(%x) #a\noutput %a as b\noutput %a",
    ),
    "same with several outputs": (
        "input %x : float32[4]\n%a, %b = Split(%x) #s\n%c, %d = Split(%x) #t\n%y = Add(%b, %d) #y\noutput %y\n"
        "output %c",
        "%a, %b = Split(%x) #s\n%y = Add(%b, %b) #y\noutput %y\noutput %a as c",
    ),
    "same in a branch, of inputs that are the same around it": (
        """
        input %x : float32[8]
        input %c : bool[]
        %a = Abs(%x) #a
        %b = Abs(%x) #b
        %y = If(%c) #if
          else_branch = graph else
            output %a
          then_branch = graph then
            %n = Neg(%a) #n
            %m = Neg(%b) #m
            %s = Add(%n, %m) #s
            output %s
        output %y
        """,
        """
        %a = Abs(%x) #a
        %y = If(%c) #if
          else_branch = graph else
            output %a
          then_branch = graph then
            %n = Neg(%a) #n
            %s = Add(%n, %n) #s
            output %s
        output %y
        """,
    ),
    "same Dropout, as it is not training": (
        X + "constant %off = bool[] {false}\n%a = Dropout(%x, _, %off) #a\n%b = Dropout(%x, _, %off) #b\n"
        "output %a\noutput %b",
        "constant %off = bool[] {false}\n%a = Dropout(%x, _, %off) #a\noutput %a\noutput %a as b",
    ),
}
REJECTS = {
    "random": (
        X
        + "%a = RandomNormalLike(%x) {seed = 1.0} #a\n%b = RandomNormalLike(%x) {seed = 1.0} #b\noutput %a\noutput %b",
        ("b", "a", "b (RandomNormalLike) draws random numbers, so it is not the same as a"),
    ),
    "unknown": (
        X + "%a = Strange<own>(%x) #a\n%b = Strange<own>(%x) #b\noutput %a\noutput %b",
        ("b", "a", "nobody knows whether b (Strange) gives the same twice, so a stays beside it"),
    ),
}
STAYS = {
    "other attributes": X + "%a = Elu(%x) {alpha = 0.5} #a\n%b = Elu(%x) {alpha = 0.25} #b\noutput %a\noutput %b",
    "an attribute left out": X + "%a = Elu(%x) #a\n%b = Elu(%x) {alpha = 1.0} #b\noutput %a\noutput %b",
    "the sign of zero": X
    + "%a = LeakyRelu(%x) {alpha = 0.0} #a\n%b = LeakyRelu(%x) {alpha = -0.0} #b\noutput %a\noutput %b",
    "a whole number and a float": X
    + "%a = Elu(%x) {alpha = 1} #a\n%b = Elu(%x) {alpha = 1.0} #b\noutput %a\noutput %b",
    "swapped inputs": X + "input %z : float32[8]\n%a = Sub(%x, %z) #a\n%b = Sub(%z, %x) #b\noutput %a\noutput %b",
    "another output asked for": (
        "input %x : float32[1,1,4]\n%a = MaxPool(%x) {kernel_shape = [2]} #a\n"
        "%b, %i = MaxPool(%x) {kernel_shape = [2]} #b\noutput %a\noutput %b\noutput %i"
    ),
    "branches": """
        input %x : float32[1]
        input %c : bool[]
        %y = If(%c) #if
          else_branch = graph else
            %n = Neg(%x) #n
            output %n
          then_branch = graph then
            %m = Neg(%x) #m
            output %m
        output %y
        """,
}


def test_every_code_has_an_example():
    check_codes(CommonSubexpressionElimination, REWRITES, REJECTS)


@pytest.mark.parametrize("name", REWRITES)
def test_rewrites(name):
    check_rewrite(CommonSubexpressionElimination, "same", *REWRITES[name])


@pytest.mark.parametrize("name", REJECTS)
def test_near_misses(name):
    check_reject(CommonSubexpressionElimination, name, *REJECTS[name])


@pytest.mark.parametrize("name", STAYS)
def test_stays(name):
    assert codes(run(CommonSubexpressionElimination, STAYS[name])) == []


def test_training_dropouts_draw_each_their_own():
    text = (
        X.replace("8", "64")
        + "constant %on = bool[] {true}\n%a = Dropout(%x, _, %on) #a\n%b = Dropout(%x, _, %on) #b\noutput %a\noutput %b"
    )
    step = run(CommonSubexpressionElimination, text)
    assert [reject.code for reject in step.rejects] == ["random"]


def test_the_one_that_stays_comes_from_all():
    text = X + "%a = Relu(%x) #a\n%b = Relu(%x) #b from b1, b2\n%c = Relu(%x) #c\noutput %a\noutput %b\noutput %c"
    step = run(CommonSubexpressionElimination, text)
    assert step.after.nodes["a"].origin == ("a", "b1", "b2", "c")
    assert lines_of(step.after) == "%a = Relu(%x) #a\noutput %a\noutput %a as b\noutput %a as c"


def test_attributes_that_are_not_a_number():
    text = X + "%a = Elu(%x) {alpha = nan} #a\n%b = Elu(%x) {alpha = nan} #b\noutput %a\noutput %b"
    assert codes(run(CommonSubexpressionElimination, text)) == ["same"]
