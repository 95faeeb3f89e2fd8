"""Small charts and courses: what is left out of a path draws the same line."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

from gexplorer.render.chart import bar, sparkline
from gexplorer.render.html import text
from gexplorer.render.pool_shapes import Scale, steps_shape


@pytest.mark.parametrize("values", [(5, 5, 5, 3, 3, 9), (1, 2), (0, 0), (4, 4, 4, 4), (1, 2, 3, 3), (7, 7, 1)])
def test_a_course_passes_through_every_value(values: tuple[int, ...]) -> None:
    drawn = re.findall(r' d="M([^"]*)"', text(sparkline(values, "nodes")))
    points = np.array(drawn[1].split(), float).reshape(-1, 2)
    at = np.linspace(0, 100, len(values))
    np.testing.assert_allclose(
        np.interp(at, points[:, 0], points[:, 1]), [25 - 23 * v / max(*values, 1) for v in values], atol=0.01
    )
    assert drawn[0] == f"{drawn[1]} 100 26 0 26z"


def test_a_course_says_its_values_and_how_often_they_come() -> None:
    assert "<title>nodes: 1,017 × 3, 640, 1,017</title>" in text(sparkline((1017, 1017, 1017, 640, 1017), "nodes"))


def test_a_bar_is_as_long_as_its_part() -> None:
    assert '<rect width="12.5%"/>' in text(bar(0.125))
    assert "<rect" not in text(bar(0))


@pytest.mark.parametrize(
    "values", [(0, 0, 0), (3, 3, 1, 1, 3), (9,), (), (1, 1, 1, 8), (8, 1, 1, 1), (2, 5, 5, 2, 2, 2, 7)]
)
def test_a_course_of_bytes_covers_what_it_should(values: tuple[int, ...]) -> None:
    """The height of the shape in the middle of every step, and nothing behind the last point."""
    scale = Scale(max(len(values), 1), 10, 100)
    shape = steps_shape(np.arange(len(values)), np.array(values, np.int64), scale, "live")
    x, y, corners = 0.0, 100.0, [(0.0, 100.0)]
    for letter, number in re.findall(r"([HV])([0-9.]+)", shape.get("d", "")):
        x, y = (float(number), y) if letter == "H" else (x, float(number))
        corners.append((x, y))
    assert shape.get("d", "").startswith("M0 100")
    assert shape.get("d", "").endswith("z")
    for point, value in enumerate(values[:-1]):
        middle = 1000 * (point + 0.5) / len(values)
        level = next(a[1] for a, b in pairwise(corners) if a[0] <= middle < b[0])
        assert level == pytest.approx(100 - 10 * value, abs=0.06)
    if values:
        assert corners[-1] == (pytest.approx(1000 * (len(values) - 1) / len(values), abs=0.06), 100.0)
