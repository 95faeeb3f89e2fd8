"""How far long work is, for whoever waits: a bar below the cell in a notebook, a line on stderr in a terminal."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

# Nothing is shown for work that is shorter, in seconds.
DELAY_S = 1.0

# Whether somebody further out is told already: what it calls must not open a bar of its own.
_is_watched = contextvars.ContextVar("gexplorer_is_watched", default=False)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far work is: told before each of its parts.

    Attributes:
        name: of the part that begins.
        done: number of parts that are done.
        total: number of all parts.
    """

    name: str
    done: int
    total: int


Tell = Callable[[Progress], None]


@contextmanager
def watched(tell: Tell | None = None, what: str = "working") -> Generator[Tell | None]:
    """Who is told how far the work is: a bar where a person waits and nobody else is named.

    Args:
        tell: who is named.
        what: what is done, for work that tells nothing on its way.
    """
    opened = nullcontext(tell) if tell is not None or _is_watched.get() else _bar(what)
    mark = _is_watched.set(True)
    try:
        with opened as told:
            yield told
    finally:
        _is_watched.reset(mark)


def in_notebook() -> bool:
    """True where the code runs for a notebook. Imports nothing: a notebook has imported IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _bar(what: str) -> AbstractContextManager[Tell | None]:
    if in_notebook():
        return bar(what)
    return line(what) if sys.stderr is not None and sys.stderr.isatty() else nullcontext()


@contextmanager
def line(what: str) -> Generator[Tell]:
    """A line on stderr while work lasts; a terminal is left as it was, whatever ends the work."""
    shown = _TerminalLine(what)
    try:
        yield shown.tell
    finally:
        shown.close()


@contextmanager
def bar(what: str = "working") -> Generator[Tell]:
    """A bar below the cell while work lasts; it goes away also where the work fails or is interrupted."""
    shown = _NotebookBar(what)
    try:
        yield shown.tell
    finally:
        shown.close()


class _TerminalLine:
    """The line of a terminal. A timer opens it, so that work shows that tells nothing for long."""

    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Line

        self._line = Line(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._line.add_task(what, total=None)
        self._lock = threading.Lock()
        self._is_closed = False
        self._timer = threading.Timer(DELAY_S, self._open)
        self._timer.daemon = True
        self._timer.start()

    def tell(self, progress: Progress) -> None:
        """Notes how far the work is."""
        self._line.update(self._task, description=progress.name, completed=progress.done, total=progress.total)

    def close(self) -> None:
        """Takes it away, or sees to it that it never comes."""
        self._timer.cancel()
        with self._lock:
            self._is_closed = True
            self._line.stop()

    def _open(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._line.start()


class _NotebookBar:
    """The bar of one cell.

    A timer opens it, so that work shows that tells nothing for long. It is an output that is taken back, so that it is
    not saved with the notebook; tqdm's leaves an empty box behind, and appears with the second message at the soonest.
    """

    def __init__(self, what: str) -> None:
        self._text, self._done, self._total = f"{what} …", 0, 0
        self._parts: tuple[Any, Any, Any] | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        # The context holds the cell that the output belongs to.
        context = contextvars.copy_context()
        self._timer = threading.Timer(DELAY_S, context.run, (self._open,))
        self._timer.daemon = True
        self._timer.start()

    def tell(self, progress: Progress) -> None:
        """Notes how far the work is."""
        self._text = f"{progress.name.replace('_', ' ')} {progress.done}/{progress.total}"
        self._done, self._total = progress.done, progress.total
        with self._lock:
            self._draw()

    def close(self) -> None:
        """Takes it away, or sees to it that it never comes."""
        self._timer.cancel()
        with self._lock:
            self._is_closed = True
            if self._parts is not None:
                widget, label, handle = self._parts
                handle.update({"text/plain": ""}, raw=True)  # nbconvert warns of an output with nothing in it
                widget.close()
                label.close()

    def _open(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            import ipywidgets
            from IPython.display import display

            widget = ipywidgets.IntProgress(layout={"width": "20em"})
            label = ipywidgets.Label()
            self._parts = (widget, label, None)
            self._draw()
            self._parts = (widget, label, display(ipywidgets.HBox([widget, label]), display_id=True))

    def _draw(self) -> None:
        if self._parts is not None:
            widget, label, _ = self._parts
            widget.max, widget.value = self._total or 1, self._done
            label.value = self._text
