"""The explorer as a widget, whole or one panel of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from gexplorer.errors import OptionError
from gexplorer.jupyter.workbench import Wish, Workbench

if TYPE_CHECKING:
    from gexplorer.compiler import Compilation
    from gexplorer.display import Displayed
    from gexplorer.jupyter.controls import Controls
    from gexplorer.trace.records import Step

_STATIC = Path(__file__).parent.parent / "static"

# Parts that each panel reads besides those that tell where one is (the panels' ``needs`` in widgets/src/tabs).
PANELS: Mapping[str, tuple[str, ...]] = {
    "graph": ("scenes", "cost"),
    "memory": ("memory", "cost"),
    "schedule": ("schedule",),
    "traffic": ("cost",),
    "roofline": ("cost",),
    "tiling": ("cost", "tiling"),
    "kernel": ("cost", "kernel"),
    "time": ("rules",),
    "rules": ("rules",),
    "figures": (),
    "log": ("log",),
}
_WHERE = ("head", "steps", "nodes", "values")


class _Live(anywidget.AnyWidget):
    """What the widgets share: a compilation that is being changed, a selection, and messages.

    Attributes:
        selection: what is chosen, by name: ``step``, ``rewrite``, ``reject``, ``node``, ``value``, ``rule``,
            ``position``. Set it to choose from Python.
        theme: ``auto``, ``light`` or ``dark``.
        height: in px.
        static: a picture as HTML, for a notebook that is opened without its kernel; it comes with the first parts.
    """

    _css = _STATIC / "gexplorer.css"
    selection = traitlets.Dict().tag(sync=True)
    theme = traitlets.Enum(["auto", "light", "dark"], "auto").tag(sync=True)
    height = traitlets.Int(760).tag(sync=True)
    static = traitlets.Unicode("").tag(sync=True)

    def __init__(self, compilation: Compilation, wanted: Sequence[str] | None = None, **traits: Any) -> None:
        self._listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self._changes: dict[str, Any] = {}
        self._shown: dict[str, Any] = {}
        super().__init__(**traits)
        self._bench = Workbench(compilation, self._post, wanted)
        self.on_msg(self._hear)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.compilation.source.name!r})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The widget, and the static picture for whoever cannot show one."""
        made = super()._repr_mimebundle_(**kwargs)
        if made is None:
            return None
        from gexplorer.render.display import bundle

        still = {kind: data for kind, data in bundle(self._still()).items() if kind == "text/html"}
        return {**made[0], **still}, made[1]

    def _page(self) -> str:
        """The static picture as a whole page."""
        from gexplorer.render.display import shown
        from gexplorer.render.page import plain_page

        return plain_page(repr(self), shown(self._still()))

    def _still(self) -> Displayed:
        """The result whose static picture stands for the widget."""
        return self.compilation

    @property
    def compilation(self) -> Compilation:
        """What is shown: the newest compilation that is done."""
        return self._bench.current

    @property
    def opened(self) -> Compilation:
        """What it was opened with."""
        return self._bench.opened

    @property
    def changes(self) -> Mapping[str, Any]:
        """Options that differ from those that it was opened with."""
        return dict(self._changes)

    def change(self, **changes: Any) -> None:
        """Compiles again with other options, as a click on a switch does; returns at once.

        Args:
            **changes: options as ``Compilation.replace`` takes them; what was changed before stays changed.

        Raises:
            OptionError: there is no such option, or it cannot have this value.
        """
        merged = {**self._changes, **changes}
        if isinstance(self._changes.get("fusion"), Mapping) and isinstance(changes.get("fusion"), Mapping):
            merged["fusion"] = {**self._changes["fusion"], **changes["fusion"]}
        self._bench.opened.options.with_changes(merged)
        self._wish(self._bench.sequence + 1, merged)

    def reset(self) -> None:
        """Goes back to the compilation that it was opened with."""
        self._wish(self._bench.sequence + 1, {})

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until what was asked for is shown; False where that took longer than so many seconds."""
        return self._bench.wait(seconds)

    def on_result(self, listener: Callable[[Mapping[str, Any]], None]) -> None:
        """Has a function called, in another thread, with every message that goes to the front end."""
        self._listeners.append(listener)

    def _wish(self, sequence: int, changes: Mapping[str, Any]) -> None:
        self._changes = dict(changes)
        self._bench.change(Wish(sequence, self._changes))

    def _post(self, message: dict[str, Any], buffers: Sequence[bytes]) -> None:
        self.send(message, list(buffers))
        if message["type"] == "parts":
            self._shown = dict(message.get("changes", self._shown))
            if not self.static:
                self.static = self._page()
        elif message["type"] == "failure":
            self._changes = dict(self._shown)  # the last good picture stays, and so does what it shows
        for listener in self._listeners:
            listener(message)

    def _hear(self, _: object, message: Any, __: object) -> None:
        kind = message.get("type") if isinstance(message, dict) else None
        if kind == "ready":
            self._bench.show()
        elif kind == "change":
            self._heard_change(message)
        elif kind == "reset":
            self._wish(int(message.get("sequence", self._bench.sequence + 1)), {})
        elif kind == "ask":
            self._bench.ask(str(message.get("part")))

    def _heard_change(self, message: Mapping[str, Any]) -> None:
        changes = {
            name: {key: tuple(shape) for key, shape in value.items()} if name == "shapes" else value
            for name, value in dict(message.get("changes", {})).items()
        }
        try:
            self._bench.opened.options.with_changes(changes)
        except OptionError as error:
            self._post({"type": "failure", "message": str(error)}, ())
            return
        self._wish(int(message["sequence"]), changes)


class Explorer(_Live):
    """The whole explorer: steps, graph, inspector, charts, toggles, all of one cursor.

    Args:
        compilation: what to show.
        **traits: ``theme``, ``height``, ``selection``.
    """

    _esm = _STATIC / "explorer.js"

    def __init__(self, compilation: Compilation, **traits: Any) -> None:
        super().__init__(compilation, **traits)

    def controls(self, *, every: bool = False) -> Controls:
        """Switches and choices as ordinary ipywidgets, tied to this explorer; ``every``: for all passes and rules."""
        from gexplorer.jupyter.controls import Controls

        return Controls(self, every=every)


class PanelWidget(_Live):
    """One panel of the explorer by itself.

    Args:
        compilation: what to show.
        panel: one of ``PANELS``.
        **traits: ``theme``, ``height``, ``selection``.

    Raises:
        OptionError: there is no such panel.
    """

    panel = traitlets.Unicode("graph").tag(sync=True)

    def __init__(self, compilation: Compilation, panel: str, **traits: Any) -> None:
        if panel not in PANELS:
            raise OptionError(f"panel {panel!r}: there are {', '.join(PANELS)}")
        traits.setdefault("height", 420)
        # Each panel has a module of its own: a notebook keeps a copy for every widget.
        self._esm = (_STATIC / f"panel-{panel}.js").read_text("utf-8")
        super().__init__(compilation, (*_WHERE, *PANELS[panel]), panel=panel, **traits)

    def _still(self) -> Displayed:
        compilation, node = self.compilation, self.selection.get("node")
        if self.panel in ("tiling", "kernel") and isinstance(node, str):
            with suppress(OptionError):  # it launches none
                return compilation.kernels[node]
        found: dict[str, Displayed] = {
            "graph": self._step(),
            "memory": compilation.memory,
            "schedule": compilation.schedule,
            "traffic": compilation.cost,
            "roofline": compilation.cost,
            "tiling": compilation.kernels,
            "kernel": compilation.kernels,
            "time": compilation.steps,
            "rules": compilation.steps,
            "log": compilation.steps,
        }
        return found.get(self.panel, compilation)

    def _step(self) -> Step:
        """The step that is chosen; without a choice the last that rewrote something."""
        steps = self.compilation.steps
        with suppress(KeyError, IndexError, TypeError):
            return steps[self.selection["step"]]
        return next((step for step in reversed(steps) if step.rewrites), steps[-1])
