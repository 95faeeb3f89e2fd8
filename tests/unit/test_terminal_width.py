"""What the commands print fits a terminal of 80 columns, whatever the model's names are."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper
from rich.cells import cell_len

from gexplorer.cli import cli

WIDTH = 80
# One with small sizes, one with a free size of a long name, one with names of 10,000 characters, some two columns wide.
MODELS = ("bert-base:small=true,weights=random", "free.onnx", "long.onnx")
ON_A_MODEL = (
    "compile",
    "compile --validate quick",
    "steps",
    "steps --all",
    "steps --step matmul_bias",
    "why",
    "why --all",
    "why --rule matmul_bias --all",
    "memory",
    "planners",
    "cost --eager --savings",
    "kernels",
    "schedule --streams cube_vector",
    "ablate --sets",
    "bisect",
    "diff {model} --b off=matmul_bias",
    "parts --folder cache",
)
# How each command of an offline model is called.
ON_A_FILE = (
    "info {om}",
    "info {om} --check",
    "info {om} --check --tiles",
    "run {om} --random 0",
    "atc --mode=1 --om={om}",
)
OTHERS = (
    "rules",
    "zoo",
    "chips",
    "chips Ascend910B3",
    "validate-cost",
    "cache --folder cache",
    "plan buffers.csv",
    "dynamic free.onnx --range many-names-of-one-dimension=1..9 --gears 2 --requests 9",
    "articles --row 26",
)
# Their output is the path of a page, the start of JupyterLab; graphs in text form are to be read again, line by line.
WITHOUT = {"report", "lab"}


def layers(length: int, rows: int | str) -> onnx.ModelProto:
    """Three linear layers with residual connections; every name has the length."""

    def named(name: str) -> str:
        return (name + "_名/long name $x;" * length)[:length]

    def info(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(named(name), TensorProto.FLOAT, [rows, 16])

    generator = np.random.default_rng(0)
    constants = {"w": generator.random((16, 16), "float32"), "b": generator.random(16, "float32")}
    nodes = []
    for layer in range(3):
        before = named(f"r{layer - 1}") if layer else named("x")
        product, total, result = (named(f"{letter}{layer}") for letter in "pqr")
        nodes += [
            helper.make_node("MatMul", [before, named("w")], [product], name=named(f"mm{layer}")),
            helper.make_node("Add", [product, named("b")], [total], name=named(f"add{layer}")),
            helper.make_node("Softmax", [total], [result], name=named(f"soft{layer}")),
        ]
    nodes.append(helper.make_node("Add", [named("p0"), named("r2")], [named("y")], name=named("last")))
    held = [numpy_helper.from_array(array, named(name)) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "layers", [info("x")], [info("y")], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("width")
    onnx.save(layers(70, "many-names-of-one-dimension"), folder / "free.onnx")
    onnx.save(layers(10_000, 12), folder / "long.onnx")
    (folder / "buffers.csv").write_text("id,lower,upper,size\na,0,3,123456789\nb,2,5,987654321\n")
    for model in MODELS:
        target = str(folder / f"{model.partition(':')[0]}.om")
        done = CliRunner().invoke(cli, ["compile", model if ":" in model else str(folder / model), "-o", target])
        assert done.exit_code == 0, done.stderr
    return folder


def shown(*arguments: str) -> list[str]:
    done = CliRunner(env={"COLUMNS": str(WIDTH)}).invoke(cli, arguments)
    assert done.exit_code == 0, (done.stderr, done.exception)
    return done.stdout.splitlines()


def require_narrow(lines: list[str]) -> None:
    assert len(lines) > 1
    assert [line for line in lines if cell_len(line) > WIDTH] == []


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("command", [*ON_A_MODEL, *ON_A_FILE])
def test_a_command_fits(folder, monkeypatch, command, model):
    monkeypatch.chdir(folder)
    name, *options = command.format(model=model, om=f"{model.partition(':')[0]}.om").split()
    require_narrow(shown(name, *([model] if command in ON_A_MODEL else []), *options))


@pytest.mark.parametrize("command", OTHERS)
def test_a_command_without_a_model_fits(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    require_narrow(shown(*command.split()))


@pytest.mark.parametrize("name", ["", *sorted(cli.commands)])
def test_help_fits(name):
    require_narrow(shown(*name.split(), "--help"))


def test_every_command_is_looked_at():
    looked_at = {command.split()[0] for command in (*ON_A_MODEL, *ON_A_FILE, *OTHERS)}
    assert looked_at | WITHOUT == set(cli.commands)


def test_a_line_of_a_program_is_folded_and_not_cut(folder, monkeypatch):
    """Every word is there, in order; what is folded stands further in than its line, and than the next one."""
    from gexplorer.offline.model import OfflineModel

    monkeypatch.chdir(folder)
    for model in MODELS[:2]:
        path = folder / f"{model.partition(':')[0]}.om"
        lines, whole = shown("info", str(path), "--tiles"), OfflineModel(path).tiles
        assert "".join("".join(lines).split()).replace("#", "") == "".join(whole.split()).replace("#", "")
        assert len(lines) > len(whole.splitlines())


def test_no_column_of_an_offline_model_is_cut(folder):
    """The shape gives way, not the type."""
    lines = shown("info", str(folder / "free.onnx.om"))
    (row,) = [line for line in lines if line.startswith("x_")]
    assert "float32" in row
    assert "many-names-of-one-dimension" in "".join("".join(lines).split())


def test_a_name_of_ten_thousand_characters_does_not_fill_pages(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert len(shown("compile", "long.onnx")) < 100
