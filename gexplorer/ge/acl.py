"""``acl`` of the articles: there is no device here, so there is nothing to set up."""

from __future__ import annotations


def init(config: str | None = None) -> int:
    """Does nothing and returns 0, as ACL does when all is well. ``config`` is not read."""
    return 0


def finalize() -> int:
    """Does nothing and returns 0."""
    return 0
