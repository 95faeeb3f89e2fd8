import subprocess
import sys
from dataclasses import replace
from time import process_time

import numpy as np
import pytest

from gexplorer.memory.findings import MESSAGES
from gexplorer.memory.museum.plans import PlacedTensors, apart
from gexplorer.memory.museum.sketch import Sketch
from gexplorer.memory.problem import FREE
from gexplorer.memory.program import Kind, MayShare, Program, Sharing


def row(plan, name):
    return plan.program.tensors.index(name)


def put(plan, guest, host, shift_bytes=0):
    """One tensor moved into another's buffer, which grows if it must."""
    moved = plan.put(row(plan, guest), row(plan, host), shift_bytes)
    size = moved.size.copy()
    buffer = moved.buffer[row(plan, host)]
    size[buffer] = max(size[buffer], moved.offset[row(plan, guest)] + plan.program.size_bytes[row(plan, guest)])
    return replace(moved, size=size)


def only(plan):
    """The one finding: its code, the names of its rows, its window and its span."""
    found = plan.verify()
    assert len(found) == found.total == 1, [f.sentence for f in found]
    (finding,) = found
    assert "{" not in finding.sentence + (finding.hint or "")
    return finding.code, tuple(plan.program.tensors[r] for r in finding.rows), finding.window, finding.span


def chain():
    """x -> a -> b -> c -> y, each of 64 bytes."""
    sketch = Sketch({"x": 64}).run("A", "x", {"a": 64}).run("B", "a", {"b": 64}).run("C", "b", {"c": 64})
    return sketch.run("Y", "c", {"y": 64}, kind=Kind.OUTPUT)


def test_what_shares_nothing_is_sound():
    assert apart(chain().program()).verify() == ()


def test_a_dead_tensor_gives_its_place_away():
    assert put(apart(chain().program()), "c", "a").verify() == ()


def test_an_output_over_an_input_of_the_same_operator():
    finding = only(put(apart(chain().program()), "b", "a", 32))
    assert finding == ("overwritten", ("a", "b"), (1, 1), (96, 128))


def test_the_sentence_names_tensors_and_operators():
    (finding,) = put(apart(chain().may(Sharing.IN_PLACE, "y", "c").program()), "b", "a").verify()
    assert finding.sentence == "B writes b over a, which B still reads"


def test_in_place_at_the_last_reader():
    plan = apart(chain().program())
    share = Sketch({"x": 64}).run("A", "x", {"a": 64}).run("B", "a", {"b": 64}).may(Sharing.IN_PLACE, "b", "a")
    allowed = apart(share.run("C", "b", {"c": 64}).program())
    assert put(allowed, "b", "a").verify() == ()
    assert only(put(plan, "b", "a"))[0] == "overwritten"  # nobody allowed it
    assert only(put(allowed, "b", "a", 8))[:2] == ("in_place_shifted", ("a", "b"))


def test_in_place_with_another_size_is_not_the_same_bytes():
    sketch = Sketch({"x": 64}).run("A", "x", {"a": 64}).run("cast", "a", {"b": 32}).may(Sharing.IN_PLACE, "b", "a")
    assert only(put(apart(sketch.run("C", "b", {"c": 64}).program()), "b", "a"))[0] == "in_place_shifted"


def test_in_place_over_an_input_that_the_operator_also_reads_by_another_name():
    sketch = Sketch({"x": 64}).run("A", "x", {"a": 64}).run("reshape", "a", {"v": 64}).may(Sharing.VIEW, "v", "a")
    sketch.run("add", "a v", {"sum": 64}).may(Sharing.IN_PLACE, "sum", "a")
    assert only(put(apart(sketch.run("C", "sum", {"c": 64}).program()), "sum", "a"))[0] == "in_place_still_needed"
    sketch = Sketch({"x": 64}).run("A", "x", {"a": 64}).run("reshape", "a", {"v": 64}).may(Sharing.VIEW, "v", "a")
    sketch.run("add", "a v", {"sum": 64}).may(Sharing.IN_PLACE, "sum", "a").may(Sharing.IN_PLACE, "sum", "v")
    assert put(apart(sketch.run("C", "sum", {"c": 64}).program()), "sum", "a").verify() == ()


def test_two_results_of_one_operator():
    sketch = Sketch({"x": 64}).run("top_k", "x", {"values": 32, "indices": 32})
    plan = apart(sketch.run("use", "values", {"y": 32}).program())
    assert only(put(plan, "indices", "values"))[:3] == ("outputs_collide", ("values", "indices"), (0, 0))


def test_two_results_of_one_operator_are_named_and_not_their_parts():
    sketch = Sketch({"in": 64}).run("A", "in", {"a": 64, "b": 32}).run("use", "b", {"u": 8})
    sketch.run("split", "a", {"low": 32, "high": 32}).may(Sharing.SPLIT, "low", "a").may(Sharing.SPLIT, "high", "a", 32)
    plan = put(put(apart(sketch.run("end", "low high u", {"y": 8}).program()), "low", "a"), "high", "a", 32)
    assert only(put(plan, "b", "a", 32))[:2] == ("outputs_collide", ("a", "b"))


def test_a_whole_that_holds_another_part_is_not_named():
    sketch = Sketch({"in": 64}).run("A", "in", {"x": 64}).run("split", "x", {"low": 32, "high": 32})
    sketch.may(Sharing.SPLIT, "low", "x").may(Sharing.SPLIT, "high", "x", 32).run("B", "in", {"w": 32})
    sketch.run("use", "low w", {"other": 32}).run("concat", "other high", {"y": 64})
    sketch.may(Sharing.CONCAT, "other", "y").may(Sharing.CONCAT, "high", "y", 32)
    plan = put(put(apart(sketch.run("end", "y", {"z": 64}).program()), "low", "x"), "high", "x", 32)
    plan = put(plan, "y", "x")  # high stays, other is copied to where low was
    assert plan.verify() == ()
    assert only(put(plan, "w", "x"))[:2] == ("overwritten", ("low", "w"))


def test_a_workspace_is_needed_while_its_operator_runs_and_no_longer():
    sketch = Sketch({"x": 64}).run("A", "x", {"a": 64})
    sketch.run("B", "a", {"scratch": 64}, kind=Kind.WORKSPACE).run("C", "a", {"c": 64}).run("D", "c", {"d": 64})
    plan = apart(sketch.program())
    assert only(put(plan, "scratch", "a"))[:2] == ("unread_output_overwrites", ("a", "scratch"))
    assert put(plan, "c", "scratch").verify() == ()


def split_and_concat():
    """x is cut into halves that change places."""
    sketch = Sketch({"in": 64}).run("A", "in", {"x": 64}).run("split", "x", {"low": 32, "high": 32})
    sketch.may(Sharing.SPLIT, "low", "x", 0).may(Sharing.SPLIT, "high", "x", 32)
    sketch.run("concat", "high low", {"y": 64})
    sketch.may(Sharing.CONCAT, "high", "y", 0).may(Sharing.CONCAT, "low", "y", 32)
    return apart(sketch.run("use", "y", {"z": 64}).program())


def test_parts_of_a_split_lie_in_the_whole():
    plan = put(put(split_and_concat(), "low", "x"), "high", "x", 32)
    assert plan.verify() == ()
    found = put(plan, "high", "x", 16).verify()
    assert [(f.code, f.parameters["first"], f.parameters["second"]) for f in found] == [
        ("part_misplaced", "low", "high"),
        ("part_misplaced", "x", "high"),
    ]


def test_halves_that_change_places_cannot_both_stay():
    plan = put(put(split_and_concat(), "low", "x"), "high", "x", 32)
    assert put(plan, "y", "x").verify()[0].code == "part_misplaced"
    assert put(plan, "y", "x", 32).verify() == ()  # high stays, low is copied behind it


def test_a_part_written_where_the_whole_will_be_must_last_until_then():
    sketch = Sketch({"in": 64}).run("A", "in", {"a": 32}).run("B", "in", {"b": 32}).run("other", "in", {"o": 32})
    sketch.run("join", "o", {"p": 8}).run("concat", "a b", {"y": 64})
    sketch.may(Sharing.CONCAT, "a", "y", 0).may(Sharing.CONCAT, "b", "y", 32)
    plan = apart(sketch.run("use", "y p", {"z": 64}).program())
    assert put(put(plan, "a", "y"), "b", "y", 32).verify() == ()
    assert only(put(put(plan, "a", "y"), "o", "y"))[:2] == ("overwritten", ("y", "o"))
    assert put(put(plan, "a", "y"), "o", "y", 32).verify() == ()  # that half is still free


def test_only_the_bytes_of_the_part_that_is_read_late_are_needed_late():
    sketch = Sketch({"in": 64}).run("A", "in", {"x": 64}).run("split", "x", {"low": 32, "high": 32})
    sketch.may(Sharing.SPLIT, "low", "x", 0).may(Sharing.SPLIT, "high", "x", 32).run("now", "low", {"n": 8})
    plan = apart(sketch.run("new", "n", {"w": 32}).run("late", "high w", {"y": 8}).program())
    plan = put(put(plan, "low", "x"), "high", "x", 32)
    assert put(plan, "w", "x").verify() == ()
    assert only(put(plan, "w", "x", 32))[:2] == ("overwritten", ("high", "w"))


def test_a_view_that_reaches_beyond_its_source():
    sketch = Sketch({"in": 64}).run("A", "in", {"x": 64}).run("slice", "x", {"v": 64}).may(Sharing.VIEW, "v", "x", 32)
    plan = apart(sketch.run("use", "v", {"y": 64}).program())
    assert {f.code for f in plan.verify()} == {"view_outside_source", "outside_buffer"}


def loop():
    sketch = Sketch({"x": 64}).run("make", "x", {"scale": 64}).run("begin", "x").run("use", "scale", {"a": 64})
    sketch.run("more", "a", {"b": 64}).run("end", "b", {"c": 64}).run("after", "c", {"d": 64}).run("y", "d", {"e": 64})
    return apart(sketch.loop("begin", "end").program())


def test_what_a_loop_reads_lasts_to_its_end():
    finding = put(loop(), "b", "scale").verify()[0]
    assert (finding.code, finding.window) == ("loop_value_overwritten", (3, 4))
    assert finding.sentence == "more writes b over scale, which use reads again in the next round of the loop"
    assert only(put(loop(), "c", "scale"))[0] == "loop_value_overwritten"  # at its last point
    assert put(loop(), "d", "scale").verify() == ()


def test_what_an_inner_loop_reads_lasts_to_the_end_of_the_outermost_loop_that_it_was_written_before():
    sketch = Sketch({"x": 64}).run("make", "x", {"s": 64}).run("outer", "x").run("each", "x", {"t": 64})
    sketch.run("inner", "x").run("use", "s t", {"a": 64}).run("inner end", "a", {"b": 64})
    sketch.run("between", "b", {"c": 64}).run("outer end", "c", {"d": 64}).run("after", "d", {"e": 64})
    plan = apart(sketch.loop("inner", "inner end").loop("outer", "outer end").program())
    assert only(put(plan, "b", "t"))[0] == "loop_value_overwritten"
    assert put(plan, "c", "t").verify() == ()  # new in each round of the outer loop
    assert only(put(plan, "c", "s"))[0] == "loop_value_overwritten"
    assert only(put(plan, "d", "s"))[0] == "loop_value_overwritten"
    assert put(plan, "e", "s").verify() == ()


def test_what_a_loop_writes_itself_is_new_in_each_round():
    assert put(loop(), "c", "a").verify() == ()


def carried():
    """A state that goes round a loop; each round makes the next one from it, and the loop's result is the last."""
    sketch = Sketch({"x": 64}).run("begin", "x", {"state": 64}).run("round", "state", {"next": 64})
    sketch.may(Sharing.IN_PLACE, "next", "state").run("end", "next state", {"result": 64})
    sketch.may(Sharing.IN_PLACE, "result", "state").run("use", "result", {"y": 64})
    return apart(sketch.loop("round", "end").program())


def test_a_loop_ends_once_so_its_result_may_take_the_place_of_its_state():
    assert put(carried(), "result", "state").verify() == ()


def test_in_place_inside_a_loop_spoils_the_next_round():
    assert only(put(carried(), "next", "state"))[:3] == ("in_place_still_needed", ("state", "next"), (1, 2))


def test_between_an_input_and_an_output_of_the_program_a_view_is_a_copy():
    sketch = Sketch({"x": 64}).run("reshape", "x", {"y": 64}, kind=Kind.OUTPUT).may(Sharing.VIEW, "y", "x")
    plan = apart(sketch.program())
    assert plan.verify() == ()
    assert plan.put_apart(row(plan, "y")).verify() == ()
    inner = Sketch({"x": 64}).run("reshape", "x", {"v": 64}).may(Sharing.VIEW, "v", "x").run("use", "v", {"y": 64})
    plan = apart(inner.program())
    assert only(plan.put_apart(row(plan, "v")))[:2] == ("view_misplaced", ("x", "v"))


@pytest.mark.parametrize("kind", [Kind.WEIGHT, Kind.CONSTANT, Kind.INPUT, Kind.STATE])
def test_what_is_kept_is_never_written_over(kind):
    sketch = Sketch({"w": 64}, kind).run("A", "w", {"a": 64}).run("B", "a", {"b": 64}).run("C", "b", {"c": 64})
    found = put(apart(sketch.program()), "b", "w").verify()
    assert dict(found.counts) == {"kept_shared": 1, "kept_overwritten": 1}
    assert f"a tensor of kind {kind.name.lower()}" in found[1].sentence


def test_an_output_shares_its_place_with_nothing_even_before_it_is_written():
    finding = only(put(apart(chain().program()), "a", "y"))
    assert finding == ("kept_shared", ("y", "a"), None, (256, 320))


def test_an_output_in_place_over_an_intermediate_is_its_other_name():
    plan = apart(chain().may(Sharing.IN_PLACE, "y", "c").program())
    assert put(plan, "y", "c").verify() == ()
    assert put(put(plan, "y", "c"), "a", "c").verify()[0].code == "kept_shared"


def test_a_view_that_is_an_output_keeps_its_source_for_the_caller():
    sketch = Sketch({"in": 64}).run("A", "in", {"x": 64}).run("reshape", "x", {"out": 64}, kind=Kind.OUTPUT)
    sketch.may(Sharing.VIEW, "out", "x").run("B", "in", {"b": 64}).run("C", "b", {"c": 64})
    found = put(apart(sketch.program()), "b", "x").verify()
    assert {f.code for f in found} == {"kept_shared", "kept_overwritten"}
    assert found[-1].sentence == "B writes b over out, a tensor of kind output, which must outlast the program"


def test_a_state_goes_on_in_place():
    sketch = Sketch({"cache": 64}, Kind.STATE).run("A", "cache", {"a": 64})
    sketch.run("append", "cache a", {"next": 64}, kind=Kind.STATE).may(Sharing.IN_PLACE, "next", "cache")
    assert put(apart(sketch.program()), "next", "cache").verify() == ()
    late = apart(sketch.run("late", "cache", {"y": 8}).program())
    assert put(late, "next", "cache").verify().total == 1


def test_two_weights_in_the_same_bytes():
    plan = apart(Sketch({"v": 64, "w": 64}, Kind.WEIGHT).run("A", "v w", {"a": 64}).program())
    assert dict(put(plan, "w", "v", 8).verify().counts) == {
        "kept_shared": 1,
        "kept_overwritten": 1,
    }


def test_a_buffer_that_is_smaller_than_its_tensor():
    plan = apart(chain().program())
    size = plan.size.copy()
    size[row(plan, "b")] = 32
    finding = only(replace(plan, size=size))
    assert finding[:2] == ("outside_buffer", ("b",))


def test_buffers_with_memory_of_their_own_meet_nothing():
    plan = apart(chain().program())
    address = np.zeros_like(plan.address)
    address[row(plan, "x")] = address[row(plan, "y")] = address[row(plan, "b")] = FREE
    found = replace(plan, address=address).verify()
    assert [f.rows for f in found] == []  # a and c are never needed together
    address[row(plan, "b")] = 32
    assert {f.rows for f in replace(plan, address=address).verify()} == {
        (row(plan, "a"), row(plan, "b")),
        (row(plan, "b"), row(plan, "c")),
    }


def test_a_buffer_of_its_own_may_hold_several_tensors():
    plan = put(apart(chain().program()), "b", "a", 8)
    address = plan.address.copy()
    address[row(plan, "a")] = FREE
    assert set(replace(plan, address=address).verify().counts) == {"overwritten"}


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ("buffer", 99, "unknown_buffer"),
        ("buffer", -2, "unknown_buffer"),
        ("buffer", -1, "unplaced"),
        ("offset", (1 << 63) - 1, "address_overflow"),
        ("offset", -(1 << 63), "address_overflow"),
        ("address", -(1 << 63), "address_overflow"),
        ("address", (1 << 63) - 1, "address_overflow"),
        ("address", -100, "negative_offset"),
    ],
)
def test_places_that_are_none(column, value, code):
    plan = apart(chain().program())
    values = getattr(plan, column).copy()
    values[row(plan, "b")] = value
    assert only(replace(plan, **{column: values}))[:2] == (code, ("b",))


def test_a_tensor_that_begins_before_its_buffer():
    plan = apart(chain().program()).put(2, 2, -8)
    assert {f.code: f.rows for f in plan.verify()} == {"outside_buffer": (2,), "overwritten": (1, 2)}


def test_a_size_that_wrapped():
    plan = apart(chain().program())
    size = plan.program.size_bytes.copy()
    size[row(plan, "b")] = np.int64(64 * 2048 * 4096 * 4).astype(np.int32)
    finding = replace(plan, program=replace(plan.program, size_bytes=size)).verify()[0]
    assert finding.sentence == f"b has a size of {-(1 << 31)} bytes"


def test_columns_of_the_wrong_length():
    plan = apart(chain().program())
    assert dict(replace(plan, offset=plan.offset[:-1]).verify().counts) == {"wrong_length": 1}


def test_what_has_no_size_has_no_place_and_no_findings():
    plan = apart(chain().program())
    size = plan.program.size_bytes.copy()
    size[row(plan, "b")] = -1
    buffer = plan.buffer.copy()
    buffer[row(plan, "b")] = -1
    assert replace(plan, program=replace(plan.program, size_bytes=size), buffer=buffer).verify() == ()


def test_the_limit_counts_what_it_does_not_list():
    sketch = Sketch({"x": 64}).run("A", "x", {f"t{i}": 64 for i in range(20)})
    plan = apart(sketch.run("use", " ".join(f"t{i}" for i in range(20)), {"y": 64}).program())
    address = np.where(plan.program.kind == Kind.INTERMEDIATE, 64, 0)
    found = replace(plan, address=address).verify(limit=5)
    assert len(found) == 5
    assert found.total == 21 * 20 // 2  # y lies there too, and its operator reads all the others


def test_it_shares_no_code_with_what_it_checks():
    code = (
        "import sys, gexplorer.memory.verify\n"
        "shared = {'liveness', 'sharing', 'extract', 'bounds', 'conflicts', 'hot', 'orders', 'policy', 'planners'}\n"
        "assert not {m.split('.')[2] for m in sys.modules if m.startswith('gexplorer.memory.')} & shared\n"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_code_has_its_sentence():
    for message in MESSAGES.values():
        assert message.reason
        assert not message.reason.endswith(".")


def large(n: int) -> PlacedTensors:
    """A chain of n operators in three places, every other one a view, every fourth in place."""
    at = np.arange(n)
    guest = at[1:][at[1:] % 4 != 0]
    sharing = np.where(guest % 2 == 1, Sharing.VIEW, Sharing.IN_PLACE)
    share = MayShare(guest, guest - 1, np.zeros_like(guest), sharing, guest)
    program = Program(
        [f"op{p}" for p in range(n)],
        [f"t{t}" for t in range(n)],
        np.full(n, 4096),
        np.full(n, Kind.INTERMEDIATE),
        at,
        at[:-1],
        at[1:],
        share,
        np.zeros((0, 2), np.int64),
    )
    return PlacedTensors(program, at // 4, np.zeros(n, np.int64), 4096 * (at[: n // 4] % 3), np.full(n // 4, 4096))


def test_100_000_tensors():
    plan = large(100_000)
    plan.verify()
    begin = process_time()
    assert plan.verify() == ()
    assert process_time() - begin < 1.0  # measured: 0.1
    address = plan.address.copy()
    address[7_001] = address[7_000]
    assert {f.code for f in replace(plan, address=address).verify()} == {"overwritten"}
