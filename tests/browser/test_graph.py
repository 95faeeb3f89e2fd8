"""The graph of a report in a real browser: what opens, what a press chooses, where a stub leads."""

import pytest

import gexplorer as gx
from gexplorer.layout import scenes
from gexplorer.views.explorer.numbering import Numbering
from tests import hostile_names

MODEL = "bert-base:layers=4"

# Frames a box; says where a part of it is on the screen (-1 its left or upper border, 1 its right or lower; then px).
SPOT = """([box, sx, sy, dx, dy]) => {
    const g = gexplorer.explorer.graph, s = g.stage.scene, c = g.camera, r = g.canvas.getBoundingClientRect();
    g.frame(g.stage.around([box]), 60, 1);
    return [r.left + (s.x[box] + sx * s.w[box] / 2 + dx) * c.k + c.x,
            r.top + (s.y[box] + sy * s.h[box] / 2 + dy) * c.k + c.y]; }"""
BOXES = """() => { const g = gexplorer.explorer.graph, s = g.stage.scene, {nodes, values} = gexplorer.store.parts;
    const text = (at, of = nodes) => of.strings[at];
    return [...s.member].map((m, box) => ({box, node: m, path: s.path[box], open: s.open[box], parent: s.parent[box],
        name: m >= 0 ? text(nodes.name[m]) : s.end[box] >= 0 ? text(values.name[s.end[box]], values)
            : g.labels.full(box),
        end: s.end[box], type: m >= 0 ? text(nodes.type[m]) : '', times: g.labels.times(box)})); }"""
OVERLAPS = """() => { const s = gexplorer.explorer.graph.stage.scene, found = [];
    const apart = (at, size, a, b) => Math.abs(at[a] - at[b]) >= (size[a] + size[b]) / 2 - 1;
    const inside = (at, size, a, b) => Math.abs(at[a] - at[b]) <= (size[b] - size[a]) / 2;
    for (let a = 0; a < s.count; a++) { const p = s.parent[a];
        if (p >= 0 && !(inside(s.x, s.w, a, p) && inside(s.y, s.h, a, p))) found.push([a, 'sticks out of', p]);
        for (let b = a + 1; b < s.count; b++) if (s.parent[b] === p && s.status[a] && s.status[b])
            if (!apart(s.x, s.w, a, b) && !apart(s.y, s.h, a, b)) found.push([a, 'lies on', b]); }
    return found; }"""
SEEN = """box => { const g = gexplorer.explorer.graph, s = g.stage.scene, c = g.camera;
    const x = s.x[box] * c.k + c.x, y = s.y[box] * c.k + c.y;
    return x > 0 && x < c.width && y > 0 && y < c.height; }"""

# Of some boxes the one that is nearest to the middle of the window.
MIDDLE = """boxes => { const g = gexplorer.explorer.graph, s = g.stage.scene, c = g.camera;
    const away = box => Math.hypot(s.x[box] * c.k + c.x - c.width / 2, s.y[box] * c.k + c.y - c.height / 2);
    return boxes.reduce((a, b) => away(b) < away(a) ? b : a); }"""


@pytest.fixture(scope="module")
def compiled():
    return gx.compile(MODEL)


@pytest.fixture(scope="module")
def file(compiled, tmp_path_factory):
    return compiled.report(tmp_path_factory.mktemp("graph") / "report.html", variants="none")


@pytest.fixture
def page(opened, file):
    return opened(file)


def boxes(page):
    return page.evaluate(BOXES)


def box_of(page, **wanted):
    found = [one for one in boxes(page) if all(one[key] == value for key, value in wanted.items())]
    assert found, wanted
    return found[0]


def press(page, box, sx=0, sy=0, dx=0, dy=0):
    page.mouse.click(*page.evaluate(SPOT, [box, sx, sy, dx, dy]))


def cursor(page):
    return page.evaluate("gexplorer.store.cursor")


def node_of(page, name):
    """The last version of a node."""
    return page.evaluate(
        "name => { const n = gexplorer.store.parts.nodes; return n.name.lastIndexOf(n.strings.indexOf(name)); }",
        name,
    )


def text_of(page, value, column):
    return page.evaluate(
        "([value, column]) => { const v = gexplorer.store.parts.values; return v.strings[v[column][value]]; }",
        [value, column],
    )


def inspected(page):
    return page.locator(".gx-name").first.inner_text()


def test_a_fused_kernel_opens_in_place_and_its_operators_are_the_nodes_that_they_were(page, compiled):
    kernel = box_of(page, type="FlashAttentionScore")
    before = len(boxes(page))
    press(page, kernel["box"], sx=1, dx=-10)
    body = compiled.graph.nodes[kernel["name"]].body.order
    around = box_of(page, path=kernel["path"])
    inside = [one for one in boxes(page) if one["parent"] == around["box"]]
    assert around["open"] == 1
    assert len(boxes(page)) == before + len(body)
    assert len(inside) == len(body) > 3
    assert page.evaluate(OVERLAPS) == []
    nodes = Numbering(compiled.steps).nodes
    for one, operator in zip(inside, body, strict=True):
        assert (nodes[one["node"]].op, nodes[one["node"]].origin) == (operator.op, operator.origin)
    chosen = next(one for one in inside if one["type"].startswith("Softmax"))
    press(page, chosen["box"])
    assert cursor(page) == {"node": chosen["node"]}
    assert chosen["name"] in inspected(page)
    assert chosen["name"] not in compiled.graph.nodes, "it is gone: fused"
    press(page, around["box"], -1, -1, dx=10, dy=14)
    assert box_of(page, path=kernel["path"])["open"] == 0
    assert len(boxes(page)) == before
    # What was chosen in it is now where its kernel is.
    assert page.evaluate("node => gexplorer.explorer.graph.stage.box(node)", chosen["node"]) == kernel["box"]


def test_boxes_open_by_pointer_and_by_key(page):
    closed = """() => { const g = gexplorer.explorer.graph, s = g.stage.scene;
        const {k, x, y} = g.camera, top = i => (s.y[i] - s.h[i] / 2) * k + y;
        const i = s.open.findIndex((open, i) => open && top(i) > 0);
        return [s.path[i], s.x[i] - s.w[i] / 2, s.y[i] - s.h[i] / 2, k, x, y]; }"""
    path, left, top, k, x, y = page.evaluate(closed)
    box = page.locator(".gx-canvas").bounding_box()
    page.mouse.click(box["x"] + (left + 12) * k + x, box["y"] + (top + 14) * k + y)
    is_open = "path => gexplorer.explorer.graph.stage.scene.open[gexplorer.explorer.graph.stage.ofPath(path)]"
    assert page.evaluate(is_open, path) == 0
    page.evaluate("path => { const g = gexplorer.explorer.graph; g.open(g.stage.ofPath(path)); }", path)
    assert page.evaluate(is_open, path) == 1


def test_no_two_boxes_overlap_however_many_are_open(opened, file):
    page = opened(file, "#step=shape_folding")
    overlap = page.evaluate(
        """() => { const g = gexplorer.explorer.graph, st = g.stage;
            for (let round = 0; round < 8; round++) { const s = st.scene;
                for (let i = 0; i < s.count; i++) if (s.member[i] < 0) st.openness.open.set(s.path[i], true);
                st.rebuild(); }
            const s = st.scene, bad = [];
            for (let a = 0; a < s.count; a++) for (let b = a + 1; b < s.count; b++) {
                if (s.parent[a] !== s.parent[b] || !s.status[a] || !s.status[b]) continue;
                const over = (at, size) => Math.abs(at[a] - at[b]) < (size[a] + size[b]) / 2 - 1;
                if (over(s.x, s.w) && over(s.y, s.h)) bad.push([a, b]); }
            return [s.count, bad]; }"""
    )
    assert overlap[0] > 40
    assert overlap[1] == []


def test_an_open_kernel_stays_open_from_step_to_step_and_in_the_next_layer(page):
    kernel = box_of(page, type="FlashAttentionScore")
    page.evaluate("box => gexplorer.explorer.graph.open(box)", kernel["box"])
    layer = box_of(page, times="× 4")
    first = {one["name"] for one in boxes(page) if one["type"] == "FlashAttentionScore"}
    press(page, layer["box"], 1, -1, dx=-16, dy=14)
    again = box_of(page, type="FlashAttentionScore")
    assert again["name"] not in first
    assert again["open"] == 1
    assert again["path"] == kernel["path"]


def test_a_repeated_block_opens_and_shows_one_of_those_alike(page, compiled):
    layer = box_of(page, times="× 4")
    assert layer["open"] == 1
    names = lambda: {one["name"] for one in boxes(page) if one["path"].startswith(layer["path"] + "/") and one["type"]}  # noqa: E731
    seen = [names()]
    for right in (-16, -16, -104):
        press(page, layer["box"], 1, -1, dx=right, dy=14)
        seen.append(names())
    first, second, third, back = seen
    assert not first & second
    assert not second & third
    assert back == second
    assert all(name in compiled.graph.nodes for name in first | second | third)
    press(page, layer["box"], -1, -1, dx=10, dy=14)
    assert box_of(page, path=layer["path"])["open"] == 0
    assert names() == set()
    closed = box_of(page, path=layer["path"])
    press(page, closed["box"], -1, dx=10)
    assert names() == second, "it opens at the one that was left"


def test_choosing_a_node_of_the_third_layer_opens_the_third(page, compiled):
    layers = [node.name for node in compiled.graph.order if node.op == "FlashAttentionScore"]
    assert box_of(page, type="FlashAttentionScore")["name"] == layers[0]
    node = node_of(page, layers[2])
    page.evaluate("node => gexplorer.store.move({node})", node)
    shown = box_of(page, type="FlashAttentionScore")
    assert shown["name"] == layers[2]
    assert page.evaluate(SEEN, shown["box"])


def stub_of(page, side):
    """A stub whose other end is one box out of sight of it: its number, box, value, dot on the screen."""
    return page.evaluate(
        """side => { const g = gexplorer.explorer.graph, s = g.stage.scene, c = g.camera;
            for (let i = 0; i < s.stubs; i++) { const box = s.stub_box[i], w = s.w[box], h = s.h[box];
                if (s.stub_side[i] !== side || s.open[box] || s.stub_nth[i]) continue;
                const end = g.stage.ends(s.stub_value[i]);
                if (side === 1 ? !end.length : end.length) continue;
                g.frame(g.stage.around([box]), 60, 1);
                const r = g.canvas.getBoundingClientRect(), out = side ? 1 : -1;
                return {box, value: s.stub_value[i], from: s.y[box], ends: end,
                    at: [r.left + (s.x[box] + out * (w / 2 - 10)) * c.k + c.x,
                         r.top + (s.y[box] + out * (h / 2 + 8)) * c.k + c.y]}; } }""",
        side,
    )


def test_a_stub_leads_to_what_writes_its_value(page, compiled):
    stub = stub_of(page, 0)
    page.mouse.move(*stub["at"])
    tip = page.locator(".gx-graph .gx-tip").inner_text()
    assert "press to go there" in tip
    view = page.evaluate("({...gexplorer.explorer.graph.camera.view})")
    page.mouse.click(*stub["at"])
    assert cursor(page) == {"value": stub["value"]}
    name = text_of(page, stub["value"], "name")
    assert name in page.locator(".gx-inspector-body").inner_text()
    maker = compiled.graph.producer(name)
    assert maker.name in tip
    there = page.evaluate("node => gexplorer.explorer.graph.stage.box(node)", node_of(page, maker.name))
    assert there != stub["box"]
    assert page.evaluate("({...gexplorer.explorer.graph.camera.view})") != view
    assert page.evaluate(SEEN, there)


# Frames a box with a stub that leads to several: its value, box, the boxes at its other end, its dot on the screen.
SEVERAL = """() => { const g = gexplorer.explorer.graph, s = g.stage.scene, {nodes} = gexplorer.store.parts;
    for (let i = 0; i < s.stubs; i++) { const box = s.stub_box[i], value = s.stub_value[i], w = s.w[box], h = s.h[box];
        if (s.stub_side[i] !== 1 || s.open[box] || s.stub_nth[i]) continue;
        const reads = n => nodes.inputs.subarray(nodes.inputs_at[n], nodes.inputs_at[n + 1]).includes(value);
        const last = n => nodes.gone[n] > g.step;
        const found = [...nodes.name.keys()].filter(n => reads(n) && last(n)).map(n => g.stage.box(n));
        const boxes = [...new Set(found)].filter(one => one >= 0 && one !== box && s.parent[box] !== one);
        if (boxes.length < 2) continue;
        g.frame(g.stage.around([box]), 60, 1);
        const {k, x, y} = g.camera, r = g.canvas.getBoundingClientRect();
        const at = [r.left + (s.x[box] + w / 2 - 10) * k + x, r.top + (s.y[box] + h / 2 + 6) * k + y];
        return {box, value, boxes, at}; } }"""


def test_a_stub_to_several_readers_goes_from_one_to_the_next_and_back(page):
    stub = page.evaluate(SEVERAL)
    many = len(stub["boxes"])
    page.mouse.move(*stub["at"])
    assert f"then n for the next of {many}" in page.locator(".gx-graph .gx-tip").inner_text()
    page.mouse.click(*stub["at"])
    said, seen = page.locator(".gx-readers-at b"), []

    def look(nth):
        assert said.inner_text() == f"reader {nth} of {many}"
        seen.append(page.evaluate(MIDDLE, stub["boxes"]))
        assert page.evaluate(SEEN, seen[-1])

    look(1)
    for nth in range(2, many + 1):
        page.keyboard.press("n")
        look(nth)
    assert sorted(seen) == sorted(stub["boxes"]), "each once"
    page.keyboard.press("n")
    look(1)
    page.keyboard.press("N")
    look(many)
    page.get_by_role("button", name="The next reader (n)").click()
    look(1)
    assert cursor(page) == {"value": stub["value"]}
    page.get_by_role("button", name="back", exact=True).click()
    assert page.evaluate(SEEN, stub["box"])
    assert not page.locator(".gx-readers").is_visible()
    # From a value that is chosen, by key alone; and gone with what is chosen.
    page.locator("canvas.gx-canvas").press("n")
    assert page.locator(".gx-readers").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator(".gx-readers").is_visible()


def test_a_stub_of_a_result_leads_to_the_output_of_the_graph(page):
    stub = stub_of(page, 1)
    page.mouse.click(*stub["at"])
    assert cursor(page) == {"value": stub["value"]}
    assert any(page.evaluate(SEEN, end) for end in stub["ends"])


def test_an_input_is_chosen_by_its_box_and_read_in_the_inspector(page, compiled):
    for name in (*compiled.graph.inputs, *compiled.graph.outputs):
        pill = next(one for one in boxes(page) if one["end"] >= 0 and one["name"] == name)
        press(page, pill["box"])
        assert cursor(page) == {"value": pill["end"]}
        words = page.locator(".gx-inspector-body").inner_text()
        assert name in words
        assert text_of(page, pill["end"], "shape") in words


def test_keys_go_from_an_input_down_the_lines_and_back(page):
    pill = box_of(page, name="attention_mask")
    press(page, pill["box"])
    page.locator(".gx-canvas").focus()
    page.keyboard.press("j")
    below = cursor(page)
    assert set(below) == {"node"}
    page.mouse.move(5, 5)  # off the canvas: where one is does not hang on the pointer
    page.keyboard.press("k")
    assert cursor(page) == {"value": pill["end"]}


def test_what_was_not_laid_out_in_advance_stands_in_rows_with_its_lines(opened, compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(scenes, "IN_ADVANCE", 0)
    page = opened(compiled.report(tmp_path / "rows.html", variants="none"))
    missing = page.evaluate("gexplorer.store.parts.scenes.containers.filter(one => one.template < 0).length")
    assert missing > 10
    step = next(step.index for step in compiled.steps if step.name == "identity_elimination")
    page.evaluate("step => gexplorer.store.move({step})", step)
    found = page.evaluate(
        """() => { const g = gexplorer.explorer.graph, st = g.stage, {scenes} = gexplorer.store.parts;
            const opened = [];
            for (let round = 0; round < 6; round++) for (let i = st.scene.count - 1; i >= 0; i--) {
                const m = st.scene.member[i];
                if (m >= 0 || st.scene.open[i] || !st.scene.path[i]) continue;
                if (scenes.containers[-1 - m].template < 0) opened.push(st.scene.path[i]);
                g.open(i); }
            const s = st.scene;
            return opened.map(path => { const at = st.ofPath(path), inside = i => s.parent[i] === at;
                return {path, boxes: s.member.filter((_, i) => inside(i)).length,
                    lines: s.edge_from.filter(inside).length,
                    down: s.edge_from.every((from, e) => !inside(from) || s.y[from] < s.y[s.edge_to[e]])}; }); }"""
    )
    assert found, "nothing was without a layout"
    assert all(one["boxes"] > 0 for one in found)
    assert any(one["lines"] > 2 for one in found)
    assert all(one["down"] for one in found)
    assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("fused", [True, False])
def test_hostile_names_are_text_in_tips_table_and_inputs(opened, tmp_path, fused):
    """Every box is pointed at and pressed, the table shown: no name becomes part of the page."""
    compiled = gx.compile(hostile_names.model(), fusion={"elementwise_chain": fused})
    page = opened(compiled.report(tmp_path / "hostile.html", variants="none"))
    for one in boxes(page):
        if fused and one["path"]:
            page.evaluate("box => gexplorer.explorer.graph.open(box)", one["box"])
    said = set()
    for one in boxes(page):
        if one["open"]:
            continue
        page.mouse.move(*page.evaluate(SPOT, [one["box"], 0, 0, 0, 0]))
        said.update(page.locator(".gx-graph .gx-tip > div").all_text_contents())
        press(page, one["box"])
    page.keyboard.press("t")
    table = page.locator(".gx-node-table").inner_text()
    short = [name for name in hostile_names.NAMES if len(name) < 100]
    assert set(short) <= said
    assert any(name in table for name in short)
    assert page.evaluate("document.querySelectorAll('img, [onmouseover]').length") == 0
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    lengths = [len(line) for line in said]
    assert max(lengths) < 400, "10,000 characters are cut in a tip"
