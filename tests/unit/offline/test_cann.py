"""Real offline models of CANN are recognised: header and partitions, written here byte by byte."""

from __future__ import annotations

import struct

import pytest

import gexplorer as gx
from gexplorer.offline.cann import Partition, is_cann, read_cann
from gexplorer.views.offline import om_info

# Type, bytes: in the order of a real file (model definition, weights, tasks, kernels).
PARTS = ((0, 100), (1, 1000), (2, 64), (3, 0))


def cann_file(models=1, *, wide=True, parts=PARTS, name=b"resnet50", kind=0, cut=0) -> bytes:
    """A file as CANN's headers describe it: 256 bytes, then for each model its table and its data."""
    body = b""
    for _ in range(models):
        table = struct.pack("<II" if wide else "<I", *((len(parts), 0) if wide else (len(parts),)))
        offset = 0
        for number, size in parts:
            entry = (number, 0, offset, size) if wide else (number, offset, size)
            table += struct.pack("<IIQQ" if wide else "<III", *entry)
            offset += size
        body += table + bytes(offset)
    header = struct.pack(
        "<III64sIBBBB32sI32sII20sB3sQBB62s",
        *(0x444F4D49, 256, 0x20000000, b"", 0 if wide else len(body), 0, 0, kind, 0, name, 7, b"", 0, models),
        *(b"8.1.RC1", 0, b"", len(body) if wide else 0, 0, 1, b""),
    )
    assert len(header) == 256
    return (header + body)[: len(header + body) - cut]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "real.om"


@pytest.mark.parametrize("wide", [True, False], ids=["new", "legacy"])
@pytest.mark.parametrize("models", [1, 2])
def test_header_and_partitions_are_read(path, models, wide):
    path.write_bytes(cann_file(models, wide=wide))
    found = read_cann(path)
    assert is_cann(path)
    assert (found.name, found.platform, found.version) == ("resnet50", "8.1.RC1", 0x20000000)
    assert (found.operators, found.is_dynamic, found.is_encrypted) == (7, True, False)
    assert found.model_bytes == path.stat().st_size - 256
    assert found.file_bytes == path.stat().st_size
    assert found.models == ((
        Partition(0, "MODEL_DEF", 0, 100),
        Partition(1, "WEIGHTS_DATA", 100, 1000),
        Partition(2, "TASK_INFO", 1100, 64),
        Partition(3, "TBE_KERNELS", 1164, 0),
    ),) * models  # fmt: skip


def test_unknown_partitions_keep_their_number(path):
    path.write_bytes(cann_file(parts=((99, 5),)))
    assert read_cann(path).models == ((Partition(99, "", 0, 5),),)


@pytest.mark.parametrize("cut", [1, 1164, 1170, 1300, 1400])
def test_a_file_that_is_cut_off_is_refused_in_one_line(path, cut):
    path.write_bytes(cann_file(cut=cut))
    with pytest.raises(gx.ModelError, match="cut off"):
        read_cann(path)


def test_counts_that_make_no_sense_cost_nothing(path):
    whole = cann_file()
    for at, size in ((4, 4), (156, 4), (256, 4)):
        path.write_bytes(whole[:at] + b"\xff" * size + whole[at + size :])
        with pytest.raises(gx.ModelError):
            read_cann(path)


def test_info_shows_it_and_a_session_refuses_it(path):
    path.write_bytes(cann_file())
    found = om_info(path)
    assert found["format"] == "cann"
    assert [part["name"] for part in found["models"][0]["partitions"]] == [
        "MODEL_DEF", "WEIGHTS_DATA", "TASK_INFO", "TBE_KERNELS",
    ]  # fmt: skip
    with pytest.raises(gx.ModelError, match=r"offline model of CANN \(IMOD\).*gexplorer info"):
        gx.load_om(path)
