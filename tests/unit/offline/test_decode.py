"""Files whose digests all fit, but which say what cannot be."""

from __future__ import annotations

import json

import pytest

import gexplorer as gx
from tests.offline_mutants import contents, sealed


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return gx.compile("bert-base:small=true,layers=1").save(tmp_path_factory.mktemp("om") / "a.om").read_bytes()


def changed(whole: bytes, section: str, change) -> bytes:
    sections = dict(contents(whole))
    data = json.loads(sections[section])
    change(data)
    return sealed({**sections, section: json.dumps(data).encode()}, whole)


def overlap(data) -> None:
    columns = data["buffers"]
    columns["offset_bytes"] = [min(offset, 0) for offset in columns["offset_bytes"]]


def outside_pool(data) -> None:
    data["pool_bytes"] -= data["alignment_bytes"]


def beyond_buffer(data) -> None:
    data["tensors"]["offset_bytes"] = [offset + 4096 for offset in data["tensors"]["offset_bytes"]]


def twice(data) -> None:
    data["tensors"]["name"][1] = data["tensors"]["name"][0]


def backwards(data) -> None:
    columns = data["instructions"]
    for name in ("name", "op", "kernel", "spared", "inputs", "outputs", "workspace"):
        columns[name].reverse()


def no_kernel(data) -> None:
    data["instructions"]["kernel"][0] = 999


def short(data) -> None:
    data["instructions"]["op"].pop()


def huge_shape(data) -> None:
    data["tensors"]["shape"] = [shape and [1 << 40, *shape] for shape in data["tensors"]["shape"]]


@pytest.mark.parametrize(
    ("section", "change", "said"),
    [
        ("memory", overlap, "its memory plan is not sound"),
        ("memory", outside_pool, "its memory plan is not sound"),
        ("instructions", beyond_buffer, "is larger than its buffer"),
        ("instructions", twice, "two tensors have one name"),
        ("instructions", backwards, "which nobody has written by then"),
        ("instructions", no_kernel, "kernel 999 does not exist"),
        ("instructions", short, "damaged"),
        ("instructions", huge_shape, "is larger than its buffer"),
        ("kernels", lambda data: data["bytes"].__setitem__(0, 1 << 40), "a kernel's model does not lie in the file"),
        ("constants", lambda data: data[0].update(bytes=1 << 40), "its shape takes"),
        ("constants", lambda data: data[0].update(offset=1 << 40), "has no bytes"),
        ("constants", lambda data: data[0].update(file="../x", offset=0), "leaves the model's folder"),
        ("constants", lambda data: data[0].update(file="/etc/passwd", offset=0), "leaves the model's folder"),
        ("manifest", lambda data: data.update(schema="other/1"), "schema 'other/1'"),
    ],
)
def test_they_are_refused_in_one_line(whole, tmp_path, section, change, said):
    path = tmp_path / "b.om"
    path.write_bytes(changed(whole, section, change))
    with pytest.raises(gx.ModelError, match=said) as error:
        gx.load_om(path).model.check()
    assert str(error.value).startswith(str(path))


def test_the_same_content_sealed_again_is_the_same_file(whole):
    assert sealed(dict(contents(whole)), whole) == whole
