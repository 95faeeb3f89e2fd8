from __future__ import annotations

import json
import re
import xml.dom.minidom
from dataclasses import replace

import pytest
from click.testing import CliRunner

from gexplorer.cli import cli
from gexplorer.cost.points import COLUMNS, PUBLISHED, read_points
from gexplorer.hardware.catalogue import chip_names
from gexplorer.render.parity import parity_svg
from gexplorer.views.parity import parity
from gexplorer.views.validate_cost import validation


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def fail(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    return result.stderr


def test_validation_prints_families_and_the_points_furthest_off():
    text = run("validate-cost")
    for word in ("gemm", "conv", "flash_attention", "gemm and conv", "roofline + launch", "Furthest off"):
        assert word in text
    assert "25 of 27 within 7 points" in " ".join(text.split())
    assert "left out" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert len(run("validate-cost", "--all").splitlines()) > len(text.splitlines()) + 25


def test_sensitivity_is_shown_when_asked_for():
    text = run("validate-cost", "--sensitivity")
    assert "hbm.cold_core_rate" in text
    assert "hbm.achievable (A3)" in text


def test_json_has_the_public_surface():
    data = json.loads(run("validate-cost", "--json", "-"))
    assert {*data} == {"families", "points"}
    for family in data["families"]:
        assert {"name", "n", "mape", "p90", "worst"} <= {*family}
    assert len(data["points"]) == 38
    for row in data["points"]:
        assert {*COLUMNS, "predicted_us", "error"} <= {*row}
        assert row["error"] == pytest.approx(row["predicted_us"] / row["time_us"] - 1)
    errors = [abs(row["error"]) for row in data["points"] if row["op"] == "gemm"]
    gemm = next(family for family in data["families"] if family["name"] == "gemm")
    assert gemm["n"] == len(errors)
    assert gemm["mape"] == pytest.approx(sum(errors) / len(errors))
    assert gemm["worst"] == pytest.approx(max(errors))


def test_points_of_ones_own(folder):
    header = PUBLISHED.read_text().splitlines()[0]
    (folder / "mine.csv").write_text(
        f"{header}\ngemm,910B3,256,256,256,fp16,,9,,,,me\nAllReduce,910B3,5,,,fp16,,7,,,,me\n"
        "RmsNorm,910B3,64x1024,,,bf16,,5,,,,me\n"
    )
    data = json.loads(run("validate-cost", "--points", "mine.csv", "--json", "-"))
    assert [row["family"] for row in data["points"]] == ["gemm", None, "vector"]
    assert data["points"][1]["predicted_us"] is None
    assert "no model: 1 point of AllReduce" in run("validate-cost", "--points", "mine.csv")


def test_faults_are_one_line(folder):
    assert "none.csv: cannot be read" in fail("validate-cost", "--points", "none.csv")
    (folder / "bad.csv").write_text("op,device\n")
    assert "bad.csv, line 1: no column M_or_shape" in fail("validate-cost", "--points", "bad.csv", "--json", "-")
    (folder / "other.csv").write_text("op,device,M_or_shape,dtype,time_us\nAllReduce,910B3,5,fp16,7\n")
    assert "no point has an operator that the cost model knows" in fail("validate-cost", "--points", "other.csv")
    (folder / "gpu.csv").write_text("op,device,M_or_shape,N,K,dtype,time_us\ngemm,A100,5,5,5,fp16,7\n")
    assert "line 2: device: no chip is known as 'A100'" in fail("validate-cost", "--points", "gpu.csv")
    assert "no chip 'tpu'" in fail("chips", "tpu")
    assert "no/x.json" in fail("chips", "--json", "no/x.json")


def test_chips_are_listed_with_their_main_numbers():
    text = run("chips")
    assert all(name in text for name in chip_names())
    assert max(map(len, text.splitlines())) <= 80
    rows = json.loads(run("chips", "--json", "-"))
    assert [row["name"] for row in rows] == [*chip_names()]
    b3 = next(row for row in rows if row["name"] == "Ascend910B3")
    assert (b3["cube_cores"], b3["vector_cores"], b3["l1_bytes"]) == (20, 40, 524288)
    assert b3["fp16_flops_per_s"] == pytest.approx(294.9e12, rel=1e-3)


def test_one_chip_is_shown_with_the_source_of_every_number():
    text = run("chips", "ascend910b3")
    assert "paths.gm->l1.rate" in text
    assert "platform_config" in text
    assert max(map(len, text.splitlines())) <= 80
    detail = json.loads(run("chips", "Ascend910B3", "--json", "-"))
    assert detail["values"]["clock"]["value"] == "1.8 GHz"
    assert all(leaf["source"] for leaf in detail["values"].values())


def test_the_picture_has_every_point_and_stands_alone(folder):
    for name in ("parity.svg", "parity.html"):
        run("validate-cost", "--plot", name)
        page = (folder / name).read_text()
        assert page.count(" measured, ") == 38
        assert "flash_attn pto 8192x8192x128 on Ascend910B2: 293 µs measured, 236 µs modelled (-19.3 %)" in page
        assert "gemm: 21 points, mean error 5.8 %" in page
        assert not re.search(r"(href|src)=.http|@import|<script", page)
    assert xml.dom.minidom.parse(str(folder / "parity.svg")).documentElement.tagName == "svg"


def test_points_lie_where_the_model_and_the_measurement_put_them():
    """A decade is as long on both axes, up and to the right; what is equal lies on the diagonal."""
    found = parity(validation(read_points()))
    point = next(point for point in found.points if point.family == "gemm")  # a circle: its path begins 5 to the left
    times = ((5.0, 500.0), (50.0, 50.0), (500.0, 5.0))
    points = tuple(replace(point, measured_us=a, predicted_us=b) for a, b in times)
    svg = parity_svg(replace(found, points=points))
    starts = [re.match(r"M([\d.]+) ([\d.]+)a", group.find("path").get("d")) for group in svg.iter("g")]
    (x0, y0), (x1, y1), (x2, y2) = (map(float, start.groups()) for start in starts)
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y1 - y0 == pytest.approx(y2 - y1, abs=0.2)
    assert x1 - x0 == pytest.approx(y1 - y0, abs=0.2)
    assert x1 - x0 > 100
    equal = next(path.get("d") for path in svg.iter("path") if path.get("class") == "equal")
    (left, bottom), (right, top) = (map(float, place.split()) for place in equal[1:].split(" L"))
    assert (y1 - bottom) / (x1 + 5 - left) == pytest.approx((top - bottom) / (right - left), abs=1e-2)


def test_a_picture_of_another_kind_is_one_line():
    assert "a name that ends in .svg or .html is wanted" in fail("validate-cost", "--plot", "parity.png")
    assert "there is no folder" in fail("validate-cost", "--plot", "nowhere/parity.svg")
