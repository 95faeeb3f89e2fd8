import numpy as np
import pytest

from gexplorer.memory.happens_before import clocks_of
from gexplorer.memory.museum.plans import apart
from gexplorer.memory.museum.sketch import Sketch
from gexplorer.memory.program import Sharing


def fork(*syncs):
    """make on stream 0; left reads on 1, right and late on 0; all come together in join."""
    sketch = Sketch({"in": 64}).run("make", "in", {"x": 64}, stream=0).run("left", "x", {"l": 64}, stream=1)
    sketch.run("right", "x", {"r": 64}, stream=0).run("late", "r", {"z": 64}, stream=0)
    sketch.run("join", "l z", {"y": 64}, stream=0).sync("make", "left").sync("left", "join")
    for first, second in syncs:
        sketch.sync(first, second)
    return apart(sketch.program())


def put(plan, guest, host, shift_bytes=0):
    return plan.put(plan.program.tensors.index(guest), plan.program.tensors.index(host), shift_bytes)


def test_order_within_a_stream_and_by_syncs_and_on_through_both():
    program = fork().program
    clocks = clocks_of(program)
    make, left, right, late, join = range(5)
    before = {(a, b) for a in range(5) for b in range(5) if a != b and clocks.before(a, b)}
    assert before == {(make, left), (make, right), (make, late), (make, join)} | {
        (left, join),
        (right, late),
        (right, join),
        (late, join),
    }
    assert all(clocks.before(-1, point) for point in range(5))


def test_clocks_agree_with_reachability():
    rng = np.random.default_rng(5)
    for _ in range(30):
        points, names = int(rng.integers(2, 25)), int(rng.integers(1, 5))
        sketch = Sketch()
        streams = [*range(2), *rng.integers(0, names, points)]
        for point, stream in enumerate(streams):
            sketch.run(f"op{point}", writes={f"t{point}": 1}, stream=int(stream))
        pairs = rng.integers(0, len(streams), (points, 2))
        for first, second in pairs[pairs[:, 0] < pairs[:, 1]].tolist():
            sketch.sync(f"op{first}", f"op{second}")
        reach = np.array(
            [[a < b and streams[a] == streams[b] for b in range(len(streams))] for a in range(len(streams))]
        )
        reach[tuple(pairs[pairs[:, 0] < pairs[:, 1]].T)] = True
        for middle in range(len(streams)):
            reach |= np.outer(reach[:, middle], reach[middle])
        clocks = clocks_of(sketch.program())
        found = [[clocks.before(a, b) for b in range(len(streams))] for a in range(len(streams))]
        np.testing.assert_array_equal(found, reach)


def test_streams_on_which_nobody_reads():
    program = Sketch().run("A", writes={"a": 8}, stream=0).run("B", writes={"b": 8}, stream=1).program()
    assert apart(program).verify() == ()
    assert put(apart(program), "b", "a").verify().counts == {"reuse_races": 1}


def test_what_shares_nothing_cannot_race():
    assert fork().verify() == ()


def test_reuse_names_both_streams_and_the_sync_that_is_missing():
    (finding,) = put(fork(), "z", "x").verify()
    assert finding.code == "reuse_races"
    assert finding.sentence == ("late on stream 0 writes z over x, which left on stream 1 may not be done with")
    assert finding.hint == "let late wait for left"
    assert finding.parameters["missing_sync"] == (1, 3)


@pytest.mark.parametrize("sync", [("left", "late"), ("left", "right")])
def test_a_sync_before_the_writer_makes_it_right(sync):
    assert put(fork(sync), "z", "x").verify() == ()


def test_a_read_that_nobody_waits_for():
    sketch = Sketch({"in": 64}).run("make", "in", {"x": 64}, stream=0).run("use", "x", {"y": 64}, stream=1)
    (finding,) = apart(sketch.program()).verify()
    assert finding.code == "read_races"
    assert finding.sentence == "use on stream 1 reads x, which make on stream 0 may not have written yet"
    assert finding.hint == "let use wait for make"
    assert apart(sketch.sync("make", "use").program()).verify() == ()


def test_a_sync_backwards_in_order_is_none():
    sketch = Sketch({"in": 64}).run("make", "in", {"x": 64}, stream=0).run("use", "x", {"y": 64}, stream=1)
    assert apart(sketch.sync("use", "make").program()).verify().counts == {"read_races": 1}


def test_a_view_does_not_run_and_its_readers_are_its_sources():
    sketch = Sketch({"in": 64}).run("make", "in", {"x": 64}, stream=0)
    sketch.run("reshape", "x", {"v": 64}, stream=1).may(Sharing.VIEW, "v", "x").run("use", "v", {"y": 64}, stream=0)
    plan = apart(sketch.run("other", "y", {"z": 64}, stream=0).program())
    assert plan.verify() == ()  # make and use are on one stream; the Reshape does nothing
    late = Sketch({"in": 64}).run("make", "in", {"x": 64}, stream=0).run("reshape", "x", {"v": 64}, stream=0)
    late.may(Sharing.VIEW, "v", "x").run("use", "v", {"y": 64}, stream=1).sync("make", "use")
    plan = apart(late.run("other", "in", {"z": 64}, stream=0).run("end", "z", {"e": 8}, stream=0).program())
    (finding,) = put(plan, "z", "x").verify()
    assert (finding.code, finding.parameters["first"]) == ("reuse_races", "v")


def test_in_place_waits_for_the_other_readers():
    sketch = Sketch({"in": 64}).run("make", "in", {"x": 64}, stream=0).run("left", "x", {"l": 64}, stream=1)
    sketch.sync("make", "left").run("relu", "x", {"r": 64}, stream=0).may(Sharing.IN_PLACE, "r", "x")
    sketch.run("join", "l r", {"y": 64}, stream=0).sync("left", "join")
    assert put(apart(sketch.program()), "r", "x").verify().counts == {"reuse_races": 1}
    assert put(apart(sketch.sync("left", "relu").program()), "r", "x").verify() == ()


@pytest.mark.parametrize("first", [0, 32])
def test_the_bytes_that_a_small_tensor_leaves_still_belong_to_the_large_one(first):
    """z takes one half of x after a sync; w takes the other half before one."""
    sketch = Sketch({"in": 64}).run("make", "in", {"x": 64}, stream=0).run("left", "x", {"l": 8}, stream=1)
    sketch.sync("make", "left").run("other", "in", {"z": 32}, stream=1).run("more", "in", {"w": 32}, stream=0)
    sketch.run("join", "l z w", {"y": 8}, stream=0).sync("other", "join")
    plan = put(apart(sketch.program()), "z", "x", first)
    assert plan.verify() == ()
    (finding,) = put(plan, "w", "x", 32 - first).verify()
    assert (finding.code, finding.parameters["first"], finding.parameters["second"]) == ("reuse_races", "x", "w")


@pytest.mark.parametrize("both", [True, False])
def test_a_reader_waits_only_for_the_writers_of_its_own_bytes(both):
    """A view of the half of a Concat that ``a`` was written into: neither ``b`` nor the copy of it matters."""
    sketch = Sketch({"in": 64}).run("A", "in", {"a": 32}, stream=0).run("B", "in", {"b": 32}, stream=1)
    sketch.run("concat", "a b", {"whole": 64}, stream=2).sync("A", "concat").sync("B", "concat")
    sketch.may(Sharing.CONCAT, "a", "whole").may(Sharing.CONCAT, "b", "whole", 32)
    sketch.run("slice", "whole", {"v": 32}, stream=3).may(Sharing.VIEW, "v", "whole")
    plan = apart(sketch.run("use", "v", {"y": 32}, stream=3).sync("A", "use").program())
    plan = put(plan, "a", "whole")
    plan = put(plan, "b", "whole", 32) if both else plan
    assert plan.verify() == ()
    other = apart(sketch.run("late", "whole", {"z": 64}, stream=3).program())
    other = put(put(other, "a", "whole"), "b", "whole", 32) if both else put(other, "a", "whole")
    (finding,) = other.verify()
    assert (finding.code, finding.parameters["writer"]) == ("read_races", "B" if both else "concat")
