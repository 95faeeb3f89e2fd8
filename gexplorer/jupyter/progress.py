"""A progress bar in a notebook, for compilations that take longer than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic
from typing import Any

from gexplorer.passes.manager import Progress

Tell = Callable[[Progress], None]
# Nothing is shown for work that is shorter, in seconds.
DELAY_S = 1.0


def watched(tell: Tell | None) -> AbstractContextManager[Tell | None]:
    """Who is told how far the work is: a bar where it runs in a notebook and nobody else is named."""
    return nullcontext(tell) if tell is not None or not in_notebook() else bar()


def in_notebook() -> bool:
    """True where the code runs for a notebook. Imports nothing: a notebook has imported IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def bar() -> Generator[Tell]:
    """A bar below the cell while work lasts; it goes away also where the work fails or is interrupted.

    It is an output that is taken back, so that it is not saved with the notebook.
    """
    start = monotonic()
    shown: list[tuple[Any, Any, Any]] = []

    def tell(progress: Progress) -> None:
        if not shown and monotonic() - start >= DELAY_S:
            import ipywidgets
            from IPython.display import display

            widget = ipywidgets.IntProgress(layout={"width": "20em"})
            label = ipywidgets.Label()
            box = ipywidgets.HBox([widget, label])
            shown.append((widget, label, display(box, display_id=True)))
        for widget, label, _ in shown:
            widget.max, widget.value = progress.total, progress.done
            label.value = f"{progress.name.replace('_', ' ')} {progress.done}/{progress.total}"

    try:
        yield tell
    finally:
        for widget, label, handle in shown:
            handle.update({"text/plain": ""}, raw=True)  # nbconvert warns of an output with nothing in it
            widget.close()
            label.close()
