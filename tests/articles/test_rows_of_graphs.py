"""The articles' claims about stages, levels, passes, files and messages, computed."""

from __future__ import annotations

from tests.articles.test_articles import computed


def test_six_stages_end_in_a_file():
    row = computed(1)
    stages = ["parse", "passes", "memory", "schedule", "kernels", "validation"]
    assert [stage["stage"] for stage in row["stages"]] == stages
    assert all(stage["steps"] > 0 for stage in row["stages"])
    assert row["kernels"] < row["nodes_read"]
    assert row["validation"] == "passed"
    assert row["om_bytes"] > 1_000_000


def test_three_operators_are_one_node_and_one_program():
    row = computed(3)
    assert row["onnx_ir"] == ["MatMul", "Add", "Relu"]
    assert (row["cann_ir"], row["cann_ir_of"]) == ("MatMulActivation", ["MatMulV2", "Add", "Relu"])
    assert row["kernel_ir"].startswith("[512, 1024] @ [1024, 256] float16")
    assert row["kernel_ir_lines"] > 20


def test_constants_fold_and_dead_code_goes_before_rules_run_and_the_graph_is_cut_last():
    row = computed(4)
    passes = {one["pass"]: one for one in row["passes"]}
    (fusion,) = (one for name, one in passes.items() if name.startswith("fusion"))
    in_order = ("constant_folding", "dead_code_elimination", fusion["pass"], "pruning")
    places = [passes[name]["place"] for name in in_order]
    assert places == sorted(places)
    assert passes["subgraph_partition"]["place"] == row["of_all"] - 1
    assert fusion["rewrites"] > passes["dead_code_elimination"]["rewrites"]


def test_the_articles_two_buffers_cannot_share_a_byte():
    row = computed(10)
    assert (row["first_bytes"], row["second_bytes"]) == (196 * 768 * 4, 196 * 2048 * 4)
    plans = {plan["planner"]: plan for plan in row["planners"]}
    assert row["bound_bytes"] >= row["alive_together_bytes"]
    assert plans["exact"]["pool_bytes"] == row["bound_bytes"]
    assert plans["exact"]["sound"]
    assert plans["exact"]["pool_bytes"] < plans["none"]["pool_bytes"]
    assert not plans["article_literal"]["sound"]


def test_a_branch_stops_the_rules_and_says_which():
    row = computed(16)
    assert row["static"] == ["MatMulActivation"]
    assert row["with_if"] == ["MatMul", "If", "Relu"]
    assert "matmul_bias" in row["stopped_rules"]
    assert any("data-dependent" in cure for cure in row["cure"])


def test_the_articles_file_switches_on_what_it_names_under_its_conditions():
    row = computed(17)
    fused = {name: build["fused"] for name, build in row["builds"].items()}
    assert row["switched_on"] == ["conv_batchnorm", "flash_attention", "matmul_bias"]
    assert fused["unconfigured"] == 0 < fused["article_file"] < fused["without_conditions"] < fused["default"]
    assert row["declined"] == ["its heads would be 12, and the switch file allows 32, 64"]


def test_both_messages_name_what_is_at_fault():
    row = computed(24)
    assert row["dynamic"].startswith("Input shape is not supported: dynamic shape detected")
    assert "NonZero found" in row["dynamic"]
    assert row["level"] == "WARNING"
    assert row["warning"].startswith("Fusion pattern matmul_bias not matched: reshape (Reshape) stands between")
    assert row["in_the_way"] == "reshape"
    assert row["cure"]


def test_each_of_the_articles_functions_is_one_kernel():
    row = computed(25)
    assert row["linear"] == "MatMulBias"
    assert row["sdpa"] == "FlashAttentionScore"
    assert (row["silu"], row["layer_norm"]) == ("Swish", "LayerNormalization")
    assert [one["outcome"] for one in row["outcomes"]] == ["mapped", "composed", "fallback", "fallback"]


def test_a_linear_layer_with_silu_is_all_that_is_left():
    row = computed(26)
    assert row["left"] == ["FusedLinearSiLU"]
    assert {"shape_folding", "dead_code_elimination"} <= {step["step"] for step in row["steps"]}


def test_each_word_is_in_the_log():
    words = {one["word"]: one for one in computed(29)["words"]}
    assert list(words) == ["FusionOp", "AutoFusion", "UnsupportedOp"]
    assert words["FusionOp"]["lines"] == 1
    assert "MatMulBias" in words["FusionOp"]["line"]
    assert "Foo" in words["UnsupportedOp"]["line"]
