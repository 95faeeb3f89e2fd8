import shutil
import stat
import sys
import time
from xml.etree.ElementTree import fromstring

import pytest

from gexplorer.render import graphviz
from gexplorer.render.graphviz import Sketch, dot_source, find_dot, lay_out, own_layout
from gexplorer.render.html import text
from gexplorer.render.picture import card_lines, draw, in_words
from gexplorer.views.region import Box, Edge, Picture

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's dot is not installed")

HOSTILE = (
    '"><script>alert(1)</script>',
    "</svg></title><img src=x onerror=alert(1)>",
    "<b>bold</b>",
    "&lt;&amp;&#60;",
    'a"b\\"c',
    "back\\slash\\N\\G\\E\\l",
    "line\nbreak\r\ttab",
    "nul\x00bell\x07",
    "\ud800 half",
    "<<html>>",
    "]; rank=same; evil [label=x",
    "层.注意力",
    "",
)


def program(folder, name, body):
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def pair(name="n", mark="kept"):
    a = Box("a", "node", name, name, name, mark, (name, f"axis = {name}"))
    return Picture((a, Box("b", "output", "output", "y")), (Edge("a", "b", name, name),))


@needs_dot
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_and_nothing_else(name):
    drawn = draw([pair(name)])
    assert drawn is not None
    page = text(drawn[0])
    assert {element.tag for element in drawn[0].iter()} <= {"svg", "g", "title", "path", "rect", "text"}
    assert "<script" not in page
    assert "<img" not in page
    page.encode()
    assert {element.tag for element in fromstring(page).iter()} == {element.tag for element in drawn[0].iter()}


@pytest.mark.parametrize("name", HOSTILE)
def test_dot_never_sees_a_name(name, monkeypatch):
    seen = []
    monkeypatch.setattr(graphviz, "lay_out", lambda sketches, dot=None: seen.extend(sketches))
    assert draw([pair(name)])
    source = dot_source(seen[0])
    plain = dot_source(Sketch(seen[0].sizes, ((0, 1),)))
    assert source == plain


@needs_dot
def test_many_graphs_take_one_process(monkeypatch):
    calls = []
    run = graphviz.subprocess.run
    monkeypatch.setattr(graphviz.subprocess, "run", lambda *a, **k: calls.append(a) or run(*a, **k))
    drawn = draw([pair(str(number)) for number in range(30)])
    assert drawn is not None
    assert len(drawn) == 30
    assert len(calls) == 1
    assert [element.find(".//text").text for element in drawn] == [str(number) for number in range(30)]


@pytest.mark.parametrize("engine", [pytest.param("dot", marks=needs_dot), "own"])
def test_boxes_do_not_overlap_and_edges_meet_them(engine):
    sketch = Sketch(((100, 40), (80, 60), (120, 50), (90, 40)), ((0, 1), (0, 2), (1, 3), (2, 3)))
    (layout,) = (lay_out([sketch]) or []) if engine == "dot" else [own_layout(sketch)]
    boxes = [
        (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        for (x, y), (w, h) in zip(layout.centres, sketch.sizes, strict=True)
    ]
    for i, a in enumerate(boxes):
        assert a[0] >= -1
        assert a[1] >= -1
        assert a[2] <= layout.width + 1
        assert a[3] <= layout.height + 1
        for b in boxes[i + 1 :]:
            assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]
    for (tail, head), curve in zip(sketch.edges, layout.curves, strict=True):
        assert abs(curve[0][1] - boxes[tail][3]) < 2, "starts at the lower side of its source"
        assert abs(curve[-1][1] - boxes[head][1]) < 2, "ends at the upper side of its target"


@needs_dot
def test_marks_differ_by_shape_and_sign_not_by_colour_alone():
    cards = {}
    for mark in ("removed", "added", "changed", "kept"):
        (drawn,) = draw([pair("n", mark)]) or []
        card = drawn.find(f".//g[@class='box node {mark}']")
        signs = [element.text for element in card.iter("text") if element.get("class") == "sign"]
        cards[mark] = (
            tuple(signs),
            tuple(element.get("class") for element in card.iter("rect") if element.get("class")),
        )
    assert cards == {
        "removed": (("−",), ()),  # and a dashed outline, by the style sheet
        "added": (("+",), ("inner",)),
        "changed": (("~",), ("stripe",)),
        "kept": ((), ()),
    }


@needs_dot
def test_the_same_picture_gives_the_same_bytes():
    once, again = (text(element) for element in (draw([pair("n"), pair("m")]) or [])[:1] * 2)
    assert once == again
    assert [text(e) for e in draw([pair("n")]) or []] == [text(e) for e in draw([pair("n")]) or []]


def test_long_names_are_cut_in_the_middle_and_long_lists_end_with_a_count():
    box = Box("a", "node", "Op", "/model/layers.0/self_attn/q_proj/MatMul_1", "", "kept", tuple("abcde"))
    lines = card_lines(box)
    assert lines[0].startswith("/model/la")
    assert lines[0].endswith("/MatMul_1")
    assert len(lines[0]) == 30
    assert lines[1:] == ["a", "b", "… 3 more"]


def test_a_picture_in_words():
    assert in_words(pair("n", "removed")) == "n n removed; output y"


class TestFinding:
    def test_the_environment_comes_first(self, tmp_path, monkeypatch):
        mine = program(tmp_path, "my-dot", "")
        monkeypatch.setenv("GEXPLORER_DOT", str(mine))
        assert find_dot() == str(mine)

    def test_a_named_program_that_does_not_exist_is_not_replaced_by_another(self, monkeypatch):
        monkeypatch.setenv("GEXPLORER_DOT", "/nowhere/dot")
        assert find_dot() is None

    def test_then_dot_then_graphviz_pure(self, tmp_path, monkeypatch):
        monkeypatch.delenv("GEXPLORER_DOT", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(sys, "executable", str(tmp_path / "beside" / "python"))
        assert find_dot() is None
        (tmp_path / "beside").mkdir()
        beside = program(tmp_path / "beside", "graphviz-pure", "")
        assert find_dot() == str(beside)
        pure = program(tmp_path, "graphviz-pure", "")
        assert find_dot() == str(pure)
        dot = program(tmp_path, "dot", "")
        assert find_dot() == str(dot)


def require_own(drawn):
    """Our own layout has drawn both boxes and the edge between them."""
    (svg,) = drawn
    assert len(svg.findall(".//g[@class='edge']")) == 1
    tops = [float(rect.get("y")) for rect in svg.iter("rect")]
    assert len(tops) == 2
    assert tops[0] < tops[1]


class TestFailing:
    def test_no_program(self, monkeypatch):
        monkeypatch.setenv("GEXPLORER_DOT", "/nowhere/dot")
        assert lay_out([Sketch(((10, 10),), ())]) is None
        require_own(draw([pair()]))

    @pytest.mark.parametrize(
        "body",
        [
            "import sys; sys.exit(1)",
            "import os; os.abort()",
            "print('graph 1 2')",
            "print('rubbish')",
            "print('graph 1 2 3\\nnode 0 x y\\nstop')",
            "print('graph 1 1 1\\nstop')",
            "print('graph 1 1 1\\nstop\\n' * 3)",
            "print('graph 1 1 1\\nnode 0 1 1\\nnode 1 1 1\\nstop')",
            "import sys; sys.stdout.buffer.write(b'\\xff')",
            "pass",
        ],
    )
    def test_a_program_that_fails_or_lies(self, tmp_path, monkeypatch, body):
        monkeypatch.setenv("GEXPLORER_DOT", str(program(tmp_path, "dot", body)))
        assert lay_out([Sketch(((10, 10), (10, 10)), ((0, 1),))]) is None
        require_own(draw([pair()]))

    def test_a_program_that_hangs(self, tmp_path):
        slow = program(tmp_path, "dot", "import time; time.sleep(60)")
        start = time.monotonic()
        assert lay_out([Sketch(((10, 10),), ())], str(slow), time_limit_s=0.3) is None
        assert time.monotonic() - start < 20

    def test_nothing_to_draw_starts_nothing(self, tmp_path, monkeypatch):
        monkeypatch.setenv("GEXPLORER_DOT", str(program(tmp_path, "dot", "raise SystemExit(1)")))
        assert draw([]) == []
