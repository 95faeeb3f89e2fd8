"""The articles' names: article A2's example runs with its imports changed, and torch models come in by every door."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import gexplorer as gx
from gexplorer import ge
from gexplorer.errors import ModelError, OptionError
from gexplorer.frontends.torch import MISSING, is_torch_model

pytest.importorskip("onnxruntime")


def test_a_zoo_model_is_built_exported_loaded_and_run(tmp_path, capsys):
    options = ge.GraphOptions(mem_workspace_size=1 << 30)
    options.options["soc"] = "Ascend910A"
    graph = ge.build_graph(ge.Graph("attention"), "simple-attention:small=true,weights=random", options)
    path = graph.export(tmp_path / "a.om")
    shown = capsys.readouterr().out
    assert "[GE] Graph build started...\n[GE] Memory reuse enabled, planning...\n" in shown
    fused = sum(len(step.rewrites) for step in graph.compilation.steps if step.is_fusion)
    assert f"[GE] Planning completed, fusion {fused} operators\n" in shown
    assert graph.compilation.options.soc == "Ascend910A"
    session = ge.session.Session()
    session.load_model(path)
    (shape,) = [row["shape"] for row in gx.load_om(path).inputs]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    np.testing.assert_array_equal(session.run(x), session.run([x]))
    with pytest.raises(OptionError, match="has 1 inputs"):
        session.run(x, x)


def test_what_is_out_of_order_is_said(tmp_path):
    with pytest.raises(OptionError, match="nothing is built yet"):
        ge.Graph("g").export(tmp_path / "g.om")
    with pytest.raises(OptionError, match="no model is loaded"):
        ge.session.Session().run(1)
    with pytest.raises(OptionError, match="op_backend: aicore is wanted, not 'gpu'"):
        ge.build_graph(ge.Graph("g"), "mlp:small=true", ge.GraphOptions(op_backend="gpu"))
    with pytest.raises(OptionError, match="mem_workspace_size"):
        ge.build_graph(ge.Graph("g"), "mlp:small=true", ge.GraphOptions(mem_workspace_size=1))


def test_a_model_in_memory_gets_the_graphs_name_and_stays_as_it_is():
    from onnx import parser

    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> mine (float[3] x) => (float[3] y) { y = Neg(x) }'
    )
    graph = ge.build_graph(ge.Graph("theirs"), model)
    assert graph.compilation.source.name == "theirs"
    assert model.graph.name == "mine"
    named = ge.build_graph(ge.Graph("theirs"), model, ge.GraphOptions(graph_name="another"))
    assert named.compilation.source.name == "another"


def test_an_encoder_and_a_decoder_are_compiled_apart(tmp_path):
    from gexplorer.ge import ge_tensor as gt

    for name in ("encoder", "decoder"):
        path = gt.run("mlp:small=true", output=tmp_path / f"{name}.om", memory="safe")
        assert gx.load_om(path).model.manifest["options"]["memory"] == "safe"


def test_without_torch_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(OptionError, match=re.escape(MISSING)):
        gx.from_torch(object())
    assert not is_torch_model("bert-base")
    assert ge.acl.init() == ge.acl.finalize() == 0


pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'torch')")


@pytest.fixture(scope="module")
def attention(torch):
    width = 32

    class SimpleAttention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.q_proj, self.k_proj, self.v_proj, self.o_proj = (torch.nn.Linear(width, width) for _ in range(4))
            self.scale = width**-0.5

        def forward(self, x):
            q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
            scores = torch.matmul(q, k.transpose(-2, -1)) * self.scale
            return self.o_proj(torch.matmul(torch.softmax(scores, dim=-1), v))

    torch.manual_seed(0)
    return SimpleAttention().eval()


@pytest.fixture
def x(torch):
    return torch.randn(1, 16, 32, generator=torch.Generator().manual_seed(1))


def close(torch, actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-5 * float(expected.abs().max()))


def test_the_example_of_article_a2(torch, attention, tmp_path, capsys):
    import gexplorer.ge as ge
    from gexplorer.ge import acl, session

    acl.init()
    ge.init()
    dummy_input = torch.randn(1, 16, 32).npu()
    traced_model = torch.jit.trace(attention, dummy_input)
    ge_options = ge.GraphOptions()
    ge_options.graph_name = "simple_attention"
    ge_options.enable_mem_reuse = True
    ge_options.op_backend = "aicore"
    ge_options.mem_workspace_size = 8 * 1024 * 1024 * 1024
    graph = ge.Graph("attention_graph")
    ge.build_graph(graph, traced_model, ge_options)
    om_model = graph.export(tmp_path / "simple_attention.om")
    assert om_model.exists()
    sess = session.Session()
    sess.load_model(om_model)
    input_data = torch.randn(1, 16, 32).npu()
    output = sess.run(input_data)
    assert output.shape == torch.Size([1, 16, 32])
    close(torch, output, attention(input_data).detach())
    assert re.search(r"\[GE\] Planning completed, fusion [1-9][0-9]* operators", capsys.readouterr().out)
    assert graph.compilation.graph.name == "simple_attention"
    ge.finalize()
    assert not hasattr(torch.Tensor, "npu")


def ways(torch, model, x):
    yield "module", model, (x,)
    yield "shapes", model, [tuple(x.shape)]
    yield "traced", torch.jit.trace(model, x), None
    yield "scripted", torch.jit.script(model), (x,)
    yield "fx", torch.fx.symbolic_trace(model), (x,)
    yield "exported", torch.export.export(model, (x,)), None


def test_every_kind_of_torch_model_comes_in(torch, attention, x, tmp_path):
    expected = attention(x).detach()
    for name, model, inputs in ways(torch, attention, x):
        assert is_torch_model(model), name
        compiled = gx.compile(gx.from_torch(model, inputs))
        assert compiled.graph.by_op, name
        session = ge.session.Session()
        session.load_model(compiled.save(tmp_path / f"{name}.om"))
        close(torch, session.run(x), expected)


def test_what_knows_its_inputs_is_compiled_at_once(torch, attention, x):
    assert len(gx.compile(torch.export.export(attention, (x,))).graph) > 0
    with pytest.raises(OptionError, match="SimpleAttention: example inputs are wanted"):
        gx.compile(attention)


def test_dimensions_stay_free_where_wanted(torch, attention, x):
    free = torch.export.Dim("n", min=2, max=64)
    compiled = gx.compile(gx.from_torch(attention, (x,), dynamic={"x": {1: free}}))
    (name,) = compiled.graph.inputs
    assert [isinstance(dim, int) for dim in compiled.graph.tensor(name).shape] == [True, False, True]


def test_what_torch_cannot_export_is_one_clear_line(torch):
    class Branches(torch.nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x - 1

    with pytest.raises(ModelError, match="torch cannot export Branches: ") as caught:
        gx.from_torch(Branches(), (torch.ones(3),))
    assert "\n" not in str(caught.value)


def test_torch_compile_runs_here(torch, attention, x):
    from gexplorer.ge import torch_backend

    torch_backend.clear()
    compiled = torch.compile(attention, backend=torch_backend.backend)
    with torch.no_grad():
        close(torch, compiled(x), attention(x))
        close(torch, compiled(2 * x), attention(2 * x))
        with torch.no_grad():
            attention.o_proj.bias += 1  # weights are inputs of what was captured: a change shows
        close(torch, compiled(x), attention(x))
    assert len(torch_backend.compilations) == 1
    assert any(step.is_fusion and step.rewrites for step in torch_backend.compilations[0].steps)
    torch._dynamo.reset()


def test_the_backend_is_found_by_its_name():
    from importlib.metadata import entry_points

    (found,) = [e for e in entry_points(group="torch_dynamo_backends") if e.name == "gexplorer"]
    assert found.load().__name__ == "backend"
