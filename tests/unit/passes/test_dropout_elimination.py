"""Dropout goes where it certainly drops nothing."""

import pytest

from gexplorer.passes.dropout_elimination import DropoutElimination
from tests.passes import check_codes, check_reject, check_rewrite, codes, run

X = "input %x : float32[64]\nconstant %r = float32[] {0.5}\n"
GONE = "constant %r = float32[] {0.5}\n%z = Relu(%x) #z\noutput %z"
REWRITES = {
    "inference": (X + "%y = Dropout(%x, %r) #y\n%z = Relu(%y) #z\noutput %z", GONE),
    "inference with a mask that nothing uses": (X + "%y, %m = Dropout(%x, %r) #y\n%z = Relu(%y) #z\noutput %z", GONE),
    "inference twice": (X + "%a = Dropout(%x, %r) #a\n%y = Dropout(%a) #y\n%z = Relu(%y) #z\noutput %z", GONE),
    "inference by a constant": (
        X + "constant %t = bool[] {false}\n%y = Dropout(%x, %r, %t) #y\noutput %y",
        "constant %r = float32[] {0.5}\nconstant %t = bool[] {false}\noutput %x as y",
    ),
    "ratio of a training graph": (
        X + "constant %t = bool[] {true}\nconstant %n = float32[] {0.0}\n%y, %m = Dropout(%x, %n, %t) #y\noutput %y",
        "constant %n = float32[] {0.0}\nconstant %r = float32[] {0.5}\nconstant %t = bool[] {true}\noutput %x as y",
    ),
    "inference by a constant around the branch": (
        """
        input %x : float32[2]
        input %c : bool[]
        constant %t = bool[] {false}
        %y = If(%c) #if
          else_branch = graph else
            %d = Dropout(%x, _, %t) #d
            output %d
          then_branch = graph then
            %n = Neg(%x) #n
            output %n
        output %y
        """,
        """
        constant %t = bool[] {false}
        %y = If(%c) #if
          else_branch = graph else
            output %x as d
          then_branch = graph then
            %n = Neg(%x) #n
            output %n
        output %y
        """,
    ),
}
REJECTS = {
    "mask_used": (
        X + "%y, %m = Dropout(%x, %r) #y\n%n = Not(%m) #n\noutput %y\noutput %n",
        ("y", "n", "the mask of y is used by n"),
    ),
    "mask_used as a result": (
        X + "%y, %m = Dropout(%x, %r) #y\noutput %y\noutput %m",
        ("y", "m", "the mask of y is used by m"),
    ),
    "training": (
        X + "constant %t = bool[] {true}\n%y = Dropout(%x, %r, %t) #y\noutput %y",
        ("y", None, "y may run in training mode"),
    ),
    "training without a ratio": (
        X + "constant %t = bool[] {true}\n%y = Dropout(%x, _, %t) #y\noutput %y",
        ("y", None, "y may run in training mode"),
    ),
    "training perhaps": (
        X + "input %t : bool[]\n%y = Dropout(%x, %r, %t) #y\noutput %y",
        ("y", None, "y may run in training mode"),
    ),
    "training unless the caller says otherwise": (
        X + "input %t : bool[] default bool[] {false}\n%y = Dropout(%x, %r, %t) #y\noutput %y",
        ("y", None, "y may run in training mode"),
    ),
}


def test_every_code_has_an_example():
    check_codes(DropoutElimination, REWRITES, REJECTS)


@pytest.mark.parametrize("name", REWRITES)
def test_rewrites(name):
    check_rewrite(DropoutElimination, name.split()[0], *REWRITES[name])


@pytest.mark.parametrize("name", REJECTS)
def test_near_misses(name):
    check_reject(DropoutElimination, name.split()[0], *REJECTS[name])


@pytest.mark.parametrize(
    ("opset", "attributes", "gone"),
    [
        (6, "", False),
        (6, "{is_test = 0}", False),
        (6, "{is_test = 1}", True),
        (7, "", True),
        (11, "{ratio = 0.5}", True),
    ],
)
def test_before_version_12_an_attribute_or_nothing_says_it(opset, attributes, gone):
    step = run(DropoutElimination, f"input %x : float32[2]\n%y = Dropout(%x) {attributes} #y\noutput %y", opset=opset)
    assert codes(step) == ["inference"] * gone


@pytest.mark.parametrize("opset", [12, 13, 21, 22, 23])
def test_from_version_12_the_third_input_says_it(opset):
    text = X + "constant %t = bool[] {true}\n%a = Dropout(%x, %r) #a\n%y = Dropout(%a, %r, %t) #y\noutput %y"
    step = run(DropoutElimination, text, opset=opset)
    assert [rewrite.node for rewrite in step.rewrites] == ["a"]
    assert [reject.node for reject in step.rejects] == ["y"]


def test_another_domain_s_stays():
    assert codes(run(DropoutElimination, "input %x : float32[2]\n%a = Dropout<own>(%x) #a\noutput %a")) == []
