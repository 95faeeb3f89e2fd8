import pytest

from gexplorer.memory.findings import MESSAGES
from gexplorer.memory.museum import all_exhibits

NAMES = [exhibit.name for exhibit in all_exhibits()]


@pytest.fixture(params=all_exhibits(), ids=NAMES)
def exhibit(request):
    return request.param


def test_every_file_is_an_exhibit():
    from importlib.resources import files

    bugs = files("gexplorer.memory.museum.bugs")
    modules = {f.name.removesuffix(".py") for f in bugs.iterdir() if f.name.endswith(".py")} - {"__init__"}
    assert modules == set(NAMES)


def test_the_example_is_sound(exhibit):
    assert exhibit.example().verify() == ()


def test_the_bug_is_caught_by_name(exhibit):
    spoilt = exhibit.spoil(exhibit.example())
    finding = exhibit.caught(spoilt)
    assert finding is not None, [f.sentence for f in spoilt.plan.verify()]
    assert finding.code == exhibit.code
    assert finding.rows == spoilt.rows
    assert "{" not in finding.sentence + (finding.hint or "")


def test_it_says_what_goes_wrong_and_where_that_happened(exhibit):
    assert exhibit.code in MESSAGES
    assert exhibit.summary().endswith(".")
    assert exhibit.issues
    assert all(issue.startswith("https://github.com/") for issue in exhibit.issues)


def test_a_sound_plan_is_not_mistaken_for_the_bug(exhibit):
    from dataclasses import replace

    example = exhibit.example()
    spoilt = exhibit.spoil(example)
    assert exhibit.caught(replace(spoilt, plan=example)) is None


def test_a_plan_without_room_for_the_bug_is_left_alone(exhibit):
    from gexplorer.memory.museum import PlacedBuffers
    from gexplorer.memory.museum.plans import apart
    from gexplorer.memory.museum.sketch import Sketch
    from gexplorer.memory.problem import make_problem

    if isinstance(exhibit.example(), PlacedBuffers):
        empty = PlacedBuffers(make_problem([0], [1], [64]), make_problem([0], [1], [64]).lower, 64)
        other = apart(Sketch({"x": 1}).run("op", "x", {"y": 1}).program())
    else:
        empty = apart(Sketch({"x": 1}).run("op", "x", {"y": 1}).program())
        other = PlacedBuffers(make_problem([0], [1], [64]), make_problem([0], [1], [64]).lower, 64)
    assert exhibit.spoil(empty) is None
    assert exhibit.spoil(other) is None


def test_batch_63_still_fits_32_bits_and_batch_64_does_not():
    """One sample of the logits is 2048 x 4096 of fp32: 2^25 bytes."""
    from gexplorer.memory.museum.bugs.int32_size import SMALL_BYTES, Int32Size
    from gexplorer.memory.museum.plans import PlacedBuffers
    from gexplorer.memory.problem import make_problem

    def plan(batch):
        problem = make_problem([0, 1, 2], [2, 4, 4], [SMALL_BYTES, SMALL_BYTES, batch * SMALL_BYTES])
        large = batch * SMALL_BYTES
        return PlacedBuffers(problem, problem.lower * 0 + [0, large, 0], large + SMALL_BYTES)

    assert plan(63).verify() == plan(64).verify() == ()
    assert Int32Size().spoil(plan(63)) is None
    assert Int32Size().spoil(plan(64)) is not None
