"""What the documents say is true today: their commands run, their links exist, their example passes work."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner

import gexplorer
import gexplorer.passes.fusion.rules
from gexplorer.cli import cli
from gexplorer.memory.plan import solve
from gexplorer.memory.planners.base import Effort
from gexplorer.memory.problem import make_problem

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), re.DOTALL)


def commands() -> list[str]:
    lines = [
        line.partition("#")[0].strip()
        for path in (ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md")))
        for block in blocks(path, "sh")
        for line in block.splitlines()
    ]
    return list(dict.fromkeys(line for line in lines if line.startswith("gexplorer ")))


@pytest.fixture(scope="module")
def offline_model(tmp_path_factory):
    return gexplorer.compile("mlp:small=true,weights=random").save(tmp_path_factory.mktemp("offline") / "mlp.om")


@pytest.mark.parametrize("command", commands())
def test_commands_of_readme_and_guides_run(command, tmp_path, monkeypatch, offline_model):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.execv", lambda *_: None)  # `lab` becomes JupyterLab; test_cli_lab sees whether it does
    if "-o mlp.om" not in command:
        shutil.copy(offline_model, tmp_path)
    (tmp_path / "buffers.csv").write_text("id,lower,upper,size\na,0,4,100\nb,4,8,100\nc,2,6,20\n")
    (tmp_path / "requests.csv").write_text("arrival_us,n\n0,1\n1000,4\n5000,13\n")
    result = CliRunner().invoke(cli, shlex.split(command)[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    for flag in ("--onnx", "--json", "-o", "--csv", "--outputs", "--plot"):
        words = shlex.split(command)
        if flag in words and words[words.index(flag) + 1] != "-":
            assert (tmp_path / words[words.index(flag) + 1]).stat().st_size > 0


def test_there_are_commands():
    assert len(commands()) >= 10


def test_make_targets_of_the_readme_exist():
    named = re.findall(r"^make (\w+)", "\n".join(blocks(ROOT / "README.md", "sh")), re.MULTILINE)
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert named
    assert set(named) <= set(targets)


def test_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(ROOT / "README.md", "python")
    exec(compile(code, "README.md", "exec"), {})
    assert "are one reshape to [28, 128, 128]" in capsys.readouterr().out
    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "mlp.om").exists()


def test_the_guide_has_the_keys_that_the_explorer_has():
    source = (ROOT / "widgets" / "src" / "shell" / "keys.ts").read_text()
    listed = re.search(r"const KEYS.*?= \[(.*?)^\];", source, re.DOTALL | re.MULTILINE)
    assert listed
    keys = {key for row in re.findall(r'\["([^"]+)", "[^"]+"\]', listed[1]) for key in row.split()}
    rows = re.findall(r"^\| (`.*`) \|", (ROOT / "docs" / "guides" / "explorer.md").read_text(), re.MULTILINE)
    assert {key for row in rows for key in re.findall("`([^`]+)`", row)} | {"?"} == keys


@pytest.mark.parametrize("guide", ["explorer", "torch"])
def test_python_of_the_guides_runs(guide, tmp_path, monkeypatch, capsys):
    if guide == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'torch')")
        pytest.importorskip("onnxscript", reason="onnxscript is not installed (the extra 'torch')")
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(ROOT / "docs" / "guides" / f"{guide}.md", "python")
    exec(compile(code, f"{guide}.md", "exec"), {})
    expected = {"explorer": r"safe \d", "torch": r"\['MatMulActivation', '\w+'\]\nCompilation\("}[guide]
    assert re.search(expected, capsys.readouterr().out)


@pytest.fixture
def dropped_in(tmp_path, monkeypatch):
    """Puts a code block of the contributing guide as a file beside those of a package, as the guide says."""
    from gexplorer.passes import manager

    def drop(package, block: str, name: str) -> None:
        (tmp_path / f"{name}.py").write_text(block)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        manager._discovered.cache_clear()

    yield drop
    monkeypatch.undo()
    manager._discovered.cache_clear()


def model_of(text: str):
    return onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 18]> ' + text)


def test_the_pass_of_the_contributing_guide_works(dropped_in):
    dropped_in(gexplorer.passes, blocks(ROOT / "CONTRIBUTING.md", "python")[0], "relu_merging")
    model = model_of("g (float[2] x) => (float[2] y) { a = Relu(x) y = Relu(a) }")
    compiled = gexplorer.compile(model, verify="per-step")
    assert len(compiled.steps["relu_merging"].rewrites) == 1
    assert len(compiled.graph) == 1


def test_the_rule_of_the_contributing_guide_works(dropped_in):
    dropped_in(gexplorer.passes.fusion.rules, blocks(ROOT / "CONTRIBUTING.md", "python")[1], "fused_mul_add")
    model = model_of(
        """g (float[2, 3] a, float[2, 3] b, float[3] row) => (float[2, 3] y, float[2, 3] z) {
          m = Mul(a, b) y = Add(m, a) [wide] n = Mul(b, b) [sum] z = Add(n, row) }"""
    )
    compiled = gexplorer.compile(model, verify="per-step")
    assert [node.op for node in compiled.graph if node.op == "FusedMulAdd"] == ["FusedMulAdd"]
    (miss,) = compiled.why("fused_mul_add")
    assert miss.reason == "row is float32[3], not float32[2,3] like the product"
    assert miss.hint == "expand row before"
    assert "fused_mul_add" in CliRunner().invoke(cli, ["rules"]).output


def test_the_planner_of_the_contributing_guide_works():
    scope: dict[str, object] = {"__name__": "recipe"}
    exec(blocks(ROOT / "CONTRIBUTING.md", "python")[2], scope)
    problem = make_problem([0, 2, 4, 0], [2, 4, 6, 6], [10, 30, 20, 5])
    plan = solve(problem, scope["LongestLowest"], Effort())
    assert plan.is_sound
    assert plan.pool_bytes == 35


def test_the_command_of_the_contributing_guide_works(dropped_in):
    import gexplorer.commands
    from gexplorer.commands.discovery import all_commands

    dropped_in(gexplorer.commands, blocks(ROOT / "CONTRIBUTING.md", "python")[3], "operators")
    (command,) = [found for found in all_commands() if found.name == "operators"]
    result = CliRunner().invoke(command, ["mlp:small=true", "--off", "matmul_activation"], catch_exceptions=False)
    assert re.search(r"^ +2 Relu$", result.output, re.MULTILINE), result.output


def test_the_row_of_the_contributing_guide_works(dropped_in):
    import gexplorer.articles
    from gexplorer.articles.row import all_rows

    dropped_in(gexplorer.articles, blocks(ROOT / "CONTRIBUTING.md", "python")[4], "linear_layers")
    all_rows.cache_clear()
    (row,) = [found for found in all_rows() if found.row == 99]
    all_rows.cache_clear()
    assert row().compute() == row.article == {"kernels": 3}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target
