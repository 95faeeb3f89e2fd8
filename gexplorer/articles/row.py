"""A row of the articles' table: their claim, and the same thing computed here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import ClassVar

import gexplorer.articles
from gexplorer.discovery import classes_of


def says(**values: object) -> Mapping[str, object]:
    """What an article says, by name, in the order given; read-only."""
    return MappingProxyType(values)


class Row(ABC):
    """One claim. A subclass in a file of this package is found by itself.

    Attributes:
        row: its number; rows keep their numbers for good.
        title: what it is about.
        article: what the articles say, by name; cited, never used in computing.
        note: what a reader should make of the difference.
    """

    row: ClassVar[int]
    title: ClassVar[str]
    article: ClassVar[Mapping[str, object]]
    note: ClassVar[str]

    @abstractmethod
    def compute(self) -> Mapping[str, object]:
        """The same quantities, computed by this program now; plain data."""

    def as_dict(self) -> dict[str, object]:
        """All of it, computed now: what ``gexplorer articles --json`` writes of a row."""
        computed = _plain(self.compute())
        return {
            "row": self.row,
            "title": self.title,
            "article": _plain(self.article),
            "computed": computed,
            "note": self.note,
        }


@cache
def all_rows() -> tuple[type[Row], ...]:
    """Every row, by its number."""
    return tuple(sorted(classes_of(gexplorer.articles, Row, key="row"), key=lambda found: found.row))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
