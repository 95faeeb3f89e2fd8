"""Transposes in a row: permutations compose, and nothing else may see what lay between."""

import pytest

from gexplorer.passes.transpose_cancellation import TransposeCancellation
from tests.passes import check_codes, check_reject, check_rewrite, codes, run

REWRITES = {
    "inverse": (
        "input %x : float32[2,3,4]\n%a = Transpose(%x) {perm = [2, 0, 1]} #a\n"
        "%b = Transpose(%a) {perm = [1, 2, 0]} #b\n%y = Relu(%b) #y\noutput %y",
        "%y = Relu(%x) #y\noutput %y",
    ),
    "inverse without perm": (
        "input %x : float32[n,3]\n%a = Transpose(%x) #a\n%b = Transpose(%a) {perm = [1, 0]} #b\noutput %b",
        "output %x as b",
    ),
    "inverse beside another user": (
        "input %x : float32[2,3]\n%a = Transpose(%x) #a\n%b = Transpose(%a) #b\noutput %a\noutput %b",
        "%a = Transpose(%x) #a\noutput %a\noutput %x as b",
    ),
    "merged": (
        "input %x : float32[2,3,4]\n%a = Transpose(%x) {perm = [1, 0, 2]} #a\n"
        "%b = Transpose(%a) {perm = [0, 2, 1]} #b\noutput %b",
        "%b = Transpose(%x) {perm = [1, 2, 0]} #b\noutput %b",
    ),
}
REJECTS = {
    "inner_used": (
        "input %x : float32[2,3,4]\n%a = Transpose(%x) {perm = [1, 0, 2]} #a\n"
        "%b = Transpose(%a) {perm = [0, 2, 1]} #b\noutput %a\noutput %b",
        ("b", "a", "a is also used elsewhere, so merging it into b would save nothing"),
    ),
    "inner_used in a branch": (
        """
        input %x : float32[2,2,2]
        input %c : bool[]
        %a = Transpose(%x) {perm = [1, 0, 2]} #a
        %b = Transpose(%a) {perm = [0, 2, 1]} #b
        %y = If(%c) #if
          else_branch = graph else
            output %b
          then_branch = graph then
            %n = Neg(%a) #n
            output %n
        output %y
        """,
        ("b", "a", "a is also used elsewhere, so merging it into b would save nothing"),
    ),
}
KEPT = {
    "a rank that is not known": "input %x : float32[*]\n%a = Transpose(%x) #a\n%b = Transpose(%a) #b\noutput %b",
    "another domain's": "input %x : float32[2,3]\n%a = Transpose<own>(%x) #a\n%b = Transpose(%a) #b\noutput %b",
    "a producer around the branch": """
        input %x : float32[2,2]
        input %c : bool[]
        %a = Transpose(%x) #a
        %y = If(%c) #if
          else_branch = graph else
            output %x
          then_branch = graph then
            %b = Transpose(%a) #b
            output %b
        output %y
        """,
}


def test_every_code_has_an_example():
    check_codes(TransposeCancellation, REWRITES, REJECTS)


@pytest.mark.parametrize("name", REWRITES)
def test_rewrites(name):
    check_rewrite(TransposeCancellation, name.split()[0], *REWRITES[name])


@pytest.mark.parametrize("name", REJECTS)
def test_near_misses(name):
    check_reject(TransposeCancellation, name.split()[0], *REJECTS[name])


@pytest.mark.parametrize("name", KEPT)
def test_stays(name):
    assert codes(run(TransposeCancellation, KEPT[name])) == []


def test_the_merged_transpose_comes_from_both():
    assert run(TransposeCancellation, REWRITES["merged"][0]).after.nodes["b"].origin == ("a", "b")


def test_a_user_that_goes_later_sets_an_earlier_one_free():
    step = run(
        TransposeCancellation,
        "input %x : float32[2,3,4]\n%a = Transpose(%x) {perm = [1, 0, 2]} #a\n"
        "%b = Transpose(%a) {perm = [0, 2, 1]} #b\n%c = Transpose(%a) {perm = [1, 0, 2]} #c\noutput %b\noutput %c",
    )
    assert codes(step) == ["inverse", "merged"]
    assert step.rejects == ()
