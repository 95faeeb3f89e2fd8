"""The source articles' claims, computed: the phenomena they describe are there, with their sign."""

from __future__ import annotations

import json
from functools import cache

import pytest
from click.testing import CliRunner

from gexplorer.articles.row import all_rows
from gexplorer.cli import cli
from gexplorer.render.terminal_articles import figure_text


@cache
def computed(number: int):
    return next(row for row in all_rows() if row.row == number)().compute()


def test_planning_saves_nearly_everything_and_the_literal_planner_corrupts():
    row = computed(11)
    plans = {plan["planner"]: plan for plan in row["planners"]}
    assert plans["none"]["pool_bytes"] > 10 * plans["portfolio"]["pool_bytes"]
    assert row["fragmentation"] < 0.01
    assert plans["article_literal"]["pool_bytes"] < row["bound_bytes"]
    assert plans["article_literal"]["findings"]["overlap"] > 0
    assert not plans["article_literal"]["sound"]
    assert all(plan["sound"] for name, plan in plans.items() if name != "article_literal")
    assert plans["article_sized"]["pool_bytes"] > plans["portfolio"]["pool_bytes"]
    assert row["article_contradicts_itself"]


def test_the_batch_at_which_32_bits_overflow_is_the_articles_64():
    row = computed(15)
    assert row["first_batch_beyond_int32"] == 64
    assert row["caught_by_verifier"]
    assert row["bert_base_safe_price_bytes"] > 0


def test_all_kv_caches_are_alive_together():
    row = computed(19)
    assert row["alive_together"] == row["caches"] == 56
    # keys and values of 28 layers, 4 heads of 128, 32,768 tokens of 2 bytes, without padding
    assert row["state_bytes"] >= 2 * 28 * 4 * 128 * 32768 * 2
    assert row["state_bytes"] > 1000 * row["pool_bytes"]


def test_fusion_and_reuse_both_save():
    row = {name: build["pool_bytes"] for name, build in computed(23).items()}
    assert row["both"] <= row["fusion"] < row["baseline"]
    assert row["both"] <= row["reuse"] < row["baseline"]
    assert computed(23)["fusion"]["fused"] > 0 == computed(23)["baseline"]["fused"]


def test_rows_are_listed_by_number():
    numbers = [row.row for row in all_rows()]
    assert numbers == sorted(set(numbers))


def test_the_command_writes_the_public_form():
    result = CliRunner().invoke(cli, ["articles", "--row", "15", "--json", "-"])
    assert result.exit_code == 0
    (row,) = json.loads(result.stdout)
    assert list(row) == ["row", "title", "article", "computed", "note"]
    assert row["row"] == 15


def test_the_command_prints_both_sides():
    result = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["articles", "--row", "19"])
    assert all(words in result.stdout for words in ("the articles", "computed", "1.75 GiB"))


@pytest.mark.parametrize("row", ["12345", "-1"])
def test_an_unknown_row_is_one_line(row):
    result = CliRunner().invoke(cli, ["articles", f"--row={row}"])
    assert result.exit_code == 1
    assert f"no row {row}" in result.stderr


def test_records_are_printed_as_a_table():
    lines = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["articles", "--row", "23"]).stdout.splitlines()
    heads = [line.split() for line in lines]
    assert ["latency", "memory", "fused"] in heads
    assert ["pool", "total", "time", "nodes", "fused"] in heads
    assert any(head[:3] == ["baseline", "42.3", "ms"] for head in heads)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("size_bytes", 2048, "2.00 KiB"),
        ("best_us", 1500.0, "1.50 ms"),
        ("saved", -0.0957, "−9.6 %"),
        ("hand_over_us", {"l1": 4.0, "l2": 13.0}, "l1 4.00 µs, l2 13.0 µs"),
        ("om", {"size_bytes": 1024, "kernels": 1}, "size 1.00 KiB, kernels 1"),
        ("caught", True, "yes"),
        ("names", ["a", "b"], "a, b"),
        ("tokens_per_s", 88.8, "88.8"),
    ],
)
def test_a_figure_is_shown_with_its_unit(name, value, said):
    assert figure_text(name, value) == said
