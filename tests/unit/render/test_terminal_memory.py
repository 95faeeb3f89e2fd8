"""What the commands about memory print fits the terminal, and says what is wrong in words and in red."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from rich.console import Console

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.memory.plan import DEFINITIONS, Plan
from gexplorer.memory.planners.base import Placement
from gexplorer.memory.problem import make_problem
from gexplorer.memory.standalone import compare_planners, plan_problem
from gexplorer.memory.verify import verify_placement
from gexplorer.render import terminal_memory
from gexplorer.render.terminal_memory import (
    fit_line,
    memory_lines,
    print_changes,
    print_memory,
    print_plan,
    print_planners,
    print_tensor,
)
from gexplorer.units import bytes_text
from gexplorer.views.memory_tensors import occupants, tensor_row, tensor_rows
from gexplorer.views.planners import changes, planner_rows

LONG = "/model/layers.0/self_attn/" + "a_name_without_a_break_" * 6


@pytest.fixture
def printed(monkeypatch):
    """Calls a printer and gives what it prints, on 80 columns; with colours as escape codes when wanted."""

    def call(printer, *arguments, colours=False) -> str:
        out = Console(width=80, highlight=False, force_terminal=colours, color_system="standard" if colours else None)
        monkeypatch.setattr(terminal_memory, "console", lambda: out)
        with out.capture() as captured:
            printer(*arguments)
        return captured.get()

    return call


@pytest.fixture(scope="module")
def memory():
    return gx.compile("bert-base:small=true,layers=2").memory


def placed(problem, offsets) -> Plan:
    offsets = np.array(offsets, dtype=np.int64)
    pool = int((offsets + problem.size_bytes).max())
    found = verify_placement(problem, offsets, pool)
    return Plan(problem, "article_literal", Placement(offsets, pool), 0.0, found)


def row_of(text: str, name: str) -> list[str]:
    return next(line for line in text.splitlines() if line.startswith(f"{name} ")).split()


def test_planners_stand_side_by_side(printed, memory):
    plans = memory.compare()
    text = printed(print_planners, planner_rows(plans), memory.plan.problem)
    for plan in plans:
        if isinstance(plan, Plan):
            row = row_of(text, plan.planner)
            assert " ".join(row[1:3]) == bytes_text(plan.pool_bytes)
            assert ("optimal" in row) == plan.proved_optimal
            assert ("UNSOUND:" in row) == (not plan.is_sound)
    assert DEFINITIONS["reuse_rate"] in text


def test_the_articles_planner_is_red_with_its_overlaps_and_the_bytes_that_it_lacks(printed):
    problem = make_problem([0, 1, 0], [2, 3, 3], [100, 200, 50], ("a", "b", "c"))
    text = printed(print_planners, planner_rows([placed(problem, [0, 0, 100])]), problem, colours=True)
    assert "\x1b[1;31mUNSOUND: 2 overlaps\x1b[0m" in text
    assert "its pool is 150 bytes below the bound: no such pool can work" in text
    assert "a and b share 100 bytes from byte 0" in text


def test_a_planner_that_declines_says_why_without_its_name(printed):
    problem = make_problem([0, 0], [4, 4], [10, 10], pinned=[0, 30])
    text = " ".join(printed(print_planners, planner_rows(compare_planners(problem, ("best_fit",))), problem).split())
    assert "declined: best_fit: cannot pin" in text


@pytest.mark.parametrize("mode", ["balanced", "safe", "article_literal"])
def test_memory_tells_the_numbers_with_their_meaning(printed, mode):
    memory = gx.compile("bert-base:small=true,layers=2", memory=mode).memory
    text = printed(print_memory, memory, tensor_rows(memory))
    assert f"{memory.pool_bytes:,} B" in text
    for number in ("bound", "unplanned", "fragmentation", "internal", "reuse_rate", "reach_theory_rate", "occupancy"):
        assert number in text
    assert row_of(text, "verified")[1] == ("yes" if memory.is_sound else "NO")
    assert f"alive at {memory.bounds.peak} ({memory.bounds.operator})" in text
    assert all(one.tensor in text for one in memory.bounds.alive[:5])


def test_a_tensor_is_told(printed, memory):
    for name in memory.program.tensors:
        row = tensor_row(memory, name)
        text = printed(print_tensor, row, *occupants(memory, name))
        assert text.startswith(name)
        for reader in row.readers:
            assert reader in text
        if row.why:
            assert row.why.split()[0] in text


def test_a_tensor_without_a_size_tells_why(printed):
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 18]> g (float[8] x) => (float[8] y) {
          i = NonZero(x) h = Cast <to = 1> (i) z = ReduceSum <keepdims = 0> (h) y = Mul(x, z) }"""
    )
    memory = gx.compile(model).memory
    name, reason = next(iter(memory.program.unsized.items()))
    told = " ".join(printed(print_tensor, tensor_row(memory, name), [], []).split())
    assert f"not planned: {reason}" in told
    listed = printed(print_memory, memory, tensor_rows(memory))
    assert "not planned" in listed
    assert any("not planned" in line for line in memory_lines(memory))


def test_a_model_of_free_shapes_tells_the_cure_and_no_numbers(printed):
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 18]>
        g (float[n, 8] x) => (float[n, 8] y) { a = Softmax(x) y = Sin(a) }"""
    )
    memory = gx.compile(model).memory
    text = printed(print_memory, memory, tensor_rows(memory))
    assert "dimension n of input x is free: bind it with --shape" in text
    assert "pool" not in text
    assert "optimal" not in "".join(memory_lines(memory))


def test_changes_are_told_in_bytes_and_per_cent(printed, memory):
    name = memory.bounds.alive[-1].tensor
    after = memory.what_if(never_reuse=(name,))
    text = printed(print_changes, [f"nobody got the memory of {name}"], changes(memory, after))
    assert f"What if nobody got the memory of {name}?" in text
    pool = row_of(text, "pool")
    assert bytes_text(memory.pool_bytes) == " ".join(pool[1:3])
    assert bytes_text(after.pool_bytes) == " ".join(pool[3:5])


def test_a_plan_of_a_file_tells_exact_bytes(printed):
    plan = plan_problem(make_problem([0, 1, 2], [2, 3, 4], [656384, 5120, 43008]), "fast")
    text = printed(print_plan, plan, "fast")
    assert f"{plan.pool_bytes:,} B" in text
    assert "weights" not in text
    assert "3 buffers placed in" in text


def test_compile_tells_pool_bound_and_verdict(memory):
    lines = memory_lines(memory)
    assert bytes_text(memory.pool_bytes) in lines[0]
    assert "verified" in lines[0]
    assert bytes_text(memory.weight_bytes) in lines[1]
    unsound = gx.compile("bert-base:small=true,layers=2", memory="article_literal").memory
    assert "UNSOUND" in memory_lines(unsound)[0]


def test_everything_fits_80_columns_and_no_name_commands_the_terminal(printed):
    name = f"{LONG}\x1b[2J[red]\nfake"
    nodes = [
        onnx.helper.make_node("Softmax", ["x"], [f"{name}a"], name=f"{name}A"),
        onnx.helper.make_node("Softmax", [f"{name}a"], [f"{name}b"], name=f"{name}B"),
        onnx.helper.make_node("Softmax", [f"{name}b"], ["y"], name=f"{name}C"),
    ]
    values = [onnx.helper.make_tensor_value_info(v, onnx.TensorProto.FLOAT, [64, 64]) for v in "xy"]
    graph = onnx.helper.make_graph(nodes, "g", values[:1], values[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    memory = gx.compile(model, fusion={"ALL": False}).memory
    after = memory.what_if(never_reuse=(f"{name}a",))
    texts = [
        printed(print_memory, memory, tensor_rows(memory)),
        printed(print_planners, planner_rows(memory.compare()), memory.plan.problem),
        printed(print_changes, [f"nobody got the memory of {name}a"], changes(memory, after)),
        printed(print_tensor, tensor_row(memory, f"{name}a"), *occupants(memory, f"{name}a")),
    ]
    for text in texts:
        assert max(map(len, text.splitlines())) <= 80
        assert "\x1b" not in text
        assert "\nfake" not in text
    assert "".join(texts[-1].split()).count("[red]") >= 3  # the tensor, its writer, its reader


def test_names_give_way_to_numbers(printed):
    """On 80 columns long names are cut, after odd characters are spelled out; bytes and points are not."""
    memory = gx.compile(late_peak(1200)).memory
    text = printed(print_memory, memory, tensor_rows(memory))
    assert max(map(len, text.splitlines())) <= 80
    row = text.split("The peak")[1].splitlines()[2]
    assert row.split()[:5] == ["520", "KiB", "1198", "to", "1201"]
    assert row.count("\u2026") == 2


def late_peak(nodes: int) -> onnx.ModelProto:
    """A chain whose last intermediate result is twice as large as all others."""
    names = [f"{LONG}{i}" + "\n\x1b" * 9 for i in range(nodes)]
    values = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [rows, 256])
        for name, rows in (("x", 260), ("y", 520))
    ]
    steps = [("Softmax", [source], name) for source, name in zip(["x", *names], names, strict=False)]
    steps += [("Concat", [names[-1], names[-2]], f"{LONG}both"), ("Softmax", [f"{LONG}both"], "y")]
    made = [
        onnx.helper.make_node(op, inputs, [name], name=f"{name}/{LONG}", **({"axis": 0} if op == "Concat" else {}))
        for op, inputs, name in steps
    ]
    return onnx.helper.make_model(
        onnx.helper.make_graph(made, "chain", values[:1], values[1:]),
        opset_imports=[onnx.helper.make_opsetid("", 18)],
        ir_version=9,
    )


def test_what_does_not_fit_one_chip_is_said():
    compiled = gx.compile("llama-70b:layers=2")
    needed = compiled.memory.pool_bytes + compiled.memory.weight_bytes + compiled.memory.persistent_bytes
    chip = compiled.cost.chip
    assert fit_line(compiled.memory, chip) == f"in all {bytes_text(needed)} of the 64.0 GiB of {chip.name}"
    small = replace(chip, capacity=replace(chip.capacity, hbm_bytes=needed - 1024))
    assert "1.00 KiB too much for one chip" in fit_line(compiled.memory, small)
    shown = CliRunner().invoke(cli, ["memory", "llama-70b"], env={"COLUMNS": "80"}).stdout
    assert "of the 64.0 GiB of Ascend910B3: 65.0 GiB too much for one chip" in " ".join(shown.split())
