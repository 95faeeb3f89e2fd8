"""Names of a model never steer a terminal: no escape, bell, turn of direction or new line of theirs is printed."""

import onnx
import pytest
from click.testing import CliRunner

import gexplorer as gx
from gexplorer.cli import cli
from tests import hostile_names

COMMANDS = (
    "compile",
    "steps",
    "steps --text",
    "steps --step elementwise_chain",
    "why",
    "why --rule elementwise_chain --all",
    "memory",
    "planners",
    "cost",
    "cost --savings",
    "schedule",
    "kernels",
    "bisect",
    "diff hostile.onnx",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    onnx.save(hostile_names.model(), folder / "hostile.onnx")
    return folder


def require_plain(text):
    steering = {character for character in text if not character.isprintable()} - {"\n"}
    assert not steering, sorted(map(ascii, steering))


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_printed_is_plain_text(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    name, *options = command.split()
    done = CliRunner().invoke(cli, [name, "hostile.onnx", *options])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert len(done.output) > 20
    require_plain(done.output)


def test_what_python_says_is_plain_text(folder):
    compiled = gx.compile(folder / "hostile.onnx")
    for one in (compiled, compiled.steps, compiled.graph, compiled.memory, compiled.cost, compiled.schedule):
        require_plain(str(one))
        require_plain(repr(one))
