"""The cost as plain data, and as the command line prints it."""

from __future__ import annotations

import json

import onnx
import pytest
from click.testing import CliRunner

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.cost.graph import cost_of
from gexplorer.cost.over_fusion import over_fusion
from gexplorer.hardware.catalogue import load_chip
from gexplorer.units import operations_text
from gexplorer.views.cost import cost_detail, cost_summary

B3 = load_chip("Ascend910B3")
MODEL = "qwen2.5-7b:layers=2"


@pytest.fixture(scope="module")
def cost():
    return cost_of(gx.compile(MODEL, memory="fast").graph, B3)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["cost", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_summary_has_the_public_keys(cost):
    data = cost_summary(cost)
    assert list(data) == [
        "soc", "latency_us", "hbm_bytes", "compulsory_bytes", "l2_bytes", "l1_bytes", "ub_bytes", "flops", "launch_us",
    ]  # fmt: skip
    assert data["soc"] == "Ascend910B3"
    assert json.loads(json.dumps(data)) == data


def test_details_add_up(cost):
    data = json.loads(json.dumps(cost_detail(cost)))
    kernels = data["kernels"]
    assert len(kernels) == len(cost.rows)
    for name, total in (("total_us", "latency_us"), ("launch_us", "launch_us"), ("hbm_bytes", "hbm_bytes")):
        assert sum(row[name] for row in kernels) == pytest.approx(data[total])
        if name != "launch_us":
            assert sum(row[name] for row in data["families"]) == pytest.approx(data[total])
    assert sum(row["kernels"] for row in data["operators"]) == len(kernels)
    assert data["eager_us"] == max(data["graph_us"], data["dispatch_us"])
    assert data["uncosted"] == data["over_fusion"] == []


def test_every_time_has_the_error_of_its_family_or_says_that_there_is_none(cost):
    for row in cost_detail(cost)["kernels"]:
        assert (row["p90"] is None) == (row["family"] in ("vector", "move"))


def test_a_warning_names_buffer_bytes_and_cure():
    found = cost_of(gx.compile(MODEL, fusion={"mega_kernel": True}, memory="fast").graph, B3)
    warning = cost_detail(found, over_fusion(found))["over_fusion"][0]
    assert warning["op"] == "TransformerLayer"
    assert warning["need_bytes"] > warning["capacity_bytes"]
    assert warning["spilled_bytes"] > 0
    assert sum(map(len, warning["split"])) >= warning["products"]


def test_the_command_prints_the_dearest_first_in_80_columns():
    text = run(MODEL)
    assert max(map(len, text.splitlines())) <= 80
    for word in ("latency", "compulsory", "launches", "bound by", "±", "none", "GateUpMatMul", "mte2"):
        assert word in text
    assert text.index("GateUpMatMul") < text.index("AddRmsNorm")
    assert "eager" not in text
    assert "over-fused" not in text


def test_eager_mode_stands_beside_graph_mode():
    text = run(f"{MODEL},mode=decode", "--eager", "--off", "ALL")
    assert "the device waits for the host" in text


def test_over_fusion_and_savings_are_printed():
    text = run(MODEL, "--on", "mega_kernel", "--savings")
    assert max(map(len, text.splitlines())) <= 80
    for word in ("over-fused", "L1 overflows", "and 1 other", "cure: ", "flash_attention", "−"):
        assert word in text


def test_what_is_not_costed_is_listed_with_its_reason(folder):
    import onnx.parser

    text = "<ir_version: 8, opset_import: ['': 17]> g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }"
    onnx.save(onnx.parser.parse_model(text.replace("'", '"')), "free.onnx")
    found = run("free.onnx")
    assert "not costed: 1 kernel" in found
    assert "the size of x is not known before run time" in found
    bound = run("free.onnx", "--shape", "x:8,4")
    assert "not costed" not in bound


def test_json_goes_to_a_file_or_to_standard_output(folder):
    data = json.loads(run(MODEL, "--json", "-", "--savings"))
    assert data["soc"] == "Ascend910B3"
    assert {row["name"] for row in data["savings"]} >= {"flash_attention", "qkv"}
    run(MODEL, "--json", "cost.json", "--soc", "Ascend910A", "--exhaustive")
    written = json.loads((folder / "cost.json").read_text())
    assert (written["soc"], written["tiling"]) == ("Ascend910A", "exhaustive")
    assert json.loads(run(MODEL, "--json", "-", "--soc", "Ascend910A", "--tiling", "exhaustive")) == written
    result = CliRunner().invoke(cli, ["cost", MODEL, "--exhaustive", "--tiling", "fast"])
    assert "--exhaustive and --tiling fast: one of them is wanted" in result.output


def test_an_unknown_chip_is_one_line():
    result = CliRunner().invoke(cli, ["cost", MODEL, "--soc", "Ascend99"])
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1


def test_the_totals_count_the_kernels_that_have_no_price(tmp_path):
    path = tmp_path / "free.onnx"
    model = "g (float[n] x, float[64] u) => (float[n] y, float[64] v) { y = Exp(x) v = Exp(u) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 20]> {model}'), path)
    result = CliRunner().invoke(cli, ["cost", str(path)])
    assert "one stream, tiling library" in result.stdout
    assert "(1 of 2 kernels, 1 amount of work; launches" in result.stdout


@pytest.mark.parametrize(
    ("operations", "said"),
    [(0, "0 FLOP"), (999, "999 FLOP"), (731_653, "732 kFLOP"), (22.5e9, "22.5 GFLOP"), (3e16, "30,000 TFLOP")],
)
def test_operations_are_shown_with_three_digits(operations, said):
    assert operations_text(operations) == said
