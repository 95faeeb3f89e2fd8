"""How long tensors live, in loops too, and what the table says of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gexplorer.memory.extract import program_of
from gexplorer.memory.liveness import last_reads, live
from gexplorer.memory.policy import Policy
from gexplorer.memory.program import BEFORE, Kind, Sharing
from tests.memory_graphs import batched, flat, simple
from tests.memory_programs import TIGHT, between, chain, homes, program, spans


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
