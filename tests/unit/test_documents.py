"""What the documents say is true today: their commands run, their links exist, their example passes work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from gexplorer.cli import cli

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
        line.partition("#")[0].strip() for block in blocks(ROOT / "README.md", "sh") for line in block.splitlines()
    ]
    return [line for line in lines if line.startswith("gexplorer ")]


@pytest.mark.parametrize("command", commands())
def test_commands_of_the_readme_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, shlex.split(command)[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    for flag in ("--onnx", "--json", "-o"):
        words = shlex.split(command)
        if flag in words:
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


def test_the_pass_of_the_contributing_guide_works(monkeypatch):
    import onnx

    import gexplorer as gx
    from gexplorer.passes import manager

    (code,) = blocks(ROOT / "CONTRIBUTING.md", "python")
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(code, "CONTRIBUTING.md", "exec", dont_inherit=True), names)
    monkeypatch.setattr(manager, "_registered", {})
    gx.register(names["ReluMerging"])
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 18]> g (float[2] x) => (float[2] y) { a = Relu(x) y = Relu(a) }'
    )
    compiled = gx.compile(model, verify="per-step")
    assert len(compiled.steps["relu_merging"].rewrites) == 1
    assert len(compiled.graph) == 1


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target
