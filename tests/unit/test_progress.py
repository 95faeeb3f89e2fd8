"""The bar of a notebook and the line of a terminal: late, true, and gone whatever happens."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest

import gexplorer
from gexplorer import progress


class Handle:
    """What IPython gives for an output that can be changed later."""

    def __init__(self, box):
        self.box, self.data = box, "shown"

    def update(self, data, raw):
        assert raw
        self.data = data


@pytest.fixture
def shown(monkeypatch):
    pytest.importorskip("IPython", reason="IPython is not installed (the extra 'lab')")
    handles = []

    def display(box, display_id):
        assert display_id
        handles.append(Handle(box))
        return handles[-1]

    monkeypatch.setattr("IPython.display.display", display)
    return handles


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "DELAY_S", 0.0)


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_short_work_shows_nothing(shown):
    with progress.bar() as tell:
        tell(progress.Progress("flash_attention", 3, 10))
    time.sleep(0.05)
    assert shown == []


def test_it_says_how_far_the_work_is_and_goes_away(shown, at_once):
    with progress.bar() as tell:
        tell(progress.Progress("conv_bias", 2, 10))
        until(lambda: shown)
        tell(progress.Progress("flash_attention", 3, 10))
        (handle,) = shown
        bar, label = handle.box.children
        assert (bar.value, bar.max, label.value) == (3, 10, "flash attention 3/10")
        assert handle.data == "shown"
    assert handle.data == {"text/plain": ""}
    assert (bar.comm, label.comm, handle.box.children) == (None, None, ())


def test_work_that_tells_nothing_says_what_it_is(shown, at_once):
    with progress.bar("writing the report"):
        until(lambda: shown)
        assert shown[0].box.children[1].value == "writing the report …"
    assert shown[0].data == {"text/plain": ""}


def test_whoever_is_watched_already_gets_no_second_bar(shown, at_once, monkeypatch):
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=object()))
    with progress.watched() as outer, progress.watched() as inner:
        assert outer is not None
        assert inner is None
        until(lambda: shown)
    with progress.watched(print) as named, progress.watched() as inner:
        assert named is print
        assert inner is None
    assert len(shown) == 1


SLOW = {
    "compile": lambda compiled, folder: gexplorer.compile("mlp:small=true"),
    "replace": lambda compiled, folder: compiled.replace(memory="safe"),
    "report": lambda compiled, folder: compiled.report(folder / "out.html"),
    "save": lambda compiled, folder: compiled.save(folder / "out.om"),
    "diff": lambda compiled, folder: gexplorer.diff(compiled, compiled.replace(memory="safe")).widget(),
}


@pytest.mark.parametrize("work", SLOW)
def test_everything_long_has_one_and_takes_it_away(shown, at_once, monkeypatch, tmp_path, work):
    compiled = gexplorer.compile("mlp:small=true,weights=random")
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=object()))

    def opened(self):  # the work is too short for a timer
        until(lambda: self._timer.finished.is_set())
        whole(self)

    whole = progress._NotebookBar.close
    monkeypatch.setattr(progress._NotebookBar, "close", opened)
    SLOW[work](compiled, tmp_path)
    assert shown
    assert all(handle.data == {"text/plain": ""} for handle in shown)


def test_every_stage_is_told():
    heard = []
    gexplorer.compile("mlp:small=true", tell=heard.append)
    assert [one.done for one in heard] == list(range(heard[-1].total))
    assert [one.name for one in heard[-4:]] == ["memory", "kernels", "schedule", "validation"]
    assert len({one.total for one in heard}) == 1


def test_a_line_on_a_terminal_and_nothing_in_a_file(monkeypatch, capsys):
    monkeypatch.setattr(progress, "DELAY_S", 0.0)
    with progress.watched() as tell:
        assert tell is None
    made = []
    monkeypatch.setattr("sys.stderr", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(progress, "_TerminalLine", lambda what: made.append(Line(what)) or made[0])
    with pytest.raises(KeyboardInterrupt), progress.watched(what="writing"):
        raise KeyboardInterrupt
    assert made[0].what == "writing"
    assert made[0].is_closed
    assert capsys.readouterr() == ("", "")


class Line:
    """The line on a terminal."""

    def __init__(self, what):
        self.what, self.is_closed = what, False
        self.tell = print

    def close(self):
        self.is_closed = True


def test_outside_of_a_notebook_there_is_none(shown, monkeypatch):
    monkeypatch.setattr(progress, "DELAY_S", 0.0)
    gexplorer.compile("mlp:small=true")
    assert shown == []


class MarimoBar:
    """What marimo gives for work of so many parts."""

    def __init__(self, total, **options):
        assert options["remove_on_exit"]
        self.total, self.done, self.title, self.is_open = total, 0, "", False

    def __enter__(self):
        self.is_open = True
        return self

    def __exit__(self, *_):
        self.is_open = False

    def update(self, increment, title):
        assert self.is_open
        self.done, self.title = self.done + increment, title


def test_marimo_draws_its_own_bar_late_and_takes_it_away(monkeypatch):
    made, now = [], [0.0]
    status = SimpleNamespace(progress_bar=lambda **given: made.append(MarimoBar(**given)) or made[-1])
    marimo = SimpleNamespace(running_in_notebook=lambda: True, status=status)
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    with suppress(KeyboardInterrupt), progress.watched() as tell:
        tell(progress.Progress("conv_bias", 2, 10))
        assert made == []
        now[0] = 1.5
        tell(progress.Progress("flash_attention", 3, 10))
        tell(progress.Progress("gelu", 7, 10))
        (bar,) = made
        assert (bar.is_open, bar.done, bar.total, bar.title) == (True, 7, 10, "gelu")
        raise KeyboardInterrupt
    assert not bar.is_open
    marimo.running_in_notebook = lambda: False  # a script that imports marimo has none
    with progress.watched() as tell:
        assert tell is None
