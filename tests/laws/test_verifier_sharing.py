"""The verifier of programs agrees with a memory in which they really run: no miss, no false alarm."""

import random
from collections import Counter

import numpy as np
import pytest

from gexplorer.memory.museum import PlacedTensors, all_exhibits
from gexplorer.memory.museum.exhibit import TensorBug
from gexplorer.memory.verify_sharing import verify_sharing
from tests.byte_memory import Rows, Run
from tests.random_programs import apart, moved, put_on_streams, random_rows

# Bugs that show in the size of a buffer or of a tensor, which the byte memory has no notion of.
OF_SIZES = {"sub_byte_buffer", "undersized_whole"}
RULES = {"view_misplaced", "kept_shared"}
RACES = {"reuse_races", "read_races"}


def verify(rows: Rows, address: list[int]):
    """One buffer a tensor."""
    n = len(address)
    size = np.array([tensor.size for tensor in rows.tensors])
    places = np.array(address, np.int64)
    return verify_sharing(rows.program(), np.arange(n), np.zeros(n, np.int64), places, size, limit=1 << 30)


def check(rows: Rows, address: list[int]) -> bool:
    """Whether a plan is sound, by both."""
    shown, found = Run(rows, address).run(), verify(rows, address)
    assert shown.sound == (found == ()), (shown, found)
    rules = Counter(f.code for f in found if f.code in RULES)
    assert set(rules) == {code for code, _ in shown.rules}
    if not shown.rules:  # then the pairs as well: who was damaged, and by whom
        pairs = [f.rows for f in found if f.code not in RULES]
        assert {first for first, _ in pairs} <= shown.damaged | shown.culprits
        assert shown.culprits <= {row for pair in pairs for row in pair}
    return shown.sound


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_the_bytes(seed):
    """A walk from a plan that shares nothing to plans that share much; every step is judged by both."""
    verdicts = Counter()
    for number in range(60):
        rng = random.Random(1_000 * seed + number)
        rows = random_rows(rng, rng.randint(3, 12))
        address = apart(rows)
        assert check(rows, address)
        for _ in range(25):
            trial = moved(rng, rows, address)
            sound = check(rows, trial)
            verdicts[sound] += 1
            address = trial if sound else address
    assert min(verdicts.values()) > 400


def test_agrees_with_the_bytes_on_several_streams():
    """Sound in order, the run then says whether two operators without an order between them meet at a byte."""
    verdicts = Counter()
    for number in range(60):
        rng = random.Random(90_000 + number)
        rows = random_rows(rng, rng.randint(3, 10))
        rows.loops = []
        put_on_streams(rng, rows, rng.randint(1, 3))
        address, all_syncs = apart(rows), rows.syncs
        for _ in range(25):
            trial = moved(rng, rows, address)
            rows.syncs = [sync for sync in all_syncs if rng.random() < 0.95]
            run = Run(rows, trial)
            sound = run.run().sound
            races = sound and run.races()
            found = verify(rows, trial)
            assert (sound and not races) == (found == ())
            if sound:
                assert races == bool(set(found.counts) & RACES)
            verdicts[sound, races] += 1
            address = trial if sound else address
    assert min(verdicts.values()) > 50


def test_the_order_of_the_tensors_does_not_matter():
    for number in range(40):
        rng = random.Random(50_000 + number)
        rows = random_rows(rng, 8)
        address = apart(rows)
        for _ in range(8):
            address = moved(rng, rows, address)
        order = list(range(len(address)))
        rng.shuffle(order)
        place = {old: new for new, old in enumerate(order)}
        other = Rows(
            [rows.tensors[t] for t in order],
            rows.points,
            [(place[t], p) for t, p in rows.reads],
            [(place[g], place[h], offset, sharing, p) for g, h, offset, sharing, p in rows.share],
            rows.loops,
        )
        found = verify(rows, address)
        again = verify(other, [address[t] for t in order])
        shared, shared_again = found.counts.get("kept_shared", 0), again.counts.get("kept_shared", 0)
        assert found.total - shared == again.total - shared_again  # every pair that meets in place and time
        assert (shared > 0) == (shared_again > 0)  # of three in one place, one pair is named


def test_every_bug_that_fits_into_a_random_plan_is_named_and_does_damage():
    """Exhibits of the museum, put into plans that nobody made for them."""
    spoilt = Counter()
    for number in range(250):
        rng = random.Random(70_000 + number)
        rows = random_rows(rng, 18, share=0.5)
        if number % 2:
            rows.loops = []
            put_on_streams(rng, rows, 2)
        address = apart(rows)
        for _ in range(10):
            trial = moved(rng, rows, address)
            run = Run(rows, trial)
            if run.run().sound and not (rows.streams and run.races()):
                address = trial
        n, program = len(address), rows.program()
        size = program.size_bytes
        plan = PlacedTensors(program, np.arange(n), np.zeros(n, np.int64), np.array(address), size)
        assert plan.verify() == ()
        for exhibit in all_exhibits():
            if (found := exhibit.spoil(plan)) is not None:
                spoilt[exhibit.name] += 1
                assert exhibit.caught(found) is not None, (exhibit.name, number, found.rows, found.plan.verify(1000))
                if exhibit.name not in OF_SIZES:
                    run = Run(rows, (found.plan.address[found.plan.buffer] + found.plan.offset).tolist())
                    assert not run.run().sound or run.races()
    assert set(spoilt) == {exhibit.name for exhibit in all_exhibits() if isinstance(exhibit, TensorBug)}
