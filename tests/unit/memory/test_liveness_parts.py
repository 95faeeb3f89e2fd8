"""Parts of a Concat are written where they go, and parts of a Split are read where they lie."""

import pytest

from gexplorer.memory.liveness import live
from gexplorer.memory.policy import Policy
from gexplorer.memory.program import BEFORE, Kind, Sharing
from tests.memory_programs import TIGHT, between, cut, homes, joined, over, program, spans

PARTS = {"a": between(32, 0, 2), "b": between(64, 1, 2), "w": between(96, 2, 3)}


def test_parts_lie_in_the_whole_which_lives_from_the_first_of_them():
    found = live(program(4, PARTS, joined("w", ("a", 32), ("b", 64), point=2)), TIGHT)
    assert homes(found) == {"a": ("w", 0), "b": ("w", 32), "w": ("w", 0)}
    assert spans(found) == {"w": (0, 3)}
    assert found.size_bytes.tolist() == [96]
    assert [t.sharing for t in found.table()] == [Sharing.CONCAT, Sharing.CONCAT, None]


def test_no_zero_copy_unless_the_policy_says_so():
    found = live(program(4, PARTS, joined("w", ("a", 32), ("b", 64), point=2)), Policy(1, 0, zero_copy=False))
    assert len(found.owner) == 3


def test_all_parts_or_none():
    rows = joined("w", ("a", 32), ("b", 64), point=2)
    for broken in ({"b": (Kind.OUTPUT, 64, 1, [2])}, {"a": between(-1, 0, 2)}):
        found = live(program(4, PARTS | broken, rows), TIGHT)
        assert {name for name, home in homes(found).items() if home == (name, 0)} >= {"w", "b"}


def test_a_part_may_be_read_later_unless_the_whole_is_overwritten():
    rows = joined("w", ("a", 32), ("b", 64), point=2)
    tensors = PARTS | {"a": between(32, 0, 2, 4), "z": between(96, 3, 4)}
    assert homes(live(program(5, tensors, rows), TIGHT))["a"] == ("w", 0)
    found = homes(live(program(5, tensors, [*rows, over("z", "w", 3)]), TIGHT))
    assert (found["z"], found["a"]) == (("w", 0), ("a", 0))


def test_a_part_that_is_overwritten_after_the_concat_is_copied():
    rows = [*joined("w", ("a", 32), ("b", 64), point=2), over("z", "a", 3)]
    tensors = PARTS | {"a": between(32, 0, 2, 3), "z": between(32, 3, 4), "w": between(96, 2, 4)}
    found = homes(live(program(5, tensors, rows), TIGHT))
    assert (found["z"], found["b"]) == (("a", 0), ("b", 0))


def test_what_was_overwritten_to_make_a_part_moves_with_it():
    rows = [over("b", "m", 1), *joined("w", ("a", 32), ("b", 64), point=2)]
    found = live(program(4, {"m": between(64, 0, 1)} | PARTS, rows), TIGHT)
    assert homes(found)["m"] == homes(found)["b"] == ("w", 32)


def test_offsets_of_wholes_in_wholes_add_up():
    tensors = PARTS | {"c": between(32, 0, 3), "v": between(128, 3, 4)}
    rows = [*joined("w", ("a", 32), ("b", 64), point=2), *joined("v", ("c", 32), ("w", 96), point=3)]
    found = live(program(5, tensors, rows), TIGHT)
    assert homes(found) == {"a": ("v", 32), "b": ("v", 64), "w": ("v", 32), "c": ("v", 0), "v": ("v", 0)}
    assert spans(found) == {"v": (0, 4)}


def test_a_part_lies_in_the_first_whole_that_takes_it():
    tensors = PARTS | {"a": between(32, 0, 2, 3), "c": between(32, 1, 3), "v": between(64, 3, 4)}
    rows = [*joined("w", ("a", 32), ("b", 64), point=2), *joined("v", ("a", 32), ("c", 32), point=3)]
    found = homes(live(program(5, tensors, rows), TIGHT))
    assert found["a"] == ("w", 0)
    assert found["c"] == ("c", 0), "all or none"


def test_a_part_of_a_group_that_is_a_part_already():
    """Two parts of one Concat that are the same bytes cannot be in two places."""
    tensors = {"a": between(32, 0, 1, 2), "v": between(32, 1, 2), "w": between(64, 2, 3)}
    rows = [("v", "a", Sharing.VIEW, 1, 0), *joined("w", ("a", 32), ("v", 32), point=2)]
    assert homes(live(program(4, tensors, rows), TIGHT))["w"] == ("w", 0)
    assert homes(live(program(4, tensors, rows), TIGHT))["a"] == ("a", 0)


SPLIT = {"w": between(96, 0, 1), "a": between(32, 1, 2), "b": between(64, 1, 3)}


def test_parts_of_a_split_keep_the_whole():
    found = live(program(4, SPLIT, cut("w", ("a", 32), ("b", 64), point=1)), TIGHT)
    assert homes(found) == {"w": ("w", 0), "a": ("w", 0), "b": ("w", 32)}
    assert spans(found) == {"w": (0, 3)}


def test_a_part_is_overwritten_only_where_the_whole_is_dead():
    rows = [*cut("w", ("a", 32), ("b", 64), point=1), over("z", "a", 2)]
    tensors = SPLIT | {"z": between(32, 2, 3)}
    found = homes(live(program(4, tensors, rows), TIGHT))
    assert (found["a"], found["z"]) == (("w", 0), ("w", 0))
    found = homes(live(program(4, tensors | {"w": between(96, 0, 1, 3)}, rows), TIGHT))
    assert (found["a"], found["z"]) == (("a", 0), ("a", 0)), "overwritten, so the parts are copies"


def test_a_whole_that_is_overwritten_after_the_split_gives_copies():
    rows = [*cut("w", ("a", 32), ("b", 64), point=1), over("z", "w", 2)]
    tensors = SPLIT | {"w": between(96, 0, 1, 2), "z": between(96, 2, 3)}
    found = homes(live(program(4, tensors, rows), TIGHT))
    assert (found["z"], found["a"], found["b"]) == (("w", 0), ("a", 0), ("b", 0))


@pytest.mark.parametrize("kind", [Kind.INPUT, Kind.WEIGHT, Kind.STATE])
def test_parts_of_an_input_are_read_where_it_lies_but_not_written(kind):
    tensors = SPLIT | {"w": (kind, 96, BEFORE, [1])}
    rows = cut("w", ("a", 32), ("b", 64), point=1)
    found = live(program(4, tensors, rows), TIGHT)
    assert homes(found)["b"] == ("w", 32)
    assert len(found.pool_buffers) == 0
    found = live(program(4, tensors | {"z": between(32, 2, 3)}, [*rows, over("z", "a", 2)]), TIGHT)
    assert homes(found)["a"] == ("a", 0)


def test_a_part_of_a_part_counts_for_the_outermost():
    """What is done to a part of a part is done to the whole: it may not become a part of something that lives on."""
    tensors = {
        "w": between(64, 0, 1, 3),
        "a": between(32, 1, 2),
        "b": between(32, 1, 2),
        "z": between(32, 2, 4),
        "c": between(32, 0, 3),
        "v": between(96, 3, 4),
    }
    join = joined("v", ("w", 64), ("c", 32), point=3)
    rows = [*cut("w", ("a", 32), ("b", 32), point=1), over("z", "a", 2), *join]
    found = homes(live(program(5, tensors, rows), TIGHT))
    assert found["w"] == ("v", 0)
    assert found["a"] == ("a", 0), "z would be written into w, which the Concat still reads"
    dead = tensors | {"w": between(64, 0, 1, 3), "z": between(32, 2)}
    found = homes(live(program(5, dead, [*cut("w", ("a", 32), ("b", 32), point=1), *join]), TIGHT))
    assert (found["a"], found["b"], found["w"]) == (("v", 0), ("v", 32), ("v", 0))


def test_the_part_of_a_split_of_a_part_is_safe_from_what_overwrites_the_outermost():
    tensors = {
        "w": between(64, 0, 1, 2),
        "c": between(32, 0, 1),
        "v": between(96, 1, 3),
        "a": between(32, 2, 4),
        "b": between(32, 2, 4),
        "z": between(96, 3, 4),
    }
    rows = [
        *joined("v", ("w", 64), ("c", 32), point=1),
        *cut("w", ("a", 32), ("b", 32), point=2),
        over("z", "v", 3),
    ]
    found = homes(live(program(5, tensors, rows), TIGHT))
    assert found["z"] == ("v", 0)
    assert found["w"] == ("w", 0), "v is written over at 3"
    assert found["a"] == ("w", 0)


def test_a_part_of_a_whole_that_lives_on_in_another_is_not_overwritten():
    tensors = {
        "w": between(64, 0, 1, 2),
        "c": between(32, 0, 1),
        "v": between(96, 1, 5),
        "a": between(32, 2, 3),
        "b": between(32, 2, 3),
        "z": between(32, 3, 4),
    }
    rows = [
        *joined("v", ("w", 64), ("c", 32), point=1),
        *cut("w", ("a", 32), ("b", 32), point=2),
        over("z", "a", 3),
    ]
    found = homes(live(program(6, tensors, rows), TIGHT))
    assert found["w"] == ("v", 0)
    assert (found["a"], found["z"]) == (("a", 0), ("a", 0)), "v is read after z is written"


def test_a_part_of_a_part_that_is_read_after_the_outermost_is_overwritten():
    tensors = PARTS | {
        "a": between(32, 0, 2, 5),
        "c": between(32, 0, 3),
        "v": between(128, 3, 4),
        "z": between(128, 4, 5),
    }
    rows = [
        *joined("w", ("a", 32), ("b", 64), point=2),
        *joined("v", ("w", 96), ("c", 32), point=3),
        over("z", "v", 4),
    ]
    found = homes(live(program(6, tensors, rows), TIGHT))
    assert (found["a"], found["z"]) == (("w", 0), ("v", 0))
    assert found["w"] == ("w", 0), "a lies in it, and is read after z is written over v"


def test_two_splits_of_one_tensor_have_parts_in_the_same_bytes():
    tensors = {
        "w": between(64, 0, 1, 2),
        "a": between(32, 1, 5),
        "b": between(32, 1, 5),
        "c": between(32, 2, 3),
        "d": between(32, 2, 3),
        "z": between(32, 3, 4),
    }
    rows = [
        *cut("w", ("a", 32), ("b", 32), point=1),
        *cut("w", ("c", 32), ("d", 32), point=2),
        over("z", "c", 3),
    ]
    found = homes(live(program(6, tensors, rows), TIGHT))
    assert (found["a"], found["b"]) == (("w", 0), ("w", 32))
    assert (found["c"], found["z"]) == (("c", 0), ("c", 0)), "a is the same bytes, and read after z is written"
    found = homes(live(program(6, tensors, rows[:4]), TIGHT))
    assert (found["a"], found["c"]) == (("w", 0), ("w", 0))


def test_a_whole_made_of_fixed_parts_is_left_alone():
    rows = joined("w", ("a", 32), ("b", 64), point=2)
    found = live(program(4, PARTS, rows), Policy(1, 0, never_reuse=frozenset("a")))
    assert homes(found) == {"a": ("a", 0), "b": ("b", 0), "w": ("w", 0)}
