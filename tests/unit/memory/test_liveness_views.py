"""Views lie in the tensor that they are views of; operators write over what nobody reads any more."""

import pytest

from gexplorer.memory.extract import program_of
from gexplorer.memory.liveness import live
from gexplorer.memory.policy import Policy
from gexplorer.memory.program import BEFORE, Kind, Sharing
from tests.memory_programs import TIGHT, between, chain, homes, over, program, spans


def test_views_of_views_lie_in_the_first_source_and_keep_it():
    tensors = {"a": between(8, 0, 1), "b": between(8, 1, 2), "c": between(8, 2, 5)}
    found = live(program(6, tensors, [("b", "a", Sharing.VIEW, 1, 0), ("c", "b", Sharing.VIEW, 2, 0)]), TIGHT)
    assert homes(found) == dict.fromkeys("abc", ("a", 0))
    assert spans(found) == {"a": (0, 5)}
    assert [t.sharing for t in found.table()] == [None, Sharing.VIEW, Sharing.VIEW]


def test_a_view_that_is_a_result_takes_its_source_out_of_the_pool():
    tensors = {"a": between(8, 0, 1), "y": (Kind.OUTPUT, 8, 1, [])}
    found = live(program(2, tensors, [("y", "a", Sharing.VIEW, 1, 0)]), TIGHT)
    assert homes(found)["y"] == ("a", 0)
    assert found.kind.tolist() == [Kind.OUTPUT]
    assert len(found.pool_buffers) == 0


@pytest.mark.parametrize("kind", [Kind.WEIGHT, Kind.CONSTANT, Kind.INPUT, Kind.STATE])
def test_a_result_is_never_an_input_or_a_weight(kind):
    tensors = {"x": (kind, 8, BEFORE, [0]), "v": between(8, 0, 1), "y": (Kind.OUTPUT, 8, 1, [2]), "z": between(8, 2)}
    shares = [("v", "x", Sharing.VIEW, 0, 0), ("y", "v", Sharing.VIEW, 1, 0), ("z", "y", Sharing.VIEW, 2, 0)]
    found = live(program(3, tensors, shares), TIGHT)
    assert homes(found) == {"x": ("x", 0), "v": ("x", 0), "y": ("y", 0), "z": ("y", 0)}
    assert found.shared.tolist() == [-1, 0, -1, 2]


def test_two_results_never_are_the_same_bytes():
    tensors = {
        "a": between(8, 0, 1, 2),
        "y": (Kind.OUTPUT, 8, 1, [3]),
        "z": (Kind.OUTPUT, 8, 2, []),
        "u": (Kind.OUTPUT, 8, 3, []),
    }
    shares = [(g, h, Sharing.VIEW, p, 0) for g, h, p in (("y", "a", 1), ("z", "a", 2), ("u", "y", 3))]
    assert homes(live(program(4, tensors, shares), TIGHT)) == {
        "a": ("a", 0),
        "y": ("a", 0),
        "z": ("z", 0),
        "u": ("u", 0),
    }


def test_a_chain_is_one_buffer():
    found = live(program_of(chain()), TIGHT)
    assert {homes(found)[n] for n in "abc"} == {("a", 0)}
    assert spans(found)["a"] == (0, 3)


def test_only_where_the_policy_says_so():
    found = live(program_of(chain()), Policy(1, 0, in_place=False))
    assert [homes(found)[n][0] for n in "abc"] == ["a", "b", "c"]


def test_not_where_somebody_reads_later():
    assert homes(live(program(4, {"a": between(8, 0, 1, 2), "b": between(8, 1, 3)}, [over("b", "a", 1)]), TIGHT))[
        "b"
    ] == ("b", 0)


def test_not_where_somebody_reads_a_view_later():
    tensors = {"a": between(8, 0, 1, 2), "v": between(8, 1, 3), "b": between(8, 2)}
    shares = [("v", "a", Sharing.VIEW, 1, 0), over("b", "a", 2)]
    assert homes(live(program(4, tensors, shares), TIGHT))["b"] == ("b", 0)
    tensors["v"] = between(8, 1)
    assert homes(live(program(4, tensors, shares), TIGHT))["b"] == ("a", 0)


def test_a_view_is_overwritten_with_all_that_it_is_a_view_of():
    tensors = {"a": between(8, 0, 1), "v": between(8, 1, 2), "b": between(8, 2)}
    shares = [("v", "a", Sharing.VIEW, 1, 0), over("b", "v", 2)]
    assert homes(live(program(3, tensors, shares), TIGHT))["b"] == ("a", 0)
    tensors["a"] = between(8, 0, 1, 3)
    assert homes(live(program(4, tensors, shares), TIGHT))["b"] == ("b", 0)


@pytest.mark.parametrize("kind", [Kind.WEIGHT, Kind.CONSTANT, Kind.INPUT, Kind.STATE, Kind.OUTPUT])
def test_never_over_what_is_not_of_the_pool_even_through_a_view(kind):
    tensors = {"x": (kind, 8, BEFORE, [0]), "v": between(8, 0, 1), "b": between(8, 1)}
    found = live(program(2, tensors, [("v", "x", Sharing.VIEW, 0, 0), over("b", "v", 1)]), TIGHT)
    assert homes(found)["b"] == ("b", 0)


def test_a_result_may_be_written_over_what_is_of_the_pool():
    tensors = {"a": between(8, 0, 1), "y": (Kind.OUTPUT, 8, 1, [])}
    found = live(program(2, tensors, [over("y", "a", 1)]), TIGHT)
    assert homes(found)["y"] == ("a", 0)
    assert found.kind.tolist() == [Kind.OUTPUT]


def test_a_loop_may_not_overwrite_what_the_next_turn_reads():
    tensors = {"a": between(8, 0, 2), "b": between(8, 2, 3)}
    assert homes(live(program(4, tensors, [over("b", "a", 2)]), TIGHT))["b"] == ("a", 0)
    assert homes(live(program(4, tensors, [over("b", "a", 2)], loops=[(1, 3)]), TIGHT))["b"] == ("b", 0)


def test_a_guest_takes_its_first_row_and_a_host_its_first_guest():
    both = {"a": between(8, 0, 2), "b": between(8, 1, 2), "c": between(8, 2, 3), "d": between(8, 2, 3)}
    found = live(program(4, both, [over("c", "a", 2), over("c", "b", 2)]), TIGHT)
    assert homes(found)["c"] == ("a", 0)
    found = live(program(4, both, [over("c", "a", 2), over("d", "a", 2)]), TIGHT)
    assert (homes(found)["c"], homes(found)["d"]) == (("a", 0), ("d", 0))
    rows = [over("c", "a", 2), over("d", "a", 2), over("c", "b", 2), over("d", "b", 2)]
    found = live(program(4, both, rows), TIGHT)
    assert (homes(found)["c"], homes(found)["d"]) == (("a", 0), ("b", 0)), (
        "the second host is there for the second guest"
    )


def test_two_views_of_one_tensor_are_one_host():
    tensors = {"a": between(8, 0, 1, 2), "v": between(8, 1, 2), "b": between(8, 2, 3), "c": between(8, 2, 3)}
    view, both = ("v", "a", Sharing.VIEW, 1, 0), [over(guest, host, 2) for guest in "bc" for host in "av"]
    found = live(program(4, tensors, [view, *both]), TIGHT)
    assert sorted(homes(found)[n][0] for n in "bc") == ["a", "c"]
    found = live(program(4, tensors, [view, over("b", "a", 2), over("c", "v", 2)]), TIGHT)
    assert [homes(found)[n][0] for n in "bc"] == ["b", "c"], "each may be over one of the two names that are read"


def test_a_row_of_unequal_sizes_is_left_alone():
    tensors = {"a": between(16, 0, 1), "b": between(8, 1), "v": between(8, 1)}
    found = live(program(2, tensors, [over("b", "a", 1), ("v", "a", Sharing.VIEW, 1, 0)]), TIGHT)
    assert set(homes(found).values()) == {("a", 0), ("b", 0), ("v", 0)}
