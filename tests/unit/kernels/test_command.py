"""``gexplorer kernels``: what it prints at 80 columns, and what it writes as JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from gexplorer.cli import cli
from gexplorer.cost.work import Gemm
from gexplorer.hardware.catalogue import load_chip
from gexplorer.kernels.gemm_kernel import GemmKernel
from gexplorer.kernels.tiling import search
from gexplorer.render.terminal_kernels import heat_lines
from gexplorer.views.kernels import heat_map

MODEL = "bert-base:small=true,layers=1"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(cli, ["kernels", MODEL, *arguments])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    target = tmp_path_factory.mktemp("kernels") / "out.json"
    assert CliRunner().invoke(cli, ["kernels", MODEL, "--tiling", "fast", "--json", str(target)]).exit_code == 0
    return json.loads(target.read_text())


def test_the_table_fits_80_columns_and_names_what_is_missing(written):
    text = run("--tiling", "fast")
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "tiles: fast" in text
    missing = [row for row in written["rows"] if row["missing"]]
    assert missing
    assert "without a tile program:" in text
    for row in written["rows"]:
        assert row["op"][-6:] in text
        assert bool(row["programs"]) != bool(row["missing"])
        assert len(row["nodes"]) == row["count"]


def test_the_numbers_add_up(written):
    assert written["kernels"] == sum(row["count"] for row in written["rows"])
    assert written["generated"] + written["lacking"] + written["elsewhere"] == written["kernels"]
    programs = [program for row in written["rows"] for program in row["programs"]]
    assert written["evaluations"] == sum(program["evaluations"] for program in programs)
    assert written["tiling_mode"] == "fast"
    assert {row["bound"] for row in written["rows"] if row["total_us"] is not None} - {""}
    assert all(0 < share <= 1 for program in programs for share in program["occupied"].values())


def test_all_about_one_kernel(written):
    row = next(row for row in written["rows"] if row["op"] == "MatMulActivation")
    node = row["node"]
    text = run("--node", node)
    head = text[: text.index("kernel MatMulActivation")]
    assert all(len(line) <= 80 for line in head.splitlines())
    assert f"{node} (MatMulActivation)" in head
    assert "MatMul" in head
    assert "cube" in head
    assert head.count("X") >= 2  # the legend and the map
    assert "set mte2" not in text
    assert "set mte2" in run("--node", node, "--flags")
    detail = json.loads(run("--node", node, "--json", "-"))
    (program,) = detail["programs"]
    # A bias row starts the sums, from the bias table.
    assert [one["op"] for one in detail["operators"] if one["unit"] == "cube"] == ["MatMul", "Add"]
    landscape = program["landscape"]
    assert landscape["best_us"] == min(us for line in landscape["total_us"] for us in line if us is not None)
    assert landscape["chosen_us"] >= landscape["best_us"]
    assert program["text"].startswith("kernel MatMulActivation on Ascend910B3")
    assert program["bytes_by_path"]["gm->l1"] > 0


def test_who_names_no_kernel_is_told():
    result = CliRunner().invoke(cli, ["kernels", MODEL, "--node", "nobody"])
    assert (result.exit_code, result.output) == (1, "gexplorer: no node or value 'nobody'\n")
    result = CliRunner().invoke(cli, ["kernels", MODEL, "--tiling", "slow"])
    assert result.exit_code == 1
    assert "tiling_mode: library, fast or exhaustive is wanted, not 'slow'" in result.output


@pytest.mark.parametrize("size", [(16, 60), (3, 5), (100, 100)])
def test_a_heat_map_keeps_the_best_of_what_it_puts_together(size):
    landscape = search(GemmKernel(Gemm(600, 700, 300)), load_chip("teaching"), "exhaustive")
    seen = heat_map(landscape, *size)
    assert len(seen.m) <= size[0]
    assert len(seen.n) <= size[1]
    i, j = seen.best
    assert seen.slower[i][j] == 1
    assert min(us for row in seen.slower for us in row if us is not None) == 1
    tile = landscape.space.tile(landscape.chosen)
    assert seen.m[seen.chosen[0]] <= tile.m < [*seen.m, np.inf][seen.chosen[0] + 1]
    assert seen.n[seen.chosen[1]] <= tile.n < [*seen.n, np.inf][seen.chosen[1] + 1]
    for row, names in zip(seen.slower, seen.blocked, strict=True):
        assert all((us is None) == bool(name) for us, name in zip(row, names, strict=True))
    lines = heat_lines(seen)
    assert len(lines) == len(seen.m) + 1
    assert sum(line.count("X") for line in lines) == 1
    assert any("c" in line for line in lines[1:])
