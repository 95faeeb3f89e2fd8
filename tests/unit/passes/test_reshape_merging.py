"""Views in a row: one Reshape, where its shape can be written down."""

import pytest

from gexplorer.passes.reshape_merging import ReshapeMerging
from tests.passes import check_codes, check_reject, check_rewrite, codes, run

X = "input %x : float32[2,3,4]\n"
REWRITES = {
    "inverse": (
        X
        + "constant %s = int64[3] {2, 3, 4}\n%a = Flatten(%x) #a\n%b = Reshape(%a, %s) #b\n%y = Relu(%b) #y\noutput %y",
        "constant %s = int64[3] {2, 3, 4}\n%y = Relu(%x) #y\noutput %y",
    ),
    "inverse of a symbolic shape": (
        "input %x : float32[n,4]\nconstant %f = int64[1] {0}\n"
        "%a = Unsqueeze(%x, %f) #a\n%b = Squeeze(%a, %f) #b\noutput %b",
        "constant %f = int64[1] {0}\noutput %x as b",
    ),
    "merged": (
        X + "constant %s = int64[2] {6, -1}\nconstant %f = int64[1] {0}\n"
        "%a = Reshape(%x, %s) #a\n%b = Unsqueeze(%a, %f) #b\noutput %b",
        "constant %b/shape@0 = int64[3] {1, 6, 4}\nconstant %f = int64[1] {0}\nconstant %s = int64[2] {6, -1}\n"
        "%b = Reshape(%x, %b/shape@0) #b\noutput %b",
    ),
    "merged with one symbol": (
        "input %x : float32[n,2,3]\nconstant %f = int64[1] {0}\n%a = Flatten(%x) #a\n"
        "%b = Unsqueeze(%a, %f) #b\noutput %b",
        "constant %b/shape@0 = int64[3] {1, -1, 6}\nconstant %f = int64[1] {0}\n"
        "%b = Reshape(%x, %b/shape@0) #b\noutput %b",
    ),
    "merged to a scalar": (
        "input %x : float32[1,1]\nconstant %s = int64[1] {-1}\nconstant %f = int64[1] {0}\n"
        "%a = Reshape(%x, %s) #a\n%b = Squeeze(%a, %f) #b\noutput %b",
        "constant %b/shape@0 = int64[0] {}\nconstant %f = int64[1] {0}\nconstant %s = int64[1] {-1}\n"
        "%b = Reshape(%x, %b/shape@0) #b\noutput %b",
    ),
    "merged where 0 meant copy": (
        X + "constant %s = int64[2] {0, -1}\nconstant %t = int64[2] {-1, 0}\n"
        "%a = Reshape(%x, %s) #a\n%b = Reshape(%a, %t) #b\n%y = Unsqueeze(%b, %u) #y\n"
        "constant %u = int64[1] {2}\noutput %y",
        "constant %s = int64[2] {0, -1}\nconstant %t = int64[2] {-1, 0}\nconstant %u = int64[1] {2}\n"
        "constant %y/shape@1 = int64[3] {2, 12, 1}\n%y = Reshape(%x, %y/shape@1) #y\noutput %y",
    ),
}
REJECTS = {
    "inner_used": (
        X + "constant %f = int64[1] {0}\n%a = Flatten(%x) #a\n%b = Unsqueeze(%a, %f) #b\noutput %a\noutput %b",
        ("b", "a", "a is also used elsewhere, so merging it into b would save nothing"),
    ),
    "dynamic": (
        "input %x : float32[n,m,3]\nconstant %f = int64[1] {0}\n"
        "%a = Unsqueeze(%x, %f) #a\n%b = Unsqueeze(%a, %f) #b\noutput %b",
        ("b", None, "the shape that b gives is not known before run time"),
    ),
    "empty": (
        "input %x : float32[0,3]\nconstant %f = int64[1] {0}\n%a = Unsqueeze(%x, %f) #a\n"
        "%b = Unsqueeze(%a, %f) #b\noutput %b",
        ("b", None, "b gives the shape [1, 1, 0, 3], but a 0 in the shape of a Reshape means another thing"),
    ),
}
KEPT = {
    "a shape of unknown rank": (
        "input %x : float32[2,3]\ninput %s : int64[k]\nconstant %t = int64[1] {-1}\n"
        "%a = Reshape(%x, %t) #a\n%b = Reshape(%a, %s) #b\noutput %b"
    ),
    "equal shapes in another order": (
        "input %x : float32[a,b]\n%t = Transpose(%x) #t\n%s = Shape(%t) #s\nconstant %f = int64[1] {-1}\n"
        "%y = Reshape(%x, %s) #y\noutput %y"
    ),
    "another domain's": (
        X + "constant %f = int64[1] {0}\n%a = Flatten<own>(%x) #a\n%b = Unsqueeze(%a, %f) #b\noutput %b"
    ),
}


def test_every_code_has_an_example():
    check_codes(ReshapeMerging, REWRITES, REJECTS)


@pytest.mark.parametrize("name", REWRITES)
def test_rewrites(name):
    before, after = REWRITES[name]
    if "copy" in name:  # a chain of three: the first merge is an inverse step on the way
        assert run(ReshapeMerging, before).after.nodes["y"].inputs[0] == "x"
        return
    check_rewrite(ReshapeMerging, name.split()[0], before, after)


@pytest.mark.parametrize("name", REJECTS)
def test_near_misses(name):
    check_reject(ReshapeMerging, name, *REJECTS[name])


@pytest.mark.parametrize("name", KEPT)
def test_stays(name):
    assert codes(run(ReshapeMerging, KEPT[name])) == []


def test_the_merged_reshape_comes_from_both_and_has_lost_the_attributes():
    node = run(ReshapeMerging, REWRITES["merged"][0]).after.nodes["b"]
    assert node.origin == ("a", "b")
    assert not node.attributes


def test_axes_as_attributes():
    text = X + "%a = Unsqueeze(%x) {axes = [0]} #a\n%b = Squeeze(%a) {axes = [0]} #b\noutput %b"
    check_rewrite(ReshapeMerging, "inverse", text, "output %x as b", opset=11)
