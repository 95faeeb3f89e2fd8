"""Problems are checked when they are made: planners see sound columns, or one line says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from gexplorer.errors import OptionError
from gexplorer.memory.problem import make_problem


@pytest.mark.parametrize(
    ("columns", "more", "words"),
    [
        (([0.5], [2], [4]), {}, "lower: a list of whole numbers"),
        (([0], [float("nan")], [4]), {}, "upper: a list of whole numbers"),
        (([0], [1 << 70], [4]), {}, "upper: a list of whole numbers"),
        (([0], [1], ["4"]), {}, "size_bytes: a list of whole numbers"),
        (([[0]], [[1]], [[4]]), {}, "lower: a list of whole numbers"),
        ((np.array([0]), np.array([(1 << 63) + 5], np.uint64), [4]), {}, "9223372036854775813 does not fit"),
        (([-(1 << 63)], [(1 << 63) - 1], [4]), {}, "goes beyond point"),
        (([0, 1], [1, 2], [4, 4]), {"pinned": [0]}, "one offset for each of 2"),
        (([0, 1], [1, 2], [4, 4]), {"pinned": [0, -2]}, "buffer 1: an offset of -2"),
        (([0, 1], [1, 2], [4, 4]), {"apart": [[0, 2]]}, "no buffer 2, there are 2"),
        (([0, 1], [1, 2], [4, 4]), {"apart": [[0, -1]]}, "no buffer -1"),
        (([0, 1], [1, 2], [4, 4]), {"apart": [[0, 1, 1]]}, "pairs of two"),
        (([0, 1], [1, 2], [4, 4]), {"apart": [0, 1]}, "pairs of two"),
        (([0, 1], [1, 2], [4, 4]), {"apart": [[0, 1], [0]]}, "pairs of two"),
    ],
)
def test_columns_of_another_form(columns, more, words):
    with pytest.raises(OptionError, match=r"^.*$") as caught:
        make_problem(*columns, **more)
    assert words in str(caught.value)


def test_nothing_can_change_behind_its_back():
    lower, names = np.array([0, 1]), ["a", "b"]
    problem = make_problem(lower, [2, 3], [4, 4], names, apart=[])
    lower[0] = 7
    names[0] = "c"
    assert (problem.lower.tolist(), problem.names, problem.apart) == ([0, 1], ("a", "b"), None)


def test_it_is_short_to_look_at():
    """A notebook shows what a cell ends with: a line, not a million numbers."""
    count = 10_000
    problem = make_problem(
        np.arange(count), np.arange(count) + 1, np.ones(count, np.int64), [f"t{i}" for i in range(count)]
    )
    assert repr(problem) == "Problem(10000 buffers, bound_bytes=1)"
