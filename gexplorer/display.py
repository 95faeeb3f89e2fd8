"""How results show themselves in a notebook. Pictures are made elsewhere; results only say that they can be shown."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import plotly.graph_objects as go


class Displayed:
    """A result with a display: a line of text, and static HTML that needs no kernel and no network."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, str]:
        # By name, when it is asked for: a stage does not know who draws it.
        return cast("Mapping[str, str]", import_module("gexplorer.render.display").bundle(self))


class Charted(Displayed):
    """A result that can be drawn as a plotly figure as well."""

    __slots__ = ()

    def figure(self) -> go.Figure:
        """A plotly figure, to be restyled: never a widget, so that a saved notebook stays small."""
        return import_module("gexplorer.render.figures").figure(self)
