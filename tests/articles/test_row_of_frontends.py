"""Row 2: each frontend gives one graph; what is not read says so; a graph in a circle is refused."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from gexplorer.articles.frontends import Frontends
from gexplorer.render.terminal_articles import print_articles


def test_without_torch_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    row = Frontends().as_dict()
    computed = row["computed"]
    assert [found["from"] for found in computed["read"]] == ["ONNX"]
    assert computed["read"][0]["operators"] == ["Gemm", "Relu", "Gemm"]
    assert "pip install" in computed["not_read"]["TorchScript"]
    assert "not an ONNX model" in computed["not_read"]["TensorFlow"]
    assert "part of a cycle" in computed["a_circle"]
    print_articles([row])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_every_frontend_gives_the_same_graph():
    computed = Frontends().as_dict()["computed"]
    assert [found["from"] for found in computed["read"]] == ["ONNX", "TorchScript", "FX graph"]
    assert len({tuple(found["operators"]) for found in computed["read"]}) == 1
    assert len({tuple(found["kernels"]) for found in computed["read"]}) == 1
    assert list(computed["not_read"]) == ["TensorFlow"]
