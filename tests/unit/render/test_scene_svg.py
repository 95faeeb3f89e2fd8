import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from xml.etree.ElementTree import fromstring

import pytest

from gexplorer.errors import OptionError
from gexplorer.ir.draft import Draft
from gexplorer.layout.scenes import scenes_part
from gexplorer.render.scene_svg import COLOURS, scene_svg, scene_svg_text
from gexplorer.render.static_picture import dot_text, write_picture
from gexplorer.trace.records import Step
from gexplorer.views.explorer.numbering import Numbering
from tests.unit.layout.test_paths import chain
from tests.unit.render.test_graphviz import HOSTILE, needs_dot


@pytest.fixture(scope="module")
def trace():
    """Four nodes in two containers; one is removed, one added, one changed, one stays."""
    before = chain(4, op=lambda n: ("MatMul", "Add", "Relu", "Tanh")[n], scope=lambda n: f"block.{n // 2}")
    draft = Draft(before)
    draft.replace_uses("v1", "v0")
    draft.remove(draft.node("n1"))
    draft.put_node(replace(draft.node("n3"), name="new", op="Sigmoid", outputs=("y",), origin=("n3",)))
    draft.put_value(replace(before.values["v3"], name="y", producer="new"))
    draft.set_outputs(("v3", "y"))
    step = Step(0, "passes", "p", None, before, draft.finish(), 0.0)
    numbering = Numbering([step])
    return scenes_part([step], numbering), numbering


def words(numbering):
    return lambda node: (numbering.nodes[node].op, "float16 [1, 2]")


def test_the_four_marks_differ_by_shape_and_sign_not_by_colour_alone(trace):
    part, numbering = trace
    svg = scene_svg(part, 0, words(numbering))
    cards = {}
    for mark in ("removed", "added", "changed", "kept"):
        card = svg.find(f".//g[@class='box {mark}']")
        rects = list(card.iter("rect"))
        signs = [text.text for text in card.iter("text") if text.get("font-weight") == "700"]
        cards[mark] = (signs, len(rects), rects[-1].get("stroke-dasharray") is not None)
        assert any(COLOURS[mark] in (rect.get("stroke"), rect.get("fill")) for rect in rects)
    assert cards == {
        "removed": (["−"], 1, True),
        "added": (["+"], 2, False),
        "changed": (["~"], 2, False),
        "kept": ([], 1, False),
    }


@pytest.mark.parametrize(("side", "gone", "there"), [(1, "Sigmoid", "Add"), (2, "Add", "Sigmoid")])
def test_one_side_shows_what_is_on_it_where_it_is_on_both(trace, side, gone, there):
    part, numbering = trace

    def places(sides):
        svg = scene_svg(part, 0, words(numbering), sides)
        return {
            text.text: (text.get("x"), text.get("y")) for text in svg.iter("text") if text.get("font-weight") == "600"
        }

    assert gone not in places(side)
    assert places(side).items() <= places(3).items()
    assert there in places(side)


@pytest.mark.parametrize("name", [*HOSTILE, "x" * 10_000, "\u202eabc", "🙂" * 50])
def test_hostile_names_are_text_and_nothing_else(trace, name, tmp_path):
    part, _ = trace
    part = {**part, "strings": [name for _ in part["strings"]]}
    text = scene_svg_text(part, 0, lambda node: (name, name))
    tags = {element.tag.rpartition("}")[2] for element in fromstring(text).iter()}
    assert tags <= {"svg", "g", "title", "path", "rect", "text"}
    source = dot_text(part, 0, lambda node: (name, name))
    assert "URL" not in source
    if shutil.which("dot"):
        made = subprocess.run(
            ["dot", "-Tsvg"], input=source.encode("utf-8", "replace"), capture_output=True, check=True
        )
        tags = {element.tag.rpartition("}")[2] for element in fromstring(made.stdout).iter()}
        assert tags <= {"svg", "g", "title", "path", "polygon", "text", "polyline", "ellipse"}


@needs_dot
@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("dot", b"digraph")])
def test_files_of_each_kind(trace, suffix, start, tmp_path):
    part, numbering = trace
    path = write_picture(tmp_path / f"picture.{suffix}", part, 0, words(numbering))
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize("body", ["import sys; sys.exit(1)", "pass", "import time; time.sleep(60)"])
def test_without_a_dot_that_answers_svg_is_our_own_and_pdf_an_error(trace, body, tmp_path, monkeypatch):
    monkeypatch.setattr("gexplorer.render.static_picture.TIME_LIMIT_S", 0.3)
    part, numbering = trace
    dot = tmp_path / "dot"
    dot.write_text(f"#!{sys.executable}\n{body}\n")
    dot.chmod(dot.stat().st_mode | stat.S_IXUSR)
    path = write_picture(tmp_path / "picture.svg", part, 0, words(numbering), dot=str(dot))
    assert path.read_text() == scene_svg_text(part, 0, words(numbering))
    with pytest.raises(OptionError, match=r"write \.svg instead"):
        write_picture(tmp_path / "picture.pdf", part, 0, words(numbering), dot=str(dot))


def test_other_suffixes_are_refused(trace, tmp_path):
    part, numbering = trace
    with pytest.raises(OptionError, match=r"not \.png"):
        write_picture(tmp_path / "picture.png", part, 0, words(numbering))
