"""The parts say what waits for what, and whether the memory has room."""

from __future__ import annotations

import numpy as np
import pytest

import gexplorer as gx
from gexplorer.render.document import document
from gexplorer.views.pack import unpack
from tests.unit.views.explorer.consistency import faults, unpacked


@pytest.fixture(scope="module")
def compiled():
    return gx.compile("bert-base:layers=2", streams="cube_vector")


@pytest.fixture(scope="module")
def parts(compiled):
    return unpacked(document(compiled), on_demand=False)


def test_the_document_is_whole(parts):
    assert faults(parts) == []


def test_a_kernel_starts_when_the_one_that_holds_it_ends(compiled, parts):
    part, edges = parts["schedule"], compiled.schedule.dependencies
    whys = [part["strings"][row] for row in part["held_why"]]
    assert {"data", "reuse", "stream"} <= set(whys)
    tensors = compiled.memory.program.tensors
    for kernel, (by, why) in enumerate(zip(part["held_by"].tolist(), whys, strict=True)):
        if by < 0:
            assert (why, part["start_us"][kernel], part["held_tensor"][kernel]) == ("", 0, -1)
            continue
        row = edges.edge(by, kernel)
        if why == "stream":
            assert row is None
            assert part["stream"][by] == part["stream"][kernel]
        else:
            assert row is not None
            assert bool(edges.reuse[row]) == (why == "reuse")
            assert part["strings"][part["held_tensor"][kernel]] == tensors[int(edges.tensor[row])]


def test_a_stream_is_busy_or_waits(parts):
    part = parts["schedule"]
    for stream in range(len(part["streams"])):
        own = part["stream"] == stream
        end = (part["start_us"] + part["duration_us"])[own].max()
        assert np.isclose(part["wait_us"][own].sum() + part["duration_us"][own].sum(), end)


def test_the_memory_is_that_of_the_chip(compiled, parts):
    assert parts["cost"]["capacity_bytes"] == compiled.cost.chip.capacity.hbm_bytes
    other = gx.compile("bert-base:layers=2", soc="Ascend310P3")
    own = unpack(document(other).parts["cost"])["capacity_bytes"]
    assert own == other.cost.chip.capacity.hbm_bytes != parts["cost"]["capacity_bytes"]
