from __future__ import annotations

from time import process_time

import numpy as np
import pytest

import gexplorer as gx
from gexplorer.cost.graph import cost_of
from gexplorer.errors import OptionError
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.signature import signature
from gexplorer.kernels.gemm_kernel import GemmKernel
from gexplorer.kernels.generators.vector import VectorUnit
from gexplorer.kernels.stage import generate_kernels
from gexplorer.kernels.steps import kernel_steps
from gexplorer.schedule.stage import kernel_names
from tests.passes import graph_of

B3 = load_chip("Ascend910B3")
LAYERS = """
input %x : float16[64,128]
input %w : float16[128,128]
input %v : float16[128,128]
input %n : float16[k,1,8,8]
%a = MatMul(%x, %w) #a
%b = Relu(%a) #b
%c = MatMul(%b, %v) #c
%d = Relu(%c) #d
%e = MaxPool(%n) {kernel_shape = [2, 2]} #e
%f = Bernoulli(%d) #f
output %d
output %e
output %f
"""


@pytest.fixture(scope="module")
def qwen():
    return gx.compile("qwen2.5-7b:layers=2,seq=64")


@pytest.fixture(scope="module")
def kernels(qwen):
    return generate_kernels(qwen.graph, B3, names=kernel_names(qwen.memory))


def test_equal_nodes_have_one_kernel():
    graph = graph_of(LAYERS)
    found = generate_kernels(graph, B3)
    assert [(kernel.op, kernel.nodes) for kernel in found.distinct if kernel.programs] == [
        ("MatMul", ("a", "c")),
        ("Relu", ("b", "d")),
    ]
    assert found["a"] is found["c"]
    assert len(found) == 6
    assert found.generated == 4
    (first,), (second,) = found.programs_of("a"), found.programs_of("c")
    assert first.program is second.program
    assert (first.described.inputs, second.described.inputs) == (
        (("left", "x"), ("right", "w")),
        (("left", "b"), ("right", "v")),
    )


def test_signatures_tell_what_a_generator_can_see():
    def of(line):
        graph = graph_of(f"input %x : float32[4,6]\ninput %y : float32[4,6]\n{line} #a\noutput %a")
        return signature(graph, graph.order[-1])

    assert of("%a = Add(%x, %y)") == of("%a = Add(%y, %x)")
    different = ["Add(%x, %x)", "Add(%x, %y)", "Mul(%x, %y)", "Softmax(%x)", "Softmax(%x) {axis = 0}"]
    assert len({of(f"%a = {line}") for line in different}) == 5

    def scaled(number):
        graph = graph_of(f"input %x : float32[4]\nconstant %c = float32[] {{{number}}}\n%a = Mul(%x, %c) #a\noutput %a")
        return signature(graph, graph.order[-1])

    assert scaled(0.5) == scaled(0.5) != scaled(0.25)


def test_what_has_no_program_is_named_with_the_reason():
    found = generate_kernels(graph_of(LAYERS), B3)
    assert {node: found[node].missing.code for node in "ef"} == {"e": "no_generator", "f": "aicpu"}
    assert found["e"].missing.reason == "the shape of n is not known"
    assert [kernel.op for kernel in found.lacking] == ["MaxPool"]
    small = load_chip("teaching")
    text = "input %x : float16[1,4,9,900]\ninput %w : float16[4,4,9,900]\n%y = Conv(%x, %w) #y\noutput %y"
    wide = generate_kernels(graph_of(text), small)
    assert (wide["y"].missing.code, wide["y"].programs) == ("does_not_fit", ())
    (*_, generate, _) = kernel_steps(wide, 0)
    assert generate.reason(generate.rejects[0]) == (
        "no tile of Conv fits the chip: no tile fits the buffers of teaching"
    )


def test_the_error_of_a_generator_is_one_kernels_reason(monkeypatch):
    def broken(self, kernel, searches):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(VectorUnit, "choose", broken)
    found = generate_kernels(graph_of(LAYERS), B3)
    missing = found["b"].missing
    assert (missing.code, missing.operator) == ("generator_failed", "Relu")
    assert missing.reason.startswith("generator vector: ZeroDivisionError at test_stage.py:")
    assert missing.reason.endswith(": by nothing")
    assert found["a"].programs
    describe, *_ = kernel_steps(found, 0)
    assert "generator_failed" in {reject.code for reject in describe.rejects}


def test_what_has_no_elements_has_nothing_to_compute():
    empty = generate_kernels(graph_of("input %x : float32[0,4]\n%a = Relu(%x) #a\noutput %a"), B3)
    assert (empty["a"].missing.code, empty.lacking) == ("empty", ())
    text = "input %x : float32[2,0]\ninput %y : float32[0,3]\n%a = MatMul(%x, %y) #a\noutput %a"
    zeros = generate_kernels(graph_of(text), B3)["a"].missing
    assert (zeros.code, zeros.reason) == ("no_generator", "x has no elements")


def test_the_steps_leave_the_graph_and_say_what_was_left_out(kernels, qwen):
    steps = kernel_steps(kernels, 7)
    assert [(step.index, step.stage, step.name) for step in steps] == [
        (7, "kernels", "describe"),
        (8, "kernels", "tiling_search"),
        (9, "kernels", "generate"),
        (10, "kernels", "assign_units"),
    ]
    assert all(step.before is step.after is qwen.graph for step in steps)
    describe, search, generate, assign = steps
    assert describe.summary.startswith(f"Reads off what each of {len(kernels)} kernels computes: ")
    assert all(describe.hint(reject) for reject in describe.rejects)
    assert f"{kernels.evaluations} tiles evaluated" in search.summary
    left_out = search.rejects[0].parameters
    program = next(p for p in kernels[search.rejects[0].node].programs if p.found is not None)
    buffers = program.found.kept_out()
    assert int(str(left_out["left_out"]).replace(",", "")) == sum(buffers.values()) > 0
    assert "l0a" in search.reason(search.rejects[0])
    assert generate.rejects == ()
    operators = sum(kernel.count * len(kernel.operators) for kernel in kernels.distinct)
    counted = [part.rsplit(" ", 1)[1] for part in assign.summary.rstrip(".").split(": ")[1].split(", ")]
    assert sum(int(number.replace(",", "")) for number in counted) == operators


def test_every_kernel_of_a_transformer_layer_has_a_program(kernels):
    assert {kernel.op for kernel in kernels.distinct if kernel.missing is not None} <= {"ElementwiseChain", "Gather"}
    for kernel in kernels.distinct:
        units = [unit for *_, unit in kernel.operators]
        assert set(units) <= {"cube", "vector", "fixpipe", "mte1", "mte2", "mte", "none"}
        for program in kernel.programs:
            assert all(0 < part.share <= 1 for part in program.occupied)
            assert sum(program.bytes_by_path.values()) > 0
            assert program.text
            assert program.tile_text


def test_the_landscape_is_there_when_looked_at_with_the_tile_that_was_taken(kernels):
    (program,) = next(k.programs for k in kernels.distinct if k.op == "MatMul")
    assert program.evaluations == 1
    landscape = program.landscape
    assert landscape is program.landscape
    assert landscape.tile == program.tile
    assert landscape.best_us <= landscape.chosen_us
    assert landscape.evaluations == landscape.feasible.sum() > 100
    other = next(p for k in kernels.distinct for p in k.programs if not isinstance(p.described.kernel, GemmKernel))
    assert other.landscape is None


def test_what_an_earlier_compilation_knows_is_taken_over(kernels, qwen):
    again = generate_kernels(qwen.graph, B3, names=kernel_names(qwen.memory), previous=kernels)
    made = kernels.known.searches.made
    assert again.known is kernels.known
    assert [k.nodes for k in again.distinct] == [k.nodes for k in kernels.distinct]
    longer = gx.compile("qwen2.5-7b:layers=3,seq=64")
    more = generate_kernels(longer.graph, B3, names=kernel_names(longer.memory), previous=kernels)
    assert kernels.known.searches.made == made
    assert len(more) > len(kernels)
    for kernel in more.distinct:
        for program in kernel.programs:
            names = {*longer.graph.nodes[kernel.nodes[0]].inputs}
            assert any(name in names for _, name in program.described.inputs)
    fresh = generate_kernels(qwen.graph, B3, "fast", names=kernel_names(qwen.memory), previous=kernels)
    assert fresh.known is not kernels.known


@pytest.mark.parametrize(
    ("model", "soc"),
    [("simple-attention", "Ascend910B3"), ("simple-attention", "Ascend910A"), ("resnet50", "Ascend910B3")],
)
def test_a_longer_search_never_gives_a_slower_graph(model, soc):
    """The cost model takes the tiles that were searched; without the option it has those of a library."""
    compiled, chip = gx.compile(model, soc=soc), load_chip(soc)
    us = {}
    for mode in ("library", "fast", "exhaustive"):
        found = generate_kernels(compiled.graph, chip, mode, names=kernel_names(compiled.memory))
        cost = cost_of(compiled.graph, chip, tiling=mode, tiles=found.tile_of)
        us[mode] = cost.latency_us
        assert cost.tiling == mode
        tiles = {row.node: row.tiles for row in cost.rows}
        for kernel in found.distinct if mode == "fast" and soc == "Ascend910B3" else ():
            kinds = [program.kind for program in kernel.programs]
            if kinds == ["product"] and kernel.programs[0].tile.double:
                tile = kernel.programs[0].tile
                assert tiles[kernel.nodes[0]] == ((tile.m, tile.n, tile.k),)
    assert us["library"] == cost_of(compiled.graph, chip).latency_us
    assert us["exhaustive"] <= us["fast"] <= us["library"]
    if model == "simple-attention":
        assert us["fast"] < us["library"]


def test_a_node_is_found_by_what_it_was_made_of(kernels, qwen):
    fused = next(node for node in qwen.graph.order if node.op == "FlashAttentionScore")
    assert kernels.node_with(fused.name) == fused.name
    assert kernels.node_with(fused.origin[0]) == fused.name
    with pytest.raises(OptionError, match="'nobody' is neither a node that launches a kernel nor an operator of one"):
        kernels.node_with("nobody")
    with pytest.raises(OptionError, match="'nobody' is no node that launches a kernel"):
        kernels["nobody"]


def test_a_wrong_mode_is_an_error():
    with pytest.raises(OptionError, match="tiling mode 'best': one of library, fast, exhaustive is wanted"):
        generate_kernels(graph_of(LAYERS), B3, "best")


def test_the_option_and_its_environment_name(monkeypatch):
    assert gx.compile("simple-attention").options.tiling_mode == "library"
    monkeypatch.setenv("GE_TILING_SEARCH_MODE", "fast")
    assert gx.compile("simple-attention").options.tiling_mode == "fast"
    assert gx.compile("simple-attention", tiling_mode="exhaustive").options.tiling_mode == "exhaustive"
    with pytest.raises(OptionError, match="tiling_mode: library, fast or exhaustive is wanted, not 'slow'"):
        gx.compile("simple-attention", tiling_mode="slow")
    monkeypatch.setenv("GE_TILING_SEARCH_MODE", "slow")
    with pytest.raises(OptionError, match="GE_TILING_SEARCH_MODE: library, fast or exhaustive is wanted, not 'slow'"):
        gx.compile("simple-attention")


def test_a_kernel_is_walked_tile_by_tile_with_what_its_buffers_hold():
    graph = graph_of("input %x : float32[20,32]\ninput %w : float32[32,24]\n%y = MatMul(%x, %w) #y\noutput %y")
    (program,) = generate_kernels(graph, load_chip("teaching")).programs_of("y")
    random = np.random.default_rng(0)
    values = {
        "x": random.normal(size=(20, 32)).astype(np.float32),
        "w": random.normal(size=(32, 24)).astype(np.float32),
    }
    stops = [(step.block, step.bindings, dict(step.buffers), step.counts) for step in program.walk(values)]
    *_, (_, _, buffers, counts) = stops
    np.testing.assert_allclose(buffers["out"][0], values["x"] @ values["w"], rtol=1e-5, atol=1e-5)
    assert counts.bytes_by_path == program.bytes_by_path
    each = sum(1 for _ in program.walk(values, tiles=False))
    assert each == sum(program.run(values).counts.instructions.values()) > len(stops)


def test_many_small_operators_take_moments():
    lines = ["input %v0 : float32[4,8]"]
    lines += [f"%v{i + 1} = {('Relu', 'Tanh', 'Softmax')[i % 3]}(%v{i}) #n{i}" for i in range(20_000)]
    graph = graph_of("\n".join([*lines, "output %v20000"]))
    start = process_time()
    found = generate_kernels(graph, B3)
    assert process_time() - start < 1  # 0.1 s; a search or a program for each node takes 20 s
    assert (len(found), len(found.distinct)) == (20_000, 3)
    assert found.known.searches.made == 3
