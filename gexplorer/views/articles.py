"""A claim of the source articles beside the same thing computed, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol


class Claim(Protocol):
    """A row of the articles' table."""

    row: ClassVar[int]
    title: ClassVar[str]
    article: ClassVar[Mapping[str, object]]
    note: ClassVar[str]

    def compute(self) -> Mapping[str, object]:
        """The same quantities, computed now."""
        ...


def article_row(claim: Claim) -> dict[str, object]:
    """One row: its number and title, what the articles say, what comes out, and what to make of it."""
    return {
        "row": claim.row,
        "title": claim.title,
        "article": _plain(claim.article),
        "computed": _plain(claim.compute()),
        "note": claim.note,
    }


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
