import io
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from benchmarks.processes import TICK_S, Process, Watch, parse, tree
from benchmarks.refusing_proxy import RefusingProxy, outside
from benchmarks.viewers import ask, climb
from benchmarks.viewers_browser import drawn
from benchmarks.viewers_dot import graph_text
from benchmarks.viewers_page import BEATEN, DOT, Shown, cells, page_text
from benchmarks.viewers_tools import OURS, VIEWERS


def test_a_line_of_proc_is_read_whatever_the_name() -> None:
    fields = ["R", "7", *["0"] * 9, "1", "2", "3", "4", *["0"] * 6, "5"]
    read = parse(f"12 (a) b (c)) {' '.join(fields)}")
    assert read.parent == 7
    assert read.cpu_s == pytest.approx(10 * TICK_S)
    assert read.rss_bytes % 5 == 0
    assert read.rss_bytes > 0


def test_a_tree_holds_descendants_and_nobody_else() -> None:
    running = {process: Process(parent, 0, 0) for process, parent in {1: 0, 2: 1, 3: 2, 4: 1, 5: 4}.items()}
    assert sorted(tree(running, 2)) == [2, 3]
    assert sorted(tree(running, 1)) == [1, 2, 3, 4, 5]
    assert tree(running, 9) == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
def test_a_process_over_its_limit_is_ended_with_its_children() -> None:
    spin = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    process = subprocess.Popen([sys.executable, "-c", spin], text=True)
    watch = Watch(process, limit_s=0.3, wall_s=30)
    assert 0.3 < watch.wait() < 10  # it is the child that works
    assert watch.over
    assert watch.peak_bytes > 1_000_000
    assert not watch.alive()


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://fonts.gstatic.com/s/x.woff2", "fonts.gstatic.com"),
        ("wss://example.org/a", "example.org"),
        ("http://127.0.0.1:8080/", None),
        ("http://localhost/", None),
        ("file:///tmp/report.html", None),
        ("data:text/plain,a", None),
        ("blob:https://example.org/1", None),
    ],
)
def test_what_leaves_the_machine(address: str, host: str | None) -> None:
    assert outside(address) == host


def test_the_proxy_refuses_and_notes() -> None:
    with RefusingProxy() as proxy:
        ways = {"http": proxy.address, "https": proxy.address}
        opener = urllib.request.build_opener(urllib.request.ProxyHandler(ways))
        for address in ("http://one.example/a", "https://two.example/b"):
            with pytest.raises((urllib.error.URLError, OSError)):
                opener.open(address, timeout=10)
    assert proxy.hosts == ["one.example", "two.example"]


def test_a_picture_of_one_colour_shows_nothing() -> None:
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")

    def png(*black: int) -> bytes:
        picture = image.new("RGB", (60, 30), "white")
        picture.paste("black", black)
        written = io.BytesIO()
        picture.save(written, "PNG")
        return written.getvalue()

    whole = (0, 0, 60, 30)
    assert drawn(png(0, 0, 0, 0), whole) == 0
    assert drawn(png(0, 0, 25, 30), whole) == pytest.approx(0.25)
    assert drawn(png(0, 0, 20, 30), whole) == 0  # at the edge
    assert drawn(png(0, 0, 25, 30), (30, 0, 60, 30)) == 0


def test_dot_gets_operators_and_their_tensors_without_weights(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Constant", [], ["c"], value_float=1.0),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("Add", ["y", "c"], ["z"]),
    ]
    x, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in "xz")
    w = helper.make_tensor("w", TensorProto.FLOAT, [2, 2], [0.0] * 4)
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [z], [w])), tmp_path / "m.onnx")
    text, boxes = graph_text(tmp_path / "m.onnx")
    assert boxes == 2
    assert text.splitlines()[2:-1] == ['n0 [label="MatMul"];', 'n1 [label="Add"];', "n0 -> n1;"]


def test_what_was_too_much_is_not_tried_on_more() -> None:
    tried: list[int] = []

    def run(model: Path, nodes: int, unfold: bool) -> Shown:
        tried.append(nodes)
        return Shown("slow", nodes, fault="too much", over=nodes >= 20)

    found = climb("slow", run, [(Path("a"), 10), (Path("b"), 20), (Path("c"), 30)])
    assert tried == [10, 20]
    assert [one.fault for one in found] == ["too much", "too much", BEATEN]


def test_ratios_are_to_ours_first_with_and_then_without_writing() -> None:
    ours = Shown(OURS, 10, before_s=4.0, browser_s=0.5)
    peer = Shown("Netron", 10, before_s=1.0, browser_s=8.0, requests={"a.example": 2, "b.example": 1})
    row = cells(replace(peer, browser_bytes=1_200_000_000, empty_bytes=1_000_000_000), ours)
    assert row[3:6] == ["9.0", "2.0", "18.0"]
    assert row[8] == "1,200 (+200)"
    assert row[10] == "3 (a.example 2, b.example 1)"
    assert cells(ours, ours)[4:6] == ["1.0", "1.0"]


def test_a_failure_has_no_ratio_and_says_why() -> None:
    failed = Shown("Netron", 10, fault="netron not installed", before_s=1.0)
    row = cells(failed, Shown(OURS, 10, before_s=4.0, browser_s=0.5))
    assert row[2:6] == ["**netron not installed**", "-", "-", "-"]


def test_the_page_has_a_table_for_every_size() -> None:
    found = [Shown(name, nodes, before_s=1.0, browser_s=1.0) for nodes in (10, 2_000) for name in (OURS, DOT)]
    text = page_text(found, {"cores": "2"}, 150, 1)
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## 10 nodes", "## 2,000 nodes"]
    assert sum(line.startswith(f"| {DOT} |") for line in text.splitlines()) == 2


def test_an_interpreter_says_which_peers_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    viewer = replace(VIEWERS[-1], packages=("pytest", "no-such-package-anywhere"))
    monkeypatch.setattr("benchmarks.viewers.VIEWERS", (viewer,))
    assert ask(sys.executable) == {"pytest": pytest.__version__}
