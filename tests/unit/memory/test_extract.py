from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from gexplorer.compiler import compile
from gexplorer.errors import OptionError
from gexplorer.frontends import zoo
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node, Value, make_graph
from gexplorer.ir.symbols import symbol
from gexplorer.ir.types import OptionalType, SequenceType, TensorType
from gexplorer.memory.extract import program_of
from gexplorer.memory.liveness import last_reads
from gexplorer.memory.program import BEFORE, UNSIZED, Kind
from gexplorer.views.dynamic import data_dependent
from tests.memory_graphs import flat, simple

CORPUS = Path(__file__).parents[3] / ".." / "shared" / "corpus"
MODELS = sorted(CORPUS.glob("*/*.onnx"))
F16, F32 = DType.FLOAT16, DType.FLOAT32


def kinds(program):
    return {name: Kind(int(kind)).name for name, kind in zip(program.tensors, program.kind, strict=True)}


def sizes(program):
    return dict(zip(program.tensors, program.size_bytes.tolist(), strict=True))


def lives(program):
    last = last_reads(program)
    return {name: (int(program.writer[i]), int(last[i])) for i, name in enumerate(program.tensors)}


def reads(program, name):
    return program.readers(program.tensors.index(name)).tolist()


def test_points_are_the_execution_order_and_columns_say_who_reads_and_writes():
    types = {name: flat(2) for name in "xwabcd"}
    graph = simple(
        [("MatMul", "xw", "a"), ("Relu", "a", "b"), ("Add", "aa", "c"), ("Add", "bc", "d")],
        inputs="x",
        outputs="d",
        types=types,
        constants="w",
    )
    program = program_of(graph)
    assert program.operators == ("n0", "n1", "n2", "n3")
    assert program.tensors == ("x", "w", "a", "b", "c", "d")
    assert program.writer.tolist() == [BEFORE, BEFORE, 0, 1, 2, 3]
    assert [reads(program, name) for name in program.tensors] == [[0], [0], [1, 2], [3], [3], []]
    between = dict.fromkeys("abc", "INTERMEDIATE")
    assert kinds(program) == {"x": "INPUT", "w": "WEIGHT", **between, "d": "OUTPUT"}
    assert not any(c.flags.writeable for c in (program.size_bytes, program.kind, program.writer, program.read_point))


def test_positions_that_cross_a_use_are_put_right():
    graph = simple([("Relu", "a", "b"), ("Relu", "x", "a")], inputs="x", outputs="b", types={n: flat(1) for n in "xab"})
    program = program_of(graph)
    assert program.operators == ("n1", "n0")
    assert program.tensors == ("x", "a", "b")


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        (DType.INT4, (3, 3), 5),
        (DType.UINT2, (5,), 2),
        (DType.FLOAT6E2M3, (4,), 3),
        (DType.BOOL, (7,), 7),
        (F16, (), 2),
        (F32, (0, 4), 0),
        (DType.COMPLEX128, (2,), 32),
        (F16, (1 << 20, 1 << 20), 1 << 41),
    ],
)
def test_sizes_are_packed_and_wide(dtype, shape, size):
    type_ = TensorType(dtype, shape)
    program = program_of(simple([("Relu", "x", "y")], inputs="x", outputs="y", types={"x": type_, "y": type_}))
    assert sizes(program) == {"x": size, "y": size}


def test_a_stored_tensor_counts_whole_blocks():
    compiled = compile("resnet50:small=True", fusion={"format_assignment": True}, shapes={})
    program, graph = program_of(compiled.graph), compiled.graph
    stored = [v for v in graph.values.values() if v.tensor is not None and v.tensor.format == "NC1HWC0"]
    assert stored
    found = sizes(program)
    for value in stored:
        n, c1, h, w, c0 = value.tensor.shape
        assert found[value.name] == n * c1 * h * w * c0 * value.tensor.dtype.bits // 8


def test_what_lives_on_the_host_or_is_not_known_says_why():
    s, b = symbol("s"), symbol("b")
    types = {
        "x": TensorType(F32, (b, 3, s * 2)),
        "t": TensorType(DType.STRING, (2,)),
        "q": SequenceType(flat(1)),
        "o": OptionalType(flat(1)),
        "y": TensorType(F32, (b + 1, 3)),
        "z": TensorType(DType.INT64, (2, None)),
        "u": TensorType(F32, None),
        "v": None,
        "w": flat(1),
    }
    nodes = [
        ("Relu", "x", "y"),
        ("NonZero", "w", "z"),
        ("GatherND", ("w", "z"), "u"),
        ("Custom", "u", "v"),
    ]
    graph = simple(nodes, inputs=("x", "t", "q", "o", "w"), outputs="v", types=types)
    program = program_of(graph)
    assert dict(program.unsized) == {
        "x": "dimension b of input x is free: bind it with --shape",
        "t": "strings have no fixed width, so they live on the host",
        "q": "a sequence lives on the host",
        "o": "an optional value lives on the host",
        "y": "dimension b of input x is free: bind it with --shape",
        "z": "its shape depends on data: NonZero n1",
        "u": "its shape depends on data: NonZero n1",
        "v": "its shape depends on data: NonZero n1",
    }
    assert sizes(program)["x"] == UNSIZED
    assert sizes(program)["w"] == 32


def test_an_operator_without_a_shape_rule_is_not_said_to_depend_on_data():
    graph = simple(
        [("Strange", "x", "y"), ("Relu", "y", "z"), ("NonZero", "x", "i")],
        inputs="x",
        outputs="zi",
        types={"x": TensorType(F32, (4,)), "i": TensorType(DType.INT64, (1, None))},
    )
    unsized = program_of(graph).unsized
    assert unsized["y"] == unsized["z"] == "no shape rule is known for Strange n0"
    assert unsized["i"] == "its shape depends on data: NonZero n2"


def test_what_a_branch_cannot_tell_is_not_blamed_on_the_branch():
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 18, "mine": 1]> g (float[4] x, bool c) => (float[n] y, float[m] z) {
            y = If(c) <then_branch = t () => (float[k] p) { [odd] p = mine.Strange(x) },
                       else_branch = e () => (float[4] q) { q = Relu(x) }>
            z = Exp(y)
        }"""
    )
    memory = compile(model, validate="off").memory
    assert {memory.program.unsized[name] for name in ("y", "z")} == {"no shape rule is known for Strange odd"}
    assert {row.why for row in data_dependent(memory)} == {"not sized: no shape rule is known for it"}


def test_an_input_of_unknown_rank_says_so():
    program = program_of(
        simple([("Relu", "x", "y")], inputs="x", outputs="y", types={"x": TensorType(F32), "y": TensorType(F32)})
    )
    assert program.unsized["x"] == "its shape is not known: the model does not say it"
    assert program.unsized["y"] == "the model does not say the shape of x"


def test_weights_and_constants():
    types = {
        "w": flat(4),
        "q": TensorType(DType.INT8, (4, 4)),
        "shape": TensorType(DType.INT64, (2,)),
        "mask": TensorType(DType.BOOL, (64,)),
        "eps": TensorType(F32, (1,)),
        "x": flat(1),
        "y": flat(1),
    }
    graph = simple(
        [("Custom", ("x", "w", "q", "shape", "mask", "eps"), "y")],
        inputs="x",
        outputs="y",
        types=types,
        constants=("w", "q", "shape", "mask", "eps"),
    )
    found = kinds(program_of(graph))
    assert {n for n, k in found.items() if k == "WEIGHT"} == {"w", "q"}
    assert {n for n, k in found.items() if k == "CONSTANT"} == {"shape", "mask", "eps"}


def test_an_output_that_nobody_computes_stays_what_it_is():
    graph = simple(
        [("Relu", "x", "y")], inputs="x", outputs=("x", "c", "y"), types={n: flat(1) for n in "xyc"}, constants="c"
    )
    assert kinds(program_of(graph)) == {"x": "INPUT", "c": "WEIGHT", "y": "OUTPUT"}


def test_a_graph_without_nodes():
    program = program_of(simple([], inputs="x", outputs="x", types={"x": flat(1)}))
    assert len(program) == 0
    assert program.tensors == ("x",)


def test_what_nobody_reads_lives_at_its_own_point():
    graph = simple(
        [("Split2", "x", "ab"), ("Relu", "a", "y")], inputs="x", outputs="y", types={n: flat(1) for n in "xaby"}
    )
    assert lives(program_of(graph))["b"] == (0, 0)


def test_an_absent_output_is_no_tensor():
    graph = simple(
        [("Split2", ("x", ""), ("a", "")), ("Relu", "a", "y")],
        inputs="x",
        outputs="y",
        types={n: flat(1) for n in "xay"},
    )
    assert program_of(graph).tensors == ("x", "a", "y")


def test_what_is_inside_a_kernel_is_no_tensor():
    compiled = compile("mlp")
    inside = {v for n in compiled.graph.order if n.body for v in n.body.values}
    assert inside
    assert inside.isdisjoint(program_of(compiled.graph).tensors)


def test_workspaces_live_while_their_operator_runs():
    graph = simple([("Relu", "x", "a"), ("Relu", "a", "y")], inputs="x", outputs="y", types={n: flat(1) for n in "xay"})
    program = program_of(graph, {"n1": 1000})
    assert (kinds(program)["n1:workspace"], sizes(program)["n1:workspace"]) == ("WORKSPACE", 1000)
    assert lives(program)["n1:workspace"] == (1, 1)
    with pytest.raises(OptionError, match="8 bytes for nobody, but there is no such operator"):
        program_of(graph, {"nobody": 8})


def branches(then, otherwise, *, captured, types, results="r"):
    """An If over two graphs, with something before it and behind it."""
    attributes = {"then_branch": then, "else_branch": otherwise}
    return simple(
        [("Relu", "x", captured), ("If", "c", results, attributes), ("Relu", results[0], "y")],
        inputs="xc",
        outputs="y",
        types=types,
    )


def test_the_branches_of_an_if_share():
    types = {n: flat(1) for n in "xckrytTeEf"}
    then = simple([("Kernel", "k", "t"), ("Kernel", "t", "T")], outputs="T", types=types, name="then")
    other = simple([("Kernel", "k", "e"), ("Kernel", "e", "f"), ("Kernel", "f", "E")], outputs="E", types=types)
    other = make_graph(
        "else",
        inputs=[],
        nodes=[Node(f"m{i}", n.op, n.inputs, n.outputs, position=i) for i, n in enumerate(other.order)],
        values=[Value(v.name, v.type, f"m{v.producer[1:]}") for v in other.values.values()],
        outputs=other.outputs,
        opsets={"": 21},
    )
    program = program_of(branches(then, other, captured="k", types=types))
    assert program.operators == ("n0", "n1", "n0", "n1", "m0", "m1", "m2", "n1", "n2")
    found = lives(program)
    assert found["t"] == (2, 3)
    assert found["T"] == (3, 7)
    assert (found["e"], found["f"], found["E"]) == ((4, 5), (5, 6), (6, 7))
    assert found["k"] == (0, 4)
    assert found["c"] == (BEFORE, 1)
    assert found["r"] == (7, 8)
    assert program.loops.tolist() == []


def loop(body, inits=("a",), outputs=("r",), after="r", types=None, op="Loop", **attributes):
    return simple(
        [
            ("Kernel", "x", "a"),
            ("Kernel", "x", "k"),
            (op, (*(("n", "c") if op == "Loop" else ()), *inits), outputs, {"body": body, **attributes}),
            ("Kernel", (after, "k"), "y"),
        ],
        inputs="xnc",
        outputs="y",
        types=types,
    )


def test_what_a_loop_carries_lasts_for_all_turns():
    types = {n: flat(1) for n in "xncakrsyijcvdwzu"} | {"cond": flat(1), "go": flat(1)}
    body = simple(
        [("Kernel", "vk", "w"), ("Kernel", "w", "z"), ("Kernel", "z", "u"), ("Kernel", ("cond",), ("go",))],
        inputs=("i", "cond", "v"),
        outputs=("go", "z", "u"),
        types=types,
    )
    program = program_of(loop(body, outputs=("r", "s"), types=types))
    begin, end = 2, 7
    found = lives(program)
    assert program.operators[begin] == program.operators[end] == "n2"
    assert program.loops.tolist() == [[begin + 1, end]]
    assert found["a"] == (0, begin), "the initial value is read once"
    assert found["v"] == found["i"] == found["cond"] == (begin, end)
    assert found["w"] == (3, 4), "what a turn makes for itself"
    assert found["z"] == (4, end), "copied to what is carried"
    assert found["u"] == (5, end)
    assert found["k"] == (1, 8)
    assert found["r"] == (end, 8)
    assert found["s"] == (begin, end), "stacked turn by turn, and nobody reads it"
    assert reads(program, "s") == [end]


def test_what_a_loop_reads_of_the_outside_lasts_to_its_end():
    types = {n: flat(1) for n in "xncakryivwz"} | {"cond": flat(1)}
    body = simple(
        [("Kernel", "vk", "w"), ("Kernel", "w", "z")], inputs=("i", "cond", "v"), outputs=("cond", "z"), types=types
    )
    graph = simple(
        [
            ("Kernel", "x", "a"),
            ("Kernel", "x", "k"),
            ("Loop", "nca", "r", {"body": body}),
            ("Kernel", "r", "y"),
        ],
        inputs="xnc",
        outputs="y",
        types=types,
    )
    program = program_of(graph)
    assert reads(program, "k") == [3]
    assert lives(program)["k"] == (1, 5)


def test_loops_in_loops():
    types = {n: flat(1) for n in "xncakryivwzpqg"} | {n: flat(1) for n in ("cond", "i2", "cond2", "v2", "o")}
    inner = simple(
        [("Kernel", ("v2", "w", "k"), "z")], inputs=("i2", "cond2", "v2"), outputs=("cond2", "z"), types=types
    )
    outer = simple(
        [
            ("Kernel", "v", "w"),
            ("Kernel", "v", "p"),
            ("Loop", ("n", "c", "p"), "o", {"body": inner}),
            ("Kernel", "o", "q"),
        ],
        inputs=("i", "cond", "v"),
        outputs=("cond", "q"),
        types=types,
    )
    program = program_of(loop(outer, types=types))
    assert program.loops.tolist() == [[6, 7], [3, 9]]
    found = lives(program)
    assert found["k"] == (1, 10)
    assert found["w"] == (3, 7), "written inside the outer loop, before the inner one: to the end of the inner"
    assert found["p"] == (4, 5)
    assert found["v2"] == (5, 7)
    assert found["z"] == (6, 7)
    assert found["n"] == (BEFORE, 9), "read in every turn of the outer loop"
    assert found["o"] == (7, 8)


def test_a_scan_slices_its_last_inputs():
    types = {n: flat(1) for n in "xncakrsyvez"}
    body = simple([("Kernel", "ve", "z")], inputs="ve", outputs="zz", types=types)
    program = program_of(loop(body, inits="ak", outputs="rs", types=types, op="Scan", num_scan_inputs=1))
    found = lives(program)
    begin, end = 2, 4
    assert reads(program, "k") == [begin, end, end + 1], "a slice of it is taken in every turn"
    assert found["v"] == found["s"] == (begin, end)
    assert reads(program, "v") == [3, end]
    assert reads(program, "e") == [3], "a slice is new in every turn"
    assert found["z"] == (3, end)
    assert found["r"] == (end, end + 1)
    assert found["a"] == (0, begin)


def test_an_unknown_operator_with_a_graph_is_like_a_loop():
    types = {n: flat(1) for n in "xnrvwz"} | {"a": flat(1)}
    body = simple([("Kernel", "v", "w")], inputs="v", outputs="w", types=types)
    graph = simple(
        [("SequenceMap", "x", "r", {"body": body}), ("Kernel", "r", "z")], inputs="x", outputs="z", types=types
    )
    program = program_of(graph)
    assert lives(program)["v"] == (0, 2)
    assert lives(program)["r"] == (0, 3)
    assert program.loops.tolist() == [[1, 2]]


# -- state ----------------------------------------------------------------------------------------------------


def states(graph):
    return {name for name, kind in kinds(program_of(graph)).items() if kind == "STATE"}


CACHE = TensorType(F16, (1, 4, 16, 8))
STEP = TensorType(F16, (1, 4, 1, 8))
GROWN = TensorType(F16, (1, 4, 17, 8))


def test_a_cache_that_grows_by_a_concat_is_state():
    types = {"past": CACHE, "x": STEP, "k": STEP, "present": GROWN}
    nodes = [("Kernel", "x", "k"), ("Concat", ("past", "k"), ("present",), {"axis": 2})]
    assert states(simple(nodes, inputs=("x", "past"), outputs=("present",), types=types)) == {"past"}


def test_joining_two_inputs_makes_no_state():
    types = {"past": CACHE, "x": STEP, "present": GROWN}
    nodes = [("Concat", ("past", "x"), ("present",), {"axis": 2})]
    assert states(simple(nodes, inputs=("x", "past"), outputs=("present",), types=types)) == set()


def test_an_input_that_only_moves_to_an_output_is_no_state():
    types = {"past": CACHE, "a": CACHE, "b": CACHE}
    nodes = [("Transpose", ("past",), "a"), ("Identity", "a", "b")]
    assert states(simple(nodes, inputs=("past",), outputs="b", types=types)) == set()


def test_a_cache_that_is_written_into_is_state_even_through_views():
    types = (
        {"past": CACHE, "x": STEP, "k": STEP, "i": STEP} | {n: TensorType(F16, (4, 16, 8)) for n in "fg"} | {"o": CACHE}
    )
    nodes = [
        ("Kernel", "x", "k"),
        ("Reshape", ("past", "i"), "f"),
        ("ScatterND", ("f", "i", "k"), "g"),
        ("Reshape", ("g", "i"), "o"),
    ]
    assert states(simple(nodes, inputs=("x", "past", "i"), outputs="o", types=types)) == {"past"}


def test_updates_do_not_count():
    types = {"past": CACHE, "x": CACHE, "i": STEP, "o": CACHE}
    nodes = [("ScatterND", ("past", "i", "x"), "o")]
    assert states(simple(nodes, inputs=("x", "past", "i"), outputs="o", types=types)) == {"past"}


def test_another_element_type_or_shape_is_no_state():
    wide = TensorType(F32, GROWN.shape)
    nodes = [("Kernel", "x", "k"), ("Concat", ("past", "k"), "p", {"axis": 2}), ("Cast", "p", "o")]
    types = {"past": CACHE, "x": STEP, "k": STEP, "p": GROWN, "o": wide}
    assert states(simple(nodes, inputs=("x", "past"), outputs="o", types=types)) == set()
    types["o"] = TensorType(F16, (4, 1, 17, 8))
    assert states(simple(nodes, inputs=("x", "past"), outputs="o", types=types)) == set()


@pytest.mark.parametrize(
    ("domain", "op", "places", "results"),
    [
        ("", "Attention", (4, 5), (1, 2)),
        ("com.microsoft", "MultiHeadAttention", (6, 7), (1, 2)),
        ("com.microsoft", "GroupQueryAttention", (3, 4), (1, 2)),
        ("", "LSTM", (5, 6), (1, 2)),
    ],
)
@pytest.mark.parametrize("fused", [False, True])
def test_operators_with_a_past(domain, op, places, results, fused):
    inputs = ["x"] * 3 + [""] * 5
    for name, place in zip(("pk", "pv"), places, strict=True):
        inputs[place] = name
    outputs = ["y", "", ""]
    for name, place in zip(("nk", "nv"), results, strict=True):
        outputs[place] = name
    types = {"x": STEP, "y": STEP, "pk": CACHE, "pv": CACHE, "nk": GROWN, "nv": GROWN}
    node = Node("attend", op, tuple(inputs), tuple(outputs), domain=domain)
    made = [Value(name, types[name], "attend") for name in outputs]
    if fused:
        body = make_graph(
            "body",
            inputs=[Value(n, types[n]) for n in ("x", "pk", "pv")],
            nodes=[node],
            values=made,
            outputs=("y", "nk", "nv"),
            opsets={"": 23},
        )
        node = Node("attend", "FlashAttentionScore", ("x", "pk", "pv"), ("y", "nk", "nv"), domain="ge", body=body)
    graph = make_graph(
        "g",
        inputs=[Value(n, types[n]) for n in ("x", "pk", "pv")],
        nodes=[node],
        values=made,
        outputs=("y", "nk", "nv"),
        opsets={"": 23},
    )
    assert states(graph) == {"pk", "pv"}


def test_state_in_a_branch():
    types = {"past": CACHE, "k": STEP, "x": STEP, "t": GROWN, "e": GROWN, "o": GROWN, "c": flat(1)}
    then = simple([("Concat", ("past", "k"), "t", {"axis": 2})], outputs="t", types=types)
    other = simple([("Kernel", "k", "e")], outputs="e", types=types)
    graph = simple(
        [("Kernel", "x", "k"), ("If", "c", "o", {"then_branch": then, "else_branch": other})],
        inputs=("x", "past", "c"),
        outputs="o",
        types=types,
    )
    assert states(graph) == {"past"}


@pytest.mark.parametrize("model", ["qwen2.5-7b", "llama2-7b", "mixtral-8x7b"])
def test_the_caches_of_decoders_are_state(model):
    graph = compile(f"{model}:layers=2,mode=decode,past=16,use_cache=True").graph
    program = program_of(graph)
    assert list(kinds(program).values()).count("STATE") == 4


# -- whole models ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(not MODELS, reason="the corpus of models is not beside this checkout")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_model_of_the_corpus(path):
    program = program_of(compile(path).graph)
    check(program)


@pytest.mark.parametrize("name", zoo.names())
def test_every_small_model_of_the_zoo(name):
    program = program_of(compile(f"{name}:small=True").graph)
    check(program)
    reasons = {reason.split(":")[0] for reason in program.unsized.values()}
    assert reasons == ({"its shape depends on data"} if name == "mixtral-8x7b" else set()), "who gets how many tokens"


def check(program):
    assert set(program.unsized) == {n for n, s in sizes(program).items() if s == UNSIZED}
    assert len(set(program.tensors)) == len(program.tensors)
    assert (np.diff(program.read_tensor) >= 0).all()
    assert (program.read_point > program.writer[program.read_tensor]).all()
    rows = program.may_share
    assert (rows.guest != rows.host).all()
    assert (np.diff(rows.point) >= 0).all()
    assert (program.size_bytes[rows.guest] + rows.offset_bytes <= program.size_bytes[rows.host]).all()
