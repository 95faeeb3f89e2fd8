"""What the inspector says while nothing is chosen."""

import pytest

import gexplorer as gx

MODEL = "bert-base:small=true,layers=2"


@pytest.fixture(scope="module")
def compiled():
    return gx.compile(MODEL, validate="off")


@pytest.fixture
def inspector(compiled, opened, tmp_path):
    page = opened(compiled.report(tmp_path / "report.html", variants="none"))
    return page.locator(".gx-inspector")


def test_time_is_told_by_operator_and_leads_to_the_dearest_kernel(compiled, inspector):
    spent = {}
    for row in compiled.cost.rows:
        spent[row.op] = spent.get(row.op, 0) + row.total_us
    op, most_us = max(spent.items(), key=lambda item: item[1])
    first = inspector.locator(".gx-slice").first
    assert op in first.inner_text()
    assert f"{100 * most_us / sum(spent.values()):.0f} %" in first.inner_text()
    first.click()
    dearest = max((row for row in compiled.cost.rows if row.op == op), key=lambda row: row.total_us)
    assert dearest.node in inspector.inner_text()
    assert not inspector.locator(".gx-slice").count()
    inspector.locator("button", has_text="release").click()
    assert inspector.locator(".gx-slice").count()


def test_what_would_save_traffic_leads_to_the_place_and_why(compiled, inspector):
    line = inspector.locator(".gx-slice-line").first
    rule = line.locator("button").inner_text()
    assert rule in {step.name for step in compiled.steps if step.rejects}
    line.locator("button").click()
    assert "near miss" in inspector.inner_text()
    assert inspector.locator("h2", has_text=rule).count()


def test_sizes_that_nobody_knows_are_said_where_time_is_told(opened, tmp_path):
    compiled = gx.compile("bert-base:small=true,layers=1,batch=n", validate="off")
    assert compiled.cost.rows
    assert compiled.cost.uncosted
    page = opened(compiled.report(tmp_path / "report.html", variants="none"))
    said = page.locator(".gx-inspector").inner_text()
    lacking = len(compiled.cost.uncosted)
    assert f"{lacking} of {lacking + len(compiled.cost.rows)} kernels have no price" in said
    heading = page.locator(".gx-inspector h3", has_text="time goes").inner_text()  # as it is shown, capitals and all
    assert heading.startswith("WHERE THE TIME GOES · at least ")
    assert heading.endswith(("µs", "ms"))


def test_an_operator_that_falls_back_is_named(opened, tmp_path):
    from onnx import TensorProto, helper

    tensors = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8]), helper.make_tensor_value_info("y", 1, None)]
    strange = helper.make_node("Strange", ["x"], ["y"], "stranger", domain="somebody.else")
    graph = helper.make_graph([strange], "g", tensors[:1], tensors[1:])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("somebody.else", 1)]
    )
    page = opened(gx.compile(model, validate="off").report(tmp_path / "report.html", variants="none"))
    said = page.locator(".gx-inspector")
    assert "FALLS BACK TO AI CPU OR HOST · 1" in said.inner_text().upper()
    assert said.locator(".gx-node-link").inner_text() == "stranger"
