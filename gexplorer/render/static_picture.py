"""A picture of the explorer's as a file: SVG, DOT or PDF.

SVG and PDF are Graphviz's where there is a ``dot`` that answers in time and the picture is not too large for it; else
SVG is our own. Labels are cut to what a box holds, stripped of control characters and escaped: they are only ever text.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gexplorer.errors import OptionError
from gexplorer.layout.boundary import KINDS
from gexplorer.layout.box import MAX_WIDTH, fitted
from gexplorer.layout.union import BOTH
from gexplorer.render.graphviz import TIME_LIMIT_S, find_dot
from gexplorer.render.html import clean
from gexplorer.render.scene_svg import COLOURS, TINTS, Texts, mark_of, scene_svg_text

MOST_BOXES = 500
_SHAPES = {"removed": "dashed", "added": "filled", "changed": "bold", "kept": "filled"}


def write_picture(
    path: Path, part: Mapping[str, Any], scene: int, texts: Texts, side: int = BOTH, dot: str | None = None
) -> Path:
    """Writes a picture; what kind of file is said by its suffix.

    Args:
        path: ends with ``.svg``, ``.dot``, ``.gv`` or ``.pdf``.
        part: the part ``scenes`` of a document.
        scene: which picture.
        texts: operator and type of a node.
        side: 1 what was there before, 2 what is there after, 3 both.
        dot: the ``dot`` program; it is looked for without it.

    Raises:
        OptionError: the suffix is none of these, or PDF is asked for and there is no ``dot`` that makes it.
    """
    kind = path.suffix.lower().lstrip(".")
    if kind in ("dot", "gv"):
        path.write_text(dot_text(part, scene, texts, side), encoding="utf-8")
    elif kind == "svg":
        made = _rendered(part, scene, texts, side, "svg", dot)
        path.write_bytes(made or scene_svg_text(part, scene, texts, side).encode())
    elif kind == "pdf":
        made = _rendered(part, scene, texts, side, "pdf", dot)
        if made is None:
            raise OptionError(f"{path}: PDF needs Graphviz's dot, which was not found or gave up; write .svg instead")
        path.write_bytes(made)
    else:
        raise OptionError(f"{path}: a picture is .svg, .pdf or .dot, not {path.suffix or 'without a suffix'}")
    return path


def dot_text(part: Mapping[str, Any], scene: int, texts: Texts, side: int = BOTH) -> str:
    """The picture in the DOT language: open containers are clusters, boxes go by number."""
    import graphviz

    root = int(part["roots"][scene])
    top = graphviz.Digraph(
        graph_attr={
            "nodesep": "0.22",
            "ranksep": "0.34",
            "compound": "true",
            "fontname": "Helvetica",
            "fontsize": "11",
        },
        node_attr={"shape": "box", "fontname": "Helvetica", "fontsize": "11", "style": "filled", "fillcolor": "white"},
        edge_attr={"arrowsize": "0.6"},
    )
    # Boxes go by container and position; an edge to an open container ends at a box in it, cut off at its frame.
    anchors: dict[int, str] = {}
    waiting: list[tuple[int, Any, bool]] = [(root, top, False)]
    drawn: list[tuple[int, Any]] = []
    while waiting:
        number, graph, _ = waiting.pop()
        container = part["containers"][number]
        drawn.append((number, graph))
        for box, member in enumerate(container["members"].tolist()):
            if member < 0 and part["containers"][-1 - member]["open"]:
                held = part["containers"][-1 - member]
                cluster = graphviz.Digraph(name=f"cluster_{-1 - member}")
                cluster.attr(label=_label(_headed(part, held)), style="rounded", color=_colour(container, box))
                waiting.append((-1 - member, cluster, True))
    clusters = dict(drawn)
    for number, graph in reversed(drawn):
        container = part["containers"][number]
        for box, member in enumerate(container["members"].tolist()):
            status = int(container["status"][box])
            if not status & side:
                continue
            if member < 0 and -1 - member in clusters:
                graph.subgraph(clusters[-1 - member])
                anchors.setdefault(number, anchors.get(-1 - member, f"{-1 - member}.0"))
                continue
            held = part["containers"][-1 - member] if member < 0 else None
            if held is None:
                lines = texts(member)
            elif held["kind"] in KINDS:
                lines = (part["strings"][held["label"]], f"{held['kind']} of the graph")
            else:
                lines = (_headed(part, held), f"{held['nodes'] * held['count']:,} nodes")
            mark = mark_of(status)
            name = f"{number}.{box}"
            anchors.setdefault(number, name)
            graph.node(
                name,
                label=_label(*lines),
                color=COLOURS[mark],
                fillcolor=TINTS[mark],
                style=f"filled,{_SHAPES[mark]}" + (",rounded" if held is not None and held["kind"] in KINDS else ""),
                peripheries="2" if mark == "added" else "1",
            )
    for number, _ in drawn:
        container, template = part["containers"][number], part["templates"][part["containers"][number]["template"]]
        ends = zip(
            template["edge_from"].tolist(), template["edge_to"].tolist(), container["edge_status"].tolist(), strict=True
        )
        for tail, head, status in ends:
            if not status & side:
                continue
            attributes = {
                "color": COLOURS[mark_of(status)],
                "style": "dashed" if mark_of(status) == "removed" else "solid",
            }
            names: list[str] = []
            for box, frame in ((tail, "ltail"), (head, "lhead")):
                member = int(container["members"][box])
                if member < 0 and -1 - member in clusters:
                    attributes[frame] = f"cluster_{-1 - member}"
                    names.append(anchors.get(-1 - member, f"{-1 - member}.0"))
                else:
                    names.append(f"{number}.{box}")
            top.edge(names[0], names[1], **attributes)
    return top.source


def _rendered(part: Mapping[str, Any], scene: int, texts: Texts, side: int, kind: str, dot: str | None) -> bytes | None:
    dot = dot or find_dot()
    if dot is None or _boxes(part, scene) > MOST_BOXES:
        return None
    try:
        done = subprocess.run(
            [dot, f"-T{kind}"],
            input=dot_text(part, scene, texts, side).encode("utf-8", "replace"),
            capture_output=True,
            timeout=TIME_LIMIT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.stdout.strip() else None


def _boxes(part: Mapping[str, Any], scene: int) -> int:
    """How many boxes the picture shows."""
    total, waiting = 0, [int(part["roots"][scene])]
    while waiting:
        members = part["containers"][waiting.pop()]["members"].tolist()
        total += len(members)
        waiting += [-1 - member for member in members if member < 0 and part["containers"][-1 - member]["open"]]
    return total


def _headed(part: Mapping[str, Any], container: Mapping[str, Any]) -> str:
    label, count = part["strings"][container["label"]], container["count"]
    return f"{label}  × {count:,}" if count > 1 else label


def _colour(container: Mapping[str, Any], box: int) -> str:
    return COLOURS[mark_of(int(container["status"][box]))]


def _label(*lines: str) -> str:
    """Lines of a label as Graphviz reads them: backslashes doubled, never HTML, left-aligned."""
    import graphviz

    shown = [graphviz.escape(" ".join(clean(fitted(line, MAX_WIDTH)).split())) for line in lines if line]
    return graphviz.nohtml("\\l".join(shown) + "\\l") if shown else ""
