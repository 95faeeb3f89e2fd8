"""The articles' rows about deploying: new shapes, options, parts, the example, the offline model, decoding."""

from __future__ import annotations

import json

import pytest

from gexplorer.articles.row import all_rows
from gexplorer.render.terminal_articles import print_articles
from tests.articles.test_articles import computed


def test_only_the_first_request_of_a_shape_waits_and_with_a_warm_up_none():
    row = computed(9)
    assert [request["cold"] == "compiled first" for request in row["requests"]] == [
        True,
        False,
        True,
        False,
        False,
        False,
    ]
    first, again = row["requests"][0], row["requests"][1]
    assert first["cold_us"] - again["cold_us"] == pytest.approx(row["stall_us"])
    assert 100e3 <= row["stall_us"] <= 200e3  # the article's range
    assert all(request["warmed_us"] == pytest.approx(again["cold_us"]) for request in row["requests"][:2])
    assert row["hits"] == {"cold": 4, "warmed": 6}
    assert row["start_up_us"]["warmed"] - row["start_up_us"]["cold"] == pytest.approx(2 * row["stall_us"])


def test_a_workspace_that_is_too_small_is_an_error_that_says_by_how_much():
    row = computed(20)
    assert row["fits_itself"]
    assert f"{row['pool_bytes']:,} bytes, 1 more than" in row["one_byte_less"]
    assert row["pool_without_reuse_bytes"] > 10 * row["pool_bytes"]
    assert row["pool_greedy_by_size_bytes"] >= row["pool_bytes"]
    assert "aicore is wanted" in row["another_backend"]


def test_the_second_time_every_part_is_found():
    row = computed(21)
    assert [part["part"] for part in row["parts"]] == ["embeddings", "encoder", "pooler"]
    assert row["hits"] == {"first": 0, "second": 3, "other_option": 0}
    assert row["files"] == 6
    encoder = row["parts"][1]
    assert encoder["found_ms"] < encoder["compiled_ms"]


def test_the_example_of_the_second_article_runs():
    row = computed(22)
    assert row["log"] == f"[GE] Planning completed, fusion {row['fused']} operators"
    assert 6 <= row["fused"] <= 17  # the article: 12; the model has 17 nodes
    assert row["result_shape"] == [1, 2048, 768]
    assert row["finite"]


def test_the_offline_model_holds_the_articles_three():
    row = computed(27)
    held = {section["section"]: section["size_bytes"] for section in row["sections"]}
    assert min(held[name] for name in ("instructions", "constants", "constant-data", "memory")) > 0
    assert sum(held.values()) <= row["file_bytes"]
    assert row["instructions"] >= row["kernels"] > 0
    assert row["loading_ms"] < row["compiling_ms"] / 20


def test_a_dynamic_build_is_as_much_slower_as_the_article_says_only_where_kernels_wait():
    row = computed(28)
    ways = {way["way"]: way for way in row["ways"]}
    assert 30e6 <= ways["recompile"]["first_token_us"] <= 60e6  # the article
    assert 0.05 < ways["dynamic, kernels wait"]["slower"] < 0.10  # the article; the host's time is chosen by it
    assert 0 < ways["dynamic, host ahead"]["slower"] < 0.01
    assert ways["dynamic, host ahead"]["first_token_us"] < 1e6
    assert ways["recompile"]["slower"] == 0 < ways["one gear"]["slower"] < 0.10
    assert [way["builds"] for way in row["ways"]] == [3, 1, 1, 1]
    assert ways["recompile"]["compiling_us"] == 3 * ways["one gear"]["compiling_us"]
    # the claim beside the constant: 5 to 10 % of a step over its kernels
    step_us = row["kernels"] * row["kernel_us"]
    assert 0.05 * step_us < row["kernels"] * row["tiling_us"] < 0.10 * step_us


@pytest.mark.parametrize("number", [1, 3, 4, 9, 10, 16, 17, 20, 21, 22, 24, 25, 26, 27, 28, 29])
def test_a_row_is_plain_data_and_fits_80_columns(number, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    claim = next(row for row in all_rows() if row.row == number)()
    monkeypatch.setattr(claim, "compute", lambda: computed(number))
    data = claim.as_dict()
    assert json.loads(json.dumps(data)) == data
    print_articles([data])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
