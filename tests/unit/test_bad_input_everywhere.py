"""Every command refuses what is no model, no offline model, no place to write: in one line, and writes nothing.

The commands and their options are read off the program, so that a new one is looked at without a word here.
"""

from __future__ import annotations

import os
from pathlib import Path

import click
import onnx
import pytest
from click.testing import CliRunner
from onnx import parser

from gexplorer.cli import cli

GOOD = """
<ir_version: 10, opset_import: ["": 21]>
good (float[n, 3] x) => (float[n, 4] y) <float[3, 4] w = {1,2,3,4,5,6,7,8,9,10,11,12}> { y = MatMul(x, w) }
"""
# Options that name a file or a folder to be written.
OUTPUTS = ("--json", "--output", "--csv", "--trace", "--onnx", "--log", "--write", "--outputs", "--plot")
ON_A_MODEL = sorted(
    name
    for name, command in cli.commands.items()
    if any(isinstance(p, click.Argument) and p.name == "model" for p in command.params)
)
# What a command wants besides, so that only what is tried is wrong.
BESIDES = {
    "diff": ["good.onnx"],
    "dynamic": ["--range", "n=1..3", "--requests", "3"],
    "parts": ["--folder", "kept"],
    "info": ["good.om"],
    "run": ["good.om", "--random", "0"],
    "plan": ["buffers.csv"],
    "cache": ["--folder", "kept"],
    "articles": ["--row", "26"],
    "atc": ["--mode=1", "--om=good.om"],
}
WRITERS = sorted(
    (name, option)
    for name, command in cli.commands.items()
    for option in OUTPUTS
    if any(option in p.opts for p in command.params)
    # Both write only what they found; atc adds an ending of its own, and test_atc tries it.
    and (name, option) not in {("bisect", "--output"), ("atc", "--output")}
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = parser.parse_model(GOOD)
    onnx.save(good, "good.onnx")
    whole = Path("good.onnx").read_bytes()
    Path("empty.onnx").write_bytes(b"")
    Path("text.onnx").write_bytes(b"This is a text, and no model at all.\n" * 9)
    Path("cut.onnx").write_bytes(whole[: len(whole) // 2])
    Path("folder.onnx").mkdir()
    Path("folder").mkdir()
    Path("kept").mkdir()
    os.mkfifo("pipe")
    Path("buffers.csv").write_text("id,lower,upper,size\na,0,3,8\n")
    assert CliRunner().invoke(cli, ["compile", "good.onnx", "-o", "good.om"]).exit_code == 0
    return tmp_path


def listing() -> list[tuple[Path, int]]:
    return sorted((path, path.lstat().st_mtime_ns) for path in Path().rglob("*"))


def refused(*arguments: str) -> str:
    before = listing()
    done = CliRunner().invoke(cli, arguments)
    assert isinstance(done.exception, SystemExit), (arguments, done.exception)
    assert done.exit_code == 1, (arguments, done.output)
    assert not done.stdout
    assert done.stderr.startswith("gexplorer: ")
    assert done.stderr.count("\n") == 1
    assert listing() == before, arguments
    return done.stderr


@pytest.mark.parametrize("name", ON_A_MODEL)
def test_what_is_no_model(name, folder):
    for bad in (
        "empty.onnx",
        "text.onnx",
        "cut.onnx",
        "folder.onnx",
        "folder",
        "pipe",
        "missing.onnx",
        "x" * 10_000,
        "",
    ):
        refused(name, bad, *BESIDES.get(name, ()))
    if name == "diff":
        refused("diff", "good.onnx", "empty.onnx")


@pytest.mark.parametrize("name", ["info", "run"])
def test_what_is_no_offline_model(name, folder):
    whole = Path("good.om").read_bytes()
    Path("empty.om").write_bytes(b"")
    Path("cut.om").write_bytes(whole[: len(whole) // 2])
    for bad in ("empty.om", "cut.om", "text.onnx", "good.onnx", "folder", "pipe", "missing.om", "x" * 10_000, ""):
        refused(name, bad, *(["--random", "0"] if name == "run" else ["--check"]))


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_an_unknown_option(name, folder):
    if name == "lab":
        pytest.skip("what it does not know it hands on to JupyterLab")
    before = listing()
    done = CliRunner().invoke(cli, [name, "--no-such-option"])
    assert done.exit_code == 2
    assert "No such option" in done.stderr
    assert "Traceback" not in done.output
    assert listing() == before


@pytest.mark.parametrize(("name", "option"), WRITERS)
def test_a_place_that_cannot_be_written(name, option, folder):
    """It is looked at before the work: nothing is compiled, kept or thrown away for nothing."""
    subject = ["good.onnx"] if name in ON_A_MODEL else []
    places = ["nowhere/out", "good.onnx/out", "x" * 300] + (
        [] if (name, option) == ("parts", "--output") else ["folder"]
    )
    for place in places:
        refused(name, *subject, *BESIDES.get(name, ()), option, place)


@pytest.mark.parametrize("arguments", [["cache"], ["parts", "good.onnx"]])
def test_a_folder_of_the_cache_that_is_a_file(arguments, folder):
    assert "not a folder" in refused(*arguments, "--folder", "buffers.csv")


def test_a_tolerance_that_is_no_number(folder):
    assert "nan" in refused("bisect", "good.onnx", "--tolerance", "nan")


def test_the_place_of_an_offline_model_of_atc(folder):
    for place in ("nowhere/out", "good.onnx/out", "x" * 300):
        refused("atc", "--model=good.onnx", f"--output={place}")
