"""The bar of a notebook: late, true, and gone whatever happens."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("IPython", reason="IPython is not installed (the extra 'lab')")

import gexplorer
from gexplorer.jupyter import progress


class Handle:
    """What IPython gives for an output that can be changed later."""

    def __init__(self, box):
        self.box, self.data = box, "shown"

    def update(self, data, raw):
        assert raw
        self.data = data


@pytest.fixture
def shown(monkeypatch):
    handles = []

    def display(box, display_id):
        assert display_id
        handles.append(Handle(box))
        return handles[-1]

    monkeypatch.setattr("IPython.display.display", display)
    return handles


def test_short_work_shows_nothing(shown):
    with progress.bar() as tell:
        tell(progress.Progress("flash_attention", 3, 10))
    assert shown == []


def test_it_says_how_far_the_work_is_and_goes_away(shown, monkeypatch):
    monkeypatch.setattr(progress, "DELAY_S", 0.0)
    with progress.bar() as tell:
        tell(progress.Progress("conv_bias", 2, 10))
        tell(progress.Progress("flash_attention", 3, 10))
        (handle,) = shown
        bar, label = handle.box.children
        assert (bar.value, bar.max, label.value) == (3, 10, "flash attention 3/10")
        assert handle.data == "shown"
    assert handle.data == {"text/plain": ""}
    assert bar.comm is None


def test_an_interrupt_takes_it_away_and_leaves_everything_usable(shown, monkeypatch):
    monkeypatch.setattr(progress, "DELAY_S", 0.0)
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=object()))

    def interrupt(self, *_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("gexplorer.passes.constant_folding.ConstantFolding.run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            gexplorer.compile("mlp:small=true")
    (handle,) = shown
    assert handle.data == {"text/plain": ""}
    assert len(gexplorer.compile("mlp:small=true").steps) > 60


def test_outside_of_a_notebook_there_is_none(shown, monkeypatch):
    monkeypatch.setattr(progress, "DELAY_S", 0.0)
    gexplorer.compile("mlp:small=true")
    assert shown == []
