"""The explorer over two graphs side by side, as a widget that compiles nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

if TYPE_CHECKING:
    from gexplorer.render.document import Document

_STATIC = Path(__file__).parent.parent / "static"


class DifferenceWidget(anywidget.AnyWidget):
    """Two graphs as one picture: removed, added, changed.

    Args:
        document: what is shown.
        own: parts that are not as the document has them.
        **traits: ``theme``, ``height``, ``selection``.
    """

    _esm = _STATIC / "explorer.js"
    _css = _STATIC / "gexplorer.css"
    selection = traitlets.Dict().tag(sync=True)
    theme = traitlets.Enum(["auto", "light", "dark"], "auto").tag(sync=True)
    height = traitlets.Int(760).tag(sync=True)
    # Switches are grey, and say why.
    fixed = traitlets.Unicode("This compares two compilations and cannot compile again.").tag(sync=True)

    def __init__(self, document: Document, own: Mapping[str, bytes], **traits: Any) -> None:
        self._document, self._own = document, own
        super().__init__(**traits)
        self.on_msg(self._hear)

    def _hear(self, _: object, message: Any, __: object) -> None:
        kind = message.get("type") if isinstance(message, dict) else None
        parts = self._document.parts
        names = [name for name in parts if name not in self._document.on_demand] if kind == "ready" else []
        if kind == "ask" and message.get("part") in parts:
            names = [str(message["part"])]
        if names:
            buffers = [self._own.get(name) or parts[name] for name in names]
            self.send({"type": "parts", "names": names}, buffers)
        elif kind == "change":
            self.send({"type": "failure", "message": self.fixed})
