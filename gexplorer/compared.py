"""Two compilations, or two steps, side by side: the object that ``gexplorer.diff`` gives."""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gexplorer.compiler import Compilation
from gexplorer.display import Displayed
from gexplorer.errors import OptionError
from gexplorer.progress import watched
from gexplorer.trace.records import Step

if TYPE_CHECKING:
    from gexplorer.jupyter.difference import DifferenceWidget
    from gexplorer.render.document import Document
    from gexplorer.views.difference import Difference, FigureChange, RuleChange


def diff(a: Compilation | Step, b: Compilation | Step) -> Compared:
    """Puts two compilations, or the graphs after two steps, side by side.

    Args:
        a: the first.
        b: the second, of the same kind.

    Raises:
        OptionError: one is a compilation and the other a step, or neither is either.
    """
    if isinstance(a, Compilation) and isinstance(b, Compilation):
        return Compared(a, b)
    if isinstance(a, Step) and isinstance(b, Step):
        return Compared(a, b)
    raise OptionError(f"diff: two compilations or two steps are wanted, not {type(a).__name__} and {type(b).__name__}")


class Compared(Displayed):
    """What is different between two compilations or two steps.

    Attributes:
        a: the first.
        b: the second.
    """

    def __init__(self, a: Compilation | Step, b: Compilation | Step) -> None:
        self.a, self.b = a, b

    def __repr__(self) -> str:
        names = " → ".join(dict.fromkeys(self.found.names))
        told = "no difference" if self.found.is_empty else f"{sum(f.before != f.after for f in self.figures)} figures"
        return f"Compared({names}: {told}, {len(self.rules)} rules differ)"

    @cached_property
    def found(self) -> Difference:
        """The difference as plain records."""
        from gexplorer.views.difference import difference, difference_of_graphs

        if isinstance(self.a, Compilation) and isinstance(self.b, Compilation):
            with watched(what="comparing"):
                return difference(self.a.summary(), self.b.summary())
        assert isinstance(self.a, Step)
        assert isinstance(self.b, Step)
        return difference_of_graphs(self.a.after, self.b.after, (self.a.name, self.b.name))

    @property
    def figures(self) -> tuple[FigureChange, ...]:
        """All figures, also those that are equal: key, label, unit, before, after, change."""
        return self.found.figures

    @property
    def rules(self) -> tuple[RuleChange, ...]:
        """The passes and rules that do another number of rewrites, and why; none for two steps."""
        return self.found.rules

    def summary(self) -> dict[str, object]:
        """The difference as plain data, as ``gexplorer diff --json`` writes it but for the limits."""
        rows = [{**asdict(figure), "change": figure.change} for figure in self.figures]
        return {**asdict(self.found), "figures": rows}

    def report(self, path: str | Path) -> Path:
        """Writes the explorer over both graphs as one HTML file; returns its path."""
        from gexplorer.render.difference import write_difference, write_parts

        with watched(what="writing the difference"):
            if isinstance(self.a, Compilation) and isinstance(self.b, Compilation):
                return write_difference(self.a, self.b, Path(path))
            return write_parts(*self.parts(), self.found, Path(path))

    def widget(self, **traits: Any) -> DifferenceWidget:
        """The explorer over both graphs, for a notebook.

        Args:
            **traits: ``theme`` (auto, light, dark), ``height`` in px, ``selection``.
        """
        from gexplorer.jupyter.difference import DifferenceWidget

        with watched(what="drawing the difference"):
            own, whole = self.parts()
        return DifferenceWidget(whole, own, **traits)

    def parts(self) -> tuple[dict[str, bytes], Document]:
        """What the explorer shows: parts that are not as the document has them, and the document."""
        from gexplorer.render.difference import difference_parts, parts_of_graphs

        if isinstance(self.a, Compilation) and isinstance(self.b, Compilation):
            return difference_parts(self.a, self.b, self.found)
        assert isinstance(self.a, Step)
        assert isinstance(self.b, Step)
        return parts_of_graphs(self.a, self.b, self.found)
