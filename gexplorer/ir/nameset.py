"""Persistent sets of names and an index of them: a tuple while small, a hash-array-mapped trie above.

Most values have one or two users, a few hubs have a hundred thousand. A tuple is the smallest and fastest for
the former; the trie keeps adding and removing cheap for the latter.
"""

from __future__ import annotations

from immutables import Map, MapMutation

NameSet = tuple[str, ...] | Map[str, None]

EMPTY: NameSet = ()
_LARGE = 16


def name_set(names: list[str]) -> NameSet:
    """The set of some names, which must differ."""
    return tuple(names) if len(names) <= _LARGE else Map(dict.fromkeys(names))


class NameIndex:
    """A ``Map[str, NameSet]`` being edited; it holds no empty sets. Large ones stay open until ``finish``."""

    def __init__(self, index: Map[str, NameSet]) -> None:
        self._sets = index.mutate()
        self._open: dict[str, MapMutation[str, None]] = {}

    def get(self, key: str) -> NameSet:
        """The set of a key, empty where there is none; later edits do not change it."""
        if key not in self._open:
            return self._sets.get(key, EMPTY)
        so_far = self._open[key].finish()  # a map being edited cannot be walked through
        self._open[key] = so_far.mutate()
        return so_far

    def count(self, key: str) -> int:
        """Size of the set of a key."""
        return len(self._open[key] if key in self._open else self._sets.get(key, EMPTY))

    def keys(self) -> list[str]:
        """The keys that have a non-empty set, in no particular order."""
        so_far = self._sets.finish()
        self._sets = so_far.mutate()
        return [key for key in so_far if key not in self._open or self._open[key]]

    def add(self, key: str, name: str) -> None:
        """Puts a name into the set of a key."""
        names = self._editable(key)
        if not isinstance(names, tuple):
            names[name] = None
        elif name not in names:
            self._sets[key] = (*names, name) if len(names) < _LARGE else Map(dict.fromkeys((*names, name)))

    def discard(self, key: str, name: str) -> None:
        """Takes a name out of the set of a key."""
        names = self._editable(key)
        if name not in names:
            return
        if not isinstance(names, tuple):
            del names[name]
        elif len(names) > 1:
            self._sets[key] = tuple(n for n in names if n != name)
        else:
            del self._sets[key]

    def finish(self) -> Map[str, NameSet]:
        """The index as edited."""
        for key, names in self._open.items():
            if names:
                self._sets[key] = names.finish() if len(names) > _LARGE else tuple(names.finish())
            else:
                del self._sets[key]
        return self._sets.finish()

    def _editable(self, key: str) -> tuple[str, ...] | MapMutation[str, None]:
        if key in self._open:
            return self._open[key]
        names = self._sets.get(key, EMPTY)
        if isinstance(names, tuple):
            return names
        opened = self._open[key] = names.mutate()
        return opened
