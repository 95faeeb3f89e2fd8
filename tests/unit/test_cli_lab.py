"""``gexplorer lab``: the notebooks come along, from a working copy and from a wheel; a person's own are safe."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from gexplorer.cli import cli
from gexplorer.commands import lab
from gexplorer.errors import OptionError

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
needs_lab = pytest.mark.skipif(find_spec("jupyterlab") is None, reason="JupyterLab is not installed")


def test_what_a_person_has_changed_stays(tmp_path):
    assert lab.copy_notebooks(tmp_path / "books") == NAMES
    (tmp_path / "books" / lab.FIRST).write_text("mine")
    (tmp_path / "books" / NAMES[1]).unlink()
    assert lab.copy_notebooks(tmp_path / "books") == [NAMES[1]]
    assert (tmp_path / "books" / lab.FIRST).read_text() == "mine"
    assert (tmp_path / "books" / NAMES[1]).read_bytes() == (ROOT / "notebooks" / NAMES[1]).read_bytes()


def test_a_folder_that_cannot_be_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="file/books: cannot write"):
        lab.copy_notebooks(tmp_path / "file" / "books")


def test_without_jupyterlab_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = CliRunner().invoke(cli, ["lab", "--folder", str(tmp_path / "books")])
    assert result.exit_code == 1
    assert "pip install 'gexplorer[lab]'" in result.stderr
    assert not (tmp_path / "books").exists()


@needs_lab
def test_arguments_are_jupyterlabs_own(tmp_path):
    """--version ends before a server starts: the command reaches JupyterLab."""
    result = run_lab(tmp_path, ROOT, "--version")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == version("jupyterlab")
    assert (tmp_path / "gexplorer-notebooks" / lab.FIRST).exists()


@needs_lab
def test_it_works_from_a_wheel(tmp_path):
    """What is packed is what is installed, so unpacking is installing here."""
    pytest.importorskip("hatchling", reason="hatchling is not installed (the extra 'dev')")
    for kind in ("wheel", "sdist"):
        subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", tmp_path], cwd=ROOT, check=True)
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path / "site")
        packed = set(file.namelist())
    with tarfile.open(sdist) as file:
        source = {name.partition("/")[2] for name in file.getnames()}
    static = [path.name for path in (ROOT / "gexplorer" / "static").iterdir()]
    assert static
    assert {f"gexplorer/static/{name}" for name in static} <= packed & source
    assert {f"gexplorer/notebooks/{name}" for name in NAMES} <= packed
    assert {f"notebooks/{name}" for name in NAMES} <= source
    assert not [name for name in packed | source if "node_modules" in name or "__pycache__" in name]

    result = run_lab(tmp_path, tmp_path / "site", "--version")
    assert result.returncode == 0, result.stderr
    assert sorted(path.name for path in (tmp_path / "gexplorer-notebooks").iterdir()) == NAMES


def run_lab(folder, package, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "gexplorer", "lab", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=120,
    )
