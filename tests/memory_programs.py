"""Memory programs written by hand, column by column, and what liveness says of their tensors."""

import numpy as np

from gexplorer.memory.policy import Policy
from gexplorer.memory.program import Kind, MayShare, Program, Sharing
from tests.memory_graphs import flat, simple

TIGHT = Policy.unaligned()
EMPTY = np.zeros((0, 2), dtype=np.int64)


def ints(values):
    return np.array(values, dtype=np.int64)


def program(points, tensors, shares=(), loops=(), streams=None, syncs=None):
    """Columns of tensors ``name: (kind, bytes, writer, readers)``; shares: guest, host, sharing, point, offset."""
    names = list(tensors)
    reads = [(i, point) for i, (*_, readers) in enumerate(tensors.values()) for point in readers]
    rows = sorted(((names.index(g), names.index(h), o, s, p) for g, h, s, p, o in shares), key=lambda row: row[4])
    return Program(
        operators=tuple(f"n{i}" for i in range(points)),
        tensors=tuple(names),
        size_bytes=ints([size for _, size, *_ in tensors.values()]),
        kind=ints([kind for kind, *_ in tensors.values()]),
        writer=ints([writer for _, _, writer, _ in tensors.values()]),
        read_tensor=ints([t for t, _ in reads]),
        read_point=ints([p for _, p in reads]),
        may_share=MayShare(*(ints([row[i] for row in rows]) for i in range(5))),
        loops=ints(list(loops)).reshape(-1, 2),
        streams=None if streams is None else ints(streams),
        syncs=None if syncs is None else ints(list(syncs)).reshape(-1, 2),
    )


def between(size, writer, *readers):
    return Kind.INTERMEDIATE, size, writer, readers


def homes(liveness):
    """For each tensor the name of the buffer that it lies in, and where."""
    owner = [liveness.program.tensors[i] for i in liveness.owner]
    return {
        name: (owner[b], int(o)) if b >= 0 else None
        for name, b, o in zip(liveness.program.tensors, liveness.buffer, liveness.offset_bytes, strict=True)
    }


def spans(liveness):
    owner = [liveness.program.tensors[i] for i in liveness.owner]
    return {name: (int(a), int(b)) for name, a, b in zip(owner, liveness.first, liveness.last, strict=True)}


def chain(types="xabcy", ops=("Kernel", "Relu", "Relu", "Kernel"), size=2):
    nodes = [(op, types[i], types[i + 1]) for i, op in enumerate(ops)]
    return simple(nodes, inputs=types[0], outputs=types[-1], types={n: flat(size) for n in types})


def over(guest, host, point):
    return guest, host, Sharing.IN_PLACE, point, 0


def joined(whole, *parts, point, offset=0):
    rows = []
    for name, size in parts:
        rows.append((name, whole, Sharing.CONCAT, point, offset))
        offset += size
    return rows


def cut(whole, *parts, point):
    return [(name, host, Sharing.SPLIT, p, o) for name, host, _, p, o in joined(whole, *parts, point=point)]
