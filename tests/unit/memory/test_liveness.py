import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gexplorer.memory.extract import program_of
from gexplorer.memory.liveness import last_reads, live
from gexplorer.memory.policy import Policy
from gexplorer.memory.program import BEFORE, Kind, MayShare, Program, Sharing
from tests.memory_graphs import batched, flat, simple

TIGHT = Policy.unaligned()
EMPTY = np.zeros((0, 2), dtype=np.int64)


def ints(values):
    return np.array(values, dtype=np.int64)


def program(points, tensors, shares=(), loops=(), streams=None, syncs=None):
    """Columns of tensors ``name: (kind, bytes, writer, readers)``; shares: guest, host, sharing, point, offset."""
    names = list(tensors)
    reads = [(i, point) for i, (*_, readers) in enumerate(tensors.values()) for point in readers]
    rows = sorted(((names.index(g), names.index(h), o, s, p) for g, h, s, p, o in shares), key=lambda row: row[4])
    return Program(
        operators=tuple(f"n{i}" for i in range(points)),
        tensors=tuple(names),
        size_bytes=ints([size for _, size, *_ in tensors.values()]),
        kind=ints([kind for kind, *_ in tensors.values()]),
        writer=ints([writer for _, _, writer, _ in tensors.values()]),
        read_tensor=ints([t for t, _ in reads]),
        read_point=ints([p for _, p in reads]),
        may_share=MayShare(*(ints([row[i] for row in rows]) for i in range(5))),
        loops=ints(list(loops)).reshape(-1, 2),
        streams=None if streams is None else ints(streams),
        syncs=None if syncs is None else ints(list(syncs)).reshape(-1, 2),
    )


def between(size, writer, *readers):
    return Kind.INTERMEDIATE, size, writer, readers


def homes(liveness):
    """For each tensor the name of the buffer that it lies in, and where."""
    owner = [liveness.program.tensors[i] for i in liveness.owner]
    return {
        name: (owner[b], int(o)) if b >= 0 else None
        for name, b, o in zip(liveness.program.tensors, liveness.buffer, liveness.offset_bytes, strict=True)
    }


def spans(liveness):
    owner = [liveness.program.tensors[i] for i in liveness.owner]
    return {name: (int(a), int(b)) for name, a, b in zip(owner, liveness.first, liveness.last, strict=True)}


def chain(types="xabcy", ops=("Kernel", "Relu", "Relu", "Kernel"), size=2):
    nodes = [(op, types[i], types[i + 1]) for i, op in enumerate(ops)]
    return simple(nodes, inputs=types[0], outputs=types[-1], types={n: flat(size) for n in types})


# -- lifetimes ------------------------------------------------------------------------------------------------


def test_from_the_write_to_the_last_read():
    found = live(program(4, {"a": between(8, 0, 1, 3), "b": between(8, 1, 2), "c": between(8, 2)}), TIGHT)
    assert spans(found) == {"a": (0, 3), "b": (1, 2), "c": (2, 2)}
    problem, rows = found.problem()
    assert (problem.lower.tolist(), problem.upper.tolist()) == ([0, 1, 2], [4, 3, 3])
    assert (problem.size_bytes.tolist(), list(problem.names), rows.tolist()) == ([8, 8, 8], ["a", "b", "c"], [0, 1, 2])


def test_closed_lifetimes_do_not_even_touch():
    columns = program(4, {"a": between(8, 0, 1), "b": between(8, 2, 3)})
    assert live(columns, TIGHT).problem()[0].bound_bytes == 8
    assert live(columns, Policy(1, 0, closed=True)).problem()[0].bound_bytes == 16


def test_an_operators_inputs_never_share_with_its_outputs():
    columns = program(3, {"a": between(8, 0, 1), "b": between(8, 1, 2)})
    assert live(columns, TIGHT).problem()[0].bound_bytes == 16


def test_what_is_not_in_the_pool_lives_throughout():
    tensors = {
        "w": (Kind.WEIGHT, 8, BEFORE, [2]),
        "c": (Kind.CONSTANT, 8, BEFORE, []),
        "x": (Kind.INPUT, 8, BEFORE, [0]),
        "s": (Kind.STATE, 8, BEFORE, [1]),
        "y": (Kind.OUTPUT, 8, 1, []),
        "k": (Kind.WORKSPACE, 8, 2, []),
        "a": between(8, 0, 1),
    }
    found = live(program(4, tensors), TIGHT)
    assert spans(found) == dict.fromkeys("wcxsy", (0, 3)) | {"k": (2, 2), "a": (0, 1)}
    assert [found.program.tensors[found.owner[b]] for b in found.pool_buffers] == ["k", "a"]
    assert [Kind(k).name for k in found.kind] == [Kind(k).name for k, *_ in tensors.values()]


def test_what_has_no_size_has_no_buffer():
    found = live(program(2, {"a": between(-1, 0, 1), "b": between(8, 0, 1)}), TIGHT)
    assert found.buffer.tolist() == [-1, 0]
    assert len(found.problem()[0]) == 1
    assert found.tensor(0).size_bytes is None


def test_sizes_are_padded_and_aligned_and_kept_raw():
    found = live(program(1, {"a": between(802816, 0), "k": (Kind.WORKSPACE, 100, 0, [])}))
    assert found.size_bytes.tolist() == [803328, 512]
    assert found.raw_bytes.tolist() == [802816, 100]


def test_sizes_are_64_bits_wide():
    size = 1 << 40
    found = live(program(2, {"a": between(size, 0, 1), "b": between(size, 1)}), TIGHT)
    assert found.problem()[0].bound_bytes == 2 * size


def test_an_empty_program():
    found = live(program(0, {"x": (Kind.INPUT, 8, BEFORE, [])}), TIGHT)
    assert len(found.problem()[0]) == 0
    assert live(program(0, {})).problem()[0].bound_bytes == 0


def test_loops_hold_what_was_there_before():
    tensors = {
        "outside": between(8, 0, 3),
        "inside": between(8, 2, 3),
        "both": between(8, 0, 1, 6),
        "carried": between(8, 1, 5),
        "inner": between(8, 2, 4),
    }
    columns = program(7, tensors, loops=[(2, 5)])
    assert last_reads(columns).tolist() == [5, 3, 6, 5, 4]


def test_the_outermost_loop_that_began_after_the_write_counts():
    loops = [(3, 4), (2, 6), (1, 8), (10, 12)]
    tensors = {
        "a": between(8, 0, 3),
        "b": between(8, 1, 4),
        "c": between(8, 2, 3),
        "d": between(8, 3, 4),
        "e": between(8, 0, 9),
    }
    assert last_reads(program(13, tensors, loops=loops)).tolist() == [8, 6, 4, 4, 9]


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_last_reads_agree_with_loops_unrolled(data):
    """Runs the points with every loop turned twice, and sees where each value that is written is still wanted."""
    points = data.draw(st.integers(1, 12))
    loops: list[tuple[int, int]] = []
    for _ in range(data.draw(st.integers(0, 4))):
        first = data.draw(st.integers(0, points - 1))
        last = data.draw(st.integers(first, points - 1))
        crossing = any(a < first <= b < last or first < a <= last < b for a, b in loops)
        if not crossing and all(a != first for a, _ in loops):
            loops.append((first, last))
    tensors = {}
    for i in range(data.draw(st.integers(1, 5))):
        writer = data.draw(st.integers(BEFORE, points - 1))
        readers = data.draw(st.lists(st.integers(writer + 1, points), max_size=3))
        tensors[f"t{i}"] = between(8, writer, *sorted({r for r in readers if r < points}))

    def trace(first, last):
        """The points from first to last as they run."""
        at = first
        while at <= last:
            loop = max(((a, b) for a, b in loops if a == at and b <= last and (a, b) != (first, last)), default=None)
            if loop is not None:
                yield from turns(loop)
                at = loop[1] + 1
            else:
                yield at
                at += 1

    def turns(loop):
        inner = list(trace(*loop))
        return inner + inner

    run = list(trace(0, points - 1)) if (0, points - 1) not in loops else turns((0, points - 1))
    expected = []
    for _, _, writer, readers in tensors.values():
        needed = {writer}
        if writer == BEFORE:
            reads = [i for i, p in enumerate(run) if p in readers]
            needed.update(run[: reads[-1] + 1] if reads else ())
        else:
            writes = [i for i, p in enumerate(run) if p == writer]
            for start, end in zip(writes, [*writes[1:], len(run)], strict=True):
                reads = [i for i in range(start, end) if run[i] in readers]
                needed.update(run[start : reads[-1] + 1] if reads else ())
        expected.append(max(needed))
    assert last_reads(program(points, tensors, loops=loops)).tolist() == expected


# -- sharing: views -------------------------------------------------------------------------------------------


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


# -- sharing: in place ----------------------------------------------------------------------------------------


def over(guest, host, point):
    return guest, host, Sharing.IN_PLACE, point, 0


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


# -- sharing: Concat and Split --------------------------------------------------------------------------------


def joined(whole, *parts, point, offset=0):
    rows = []
    for name, size in parts:
        rows.append((name, whole, Sharing.CONCAT, point, offset))
        offset += size
    return rows


def cut(whole, *parts, point):
    return [(name, host, Sharing.SPLIT, p, o) for name, host, _, p, o in joined(whole, *parts, point=point)]


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


# -- never reused ---------------------------------------------------------------------------------------------


def test_what_must_not_be_reused_lives_throughout_by_name_or_operator():
    columns = program_of(chain())
    by_name = live(columns, Policy(1, 0, never_reuse=frozenset({"b"})))
    assert spans(by_name)["b"] == (0, 3)
    assert homes(by_name) == {n: (n, 0) for n in "xabcy"}, "nor does it lie in another's place, or another in its"
    by_operator = live(columns, Policy(1, 0, never_reuse=frozenset({"n2", "no such thing"})))
    assert spans(by_operator)["c"] == (0, 3)
    assert homes(by_operator)["b"] == ("a", 0)
    views = simple(
        [("Kernel", "x", "a"), ("Reshape", "a", "b"), ("Kernel", "b", "c"), ("Kernel", "c", "y")],
        inputs="x",
        outputs="y",
        types={n: flat(2) for n in "xacy"} | {"b": batched(2)},
    )
    found = live(program_of(views), Policy(1, 0, never_reuse=frozenset({"b"})))
    assert spans(found)["a"] == (0, 3)


# -- streams --------------------------------------------------------------------------------------------------


def test_without_a_sync_nothing_is_proven():
    tensors = {"a": between(8, 0, 1), "b": between(8, 2, 3), "c": between(8, 4, 5)}
    apart = program(6, tensors, streams=[0, 0, 1, 1, 0, 0])
    found = live(apart, TIGHT)
    assert spans(found)["a"] == (0, 3), "the other stream may run before it is over"
    assert found.problem()[0].bound_bytes == 16
    synced = program(6, tensors, streams=[0, 0, 1, 1, 0, 0], syncs=[(1, 2), (3, 4)])
    assert spans(live(synced, TIGHT)) == {"a": (0, 1), "b": (2, 3), "c": (4, 5)}
    assert live(synced, TIGHT).problem()[0].bound_bytes == 8


def test_an_earlier_read_on_another_stream_may_be_the_last_to_end():
    tensors = {"a": between(8, 0, 1, 3), "b": between(8, 4, 5)}
    streams, syncs = [0, 1, 1, 0, 0, 0], [(0, 1)]
    assert spans(live(program(6, tensors, streams=streams, syncs=syncs), TIGHT))["a"] == (0, 5)
    assert spans(live(program(6, tensors, streams=streams, syncs=[*syncs, (1, 4)]), TIGHT))["a"] == (0, 3)
    assert spans(live(program(6, tensors, streams=streams, syncs=[*syncs, (1, 5)]), TIGHT))["a"] == (0, 4)


def test_what_nobody_reads_is_held_until_it_is_proven_to_be_written():
    tensors = {"a": between(8, 0), "b": between(8, 2)}
    assert spans(live(program(4, tensors, streams=[0, 0, 1, 1]), TIGHT))["a"] == (0, 3)
    assert spans(live(program(4, tensors, streams=[0, 0, 1, 1], syncs=[(0, 3)]), TIGHT))["a"] == (0, 2)


def test_no_operator_writes_over_what_another_stream_reads():
    tensors = {"a": between(8, 0, 1, 2), "b": between(8, 2, 3)}
    rows = [over("b", "a", 2)]
    assert homes(live(program(4, tensors, rows), TIGHT))["b"] == ("a", 0)
    for streams in ([0, 1, 0, 0], [0, 0, 1, 1]):
        assert homes(live(program(4, tensors, rows, streams=streams), TIGHT))["b"] == ("b", 0)
    assert homes(live(program(4, tensors, rows, streams=[0, 0, 0, 1]), TIGHT))["b"] == ("a", 0)


def test_without_reuse_across_streams_one_stream_reuses_and_the_others_keep():
    tensors = {
        "a": between(8, 0, 1),
        "b": between(4, 1, 2),
        "c": between(8, 3, 4),
        "d": between(4, 5, 6),
        "e": between(8, 3, 5),
    }
    streams = [0, 1, 1, 0, 0, 1, 1]
    policy = Policy(1, 0, across_streams=False)
    found = live(program(7, tensors, streams=streams, syncs=[(0, 1), (3, 5)]), policy)
    whole = (0, 6)
    assert spans(found) == {"a": (0, 4), "b": whole, "c": (3, 4), "d": whole, "e": (3, 5)}
    synced = live(program(7, tensors, streams=streams, syncs=[(0, 1), (1, 3), (3, 5)]), policy)
    assert spans(synced)["a"] == (0, 1), "the other stream's read is proven to be over"


@st.composite
def streamed(draw):
    points = draw(st.integers(1, 14))
    streams = draw(st.lists(st.integers(0, 2), min_size=points, max_size=points))
    pairs = [(a, b) for a in range(points) for b in range(a + 1, points) if streams[a] != streams[b]]
    syncs = draw(st.lists(st.sampled_from(pairs), max_size=6)) if pairs else []
    tensors = {}
    for i in range(draw(st.integers(1, 6))):
        writer = draw(st.integers(0, points - 1))
        readers = draw(st.lists(st.integers(0, points - 1), max_size=3))
        tensors[f"t{i}"] = between(8, writer, *sorted({r for r in readers if r > writer}))
        # A program that reads what may not have been written yet would be wrong by itself.
        syncs += [(writer, r) for r in readers if r > writer and streams[r] != streams[writer]]
    return points, streams, syncs, tensors


@given(streamed(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_intervals_that_do_not_meet_are_proven_to_follow(case, across):
    points, streams, syncs, tensors = case
    after = np.zeros((points, points), dtype=bool)
    for a in range(points):
        for b in range(a + 1, points):
            after[a, b] = streams[a] == streams[b] or (a, b) in syncs
    for middle in range(points):
        after |= after[:, middle : middle + 1] & after[middle : middle + 1, :]
    columns = program(points, tensors, streams=streams, syncs=syncs)
    found = live(columns, Policy(1, 0, across_streams=across))
    names = list(tensors)
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            if found.last[i] < found.first[j]:
                before = [tensors[a][2], *tensors[a][3]]
                behind = [tensors[b][2], *tensors[b][3]]
                assert all(after[p, q] for p in before for q in behind), (a, b)
                if not across:
                    assert streams[tensors[a][2]] == streams[tensors[b][2]]


@given(streamed())
@settings(max_examples=100, deadline=None)
def test_no_interval_is_longer_than_it_must_be(case):
    """At its last point a buffer is accessed, or that point is not proven to come after an access."""
    points, streams, syncs, tensors = case
    after = np.zeros((points, points), dtype=bool)
    for a in range(points):
        for b in range(a + 1, points):
            after[a, b] = streams[a] == streams[b] or (a, b) in syncs
    for middle in range(points):
        after |= after[:, middle : middle + 1] & after[middle : middle + 1, :]
    found = live(program(points, tensors, streams=streams, syncs=syncs), TIGHT)
    for i, (_, _, writer, readers) in enumerate(tensors.values()):
        accesses = [writer, *readers]
        last = int(found.last[i])
        assert last in accesses or not all(after[a, last] for a in accesses)


# -- reading it -----------------------------------------------------------------------------------------------


def test_the_table_says_all_about_a_tensor():
    found = live(program_of(chain()))
    b = {row.name: row for row in found.table()}["b"]
    assert (b.size_bytes, b.first_write, b.last_read, b.producer, b.readers) == (64, 1, 2, "n1", ("n2",))
    assert (b.kind, b.offset_bytes, b.sharing) == (Kind.INTERMEDIATE, 0, Sharing.IN_PLACE)
    assert [found.program.tensors[i] for i in found.tensors_in(b.buffer)] == ["a", "b", "c"]
    x = found.tensor(0)
    assert (x.producer, x.first_write, x.readers) == ("", BEFORE, ("n0",))


def test_columns_cannot_be_changed():
    found = live(program_of(chain()))
    for column in (
        found.buffer,
        found.offset_bytes,
        found.shared,
        found.first,
        found.last,
        found.size_bytes,
        found.owner,
    ):
        assert not column.flags.writeable


@pytest.mark.parametrize("policy", [Policy(), Policy(in_place=False, closed=True)])
def test_every_tensor_lies_inside_its_buffer_and_its_buffer_lives_as_long(policy):
    from tests.memory_graphs import MemoryGraphs

    for seed in range(40):
        found = live(program_of(MemoryGraphs(seed).graph()), policy)
        columns = found.program
        inside = found.buffer >= 0
        b = found.buffer[inside]
        assert (found.offset_bytes[inside] + columns.size_bytes[inside] <= found.raw_bytes[b]).all()
        assert (found.first[b] <= np.maximum(columns.writer[inside], 0)).all()
        assert (found.last[b] >= np.where(columns.kind[inside] >= Kind.INTERMEDIATE, found.last_read[inside], 0)).all()
        assert (columns.kind[inside] >= found.kind[b]).all()
