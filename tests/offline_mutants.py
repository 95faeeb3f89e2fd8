"""Offline models with one thing wrong, and a process that opens and runs each within bounds of time and memory."""

from __future__ import annotations

import hashlib
import json
import random
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

HEADER, ENTRY = 64, struct.Struct("<16sIIQQ32s")
# What a mutant may use: address space besides what the process has, and seconds.
ROOM_BYTES = 1 << 30
SECONDS = 10
TEXTS = ("", "x", "../../etc/passwd", "float32", "s + 1", "floor(", "\0", "\ud800")
FILE = {"file": "/etc/passwd"}


def mutant(data: bytes, seed: int) -> tuple[str, bytes]:
    """A kind and a file: bytes changed, cut, moved or added, or contents changed and all digests made to fit."""
    draw = random.Random(seed)
    make = draw.choice(_kinds())
    return make.__name__, make(data, draw)


def kinds() -> list[str]:
    """The names of all kinds."""
    return [make.__name__ for make in _kinds()]


def _kinds() -> tuple[Callable[[bytes, random.Random], bytes], ...]:
    return (flipped, overwritten, cut_off, longer, without, swapped, header_field, resealed, resealed, resealed)


def flipped(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def overwritten(data: bytes, draw: random.Random) -> bytes:
    at, size = draw.randrange(len(data)), draw.choice((1, 4, 64, 1000))
    new = draw.choice((bytes(size), b"\xff" * size, draw.randbytes(size)))
    return data[:at] + new[: len(data) - at] + data[at + size :]


def cut_off(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.choice((0, 1, 7, 8, 63, 64, 100, draw.randrange(len(data)), len(data) - 1))]


def longer(data: bytes, draw: random.Random) -> bytes:
    return data + draw.randbytes(draw.choice((1, 64, 5000)))


def without(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + data[at + draw.choice((1, 64, 512)) :]


def swapped(data: bytes, draw: random.Random) -> bytes:
    a, b = sorted((draw.randrange(len(data) // 64) * 64, draw.randrange(len(data) // 64) * 64))
    if a == b:
        return data[:-1]
    return data[:a] + data[b : b + 64] + data[a + 64 : b] + data[a : a + 64] + data[b + 64 :]


def header_field(data: bytes, draw: random.Random) -> bytes:
    at, size = draw.choice(((8, 2), (10, 2), (12, 4), (16, 8), (24, 8), (HEADER + 24, 8), (HEADER + 32, 8)))
    value = draw.choice((0, 1, 2, 255, (1 << 8 * size) - 1, 1 << (8 * size - 1)))
    return data[:at] + value.to_bytes(size, "little") + data[at + size :]


def resealed(data: bytes, draw: random.Random) -> bytes:
    """A number, text or form in a section of JSON is another, and every digest fits: only what it says can tell."""
    sections = dict(contents(data))
    names = [n for n in sections if n in ("manifest", "instructions", "kernels", "memory", "constants", "schedule")]
    name = draw.choice([*names, "kernel-models"])
    if name == "kernel-models":
        sections[name] = flipped(sections[name], draw)
    else:
        sections[name] = json.dumps(changed(json.loads(sections[name]), draw)).encode()
    return sealed(sections, data)


def changed(data: object, draw: random.Random) -> object:
    """The same with one leaf or branch replaced."""
    if isinstance(data, dict) and data and draw.random() < 0.95:
        key = draw.choice(list(data))
        if draw.random() < 0.05:
            return {k: v for k, v in data.items() if k != key}
        return {**data, key: changed(data[key], draw)}
    if isinstance(data, list) and data and draw.random() < 0.95:
        at = draw.randrange(len(data))
        if draw.random() < 0.05:
            return data[:at] + data[at + 1 :]
        return [*data[:at], changed(data[at], draw), *data[at + 1 :]]
    return draw.choice(
        (
            -1,
            0,
            1,
            3,
            7,
            512,
            1 << 31,
            1 << 40,
            1 << 63,
            1 << 200,
            0.5,
            None,
            True,
            *TEXTS,
            [],
            {},
            [[]] * 3,
            dict(FILE),
        )
    )


def contents(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The sections of a file by name, without the zeros behind."""
    (count,) = struct.unpack_from("<I", data, 12)
    for index in range(count):
        name, _, _, offset, size, _ = ENTRY.unpack_from(data, HEADER + index * ENTRY.size)
        yield name.rstrip(b"\0").decode(), data[offset : offset + size]


def sealed(sections: dict[str, bytes], like: bytes) -> bytes:
    """A whole file of some sections, flags as in another."""
    flags = {}
    for index in range(struct.unpack_from("<I", like, 12)[0]):
        name, flag, *_ = ENTRY.unpack_from(like, HEADER + index * ENTRY.size)
        flags[name.rstrip(b"\0").decode()] = flag
    start = -(-(HEADER + len(sections) * ENTRY.size) // 64) * 64
    at, body, table = start, b"", b""
    for name, content in sections.items():
        whole = content + bytes(-len(content) % 64)
        digest = bytes(32) if flags[name] else hashlib.sha256(whole).digest()
        table += ENTRY.pack(name.encode(), flags[name], 0, at, len(content), digest)
        body, at = body + whole, at + len(whole)
    head = like[:12] + struct.pack("<IQQ", len(sections), at, 0)
    seal = hashlib.sha256(head + table).digest()
    return head + seal + table + bytes(start - HEADER - len(table)) + body


def outcomes(folder: Path, inputs: Path, seeds: range) -> Iterator[dict[str, object]]:
    """Opens, checks and runs mutants of ``whole.om`` in a folder; each is written to the same file."""
    import numpy as np

    import gexplorer as gx
    from gexplorer.offline.model import OfflineModel

    data = (folder / "whole.om").read_bytes()
    feeds = dict(np.load(inputs))
    expected = gx.load_om(folder / "whole.om").run(feeds)
    limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    path = folder / "mutant.om"
    for seed in seeds:
        kind, made = mutant(data, seed)
        path.write_bytes(made)
        signal.alarm(SECONDS)
        found: dict[str, object] = {"seed": seed, "kind": kind, "same": made == data}
        try:
            OfflineModel(path)
            results = gx.load_om(path, poison=True).run(feeds)
            found["equal"] = all(np.array_equal(expected.get(name), value) for name, value in results.items())
        except gx.ModelError as error:
            found["error"] = str(error)
        except BaseException as error:
            found["crash"] = f"{type(error).__name__}: {error}"
        signal.alarm(0)
        yield found


if __name__ == "__main__":
    first, end = int(sys.argv[3]), int(sys.argv[4])
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    for outcome in outcomes(Path(sys.argv[1]), Path(sys.argv[2]), range(first, end)):
        print(json.dumps(outcome), flush=True)
