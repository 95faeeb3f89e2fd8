"""What the parts say is what the compilation says."""

from __future__ import annotations

import ast
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, parser

import gexplorer as gx
from gexplorer.cost.graph import UncostedRow, cost_of
from gexplorer.ir.graph import Node
from gexplorer.kernels.count import count
from gexplorer.kernels.gemm_kernel import GemmTile
from gexplorer.ops.table import lookup
from gexplorer.options import Options
from gexplorer.passes.fusion.switch_file import read_switch_file
from gexplorer.passes.manager import all_passes, plan
from gexplorer.render.document import document
from gexplorer.views.explorer.copies import atc_line, copies, python_text, switch_file
from gexplorer.views.explorer.course import course_of, course_part, known_costs
from gexplorer.views.explorer.figures import kernels_by_step
from gexplorer.views.explorer.nodes import Unit, unit_of
from gexplorer.views.explorer.numbering import Numbering
from gexplorer.views.explorer.places import place_of
from gexplorer.views.explorer.subject import subject_of
from gexplorer.views.pack import unpack
from gexplorer.views.summary import kernels
from tests.small_models import build

ROOT = Path(gx.__file__).parents[1]


@pytest.fixture(scope="module")
def compiled():
    return gx.compile("qwen2.5-7b:small=true,layers=2")


@pytest.fixture(scope="module")
def found(compiled):
    return document(compiled, course=True)


@pytest.fixture(scope="module")
def parts(found):
    return {name: unpack(found.parts[name]) for name in found.parts}


def figure(parts, key):
    return next(one for one in parts["head"]["figures"] if one["key"] == key)


def test_kernels_by_step_are_those_of_every_graph(compiled, parts):
    counts = [len(kernels(step.after)) for step in compiled.steps]
    shown = figure(parts, "kernels")
    assert shown["series"].tolist() == counts
    assert (shown["first"], shown["value"]) == (counts[1], counts[-1])
    assert counts[1] > counts[-1]


def test_kernels_inside_of_nested_graphs_are_not_counted():
    compiled = gx.compile(build()["control"])
    steps = compiled.steps
    found = kernels_by_step(subject_of(compiled), Numbering(steps)).tolist()
    counts = [len(kernels(step.after)) if step.stage in ("parse", "passes") else found[-1] for step in steps]
    assert found == counts
    assert found[-1] == compiled.schedule.kernels.launches
    assert steps[1].after.nodes_deep > len(steps[1].after)


def test_kernels_that_the_memory_plan_spares_are_not_counted_from_there_on():
    text = """<ir_version: 10, opset_import: ["": 21]> g (float[256, 256] x, float[256, 256] w) => (float[512, 256] y) {
        a = MatMul(x, w)
        b = MatMul(w, x)
        c = Concat<axis = 0>(a, b)
        y = Softmax<axis = 0>(c)
    }"""
    compiled = gx.compile(parser.parse_model(text))
    shown = figure({"head": unpack(document(compiled).parts["head"])}, "kernels")
    stages = [step.stage for step in compiled.steps]
    assert {count for stage, count in zip(stages, shown["series"], strict=True) if stage == "passes"} == {4}
    assert {count for stage, count in zip(stages, shown["series"], strict=True) if stage == "memory"} == {3}
    assert shown["value"] == 3 == len(compiled.cost.rows)


def test_the_headline_is_what_the_stages_found(compiled, parts):
    for key, value in (
        ("hbm_bytes", compiled.cost.hbm_bytes),
        ("pool_bytes", compiled.memory.pool_bytes),
        ("latency_us", compiled.schedule.makespan_us),
        ("launch_share", compiled.cost.launch_us / compiled.cost.latency_us),
        ("compile_seconds", sum(step.seconds for step in compiled.steps)),
    ):
        assert figure(parts, key)["value"] == pytest.approx(value)
    assert figure(parts, "hbm_bytes")["bound"] == compiled.cost.compulsory_bytes
    assert figure(parts, "weight_bytes")["first"] >= compiled.source.weight_bytes


def test_the_error_is_a_mean_of_the_families_errors(compiled, parts):
    cost = compiled.cost
    errors = [p90 for row in cost.rows if (p90 := cost.p90(row.family)) is not None]
    assert min(errors) <= figure(parts, "latency_us")["error"] <= max(errors)


def test_the_course_begins_before_the_passes_and_ends_with_the_cost(compiled, parts):
    traffic, latency = figure(parts, "hbm_bytes"), figure(parts, "latency_us")
    for shown, last in ((traffic, compiled.cost.hbm_bytes), (latency, compiled.cost.latency_us)):
        assert np.isnan(shown["series"][0])
        assert shown["series"][1] == shown["first"]
        assert shown["series"][-1] == last
    saved = -np.diff(parts["course"]["hbm_bytes"])
    assert np.nansum(saved) == pytest.approx(traffic["first"] - traffic["value"])
    fused = parts["rules"]["step"][parts["rules"]["effective"] > 0]
    assert (parts["course"]["comparable"][fused] == 1).all()


def test_what_a_rule_brought_is_what_the_graph_cost_before_it_less_after(compiled, parts):
    course, chip, tiling = parts["course"], compiled.cost.chip, compiled.cost.tiling
    step = next(position for position, step in enumerate(compiled.steps) if step.name == "flash_attention")
    for position in (step - 1, step):
        alone = cost_of(compiled.steps[position].after, chip, tiling=tiling)
        for key in ("latency_us", "launch_us", "hbm_bytes", "l2_bytes"):
            assert course[key][position] == pytest.approx(getattr(alone, key), rel=1e-12), key
    assert course["kernels"].tolist() == [len(kernels(step.after)) for step in compiled.steps]
    assert course["latency_us"][step] < course["latency_us"][step - 1]
    assert course["kernels"][step] < course["kernels"][step - 1]
    assert course["latency_us"][-1] == compiled.cost.latency_us


def test_what_the_memory_plan_spares_is_no_rules_work():
    """Its share of the cost stands at its own step: the last pass's graph costs what its kernels cost one by one."""
    compiled = gx.compile(build()["image"])
    plain = cost_of(compiled.steps[-1].after, compiled.cost.chip, tiling=compiled.cost.tiling)
    course = course_of(compiled.steps, replace(compiled.cost, rows=compiled.cost.rows[:-1]))
    passes = [position for position, step in enumerate(compiled.steps) if step.stage == "passes"]
    assert course[passes[-1]].latency_us == pytest.approx(plain.latency_us, rel=1e-12)
    assert course[passes[-1] + 1].latency_us == sum(row.total_us for row in compiled.cost.rows[:-1])


def test_a_course_takes_over_what_is_known_of_passes(compiled, monkeypatch):
    course = course_of(compiled.steps, compiled.cost)
    known = known_costs(compiled.steps, course, compiled.cost)
    monkeypatch.setattr("gexplorer.views.explorer.course.cost_of", None)  # nothing is left to be costed
    assert course_of(compiled.steps, compiled.cost, known) == course
    other = gx.compile("qwen2.5-7b:small=true,layers=2", soc="Ascend910A").cost
    assert known_costs(compiled.steps, course, other) == {}


def test_steps_are_only_compared_where_the_same_kernels_have_a_price(compiled):
    course = list(course_of(compiled.steps, compiled.cost))
    step = next(position for position, step in enumerate(compiled.steps) if step.name == "flash_attention")
    count = np.zeros(len(course))
    assert course_part(compiled.steps, tuple(course), count)["comparable"][step] == 1
    cost = course[step]
    course[step] = replace(cost, uncosted=(UncostedRow(cost.rows[0].node, "Odd", "nobody knows"),))
    found = course_part(compiled.steps, tuple(course), count)
    assert (found["comparable"][step], found["unpriced"][step]) == (0, 1)
    assert course_part(compiled.steps, (), count)["unpriced"].tolist() == [-1] * len(compiled.steps)


def test_near_misses_say_what_they_would_save_of_memory_traffic():
    compiled = gx.compile("bert-base:layers=2")
    found = unpack(document(compiled).parts["rules"])
    steps = unpack(document(compiled).parts["steps"])["steps"]
    total = 0
    for row, name in enumerate(found["name"]):
        misses = compiled.why(name)
        sizes = [0 if miss.settled else np.nan if miss.freed_bytes is None else miss.freed_bytes for miss in misses]
        if found["step"][row] >= 0 and found["is_fusion"][row]:
            np.testing.assert_array_equal(steps[found["step"][row]]["rejects"]["traffic_bytes"], sizes)
            total += np.nansum(sizes)
    assert total > 0


def test_what_a_later_rule_fused_is_not_left_to_be_saved():
    """The zoo's weights have no values, so no BatchNormalization goes into them; the epilogue takes every one later.

    What stands in the way are the weights: how much fusing there would save, the record does not tell.
    """
    compiled = gx.compile("resnet50")
    found = unpack(document(compiled).parts["rules"])
    row = found["name"].index("conv_batchnorm")
    assert found["near"][row] > 50
    assert {miss.traffic_bytes for miss in compiled.why("conv_batchnorm")} == {None}
    rejects = unpack(document(compiled).parts["steps"])["steps"][found["step"][row]]["rejects"]
    assert np.isnan(rejects["traffic_bytes"]).all()


def test_a_rule_says_at_which_operators_it_looks(parts):
    looks = dict(zip(parts["rules"]["name"], parts["rules"]["ends_in"], strict=True))
    assert looks["matmul_bias"] == "Add, Sum"
    assert looks["constant_folding"] == ""


def test_without_the_course_nobody_invents_it(compiled):
    quick = document(compiled)
    assert figure({"head": unpack(quick.parts["head"])}, "hbm_bytes")["series"] is None
    assert "course" in quick.on_demand


def test_rewrites_name_the_nodes_that_went_and_came(compiled, found, parts):
    nodes = parts["nodes"]
    for step, row in zip(compiled.steps, parts["steps"]["steps"], strict=True):
        for kind in ("removed", "added", "changed"):
            at, held = row["rewrites"][f"{kind}_at"], row["rewrites"][kind]
            for number, rewrite in enumerate(step.rewrites):
                wanted = getattr(rewrite, kind)
                names = [node.name for node in (wanted if kind != "changed" else [new for _, new in wanted])]
                assert [nodes["strings"][nodes["name"][n]] for n in held[at[number] : at[number + 1]]] == names
        assert [row["rewrites"]["reason"].size, row["rejects"]["node"].size] == [len(step.rewrites), len(step.rejects)]
        texts = parts["steps"]["strings"]
        assert [texts[n] for n in row["rewrites"]["reason"]] == [step.reason(one) for one in step.rewrites]
        for number, reject in enumerate(step.rejects):
            assert texts[row["rejects"]["reason"][number]] == step.reason(reject)
            blocker = row["rejects"]["blocker"][number]
            if blocker >= 0:
                assert found.numbering.nodes[blocker].name == reject.blocker


def test_a_step_without_changes_shows_the_picture_before(parts):
    shown = [step["scene"] for step in parts["steps"]["steps"]]
    assert shown == sorted(shown)
    assert shown[-1] == len(parts["scenes"]["roots"]) - 1
    for before, after, step in zip(shown, shown[1:], parts["steps"]["steps"][1:], strict=False):
        result = parts["scenes"]["steps"][after] == -1 and step["stage"] == "memory"
        assert after - before == 0 or step["changed"] or result


def test_rules_point_to_their_class():
    for one in all_passes():
        place = place_of(one)
        assert place is not None
        file, line = place.rsplit(":", 1)
        assert (ROOT / file).read_text().splitlines()[int(line) - 1].startswith(f"class {one.__name__}")


def test_a_rule_of_a_notebook_has_no_place():
    class Mine(all_passes()[0]):
        """Of no file of the package."""

    Mine.__module__ = "__main__"
    assert place_of(Mine) is None


@pytest.mark.parametrize(
    ("op", "unit"),
    [
        ("MatMul", Unit.CUBE),
        ("Relu", Unit.VECTOR),
        ("Transpose", Unit.MOVE),
        ("Reshape", Unit.MOVE),
        ("Unheard", Unit.FALLBACK),
        ("If", Unit.CONTROL),
        ("Constant", Unit.CONSTANT),
    ],
)
def test_units(op, unit):
    node = Node("n", op, ("x",), ("y",))
    assert unit_of(node, lookup(node)) is unit


def test_kernels_of_cube_and_vector_are_mixed(compiled, parts):
    nodes = parts["nodes"]
    units = {nodes["strings"][nodes["type"][n]]: nodes["unit"][n] for n in range(len(nodes["name"]))}
    assert units["SwiGlu"] == Unit.VECTOR
    assert units["FlashAttentionScore"] == Unit.MIXED
    row = next(n for n in range(len(nodes["name"])) if nodes["strings"][nodes["type"][n]] == "SwiGlu")
    body = nodes["body"][nodes["body_at"][row] : nodes["body_at"][row + 1]]
    assert "Mul" in {nodes["strings"][n] for n in body}


def test_the_python_that_is_copied_says_the_same():
    options = Options().with_changes(
        {
            "soc": "Ascend910A",
            "fusion": {"gelu": False},
            "shapes": {"it's": (1, "n")},
            "memory": "safe",
            "seeds": (1, 2),
        }
    )
    call = ast.parse(python_text('a"b.onnx', options)).body[-1].value
    assert ast.literal_eval(call.args[0]) == 'a"b.onnx'
    changes = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    assert Options().with_changes(changes) == options


def test_atc_line():
    options = Options(shapes={"x": (1, 3, "h", 224), "y": (2,)}, order="stable_rdfs", streams="cube_vector")
    words = shlex.split(atc_line("some dir/net.onnx", replace(options, enable_mem_reuse=False), switched=True))
    assert words == [
        "atc", "--framework=5", "--model=some dir/net.onnx", "--output=net", "--soc_version=Ascend910B3",
        "--input_shape=x:1,3,-1,224;y:2", "--fusion_switch_file=fusion_switch.cfg", "--topo_sorting_mode=3",
        "--multi_stream_parallel_mode=cv", "--disable_reuse_memory=1",
    ]  # fmt: skip
    assert "--model=bert-base.onnx" in shlex.split(atc_line("bert-base:layers=2", Options(), switched=False))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"preset": "unconfigured"},
        {"preset": "all"},
        {"fusion": {"matmul_bias": False, "shape_folding": False, "format_assignment": True}},
    ],
)
def test_the_switch_file_switches_the_same(options, tmp_path):
    compiled = gx.compile("mlp", **options)
    path = tmp_path / "fusion_switch.cfg"
    path.write_text(switch_file(subject_of(compiled)))
    known = [name for one in all_passes() for name in (one.name, one.ge_name) if name]
    read = read_switch_file(path, known)
    assert not read.unmodelled
    assert {one.name for one in plan(read.switches).passes} == {one.name for one in compiled.plan.passes}
    assert ("--fusion_switch_file" in copies(subject_of(compiled))["atc"]) == bool(options)


def test_the_chosen_tile_is_among_those_shown(parts):
    products = [kernel for kernel in parts["tiling"]["kernels"] if len(kernel["m"])]
    assert products
    for kernel in products:
        assert kernel["time_us"][kernel["best"]] == np.nanmin(kernel["time_us"])
        assert all(one["used_bytes"] <= one["capacity_bytes"] for one in kernel["buffers"])


def test_the_chosen_tile_has_its_own_time_and_says_how_it_was_come_by(compiled, parts):
    tiling = parts["tiling"]
    assert tiling["mode"] == compiled.options.tiling_mode == "library"
    for kernel in (kernel for kernel in tiling["kernels"] if kernel["chosen"] >= 0):
        node = tiling["strings"][kernel["name"]]
        tiles = [one.tile for one in compiled.kernels.programs_of(node) if isinstance(one.tile, GemmTile)]
        chosen = (kernel["m"][kernel["chosen"]], kernel["n"][kernel["chosen"]], kernel["chosen_k"])
        assert chosen in {(tile.m, tile.n, tile.k) for tile in tiles}
        # The best k of a block is no slower than the chosen one.
        assert kernel["chosen_us"] >= kernel["time_us"][kernel["chosen"]] >= kernel["time_us"][kernel["best"]]


def test_a_kernel_told_to_its_end_has_moved_what_counting_says(compiled, parts):
    """On every path, byte for byte, on the first core."""
    part, told = parts["kernel"], 0
    for program in part["programs"]:
        for generated in compiled.kernels.programs_of(part["strings"][program["name"]]):
            if generated.text != part["strings"][program["text"]] or not program["whole"]:
                continue
            steps = program["steps"]
            counted = count(generated.program).bytes_by_core
            for place, path in enumerate(program["paths"]):
                moved = steps["moved_bytes"][steps["path"] == place].sum()
                assert moved == counted.get((0, path["name"]), 0)
                assert path["total_bytes"] == generated.bytes_by_path.get(path["name"], 0)
            told += 1
    assert told > 2


def test_planners_are_compared_on_the_same_buffers(compiled, parts):
    rows = {row["name"]: row for row in parts["planners"]["planners"]}
    assert (
        rows["article_literal"]["sound"] is False or rows["article_literal"]["pool_bytes"] >= compiled.memory.pool_bytes
    )
    for row in rows.values():
        if row["sound"]:
            assert row["pool_bytes"] >= compiled.memory.bounds.bound_bytes


def test_values_and_nodes_have_the_types_of_the_last_graph(compiled, parts):
    values, nodes = parts["values"], parts["nodes"]
    rows = {values["strings"][name]: row for row, name in enumerate(values["name"])}
    for name, value in compiled.graph.values.items():
        row, tensor = rows[name], value.tensor
        assert values["strings"][values["dtype"][row]] == tensor.dtype.label
        assert values["strings"][values["shape"][row]] == str(list(tensor.shape)).replace("'", "")
        assert values["bytes"][row] == tensor.nbytes
        assert values["kind"][row] == (3 if value.constant else 1 if name in compiled.graph.inputs else 0) or (
            values["kind"][row] in (2, 4)
        )
    row = [nodes["strings"][name] for name in nodes["name"]].index(compiled.graph.order[-1].name)
    output = compiled.graph.tensor(compiled.graph.order[-1].outputs[0])
    assert nodes["strings"][nodes["detail"][row]] == f"{output.dtype.label} {list(output.shape)}"


def test_a_sum_that_leaves_something_out_says_at_least():
    def labels(model):
        head = unpack(document(gx.compile(model)).parts["head"])
        return {figure["key"]: figure["label"] for figure in head["figures"]}

    whole = labels("bert-base:small=true")
    assert (whole["latency_us"], whole["hbm_bytes"], whole["pool_bytes"]) == ("latency", "HBM", "pool")
    free = labels("bert-base:small=true,seq=s")
    assert free["latency_us"] == "latency, at least"
    assert free["hbm_bytes"] == "HBM, at least"
    assert free["pool_bytes"] == "pool, at least"


def test_a_pool_that_holds_nothing_because_no_size_is_known_is_not_told_as_0():
    tensor = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 8])  # noqa: E731
    made = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Softmax", ["a"], ["y"])]
    graph = helper.make_graph(made, "free", [tensor("x")], [tensor("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    head = unpack(document(gx.compile(model, validate="off")).parts["head"])
    pool = next(figure for figure in head["figures"] if figure["key"] == "pool_bytes")
    assert pool["value"] is None
    assert "no tensor can be placed" in pool["note"]


def test_an_instruction_reads_only_what_was_written_before(parts):
    """Memory apart; and what the cube adds to was there before, though not in the first turn of a sum."""
    strings = parts["kernel"]["strings"]
    for program in parts["kernel"]["programs"]:
        steps, buffers = program["steps"], program["buffers"]
        written: set[tuple[int, int]] = set()
        for step in range(len(steps["line"])):
            pair = slice(steps["reads_at"][step], steps["reads_at"][step + 1])
            for source in zip(steps["reads"][pair].tolist(), steps["reads_copy"][pair].tolist(), strict=True):
                assert buffers[source[0]]["level"] == "gm" or source in written, (strings[program["name"]], step)
            target = (int(steps["buffer"][step]), int(steps["copy"][step]))
            if strings[steps["pipe"][step]] == "cube":
                adds = strings[steps["content"][step]].startswith("+ ")
                assert (target[0] in steps["reads"][pair]) == adds
            written.add(target)
    assert {strings[pipe] for p in parts["kernel"]["programs"] for pipe in p["steps"]["pipe"]} >= {"mte2", "cube"}


def test_kernels_without_a_program_say_why(compiled):
    found = unpack(document(compiled).parts["kernel"])
    lacking = [kernel for kernel in compiled.kernels.distinct if kernel.missing is not None]
    reasons = {found["strings"][one["reason"]] for one in found["missing"]}
    assert reasons == {kernel.missing.reason for kernel in lacking}
    assert len(lacking) == len(found["missing"]) + found["more_missing"]


def test_a_log_line_knows_what_it_tells_of():
    compiled = gx.compile("bert-base:layers=2")
    found = document(compiled)
    log, steps = unpack(found.parts["log"]), unpack(found.parts["steps"])
    text = log["strings"]
    told = 0
    for row, line in enumerate(log["lines"]):
        step = int(log["step"][row])
        if step < 0:
            continue
        record = compiled.steps[step]
        assert text[log["stage"][row]] == record.stage
        for kind, records in (("rewrite", record.rewrites), ("reject", record.rejects)):
            if log[kind][row] >= 0:
                told += 1
                assert line.endswith(record.reason(records[log[kind][row]]))
                assert text[log["level"][row]] == ("INFO" if kind == "rewrite" else "WARNING")
    fusions = [step for step in compiled.steps if step.is_fusion]
    assert told == sum(len(step.rewrites) + len(step.rejects) for step in fusions) > 0
    assert len(steps["steps"]) == len(compiled.steps)
