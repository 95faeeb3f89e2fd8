from __future__ import annotations

from gexplorer.kernels.affine import Affine, least, variable


def test_expressions_add_and_cancel():
    m, n = variable("m"), variable("n")
    assert (m + n * 2 - 3).at({"m": 10, "n": 4}) == 15
    assert (m - m) == Affine()
    assert m + n == n + m
    assert [str(e) for e in (m + n * 2 - 3, Affine(300) - m, m * 0, n * -1 + 4)] == [
        "-3 + m + 2*n",
        "300 - m",
        "0",
        "4 - n",
    ]


def test_the_least_is_never_below_zero_and_keeps_one_constant():
    length = least(128, 200, Affine(300) - variable("m"))
    assert [length.at({"m": m}) for m in (0, 256, 400)] == [128, 44, 0]
    assert str(length) == "min(128, 300 - m)"
    assert str(least(128)) == "128"
