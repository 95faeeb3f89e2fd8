"""``ge.ge_tensor`` of the articles, which they import for nothing but its name: ``run`` is all there is."""

from __future__ import annotations

from gexplorer.ge.graph import run as run

__all__ = ["run"]
