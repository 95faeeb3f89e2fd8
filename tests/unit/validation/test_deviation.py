"""How far one result is from another."""

import ml_dtypes
import numpy as np
import pytest

from gexplorer.validation.deviation import Deviation, deviation_of, limit_after
from gexplorer.validation.original import explains

X = np.linspace(-3, 4, 50).astype(np.float32)


def test_equal_results_deviate_by_nothing():
    found = deviation_of(X, X.copy())
    assert (found.absolute, found.relative, found.cosine, found.fault) == (0, 0, 0, "")


def test_the_three_errors():
    moved = X.copy()
    moved[7] += 0.5
    found = deviation_of(X, moved)
    assert found.absolute == pytest.approx(0.5)
    assert found.relative == pytest.approx(0.5 / 4)
    cosine = np.dot(X, moved) / np.linalg.norm(X) / np.linalg.norm(moved)
    assert found.cosine == pytest.approx(1 - cosine, rel=1e-3)
    assert found.fault == "relative error 0.12 (absolute 0.5)"


def test_a_scale_alone_has_no_angle():
    found = deviation_of(X, 2 * X)
    assert found.cosine == pytest.approx(0, abs=1e-12)
    assert found.relative == pytest.approx(1)
    assert deviation_of(X, -X).cosine == pytest.approx(2)
    assert deviation_of(X, np.zeros_like(X)).cosine == 1


@pytest.mark.parametrize(
    ("dtype", "within", "beyond"),
    [
        (np.float64, 0.9e-10, 1.1e-10),
        (np.float32, 0.9e-5, 1.1e-5),
        (np.float16, 1.9e-3, 3.5e-3),
        (ml_dtypes.bfloat16, 0.0156, 0.024),
    ],
)
def test_tolerances_by_type(dtype, within, beyond):
    one = np.array([1, 0.25], np.float64).astype(dtype)
    for off, wrong in ((within, False), (beyond, True)):
        found = deviation_of(one, np.array([1 + off, 0.25]).astype(dtype))
        assert bool(found.fault) == wrong, found


def test_a_tolerance_of_one_s_own():
    assert deviation_of(X, X + np.float32(0.1), 0.1).fault == ""
    assert deviation_of(X, X + np.float32(0.1), 0.01).fault


@pytest.mark.parametrize(
    ("expected", "actual", "fault"),
    [
        (X, X[:-1], "shape (49,), not (50,)"),
        (X, X.astype(np.float64), "dtype float64, not float32"),
        (np.array([1, 2]), np.array([1, 3]), "elements differ"),
        (np.array([1.0, np.nan]), np.array([np.nan, 1.0]), "NaN in other places"),
        (np.array([1.0, np.inf]), np.array([1.0, -np.inf]), "infinities in other places"),
        ([X], [X, X], "2 elements in a sequence of 1"),
        ([X, X], [X, X + 1], "relative error 0.25 (absolute 1)"),
        (None, X, "an optional value is absent on one side"),
        (None, None, ""),
        ([], [], ""),
    ],
)
def test_what_is_no_rounding(expected, actual, fault):
    assert deviation_of(expected, actual).fault == fault
    assert deviation_of(expected, actual, 0.1).fault == fault  # a tolerance is for floats only


def test_nothing_finite_says_nothing():
    assert not deviation_of(np.array([np.nan, np.inf]), np.array([np.nan, np.inf])).finite
    assert deviation_of(np.array([]), np.array([])).finite
    assert deviation_of(X, X).finite


def test_large_numbers_do_not_overflow():
    large = np.array([3e38, -3e38], np.float32)
    assert deviation_of(large, large * np.float32(0.5)).cosine == pytest.approx(0, abs=1e-12)
    huge = np.array([1e300, 1e300])
    assert deviation_of(huge, huge * 0.5).cosine == pytest.approx(0, abs=1e-12)


def test_many_roundings_add_up_as_a_random_walk():
    half = np.zeros(1, np.float16)
    assert limit_after(half, 4) == 2e-3  # what the type has anyway
    assert limit_after(half, 400) == pytest.approx(20 * 2**-11)
    assert limit_after(X, 400) is None
    assert limit_after([half], 400) is None


def test_rounding_explains_only_what_it_can():
    off = Deviation(absolute=1, relative=4e-3, limit=1e-5)
    assert explains(1e-3, off)  # the original moves by a quarter of that all by itself
    assert not explains(0.9e-3, off)
    assert not explains(2e-3, Deviation(absolute=1, relative=4e-3, limit=2e-3))  # it does not move beyond the limit
    assert not explains(1e-3, Deviation(mismatch="NaN in other places"))
