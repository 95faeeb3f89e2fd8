"""Small random programs as rows, and plans for them that share more and more."""

import random

from gexplorer.memory.program import BEFORE, Kind, Sharing
from tests.byte_memory import KEPT, Rows


def random_rows(rng: random.Random, points: int, share: float = 1.0) -> Rows:
    """A program of every kind of tensor, with views, Splits, Concats, in-place operators and loops.

    ``share`` is how many operators may be such that their tensors may share bytes.
    """
    rows = Rows()
    for _ in range(rng.randint(1, 3)):
        rows.add(rng.choice((2, 4, 4, 8)), rng.choice((Kind.WEIGHT, Kind.INPUT, Kind.STATE)))
    for point in range(points):
        _random_operator(rng, rows, point, rng.random() < share)
        rows.points += 1
    if rng.random() < 0.5 and points > 3:
        first = rng.randrange(points - 1)
        last = rng.randint(first + 1, points - 1)
        rows.loops.append((first, last))
        if last - first > 2 and rng.random() < 0.4:
            inner = rng.randint(first, last - 1)
            rows.loops.append((inner, rng.randint(inner, last - 1)))
        if last + 2 < points and rng.random() < 0.5:
            rows.loops.append((last + 1, rng.randint(last + 2, points - 1)))
    return rows


def _random_operator(rng: random.Random, rows: Rows, point: int, may_share: bool) -> None:
    there = [t for t in range(len(rows.tensors)) if rows.tensors[t].size > 0]
    recent = there[-5:]

    def some() -> int:
        return rng.choice(recent if rng.random() < 0.7 else there)

    def kind() -> Kind:
        return Kind.OUTPUT if rng.random() < 0.12 else Kind.INTERMEDIATE

    what = rng.random() if may_share else 1.0
    if what < 0.15:
        source = some()
        rows.reads.append((source, point))
        size = rows.tensors[source].size
        offset = 0 if rng.random() < 0.7 else rng.randrange(size)
        guest = rows.add(size - offset, kind(), point)
        rows.share.append((guest, source, offset, Sharing.VIEW, point))
    elif what < 0.3 and (large := [t for t in there if rows.tensors[t].size > 1]):
        whole = rng.choice(large)
        rows.reads.append((whole, point))
        size, offset = rows.tensors[whole].size, 0
        while offset < size:
            part = rng.randint(1, size - offset)
            rows.share.append((rows.add(part, kind(), point), whole, offset, Sharing.SPLIT, point))
            offset += part
    elif what < 0.45:
        parts = [some() for _ in range(rng.randint(1, 3))]
        sizes = [rows.tensors[part].size for part in parts]
        if sum(sizes) > 16:
            parts, sizes = parts[:1], sizes[:1]
        whole = rows.add(sum(sizes) + (rng.random() < 0.1), kind(), point)
        offset = 0
        for part, size in zip(parts, sizes, strict=True):
            rows.reads.append((part, point))
            rows.share.append((part, whole, offset, Sharing.CONCAT, point))
            offset += size
    else:
        inputs = [some() for _ in range(rng.randint(1, 2))]
        rows.reads += [(t, point) for t in inputs]
        for at in range(1 + (rng.random() < 0.2)):
            in_place = may_share and at == 0 and rng.random() < 0.6
            size = rows.tensors[inputs[0]].size if in_place else rng.choice((1, 2, 4, 4, 6))
            state = in_place and rows.tensors[inputs[0]].kind == Kind.STATE and rng.random() < 0.7
            guest = rows.add(size, Kind.STATE if state else kind(), point)
            if in_place:
                hosts = [t for t in dict.fromkeys(inputs) if rng.random() < 0.9 and rows.tensors[t].size == size]
                rows.share += [(guest, host, 0, Sharing.IN_PLACE, point) for host in hosts]
        if rng.random() < 0.15:
            rows.add(rng.choice((1, 3)), Kind.WORKSPACE, point)


def put_on_streams(rng: random.Random, rows: Rows, streams: int) -> None:
    """Gives each point a stream, and each reader on another stream than its writer a sync."""
    rows.streams = [rng.randrange(streams) for _ in range(rows.points)]
    for tensor, point in rows.reads:
        writer = rows.tensors[tensor].writer
        if writer != BEFORE and rows.streams[writer] != rows.streams[point]:
            rows.syncs.append((writer, point))


def apart(rows: Rows) -> list[int]:
    """Addresses at which nothing shares but views."""
    address, free = [0] * len(rows.tensors), 0
    source = {guest: (host, offset) for guest, host, offset, sharing, _ in rows.share if sharing == Sharing.VIEW}
    for t, tensor in enumerate(rows.tensors):
        if t in source:
            host, offset = source[t]
            address[t] = address[host] + offset
        else:
            address[t] = free
            free += tensor.size
    return address


def moved(rng: random.Random, rows: Rows, address: list[int]) -> list[int]:
    """Addresses with one tensor moved: onto another, to where a row allows it, by a byte, or anywhere."""
    address = list(address)
    pool = [t for t, tensor in enumerate(rows.tensors) if tensor.kind not in KEPT] or [0]
    what = rng.random()
    if what < 0.45 and rows.share:
        guest, host, offset, *_ = rng.choice(rows.share)
        if rng.random() < 0.5:
            _move(rows, address, guest, address[host] + offset)
        else:
            _move(rows, address, host, address[guest] - offset)
    elif what < 0.8:
        other = rng.choice(pool) if rng.random() < 0.85 else rng.randrange(len(address))
        _move(
            rows, address, rng.choice(pool), address[other] + rng.choice((0, 0, 0, -1, 1, 2, rows.tensors[other].size))
        )
    elif what < 0.9:
        _move(rows, address, rng.randrange(len(address)), rng.randrange(120))
    else:
        address[rng.randrange(len(address))] += rng.choice((-1, 1))
    low = min(0, *address)
    return [at - low for at in address]


def _move(rows: Rows, address: list[int], tensor: int, to: int) -> None:
    """Moves a tensor, and with it all that it is a view of and all that are views of it."""
    family, size = {tensor}, 0
    while size < len(family):
        size = len(family)
        for guest, host, _, sharing, _ in rows.share:
            if sharing == Sharing.VIEW and (guest in family or host in family):
                family |= {guest, host}
    by = to - address[tensor]
    for member in family:
        address[member] += by
