"""Which kernel waits for which: for data, through what launches nothing, and for bytes that change hands."""

from __future__ import annotations

from gexplorer.ir.dtypes import DType
from gexplorer.ir.types import TensorType
from gexplorer.memory.stage import Wishes, plan_memory
from gexplorer.schedule.dependencies import dependencies_of
from gexplorer.schedule.hand_overs import MOST_USERS, hand_overs
from gexplorer.schedule.kernels import kernels_of
from gexplorer.schedule.stage import kernel_names
from tests.memory_graphs import MemoryGraphs, batched, flat, simple


def planned(nodes, outputs, types, inputs=("x",), **wishes):
    types = {name: flat(units) if isinstance(units, int) else units for name, units in types.items()}
    graph = simple(nodes, inputs=inputs, outputs=outputs, types=types)
    return plan_memory(graph, Wishes(alignment="none", **wishes))


def edges_of(memory):
    """The edges as (before, after, tensor or its bytes), and as columns."""
    edges = dependencies_of(memory)
    names, tensors = edges.kernels.names, memory.program.tensors
    told = {
        (names[before], names[after], f"bytes of {tensors[tensor]}" if reuse else tensors[tensor])
        for before, after, reuse, tensor in zip(edges.before, edges.after, edges.reuse, edges.tensor, strict=True)
    }
    return told, edges


def diamond(**wishes):
    """n0 makes a; n1 and n2 read it; n3 joins; with a fresh tensor of a's size on one side."""
    nodes = [
        ("MatMul", ["x", "x"], ["a"]),
        ("MatMul", ["a", "a"], ["b"]),
        ("MatMul", ["x", "a"], ["c"]),
        ("MatMul", ["c", "c"], ["d"]),
        ("MatMul", ["b", "d"], ["y"]),
    ]
    return planned(nodes, ["y"], dict.fromkeys("xabcdy", 4), **wishes)


def test_data_edges_and_the_edges_that_reuse_asks_for():
    edges, columns = edges_of(diamond())
    data = {("n0", "n1", "a"), ("n0", "n2", "a"), ("n2", "n3", "c"), ("n1", "n4", "b"), ("n3", "n4", "d")}
    assert data <= edges
    assert edges - data == {("n1", "n3", "bytes of a")}  # d lies where a was, and n1 may still read that
    assert columns.implied >= 1  # that n0 wrote it, and that n2 read it, order says already
    assert [list(row) for row in columns.waits_for] == [[], [0], [0], [1, 2], [1, 3]]
    assert [list(row) for row in columns.followers] == [[1, 2], [3, 4], [3], [4], []]
    assert columns.edge(1, 3) is not None
    assert columns.edge(0, 3) is None


def test_without_reuse_only_data_count():
    edges, columns = edges_of(diamond(reuse=False))
    assert columns.reuse_edges == 0
    assert len(edges) == 5
    assert len(edges_of(diamond())[1].data_only()) == 5


def test_views_launch_nothing_and_are_looked_through():
    nodes = [
        ("MatMul", ["x", "x"], ["a"]),
        ("Reshape", ["a", "s"], ["v"]),
        ("Identity", ["v"], ["w"]),
        ("MatMul", ["w", "w"], ["y"]),
    ]
    memory = planned(nodes, ["y"], {"x": 4, "a": 4, "v": batched(4), "w": batched(4), "y": 4, "s": 1}, ("x", "s"))
    assert kernel_names(memory) == ("n0", "n3")
    assert edges_of(memory)[0] == {("n0", "n3", "w")}


def test_a_view_that_must_be_copied_is_a_kernel():
    memory = planned([("Identity", ["x"], ["y"])], ["y"], {"x": 4, "y": 4})
    assert kernel_names(memory) == ("n0",)
    assert not dependencies_of(memory).kernels.unsized.any()


def test_a_view_of_unknown_size_keeps_its_place():
    unknown = TensorType(DType.FLOAT32, None)
    nodes = [("MatMul", ["x", "x"], ["a"]), ("Reshape", ["a", "s"], ["v"]), ("MatMul", ["v", "v"], ["y"])]
    memory = planned(nodes, ["y"], {"x": 4, "a": 4, "v": unknown, "y": unknown, "s": 1}, ("x", "s"))
    kernels = dependencies_of(memory).kernels
    assert kernels.names == ("n0", "n1", "n2")
    assert kernels.unsized.tolist() == [False, True, False]
    assert edges_of(memory)[0] == {("n0", "n1", "a"), ("n1", "n2", "v")}


CONCAT = [
    ("MatMul", ["x", "x"], ["a"]),
    ("MatMul", ["x", "x"], ["b"]),
    ("Concat", ["a", "b"], ["c"], {"axis": 0}),
    ("MatMul", ["c", "c"], ["y"]),
]


THREE = {"x": 4, "a": 1, "b": 3, "c": 4, "y": 4}


def test_a_spared_concat_hands_on_its_parts():
    memory = planned(CONCAT, ["y"], THREE)
    assert kernel_names(memory) == ("n0", "n1", "n3")
    assert edges_of(memory)[0] == {("n0", "n3", "c"), ("n1", "n3", "c")}


def test_concats_of_concats():
    nodes = [*CONCAT[:3], ("MatMul", ["x", "x"], ["d"]), ("Concat", ["c", "d"], ["e"], {"axis": 0})]
    memory = planned([*nodes, ("MatMul", ["e", "e"], ["y"])], ["y"], {**THREE, "d": 2, "e": 6})
    assert kernel_names(memory) == ("n0", "n1", "n3", "n5")
    assert edges_of(memory)[0] == {(name, "n5", "e") for name in ("n0", "n1", "n3")}


def test_a_concat_that_nobody_reads_is_launched():
    """The plan keeps its parts until it, so that it needs a place in the order; as a result it is wanted."""
    memory = planned([*CONCAT[:3], ("MatMul", ["x", "x"], ["y"])], ["y"], THREE)
    assert kernel_names(memory) == ("n0", "n1", "n2", "n3")
    written = planned(CONCAT[:3], ["c"], THREE)
    assert kernel_names(written) == ("n0", "n1")


def test_a_spared_split_hands_on_the_whole():
    nodes = [
        ("MatMul", ["x", "x"], ["a"]),
        ("Split", ["a"], ["b", "c"], {"axis": 0}),
        ("MatMul", ["b", "b"], ["d"]),
        ("MatMul", ["c", "c"], ["e"]),
        ("MatMul", ["d", "e"], ["y"]),
    ]
    edges = edges_of(planned(nodes, ["y"], {"x": 4, "a": 4, "b": 2, "c": 2, "d": 9, "e": 9, "y": 4}))[0]
    assert {("n0", "n2", "b"), ("n0", "n3", "c")} <= edges


def test_in_place_waits_for_the_other_readers():
    nodes = [
        ("MatMul", ["x", "x"], ["a"]),
        ("MatMul", ["a", "x"], ["b"]),
        ("Relu", ["a"], ["c"]),
        ("MatMul", ["b", "c"], ["y"]),
    ]
    memory = planned(nodes, ["y"], dict.fromkeys("xabcy", 4))
    assert ("n1", "n2", "bytes of a") in edges_of(memory)[0]


def test_control_flow_is_one_kernel():
    for seed in range(40):
        graph = MemoryGraphs(seed).graph(15, 2)
        memory = plan_memory(graph, Wishes())
        kernels = kernels_of(graph, memory.liveness)
        assert set(kernels.names) <= set(graph.nodes)
        for kernel, node in enumerate(kernels.nodes):
            first, last = int(kernels.first[kernel]), int(kernels.last[kernel])
            assert memory.program.operators[first] == memory.program.operators[last] == node.name
            assert (last > first) == bool(node.graphs)
            assert (kernels.at_point[first : last + 1] == kernel).all()


def test_many_readers_and_many_takers_do_not_multiply():
    """200 kernels read one tensor, whose bytes then go to 100 small ones: 300 edges and some, not 20,000."""
    readers, takers = 200, 100
    nodes = [("MatMul", ["x", "x"], ["a"])]
    nodes += [("MatMul", ["a", "x"], [f"r{i}"]) for i in range(readers)]
    nodes += [("MatMul", ["x", "x"], [f"t{i}"]) for i in range(takers)]
    small = [f"t{i}" for i in range(takers)]
    nodes.append(("Einsum", [f"r{i}" for i in range(readers)] + small, ["y"]))
    types = {"x": 1, "y": 1, "a": takers, **{f"r{i}": 1000 for i in range(readers)}, **dict.fromkeys(small, 1)}
    memory = planned(nodes, ["y"], types)
    kernels = kernels_of(memory.graph, memory.liveness)
    old, new, _ = hand_overs(memory, kernels)
    assert readers < len(old) <= readers + 2 + takers * (MOST_USERS + 1)
    waits: dict[int, set[int]] = {}
    for before, after in zip(old.tolist(), new.tolist(), strict=True):
        waits.setdefault(after, set()).update({before}, waits.get(before, ()))
    taking = [
        kernel for kernel, name in enumerate(kernels.names) if name in {f"n{1 + readers + i}" for i in range(takers)}
    ]
    assert all(set(range(readers + 1)) <= waits[kernel] for kernel in taking)
