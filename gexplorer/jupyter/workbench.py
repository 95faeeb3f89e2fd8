"""Compiles what a person asks for in a thread of its own, so that the person never waits; the newest wish wins."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from gexplorer.compiler import Compilation, compile_source
from gexplorer.errors import GexplorerError
from gexplorer.jupyter.warm import warm
from gexplorer.options import Options
from gexplorer.progress import Progress
from gexplorer.render.document import Document, document

# A message and the bytes that go with it, to the front end.
Post = Callable[[dict[str, Any], Sequence[bytes]], None]

# Progress is told so often at most, and of work that takes less than this not at all, in seconds: whoever draws it
# takes time from those who compile.
_BETWEEN, _QUIET = 0.1, 0.5
# Whoever waits looks so often, in seconds.
_LOOKS = 0.005


class _Superseded(BaseException):
    """There is a newer wish. No error: what means to catch errors must not catch it."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for.

    Attributes:
        sequence: number of the wish; the answer carries it.
        changes: options that differ from those of the compilation that the explorer was opened with.
    """

    sequence: int
    changes: Mapping[str, Any]


class Workbench:
    """One compilation that is being changed.

    Everything long happens in a daemon thread that lives while there is work. ``post`` is called from it.

    Args:
        compilation: what the explorer is opened with.
        post: takes messages to the front end.
        wanted: names of the parts that the front end wants; None for all that are not on demand.

    Attributes:
        opened: the compilation that it was opened with.
        current: the newest that is done.
    """

    def __init__(self, compilation: Compilation, post: Post, wanted: Sequence[str] | None = None) -> None:
        self.opened = self.current = compilation
        self._options = compilation.options  # that the person asked for
        self.sequence = 0
        self._post = post
        self._wanted = wanted
        # Of what it was opened with, of what is shown, and of the current compilation.
        self._first: Document | None = None
        self._shown: Document | None = None
        self._document: tuple[Compilation, Options, Document] | None = None
        self._sent: dict[str, bytes] = {}
        self._asked: list[str] = []
        self._wish: Wish | None = None
        self._everything = False
        self._lock = threading.Lock()
        self._idle = True
        self._told = 0.0

    def show(self) -> None:
        """Sends every part: the front end has just been opened."""
        with self._lock:
            self._everything = True
        self._work()

    def change(self, wish: Wish) -> None:
        """Compiles again; a compilation that is under way for an older wish is given up."""
        with self._lock:
            self._wish = wish
            self.sequence = max(self.sequence, wish.sequence)
        self._work()

    def ask(self, part: str) -> None:
        """Sends a part that is made on demand."""
        with self._lock:
            if part not in self._asked:
                self._asked.append(part)
        self._work()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until there is nothing to do; False where that took longer than so many seconds.

        Looks again and again: whoever interrupts a wait for a ``threading.Event`` may leave its lock taken for good.
        """
        end = None if seconds is None else monotonic() + seconds
        while not self._idle:
            if end is not None and monotonic() >= end:
                return False
            sleep(_LOOKS)
        return True

    def _work(self) -> None:
        with self._lock:
            if not self._idle:
                return
            self._idle = False
        threading.Thread(target=self._run, name="gexplorer-workbench", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                wish, self._wish = self._wish, None
                everything, self._everything = self._everything, False
                asked, self._asked = self._asked, []
                self._told = monotonic() + _QUIET - _BETWEEN
                if wish is None and not everything and not asked:
                    self._idle = True
                    return
            try:
                if wish is not None:
                    self._compile(wish)
                if everything:
                    self._sent.clear()
                if wish is not None or everything:
                    # What only one panel wants must not keep the others waiting.
                    asked = self._show(wish, asked)
                self._send(asked)
                if everything:
                    warm()
            except _Superseded:
                with self._lock:
                    self._everything |= everything
                    self._asked = [*asked, *(name for name in self._asked if name not in asked)]
            except GexplorerError as error:
                self._fail(str(error))
            except Exception as error:
                self._fail(f"{type(error).__name__}: {error}")

    def _fail(self, message: str) -> None:
        """Says what went wrong, in one line; who has asked for something else meanwhile need not know."""
        if self._wish is None:
            self._post({"type": "failure", "message": " ".join(message.split())}, ())

    def _compile(self, wish: Wish) -> None:
        if not wish.changes:
            self.current, self._options = self.opened, self.opened.options
            return
        asked = self.opened.options.with_changes(wish.changes)
        # Whoever tries switches wants to see what comes of them, not to wait until it is proved.
        options = asked if "validate" in wish.changes else asked.with_changes({"validate": "off"})
        if not options.same_as(self.current.options):
            self.current = compile_source(self.opened.source, options, previous=self.current, tell=self._tell)
        self._options = asked

    def _whole(self) -> Document:
        if self.current is self.opened and self._first is not None:
            return self._first
        known = self._document
        if known is None or known[0] is not self.current or not known[1].same_as(self._options):
            whole = document(self.current, previous=self._shown, asked=self._options)
            known = self._document = self.current, self._options, whole
            if self.current is self.opened:
                self._first = whole
        return known[2]

    def _show(self, wish: Wish | None, asked: Sequence[str]) -> list[str]:
        """Sends what is always shown; returns the parts on demand that follow: it had them, or has asked for them."""
        whole = self._whole()
        names = [name for name in whole.parts if name not in whole.on_demand]
        wanted = [name for name in names if self._wanted is None or name in self._wanted]
        old = [name for name in whole.on_demand if name in self._sent and name not in whole.taken_over]
        later = [name for name in old if name not in whole.parts.packed]
        new = self._made([*wanted, *(name for name in old if name not in later)])
        gone = [name for name in self._sent if name not in whole.parts or name in later]
        coming = [name for name in dict.fromkeys([*later, *asked]) if name in whole.parts and name not in new]
        message: dict[str, Any] = {"type": "parts", "names": list(new), "gone": gone, "coming": coming}
        if wish is not None:
            message |= {"sequence": wish.sequence, "changes": dict(wish.changes)}
        self._post(message, list(new.values()))
        self._sent |= new
        for name in gone:
            del self._sent[name]
        self._shown = whole
        return coming

    def _send(self, names: Sequence[str]) -> None:
        """Sends parts that are made on demand."""
        new = self._made(names)
        if new:
            self._post({"type": "parts", "names": list(new), "gone": []}, list(new.values()))
            self._sent |= new
        elif names:  # nothing is under way any more
            self._post({"type": "work", "done": 1, "total": 1, "text": ""}, ())

    def _made(self, names: Sequence[str]) -> dict[str, bytes]:
        """Those parts that the front end does not have yet."""
        whole = self._whole()
        made: dict[str, bytes] = {}
        for number, name in enumerate(names):
            self._tell(Progress(f"drawing {name}", number, len(names)))
            if name in whole.parts:
                made[name] = whole.parts[name]
        return {name: data for name, data in made.items() if self._sent.get(name) != data}

    def _tell(self, progress: Progress) -> None:
        self._stop_if_superseded()
        now = monotonic()
        if now - self._told >= _BETWEEN:
            self._told = now
            text = progress.name.replace("_", " ")
            self._post({"type": "work", "done": progress.done, "total": progress.total, "text": text}, ())

    def _stop_if_superseded(self) -> None:
        if self._wish is not None:
            raise _Superseded
