"""The front end that is committed is the one that its sources build, and its core passes its own tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NPM = shutil.which("npm")


@pytest.fixture(scope="module")
def widgets(tmp_path_factory):
    """The sources in a folder of their own, with the packages that package-lock.json names."""
    if NPM is None:
        pytest.skip("Node is not installed: the front end is not built again")
    folder = tmp_path_factory.mktemp("front_end")
    shutil.copytree(ROOT / "widgets", folder / "widgets", ignore=shutil.ignore_patterns("node_modules"))
    (folder / "gexplorer" / "static").mkdir(parents=True)
    # Which reads what the front end writes, and is tested with it.
    (folder / "gexplorer" / "render").mkdir()
    shutil.copy(ROOT / "gexplorer" / "render" / "loader.js", folder / "gexplorer" / "render")
    done = npm(folder / "widgets", "ci", "--no-audit", "--no-fund", "--prefer-offline")
    if done.returncode:
        pytest.skip(f"npm cannot install: {done.stderr.strip().splitlines()[-1][:200]}")
    return folder / "widgets"


def npm(folder, *arguments):
    assert NPM is not None
    return subprocess.run([NPM, *arguments], cwd=folder, capture_output=True, text=True, timeout=240)


def test_a_new_build_changes_nothing(widgets):
    done = npm(widgets, "run", "build")
    assert done.returncode == 0, done.stderr
    built = {path.name: path.read_bytes() for path in (widgets.parent / "gexplorer" / "static").iterdir()}
    committed = {path.name: path.read_bytes() for path in (ROOT / "gexplorer" / "static").iterdir()}
    assert built.keys() == committed.keys()
    changed = [name for name in built if built[name] != committed[name]]
    assert not changed, "cd widgets && npm ci && npm run build, then commit gexplorer/static"


@pytest.mark.parametrize("script", ["check", "test"])
def test_types_and_tests_of_the_core(widgets, script):
    done = npm(widgets, "run", script)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-1000:]}"
