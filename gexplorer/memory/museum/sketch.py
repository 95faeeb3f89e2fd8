"""Writes small programs down, one operator a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from gexplorer.memory.program import BEFORE, Kind, MayShare, Program, Sharing


class Sketch:
    """A program that is being written down; operators run in the order in which they are given."""

    def __init__(self, inputs: Mapping[str, int] | None = None, kind: Kind = Kind.INPUT) -> None:
        self._operators: list[str] = []
        self._streams: list[int] = []
        self._tensors: dict[str, tuple[int, int, Kind]] = {}
        self._reads: set[tuple[int, int]] = set()
        self._share: list[tuple[int, int, int, int, int]] = []
        self._loops: list[tuple[int, int]] = []
        self._syncs: list[tuple[int, int]] = []
        for name, size_bytes in (inputs or {}).items():
            self._tensors[name] = (size_bytes, BEFORE, kind)

    def run(
        self,
        operator: str,
        reads: str = "",
        writes: Mapping[str, int] | None = None,
        *,
        kind: Kind | None = None,
        stream: int = 0,
    ) -> Sketch:
        """An operator that reads tensors (names parted by spaces) and writes others, of so many bytes each."""
        point = len(self._operators)
        self._operators.append(operator)
        self._streams.append(stream)
        self._reads |= {(self._row(name), point) for name in reads.split()}
        for name, size_bytes in (writes or {}).items():
            self._tensors[name] = (size_bytes, point, kind or Kind.INTERMEDIATE)
        return self

    def may(self, sharing: Sharing, guest: str, host: str, offset_bytes: int = 0) -> Sketch:
        """The last operator lets a guest lie in a host."""
        row = (self._row(guest), self._row(host), offset_bytes, int(sharing), len(self._operators) - 1)
        self._share.append(row)
        return self

    def loop(self, first: str, last: str) -> Sketch:
        """A loop from one operator to another."""
        self._loops.append((self._operators.index(first), self._operators.index(last)))
        return self

    def sync(self, first: str, second: str) -> Sketch:
        """The second operator waits for the first."""
        self._syncs.append((self._operators.index(first), self._operators.index(second)))
        return self

    def program(self) -> Program:
        """The program; with streams where there is more than one."""
        size, writer, kind = zip(*self._tensors.values(), strict=True)
        reads = sorted(self._reads)
        several = len(set(self._streams)) > 1
        return Program(
            operators=tuple(self._operators),
            tensors=tuple(self._tensors),
            size_bytes=_column(size),
            kind=_column(kind),
            writer=_column(writer),
            read_tensor=_column(tensor for tensor, _ in reads),
            read_point=_column(point for _, point in reads),
            may_share=MayShare(*(_column(row[i] for row in self._share) for i in range(5))),
            loops=_pairs(self._loops),
            streams=_column(self._streams) if several else None,
            syncs=_pairs(self._syncs) if several else None,
        )

    def _row(self, name: str) -> int:
        return list(self._tensors).index(name)


def _column(values: Iterable[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    column = np.array(list(values), np.int64)
    column.flags.writeable = False
    return column


def _pairs(values: Iterable[tuple[int, int]]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    pairs = np.array(list(values), np.int64).reshape(-1, 2)
    pairs.flags.writeable = False
    return pairs
