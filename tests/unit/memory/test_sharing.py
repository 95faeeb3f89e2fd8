import random

import pytest

from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Node, Value, make_graph
from gexplorer.ir.symbols import symbol
from gexplorer.ir.types import TensorType
from gexplorer.memory.extract import program_of
from gexplorer.memory.liveness import live
from gexplorer.memory.policy import Policy
from gexplorer.memory.program import Sharing
from tests.memory_graphs import MemoryGraphs, batched, flat, simple
from tests.memory_machine import ClobberedError, Machine, laid_out

F16, F32 = DType.FLOAT16, DType.FLOAT32


def rows(graph):
    """The rows as (guest, host, sharing) or, for parts, (guest, host, sharing, offset)."""
    program = program_of(graph)
    may = program.may_share
    found = set()
    for guest, host, offset, sharing in zip(may.guest, may.host, may.offset_bytes, may.sharing, strict=True):
        names = (program.tensors[guest], program.tensors[host], Sharing(int(sharing)).name)
        found.add(names if sharing < Sharing.CONCAT else (*names, int(offset)))
    return found


def one(op, inputs, outputs, types, *, attributes=None, before=(), constants=(), graph_inputs="x"):
    """An operator between kernels, so that all it touches is intermediate."""
    nodes = [*before, (op, inputs, outputs, attributes or {}), ("Kernel", tuple(outputs), ("end",))]
    return simple(nodes, inputs=graph_inputs, outputs=("end",), types=types | {"end": flat(1)}, constants=constants)


def kernels(*names):
    return [("Kernel", "x", (name,)) for name in names]


# -- views ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Dropout", "BitCast"])
def test_views_lie_in_their_source(op):
    types = {"x": flat(2), "a": flat(2), "b": batched(2)}
    assert rows(one(op, "a", "b", types, before=kernels("a"))) == {("b", "a", "VIEW")}


def test_a_training_dropout_is_no_view():
    types = {"x": flat(2), "a": flat(2), "b": flat(2), "r": flat(1), "t": flat(1)}
    assert rows(one("Dropout", "art", "b", types, before=kernels("a", "r", "t"))) == set()


def test_a_dropout_whose_mask_is_wanted_is_no_view():
    types = {"x": flat(2), "a": flat(2), "b": flat(2), "m": TensorType(DType.BOOL, (2, 8))}
    assert rows(one("Dropout", "a", "bm", types, before=kernels("a"))) == set()


def test_a_view_of_an_input_or_a_weight_may_lie_there():
    types = {"x": flat(2), "w": flat(2), "b": batched(2)}
    assert rows(one("Reshape", "x", "b", types)) == {("b", "x", "VIEW")}
    assert rows(one("Reshape", "w", "b", types, constants="w")) == {("b", "w", "VIEW")}


def views_of(nodes, outputs, inputs="x", constants=""):
    types = dict.fromkeys("xwabcdyz", flat(2))
    return rows(simple(nodes, inputs=inputs, outputs=outputs, types=types, constants=constants))


def test_a_result_that_is_a_view_of_an_input_a_weight_or_a_result_is_a_copy():
    assert views_of([("Identity", "x", "y")], "y") == set()
    assert views_of([("Identity", "w", "y")], "y", constants="w") == set()
    chain = [("Identity", "x", "a"), ("Identity", "a", "y"), ("Identity", "y", "b"), ("Kernel", "b", "z")]
    assert views_of(chain, "yz") == {("a", "x", "VIEW"), ("b", "y", "VIEW")}
    assert views_of([("Kernel", "x", "a"), ("Identity", "a", "y")], "y") == {("y", "a", "VIEW")}
    twice = [
        ("Kernel", "x", "a"),
        ("Identity", "a", "y"),
        ("Identity", "a", "z"),
        ("Identity", "z", "b"),
        ("Kernel", "b", "c"),
    ]
    assert views_of(twice, "yzc") == {("y", "a", "VIEW"), ("b", "z", "VIEW")}
    assert views_of([("Kernel", "x", "y"), ("Identity", "y", "z")], "yz") == set()


def test_without_sizes_nothing_is_shared():
    free = TensorType(F32, (symbol("s"), 8))
    types = {"x": free, "a": free, "b": free}
    assert rows(one("Reshape", "a", "b", types, before=kernels("a"))) == set()
    assert rows(one("Relu", "a", "b", types, before=kernels("a"))) == set()


# -- in place -------------------------------------------------------------------------------------------------


def in_place(a, b, op="Relu"):
    return rows(one(op, "a", "b", {"x": flat(1), "a": a, "b": b}, before=kernels("a")))


def test_elementwise_operators_may_write_over_their_input():
    assert in_place(flat(2), flat(2)) == {("b", "a", "IN_PLACE")}


def test_both_operands_are_candidates_in_order_and_each_once():
    types = {"x": flat(1), "a": flat(2), "b": flat(2), "c": flat(2)}
    assert rows(one("Add", "ab", "c", types, before=kernels("a", "b"))) == {
        ("c", "a", "IN_PLACE"),
        ("c", "b", "IN_PLACE"),
    }
    program = program_of(one("Add", "aa", "c", types, before=kernels("a")))
    assert len(program.may_share) == 1


def test_other_operators_may_not():
    for op in ("MatMul", "Softmax", "Transpose", "CumSum", "LayerNormalization", "Unknown"):
        assert in_place(flat(2), flat(2), op) == set()


def test_swiglu_reads_other_places():
    assert in_place(flat(2), flat(2), "SwiGLU") == set()


def test_a_cast_between_equal_widths_may_and_others_may_not():
    assert in_place(TensorType(F32, (4, 4)), TensorType(DType.INT32, (4, 4)), "Cast") == {("b", "a", "IN_PLACE")}
    assert in_place(TensorType(F32, (4, 4)), TensorType(F16, (4, 4)), "Cast") == set()
    assert in_place(TensorType(F16, (4, 4)), TensorType(F32, (4, 4)), "Cast") == set()


def test_packed_bits_are_compared_not_their_bytes():
    """Both take one byte, but element 1 lies in other bits."""
    assert in_place(TensorType(DType.INT4, (1, 2)), TensorType(DType.INT8, (1, 2)), "Cast") == set()
    assert in_place(TensorType(DType.INT4, (1,)), TensorType(DType.INT8, (1,)), "Cast") == set()
    assert in_place(TensorType(DType.INT4, (3,)), TensorType(DType.UINT4, (3,)), "Cast") == {("b", "a", "IN_PLACE")}


def test_a_broadcast_of_the_same_size_is_not_in_place():
    types = {"x": flat(1), "a": TensorType(F32, (8, 1)), "b": TensorType(F32, (1, 1)), "c": TensorType(F32, (1, 8, 1))}
    assert rows(one("Add", "ab", "c", types, before=kernels("a", "b"))) == set()


def test_another_storage_format_is_not_in_place():
    stored = TensorType(F32, (1, 1, 2, 2, 8), "NC1HWC0")
    assert in_place(stored, TensorType(F32, (1, 1, 2, 2, 8))) == set()
    assert in_place(stored, stored) == {("b", "a", "IN_PLACE")}


def test_inputs_weights_constants_and_outputs_are_never_overwritten():
    types = {n: flat(2) for n in "xwabo"}
    assert rows(one("Relu", "x", "b", types)) == set()
    assert rows(one("Relu", "w", "b", types, constants="w")) == set()
    graph = simple([("Kernel", "x", "o"), ("Relu", "o", "b")], inputs="x", outputs="ob", types=types)
    assert rows(graph) == set()


def test_a_result_may_be_written_over_what_it_comes_from():
    types = {n: flat(2) for n in "xay"}
    graph = simple([("Kernel", "x", "a"), ("Relu", "a", "y")], inputs="x", outputs="y", types=types)
    assert rows(graph) == {("y", "a", "IN_PLACE")}


def fused(ops, types, inputs, outputs):
    """A kernel over intermediate values, its body written as (op, inputs, outputs)."""
    body = simple(ops, inputs=[f"in{i}" for i in range(len(inputs))], outputs=[o for *_, o in outputs], types=types)
    node = Node("k", "Kernel", tuple(inputs), tuple(o for o, _ in outputs), domain="ge", position=1 << 30, body=body)
    made = [Node(f"p{i}", "Kernel", ("x",), (name,), position=i) for i, name in enumerate(inputs)]
    last = Node("z", "Kernel", node.outputs, ("end",), position=1 << 31)
    return make_graph(
        "g",
        inputs=[Value("x", flat(1))],
        nodes=[*made, node, last],
        values=[
            *(Value(name, types[f"in{i}"], f"p{i}") for i, name in enumerate(inputs)),
            *(Value(o, types[inner], "k") for o, inner in outputs),
            Value("end", flat(1), "z"),
        ],
        outputs=("end",),
        opsets={"": 21},
    )


def test_a_kernel_of_elementwise_operators_may_write_over_its_input():
    types = {n: flat(2) for n in ("in0", "v0", "v1")}
    graph = fused([("Relu", ("in0",), ("v0",)), ("Sigmoid", ("v0",), ("v1",))], types, "a", [("b", "v1")])
    assert rows(graph) == {("b", "a", "IN_PLACE")}


def test_a_kernel_with_one_other_operator_may_not():
    types = {n: flat(2) for n in ("in0", "v0", "v1")}
    graph = fused([("Relu", ("in0",), ("v0",)), ("Softmax", ("v0",), ("v1",))], types, "a", [("b", "v1")])
    assert rows(graph) == set()


def test_two_results_of_one_shape_are_both_candidates():
    types = {n: flat(2) for n in ("in0", "v0", "v1")}
    graph = fused([("Relu", ("in0",), ("v0",)), ("Sigmoid", ("in0",), ("v1",))], types, "a", [("b", "v0"), ("c", "v1")])
    assert rows(graph) == {("b", "a", "IN_PLACE"), ("c", "a", "IN_PLACE")}


def test_a_second_result_of_another_shape_may_still_need_the_input():
    """The larger result goes over the input again and again; the first row would be gone by then."""
    types = {"in0": TensorType(F32, (8, 8)), "in1": TensorType(F32, (4, 8, 8))}
    types |= {"v0": types["in0"], "v1": types["in1"]}
    ops = [("Relu", ("in0",), ("v0",)), ("Add", ("in0", "in1"), ("v1",))]
    assert rows(fused(ops, types, "ab", [("c", "v0"), ("d", "v1")])) == set()


# -- Concat and Split -----------------------------------------------------------------------------------------


def join(parts, whole, axis, **more):
    types = {"x": flat(1), "w": whole} | dict(zip("abc", parts, strict=False))
    names = "abc"[: len(parts)]
    before = more.pop("before", kernels(*names))
    return rows(one("Concat", more.pop("inputs", names), "w", types, attributes={"axis": axis}, before=before, **more))


def test_the_parts_of_a_concat_lie_in_the_whole():
    expected = {("a", "w", "CONCAT", 0), ("b", "w", "CONCAT", 64), ("c", "w", "CONCAT", 96)}
    assert join([flat(2), flat(1), flat(3)], flat(6), 0) == expected
    assert join([flat(2), flat(1), flat(3)], flat(6), -2) == expected
    assert join([batched(2), batched(1), batched(3)], batched(6), 1) == expected


def test_a_dimension_before_the_axis_interleaves_the_parts():
    two = TensorType(F32, (2, 2, 8))
    assert join([two, two], TensorType(F32, (2, 4, 8)), 1) == set()
    assert join([flat(2), flat(2)], TensorType(F32, (2, 16)), -1) == set()


def test_every_part_begins_and_ends_at_a_whole_unit():
    odd = TensorType(F32, (3, 4))
    assert join([odd, TensorType(F32, (1, 4))], TensorType(F32, (4, 4)), 0) == set()
    assert join([flat(1), odd], TensorType(F32, (5, 4)), 0) == set()


def test_a_part_has_a_kernel_of_its_own():
    part, whole = flat(1), flat(2)
    assert join([part], whole, 0, inputs="aa") == set()
    assert join([part, part], whole, 0, inputs="xa", before=kernels("a")) == set(), "an input"
    assert join([part, part], whole, 0, constants="b", before=kernels("a")) == set(), "a weight"
    views = [*kernels("a"), ("Identity", "a", "b")]
    found = join([part, part], whole, 0, before=views)
    assert found == {("b", "a", "VIEW")}, "the same bytes as a"
    halves = [("Kernel", "x", "c"), ("Split", "c", "ab", {"axis": 0})]
    found = join([part, part, whole], whole, 0, inputs="ab", before=halves)
    assert found == {("a", "c", "SPLIT", 0), ("b", "c", "SPLIT", 32)}


def test_a_part_that_is_a_result_is_copied():
    types = {n: flat(1) for n in "xab"} | {"w": flat(2)}
    nodes = [*kernels("a", "b"), ("Concat", "ab", "w", {"axis": 0})]
    assert rows(simple(nodes, inputs="x", outputs="wa", types=types)) == set()
    assert len(rows(simple(nodes, inputs="x", outputs="w", types=types))) == 2


def test_a_concat_of_concats_lies_in_one_whole():
    types = {n: flat(1) for n in "xabc"} | {"w": flat(2)}
    before = [*kernels("a", "b", "c"), ("Concat", "ab", "w", {"axis": 0})]
    types |= {"v": flat(3)}
    assert rows(one("Concat", "wc", "v", types, attributes={"axis": 0}, before=before)) == {
        ("a", "w", "CONCAT", 0),
        ("b", "w", "CONCAT", 32),
        ("w", "v", "CONCAT", 0),
        ("c", "v", "CONCAT", 64),
    }


def test_the_parts_of_a_split_lie_in_the_whole():
    types = {"x": flat(1), "w": batched(3), "a": batched(1), "b": batched(2)}
    expected = {("a", "w", "SPLIT", 0), ("b", "w", "SPLIT", 32)}
    assert rows(one("Split", "w", "ab", types, attributes={"axis": 1}, before=kernels("w"))) == expected
    types = {"x": flat(1), "w": flat(3), "a": flat(1), "b": flat(2)}
    assert rows(one("Split", "w", "ab", types, before=kernels("w"))) == expected, "axis 0 unless it is said"
    assert rows(one("Split", "w", "ab", types, constants="w")) == expected, "parts of a weight are read where it lies"
    types = {"x": flat(1), "w": TensorType(F32, (3, 16)), "a": flat(3), "b": flat(3)}
    assert rows(one("Split", "w", "ab", types, attributes={"axis": 1}, before=kernels("w"))) == set()


def test_a_part_of_a_split_that_is_a_result_is_copied():
    types = {n: flat(1) for n in "xab"} | {"w": flat(2)}
    nodes = [*kernels("w"), ("Split", "w", "ab"), ("Kernel", "b", "y")]
    graph = simple(nodes, inputs="x", outputs="ay", types=types | {"y": flat(1)})
    assert rows(graph) == set()


def test_a_split_of_which_a_part_is_not_wanted_is_no_view():
    types = {n: flat(1) for n in "xa"} | {"w": flat(2)}
    assert rows(one("Split", ("w",), ("", "a"), types, before=kernels("w"))) == set()


# -- control flow ---------------------------------------------------------------------------------------------


def test_what_a_loop_carries_may_stay_where_it_is():
    types = {n: flat(1) for n in "xncaivzry"} | {"cond": flat(1)}
    body = simple([("Kernel", "v", "z")], inputs=("i", "cond", "v"), outputs=("cond", "z"), types=types)
    graph = simple(
        [("Kernel", "x", "a"), ("Loop", "nca", "r", {"body": body}), ("Kernel", "r", "y")],
        inputs="xnc",
        outputs="y",
        types=types,
    )
    assert rows(graph) == {("v", "a", "IN_PLACE"), ("r", "v", "IN_PLACE")}
    assert {t.name: t.buffer for t in live(program_of(graph)).table() if t.name in "avr"} == {"a": 3, "v": 3, "r": 3}


@pytest.mark.parametrize("op", ["Identity", "Split"])
def test_a_result_of_a_turn_does_not_lie_in_what_the_next_is_given(op):
    types = {n: flat(1) for n in "xncabivurypqs"} | {"cond": flat(1)}
    body = simple(
        [(op, "v", "p"), (op, "u", "q")],
        inputs=("i", "cond", "u", "v"),
        outputs=("cond", "p", "q"),
        types=types,
    )
    nodes = [*kernels("a", "b"), ("Loop", "ncab", "ry", {"body": body}), ("Kernel", "ry", "s")]
    found = rows(simple(nodes, inputs="xnc", outputs="s", types=types))
    assert {sharing for _, _, sharing, *_ in found} == {"IN_PLACE"}
    assert len(found) == 4


def choice(then, other, types):
    return simple(
        [("Kernel", "x", "k"), ("If", "c", "r", {"then_branch": then, "else_branch": other}), ("Kernel", "r", "y")],
        inputs="xc",
        outputs="y",
        types=types,
    )


def test_the_result_of_the_last_branch_may_be_that_of_the_if():
    types = {n: flat(1) for n in "xckrytem"}
    then = simple([("Kernel", "k", "t")], outputs="t", types=types)
    other = simple([("Kernel", "k", "m"), ("Kernel", "m", "e")], outputs="e", types=types)
    assert rows(choice(then, other, types)) == {("r", "e", "IN_PLACE")}


@pytest.mark.parametrize("op", ["Identity", "Split"])
def test_but_not_where_it_may_lie_in_what_was_there_before(op):
    types = {n: flat(1) for n in "xckryte"}
    then = simple([("Kernel", "k", "t")], outputs="t", types=types)
    other = simple([(op, "k", "e")], outputs="e", types=types)
    assert ("r", "e", "IN_PLACE") not in rows(choice(then, other, types))
    straight = simple([], outputs="k", types=types)
    assert rows(choice(then, straight, types)) == set()


# -- all together ---------------------------------------------------------------------------------------------

POLICIES = {
    "tight": Policy(alignment_bytes=32, tensor_padding_bytes=0),
    "ge": Policy(),
    "safe": Policy(alignment_bytes=32, tensor_padding_bytes=0, in_place=False, closed=True),
    "no zero copy": Policy(alignment_bytes=32, tensor_padding_bytes=0, zero_copy=False),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_random_programs_run_in_the_memory_that_is_planned(policy, first):
    done = set()
    for seed in range(first, first + 50):
        graph = MemoryGraphs(seed).graph(size=random.Random(seed).randint(3, 16))
        scratch = {node.name: 64 for node in graph.order[:4] if node.op in ("Kernel", "Relu")}
        liveness = live(program_of(graph, scratch), policy)
        done.update(liveness.program.may_share.sharing[liveness.shared[liveness.shared >= 0]].tolist())
        for run in range(2):
            Machine(liveness, laid_out(liveness, run), run).run(graph)
    wanted = {Sharing.VIEW, Sharing.IN_PLACE} if policy.in_place else {Sharing.VIEW}
    assert done == wanted | ({Sharing.CONCAT, Sharing.SPLIT} if policy.zero_copy else set()), "all of it happened"


def test_the_machine_notices_a_place_that_is_taken_too_early():
    types = {n: flat(1) for n in "xabcy"}
    graph = simple(
        [("Kernel", "x", "a"), ("Kernel", "x", "b"), ("Kernel", "ab", "y")], inputs="x", outputs="y", types=types
    )
    liveness = live(program_of(graph), POLICIES["tight"])
    address = laid_out(liveness, 0)
    Machine(liveness, address, 0).run(graph)
    a, b = (liveness.buffer[liveness.program.tensors.index(name)] for name in "ab")
    address[a] = address[b]
    with pytest.raises(ClobberedError, match="n2 reads a"):
        Machine(liveness, address, 0).run(graph)
