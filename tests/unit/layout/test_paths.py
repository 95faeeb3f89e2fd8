import pytest

from gexplorer.ir.graph import Node, Value, make_graph
from gexplorer.layout.paths import MOST_CHILDREN, Paths, is_stretch, scope_path


def chain(count, op=lambda n: "Add", scope=lambda n: ""):
    nodes = [
        Node(f"n{n}", op(n), (f"v{n - 1}" if n else "x",), (f"v{n}",), origin=(f"n{n}",), position=n, scope=scope(n))
        for n in range(count)
    ]
    values = [Value(f"v{n}", producer=f"n{n}") for n in range(count)]
    return make_graph("g", inputs=[Value("x")], nodes=nodes, values=values, outputs=(f"v{count - 1}",), opsets={"": 18})


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ("", ()),
        ("model.layers.3.mlp", ("model", "layers.3", "mlp")),
        ("encoder.0.1", ("encoder.0", "1")),
        ("0.conv", ("0", "conv")),
        ("..a", ("a",)),
    ],
)
def test_scopes_are_paths(scope, path):
    assert scope_path(scope) == path


def test_what_holds_nearly_everything_is_left_out():
    graph = chain(20, scope=lambda n: f"model.layers.{n // 10}" if n else "head")
    paths = Paths(graph)
    assert {paths.of(node) for node in graph} == {("head",), ("layers.0",), ("layers.1",)}


def test_a_fused_node_lies_where_most_of_it_came_from():
    graph = chain(20, scope=lambda n: f"model.layers.{n // 10}.{'a' if n % 10 < 5 else 'b'}")
    paths = Paths(graph)

    def of(*origin):
        return paths.of(Node("fused", "F", (), (), origin=tuple(f"n{n}" for n in origin)))

    assert of(11, 12, 13) == ("layers.1", "a")
    assert of(3, 4, 5, 6) == ("layers.0", "b")
    assert of(8, 11, 12) == ("layers.1", "a")


def test_without_names_repeated_blocks_are_found():
    graph = chain(240, op=lambda n: ("MatMul", "Add", "Relu", "Mul", "Sub", "Tanh")[n % 6])
    paths = Paths(graph)
    parts = {}
    for node in graph:
        parts.setdefault(paths.of(node)[0], []).append(node.op)
    assert len(parts) == 40
    assert {tuple(ops) for ops in parts.values()} == {("MatMul", "Add", "Relu", "Mul", "Sub", "Tanh")}


@pytest.mark.parametrize("count", [MOST_CHILDREN + 1, 1_000, 5_000])
def test_no_container_has_too_many_children(count):
    graph = chain(count, op=lambda n: f"Op{n * n % 97}{n}")
    paths = Paths(graph)
    children = {}
    for node in graph:
        path = (*paths.of(node), node.name)
        for depth in range(len(path)):
            children.setdefault(path[:depth], set()).add(path[depth])
    assert max(map(len, children.values())) <= 160
    assert all(is_stretch(label) for path in children for label in path)
