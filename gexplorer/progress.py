"""How far long work is, for whoever waits: a bar below the cell in a notebook, a line on stderr in a terminal."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from time import monotonic
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


def in_marimo() -> bool:
    """True where the code runs for a notebook of marimo's. Imports nothing: such a notebook has imported it."""
    return bool(getattr(sys.modules.get("marimo"), "running_in_notebook", lambda: False)())


def _bar(what: str) -> AbstractContextManager[Tell | None]:
    if in_marimo():
        return marimo_bar()
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


@contextmanager
def marimo_bar() -> Generator[Tell]:
    """The bar that marimo has of its own, in the output of the cell while work lasts.

    Only the thread of the cell may draw there, so it is opened by the first part that begins after a second.
    """
    begin, done = monotonic(), 0
    opened: Any = None

    def tell(progress: Progress) -> None:
        nonlocal opened, done
        if opened is None and monotonic() - begin >= DELAY_S:
            bars: Any = sys.modules["marimo"]
            shown = bars.status.progress_bar(total=progress.total, remove_on_exit=True, show_rate=False, show_eta=False)
            opened = closing.enter_context(shown)
        if opened is not None:
            opened.update(progress.done - done, title=progress.name.replace("_", " "))
            done = progress.done

    with ExitStack() as closing:
        yield tell


class _TerminalLine:
    """The line of a terminal. A timer opens it, so that work shows that tells nothing for long."""

    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Line

        self._line = Line(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._line.add_task(what, total=None, count="")  # nobody knows of how many yet
        self._lock = threading.Lock()
        self._is_closed = False
        self._timer = threading.Timer(DELAY_S, self._open)
        self._timer.daemon = True
        self._timer.start()

    def tell(self, progress: Progress) -> None:
        """Notes how far the work is."""
        name, count = progress.name.replace("_", " "), f"{progress.done}/{progress.total}"
        self._line.update(self._task, description=name, completed=progress.done, total=progress.total, count=count)

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
        self._parts: tuple[Any, Any] | None = None
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
                box, handle = self._parts
                handle.update({"text/plain": ""}, raw=True)  # nbconvert warns of an output with nothing in it
                # The box stays, empty: JupyterLab may still draw it, and what is saved may name nothing that is gone.
                parts, box.children = box.children, ()
                for widget in parts:
                    widget.close()

    def _open(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            import ipywidgets
            from IPython.display import display

            box = ipywidgets.HBox([ipywidgets.IntProgress(layout={"width": "20em"}), ipywidgets.Label()])
            self._parts = (box, None)
            self._draw()
            self._parts = (box, display(box, display_id=True))

    def _draw(self) -> None:
        if self._parts is not None:
            widget, label = self._parts[0].children
            widget.max, widget.value = self._total or 1, self._done
            label.value = self._text
