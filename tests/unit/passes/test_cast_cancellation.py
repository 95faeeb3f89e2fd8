"""Casts in a row: only what loses nothing may go."""

import pytest

from gexplorer.ir.dtypes import DType
from gexplorer.passes.cast_cancellation import CastCancellation, is_lossless
from tests.passes import check_codes, check_reject, check_rewrite, codes, lines_of, run

FLOAT, INT8, INT32, BOOL, STRING, HALF, DOUBLE = 1, 3, 6, 9, 8, 10, 11

REWRITES = {
    "inverse": (
        "input %x : float16[2]\n%a = Cast(%x) {to = 1} #a\n%b = Cast(%a) {to = 10} #b\n%y = Relu(%b) #y\noutput %y",
        "%y = Relu(%x) #y\noutput %y",
    ),
    "inverse of a result": (
        "input %x : float16[2]\n%a = Cast(%x) {to = 1} #a\n%b = Cast(%a) {to = 10} #b\noutput %b",
        "output %x as b",
    ),
    "inverse beside another user": (
        "input %x : bool[2]\n%a = Cast(%x) {to = 6} #a\n%b = Cast(%a) {to = 9} #b\noutput %a\noutput %b",
        "%a = Cast(%x) {to = 6} #a\noutput %a\noutput %x as b",
    ),
    "merged": (
        "input %x : int8[2]\n%a = Cast(%x) {to = 6} #a\n%b = Cast(%a) {to = 1} #b\noutput %b",
        "%b = Cast(%x) {to = 1} #b\noutput %b",
    ),
    "merged in a chain": (
        "input %x : int8[2]\n%a = Cast(%x) {to = 6} #a\n%b = Cast(%a) {to = 7} #b\n%c = Cast(%b) {to = 11} #c\n"
        "output %c",
        "%c = Cast(%x) {to = 11} #c\noutput %c",
    ),
    "inverse in a branch, of a value around": (
        """
        input %x : float16[2]
        input %c : bool[]
        %y = If(%c) #if
          else_branch = graph else
            %n = Neg(%x) #n
            output %n
          then_branch = graph then
            %a = Cast(%x) {to = 1} #a
            %b = Cast(%a) {to = 10} #b
            output %b
        output %y
        """,
        """
        %y = If(%c) #if
          else_branch = graph else
            %n = Neg(%x) #n
            output %n
          then_branch = graph then
            output %x as b
        output %y
        """,
    ),
}
REJECTS = {
    "lossy": (
        "input %x : float32[2]\n%a = Cast(%x) {to = 10} #a\n%b = Cast(%a) {to = 1} #b\noutput %b",
        ("b", "a", "a casts float32 to float16, which loses values, so b cannot undo it"),
    ),
}
KEPT = {
    "a narrower float": "input %x : float32[2]\n%a = Cast(%x) {to = 10} #a\n%b = Cast(%a) {to = 11} #b\noutput %b",
    "a float made whole": "input %x : float32[2]\n%a = Cast(%x) {to = 6} #a\n%b = Cast(%a) {to = 11} #b\noutput %b",
    "a value between that is a result": (
        "input %x : int8[2]\n%a = Cast(%x) {to = 6} #a\n%b = Cast(%a) {to = 1} #b\noutput %a\noutput %b"
    ),
    "text, whose digits tell the type": (
        "input %x : float16[2]\n%a = Cast(%x) {to = 1} #a\n%b = Cast(%a) {to = 8} #b\noutput %b"
    ),
    "another domain's": "input %x : int8[2]\n%a = Cast<own>(%x) {to = 6} #a\n%b = Cast(%a) {to = 1} #b\noutput %b",
}


def test_every_code_has_an_example():
    check_codes(CastCancellation, REWRITES, REJECTS)


@pytest.mark.parametrize("name", REWRITES)
def test_rewrites(name):
    check_rewrite(CastCancellation, name.split()[0], *REWRITES[name])


@pytest.mark.parametrize("name", REJECTS)
def test_near_misses(name):
    check_reject(CastCancellation, name, *REJECTS[name])


@pytest.mark.parametrize("name", KEPT)
def test_stays(name):
    assert codes(run(CastCancellation, KEPT[name])) == []


def test_the_merged_cast_comes_from_both():
    step = run(CastCancellation, REWRITES["merged in a chain"][0])
    assert step.after.nodes["c"].origin == ("a", "b", "c")


def test_nodes_out_of_program_order():
    text = "input %x : int8[2]\n%b = Cast(%a) {to = 1} #b\n%a = Cast(%x) {to = 6} #a\noutput %b"
    assert lines_of(run(CastCancellation, text).after) == "%b = Cast(%x) {to = 1} #b\noutput %b"


NUMBERS = [d for d in DType if d.bits >= 8 and not d.name.startswith(("COMPLEX", "FLOAT8"))]


@pytest.mark.parametrize("start", NUMBERS)
def test_lossless_means_that_every_extreme_survives(start):
    import numpy as np

    for end in NUMBERS:
        if is_lossless(start, end):
            with np.errstate(all="ignore"):
                values = extremes(start)
                assert (values.astype(end.numpy()).astype(start.numpy()) == values).all(), (start, end)


def extremes(dtype):
    import ml_dtypes
    import numpy as np

    if dtype == DType.BOOL:
        return np.array([False, True])
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy())
        return np.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max], dtype.numpy())
    info = ml_dtypes.finfo(dtype.numpy())
    return np.array([info.min, info.smallest_subnormal, 1 + float(info.eps), info.max, np.inf], dtype.numpy())
