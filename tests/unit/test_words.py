"""Kernels that are alike have another word for each thing that alike means; the guide says which and is right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.offline.model import OfflineModel

MODEL = "bert-base:small=true,weights=random"
GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "words.md").read_text()


@pytest.fixture(scope="module")
def compiled():
    return gx.compile(MODEL, validate="off")


@pytest.fixture(scope="module")
def om(compiled, tmp_path_factory):
    return compiled.save(tmp_path_factory.mktemp("words") / "model.om")


def printed(*arguments):
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.stderr
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("command", ["kernels", "compile"])
def test_a_design_is_what_has_the_same_programs(compiled, command):
    assert f"{len(compiled.kernels)} kernels of {len(compiled.kernels.distinct)} designs" in printed(command, MODEL)


def test_an_amount_of_work_is_what_is_priced_once(compiled):
    works = {row.work for row in compiled.cost.rows}
    assert f"{len(compiled.cost.rows)} kernels, {len(works)} amounts of work" in printed("cost", MODEL)


def test_a_kernel_model_is_a_piece_of_the_offline_model(om):
    models = OfflineModel(om).manifest["instructions"]["kernels"]
    assert f"; {models} kernel models" in printed("info", str(om))


def test_each_word_is_used_for_one_thing(compiled, om):
    """No command calls by one of the words what another calls by it."""
    words = ("designs", "amounts of work", "kernel models")
    shown = {command: printed(command, MODEL) for command in ("kernels", "cost")} | {"info": printed("info", str(om))}
    assert [[word for word in words if word in shown[command]] for command in ("kernels", "cost", "info")] == [
        ["designs"],
        ["amounts of work"],
        ["kernel models"],
    ]
    for text in shown.values():
        assert not re.search(r"[0-9] (of them )?(different|distinct)", text)


@pytest.mark.parametrize("word", ["kernel", "design", "amount of work", "kernel model"])
def test_the_guide_says_what_it_is(word):
    assert f"| **{word}** |" in GUIDE


def test_the_figures_of_the_guide_are_those_of_bert(compiled):
    bert = gx.compile("bert-base:layers=2", validate="off")
    numbers = (len(bert.kernels), len(bert.kernels.distinct), bert.cost.distinct)
    assert "{} kernels of {} designs and {} amounts of work".format(*numbers) in " ".join(GUIDE.split())
