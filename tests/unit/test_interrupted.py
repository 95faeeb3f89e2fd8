"""Whoever stops a command sees one line and no traceback, at whatever moment; nothing half-written stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# What the real `click` is replaced by: the import is where somebody presses Ctrl-C.
PRESSED = "raise KeyboardInterrupt"
# What is run before the program: it says when a file is being written, and then takes its time.
SLOW_WRITING = """
import os, time
true_fsync = os.fsync
def fsync(handle):
    true_fsync(handle)
    print("writing", flush=True)
    time.sleep(60)
os.fsync = fsync
"""


def program(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command, with what lies in the folder ahead of what is installed."""
    path = os.pathsep.join([str(folder), str(Path(__file__).parents[2])])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-m", "gexplorer", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder.parent / "here"
    )


@pytest.fixture
def folders(tmp_path):
    ahead, here = tmp_path / "ahead", tmp_path / "here"
    ahead.mkdir()
    here.mkdir()
    return ahead, here


def test_while_it_is_loaded(folders):
    ahead, _ = folders
    (ahead / "click.py").write_text(PRESSED)
    shown, said = program(ahead, "compile", "mlp").communicate(timeout=60)
    assert (shown, said) == ("", "gexplorer: interrupted\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile", "mlp:small=true,weights=random", "-o", "out.om", "--validate", "off"],
        ["steps", "mlp:small=true", "--onnx", "out.onnx"],
        ["report", "mlp:small=true", "-o", "out.html", "--variants", "none"],
        ["schedule", "mlp:small=true", "--trace", "out.json"],
        ["rules", "--write", "out.cfg"],
        ["cost", "mlp:small=true", "--json", "out.json"],
        ["diff", "mlp:small=true", "mlp:small=true", "-o", "out.html"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_while_it_writes(folders, arguments):
    ahead, here = folders
    (ahead / "sitecustomize.py").write_text(SLOW_WRITING)
    running = program(ahead, *arguments)
    assert running.stdout is not None
    assert running.stdout.readline() == "writing\n"
    time.sleep(0.1)  # into the sleep
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said == "gexplorer: interrupted\n"
    assert list(here.iterdir()) == []
