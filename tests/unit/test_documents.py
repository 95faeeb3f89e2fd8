"""What the documents say is true today: their commands run, their links exist, their example passes work."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner

import gexplorer
import gexplorer.passes.fusion.rules
from gexplorer.cli import cli
from gexplorer.cost.accuracy import published_accuracy
from gexplorer.memory.plan import solve
from gexplorer.memory.planners.base import Effort
from gexplorer.memory.planners.registry import all_planners
from gexplorer.memory.problem import make_problem
from gexplorer.passes.manager import all_passes
from gexplorer.passes.switches import is_rule

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), re.DOTALL)


GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
BLOCKS = [
    pytest.param(block, id=f"{path.stem}-{number}")
    for path in (ROOT / "README.md", *GUIDES)
    for number, block in enumerate(blocks(path, "sh"))
    if "gexplorer " in block
]
# Files that a command writes where it is told to.
WRITTEN = ("--onnx", "--json", "-o", "--csv", "--outputs", "--plot", "--trace", "--write")


@pytest.mark.parametrize("block", BLOCKS)
def test_commands_run_one_after_the_other(block, tmp_path, monkeypatch):
    """As a reader does it: in an empty folder, from the first line of a block to its last."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.execv", lambda *_: None)  # `lab` becomes JupyterLab; test_cli_lab sees whether it does
    (tmp_path / "model.onnx").write_bytes(model_of(READERS).SerializeToString())
    (tmp_path / "requests.csv").write_text("arrival_us,n\n0,1\n1000,4\n5000,13\n")
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] != ["gexplorer"]:
            continue
        result = CliRunner().invoke(cli, words[1:], catch_exceptions=False)
        assert result.exit_code == 0, f"{line}\n{result.stderr}"
        for flag in WRITTEN:
            if flag in words and words[words.index(flag) + 1] != "-":
                assert (tmp_path / words[words.index(flag) + 1]).stat().st_size > 0, line


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").write_bytes(model_of(READERS).SerializeToString())
    return lambda line: CliRunner().invoke(cli, shlex.split(line)[1:], catch_exceptions=False)


@pytest.mark.parametrize("line", re.findall(r"`(gexplorer \w+ model\.onnx[^`]*)`", (ROOT / "README.md").read_text()))
def test_every_question_has_an_answer(line, invoke):
    result = invoke(line)
    assert result.exit_code == 0, result.stderr
    assert result.output


def test_the_first_help_is_read_at_a_glance(invoke, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = invoke("gexplorer --help").output.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line.endswith("...") and not line.startswith("Usage")], "a sentence is cut"
    named = [line.split()[1] for line in lines if line.startswith("    gexplorer ")]
    assert named
    assert set(named) <= set(cli.commands)


# What a reader has: a model of the reader's own.
READERS = """
reader (float[n, 16] x, float[16, 4] w, float[4] b) => (float[n, 4] y) {
    product = MatMul(x, w)  sum = Add(product, b)  y = Relu(sum)
}
"""


def test_there_are_commands():
    lines = [line for param in BLOCKS for line in param.values[0].splitlines()]
    assert len([line for line in lines if line.startswith("gexplorer ")]) >= 50


def test_python_in_the_guides_is_run():
    """A guide with Python in it is one whose Python the tests below run."""
    assert {path.stem for path in GUIDES if blocks(path, "python")} == set(SAID)


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_commands_that_notebooks_name_exist(path):
    named = re.findall(r"`gexplorer ([\w-]+)[^`]*`", path.read_text(encoding="utf-8"))
    assert set(named) <= set(cli.commands), named
    for link in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / link).exists(), link


def test_what_the_readme_counts_is_true():
    readme = (ROOT / "README.md").read_text()
    passes = all_passes()
    rules = sum(map(is_rule, passes))
    assert f"| passes | {len(passes) - rules} general passes and {rules} fusion rules" in readme
    assert f"{['fourteen', 'fifteen', 'sixteen'][len(all_planners()) - 14]} planners" in readme
    accuracy = published_accuracy()
    assert f"prints all {sum(one.n for one in accuracy.values())} points" in readme
    gemm, conv, attention = (f"{accuracy[name].p90:.0%}".strip("%") for name in ("gemm", "conv", "flash_attention"))
    assert gemm == attention
    assert f"±{gemm} % for\nproducts and attention, ±{conv} % for convolutions" in readme
    qwen = gexplorer.compile("qwen2.5-7b", validate="off")
    assert f"from {len(qwen.steps['infer_shapes'].after):,} nodes to {len(qwen.kernels)} kernels" in readme


def test_every_extra_is_explained():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.findall(r"^\| `(\w+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert set(named) == set(extras)


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


# What the Python of each guide prints.
SAID = {
    "explorer": r"safe \d(.|\n)*chosen: node_linear",
    "torch": r"\['MatMulActivation', '\w+'\]\nCompilation\(",
}


@pytest.mark.parametrize("guide", SAID)
def test_python_of_the_guides_runs(guide, tmp_path, monkeypatch, capsys):
    if guide == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'torch')")
        pytest.importorskip("onnxscript", reason="onnxscript is not installed (the extra 'torch')")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for code in blocks(ROOT / "docs" / "guides" / f"{guide}.md", "python"):
        exec(compile(code, f"{guide}.md", "exec"), scope)
    assert re.search(SAID[guide], capsys.readouterr().out)


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
