"""``docs/om-format.md`` is true: a file is read here by the page alone, with nothing of ours."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from pathlib import Path

import numpy as np
import onnx
import pytest

import gexplorer as gx

PAGE = (Path(__file__).parents[3] / "docs" / "om-format.md").read_text(encoding="utf-8")
HEADER, ENTRY = (struct.Struct(form) for form in re.findall(r"`struct` form `(<[0-9A-Za-z]+)`", PAGE))
MAGIC = bytes.fromhex(re.search(r"magic: `([0-9a-f ]+)`", PAGE)[1])


def read(data: bytes) -> dict[str, bytes]:
    magic, major, minor, count, size, zero, digest = HEADER.unpack_from(data)
    assert (magic, major, minor, size, zero) == (MAGIC, 1, 0, len(data), 0)
    table = data[HEADER.size : HEADER.size + count * ENTRY.size]
    assert hashlib.sha256(data[:32] + table).digest() == digest
    found = {}
    end = -(-(HEADER.size + len(table)) // 64) * 64
    for name, flags, reserved, offset, length, sha in ENTRY.iter_unpack(table):
        whole = -(-length // 64) * 64
        assert (offset, reserved) == (end, 0)
        assert sha == (bytes(32) if flags else hashlib.sha256(data[offset : offset + whole]).digest())
        assert not any(data[offset + length : offset + whole])
        found[name.rstrip(b"\0").decode()] = data[offset : offset + length]
        end += whole
    assert end == len(data)
    return found


@pytest.fixture(scope="module", params=["mlp:small=true", "bert-base:small=true,layers=1,batch=b"])
def saved(request, tmp_path_factory):
    compiled = gx.compile(request.param)
    path = compiled.save(tmp_path_factory.mktemp("om") / "a.om")
    return compiled, read(path.read_bytes())


def test_the_page_names_every_section_and_field(saved):
    _, sections = saved
    for name in sections:
        assert f"**`{name}`**" in PAGE
    for name in ("manifest", "memory", "kernels"):
        for field in json.loads(sections[name]):
            assert re.search(rf"\b{field}\b", PAGE), field
    instructions = json.loads(sections["instructions"])
    for field in (*instructions, *instructions["tensors"], *instructions["instructions"]):
        assert re.search(rf"\b{field}\b", PAGE), field


def test_constants_are_where_the_page_says(saved):
    compiled, sections = saved
    rows = json.loads(sections["constants"])
    assert [row["name"] for row in rows] == [value.name for value in compiled.graph.constants]
    for row, value in zip(rows, compiled.graph.constants, strict=True):
        data = sections["constant-data"][row["offset"] : row["offset"] + row["bytes"]]
        assert hashlib.sha256(data + bytes(-len(data) % 64)).hexdigest() == row["sha256"]
        array = np.frombuffer(data, value.constant.dtype.numpy()).reshape(row["shape"])
        np.testing.assert_array_equal(array, value.constant.array())


def test_kernels_are_onnx_models_of_one_operator(saved):
    _, sections = saved
    index = json.loads(sections["kernels"])
    at = 0
    for op, size in zip(index["op"], index["bytes"], strict=True):
        model = onnx.ModelProto.FromString(sections["kernel-models"][at : at + size])
        assert [node.op_type for node in model.graph.node][:1] in ([op], [model.graph.node[0].op_type])
        at += size
    assert at == len(sections["kernel-models"])


def test_the_plan_is_the_compilation_s(saved):
    compiled, sections = saved
    memory = json.loads(sections["memory"])
    columns = memory["buffers"]
    assert len({len(column) for column in columns.values()}) == 1
    if memory["is_fixed"]:
        assert memory["pool_bytes"] == compiled.memory.pool_bytes
        assert columns["size_bytes"] == compiled.memory.liveness.size_bytes.tolist()
    else:
        assert memory["pool_bytes"] == 0
        assert set(columns["offset_bytes"]) == {-1}
