"""Memory, Schedule, Traffic and Roofline in a real browser: keys, tips, narrow screens, plans that do not hold."""

from pathlib import Path

import pytest
from onnx import parser

import gexplorer as gx

TABS = ("Memory", "Schedule", "Traffic", "Roofline")
CANVAS = "[role=tabpanel]:visible .gxt-surface canvas[tabindex='0']"
CURSOR = "(({node, value, position}) => ({node, value, position}))(gexplorer.store.cursor)"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    compiled = gx.compile("bert-base:layers=2", streams="cube_vector")
    return compiled.report(tmp_path_factory.mktemp("pictures") / "r.html", variants="none")


@pytest.fixture
def show(opened, report):
    """Opens the report."""
    return lambda width=1280, height=860: opened(Path(report), width=width, height=height)


def look(page, tab):
    """The picture of a tab."""
    page.get_by_role("tab", name=tab, exact=True).click()
    page.wait_for_timeout(100)
    return page.locator(CANVAS).first


@pytest.mark.parametrize("tab", TABS)
def test_arrows_go_from_one_to_the_next_and_enter_chooses(show, tab):
    page = show()
    look(page, tab).focus()
    told = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
        told.append(page.locator(".gxt-tip:visible b").inner_text())
    assert told[0] != told[1]
    page.keyboard.press("Enter")
    cursor = page.evaluate(CURSOR)
    assert cursor["node"] >= 0
    if tab != "Memory":  # there a buffer is named after its tensor
        names = "node => (({strings, name}) => strings[name[node]])(gexplorer.store.parts.nodes)"
        assert told[2].startswith(page.evaluate(names, cursor["node"]))
    page.keyboard.press("Escape")
    assert set(page.evaluate(CURSOR).values()) == {None}


def test_a_tensor_chosen_in_the_memory_is_followed_by_every_table(show):
    page = show()
    look(page, "Memory").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    writer = page.evaluate(
        "(({strings, name}) => strings[name[gexplorer.store.cursor.node]])(gexplorer.store.parts.nodes)"
    )
    for tab in ("Schedule", "Traffic"):
        look(page, tab)
        chosen = page.locator("[role=tabpanel]:visible [role=row][aria-selected=true] [role=cell]").first
        assert chosen.inner_text() == writer


@pytest.mark.parametrize(("width", "height"), [(1280, 860), (700, 560)])
def test_tips_lie_in_the_window_and_not_over_what_they_tell_of(show, width, height):
    page = show(width, height)
    seen = 0
    for tab in TABS:
        box = look(page, tab).bounding_box()
        for across, down in ((0.2, 0.85), (0.5, 0.6), (0.93, 0.8), (0.97, 0.3)):
            x, y = box["x"] + across * box["width"], box["y"] + down * box["height"]
            page.mouse.move(x, y)
            tip = page.locator(".gxt-tip:visible")
            if y > height or not tip.count():
                continue
            seen += 1
            at = tip.bounding_box()
            assert at["x"] >= 0
            assert at["y"] >= 0
            assert at["x"] + at["width"] <= width
            assert at["y"] + at["height"] <= height
            assert not (at["x"] < x < at["x"] + at["width"] and at["y"] < y < at["y"] + at["height"])
    assert seen >= 5


def test_no_column_of_the_tables_is_cut_at_900_px(show):
    page = show(900, 700)
    for tab in TABS:
        look(page, tab)
        wide, room = page.locator("[role=tabpanel]:visible [role=table]:visible").evaluate(
            "t => [t.scrollWidth, t.clientWidth]"
        )
        assert wide <= room, tab


@pytest.mark.parametrize("tab", ["Compile time", "Figures", "Rules"])
def test_in_a_narrow_cell_columns_give_way_and_are_told_by_the_title_of_the_first(show, tab):
    """640 px, as in a notebook beside its list of files."""
    table = "[role=tabpanel]:visible [role=table]:visible"
    seen = {}
    for width in (1280, 640):
        page = show(width, 700)
        page.get_by_role("tab", name=tab, exact=True).click()
        wide, room = page.locator(table).first.evaluate("t => [t.scrollWidth, t.clientWidth]")
        assert wide <= room, width
        heads = page.locator(table).first.locator("[role=columnheader]").all_inner_texts()
        seen[width] = [head.split(" ▾")[0] for head in heads]
    left_out = set(seen[1280]) - set(seen[640])
    assert left_out
    told = page.locator(f"{table} [role=row][aria-rowindex='2'] [role=cell]").first.get_attribute("title")
    assert all(f"{head}: " in told for head in left_out)


def test_places_far_from_a_pattern_are_listed_where_somebody_unfolds_them(show):
    page = show()
    page.get_by_role("tab", name="Rules", exact=True).click()
    page.evaluate("gexplorer.store.move({rule: 'matmul_bias'})")
    fold = page.locator("[role=tabpanel]:visible .gxt-fold", has_text="far from its pattern")
    counted = int(fold.inner_text().split()[1])
    assert page.get_by_text(f"{counted} far from its pattern").count()
    rows = page.get_by_role("table", name="Near misses").locator("[role=row][data-row]")
    before = rows.count()
    fold.click()
    kinds = [row.locator("[role=cell]").first.inner_text() for row in rows.all()[before:]]
    assert sum(int(kind.split(" ×")[0]) for kind in kinds) == counted
    rows.nth(before).click()
    assert page.evaluate("gexplorer.store.cursor.node") >= 0
    assert "gexplorer why bert-base:layers=2" in page.locator(".gxt-heading .gx-mono").first.inner_text()


def test_a_compulsory_line_far_above_the_bars_is_cut_and_says_how_high_it_is(show):
    page = show()
    draw = """most => { const {cost} = gexplorer.store.parts;
        const least = cost.hbm_bytes.map((x, i) => i ? x : most * Math.max(...cost.hbm_bytes));
        gexplorer.store.receive({cost: {...cost, compulsory_bytes: least}});
        const said = [], plain = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (...all) { said.push(all[0]); plain.apply(this, all); };
        return new Promise(done => setTimeout(() => {
            CanvasRenderingContext2D.prototype.fillText = plain; done(said.join('|')); }, 300)); }"""
    look(page, "Traffic")
    assert "compulsory goes up to" not in page.evaluate(draw, 2)
    assert "▲ compulsory goes up to" in page.evaluate(draw, 40)


def test_a_plan_that_does_not_hold_is_named_and_hatched(show):
    page = show()
    look(page, "Memory")
    names = page.evaluate(
        """() => { const {memory, cost} = gexplorer.store.parts;
        const {first, last, peak} = memory;
        const alive = [...first.keys()].filter(i => first[i] <= peak && peak <= last[i]);
        gexplorer.store.receive({memory: {...memory, offset_bytes: memory.offset_bytes.map(() => 0),
            conflict_a: Int32Array.of(alive[0]), conflict_b: Int32Array.of(alive[1])},
            cost: {...cost, capacity_bytes: 1}});
        return alive.slice(0, 2).map(i => memory.strings[memory.name[i]]); }"""
    )
    words = page.locator("[role=tabpanel]:visible .gxt-words").inner_text()
    assert f"1 conflict: {names[0]} and {names[1]}" in words
    assert "does not fit" in words
    red = "document.querySelector('.gexplorer') && getComputedStyle(document.querySelector('.gxt-warn')).color"
    page.wait_for_timeout(200)
    count = """(c, text) => { const [r, g, b] = text.match(/\\d+/g).map(Number);
        const {data} = c.getContext('2d').getImageData(0, c.height * .3, c.width, c.height * .6); let n = 0;
        for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b) n++;
        return n; }"""
    assert page.locator(CANVAS).first.evaluate(count, page.evaluate(red)) > 100


def test_pictures_of_one_kernel_and_of_none_say_so(show):
    page = show()
    shorten = """n => { const {memory, schedule, cost} = gexplorer.store.parts;
        const cut = (part, column) => Object.fromEntries(Object.entries(part).map(([key, value]) =>
            [key, ArrayBuffer.isView(value) && value.length === part[column].length ? value.slice(0, n) : value]));
        gexplorer.store.receive({memory: cut(memory, 'first'), schedule: {...cut(schedule, 'start_us'),
            held_by: new Int32Array(n).fill(-1), event_from: new Int32Array(), event_to: new Int32Array(),
            event_reason: new Int32Array()}, cost: {...cut(cost, 'name'), flops: new Float64Array(n).fill(1)}}); }"""
    for tab in TABS:
        look(page, tab)
    page.evaluate(shorten, 1)
    for tab in TABS:
        assert look(page, tab).is_visible()
    page.evaluate(shorten, 0)
    for tab in TABS:
        page.get_by_role("tab", name=tab, exact=True).click()
        assert (
            page.locator("[role=tabpanel]:visible .gxt-empty:visible")
            .inner_text()
            .startswith(("No ", "The pool is empty"))
        )


def test_what_has_no_known_size_may_not_fit(opened, tmp_path):
    text = """<ir_version: 10, opset_import: ["": 21]>
    g (float[n, 4] x, float[4, 4] w) => (float[n, 4] y, float[4, 4] z) {
        a = Exp(x)
        y = Softmax(a)
        b = MatMul(w, w)
        z = MatMul(b, w)
    }"""
    model = parser.parse_model(text)
    for shapes, said in (({}, "nobody can say whether it fits"), ({"x": (2, 4)}, "fits: ")):
        path = gx.compile(model, shapes=shapes).report(tmp_path / f"{len(shapes)}.html", variants="none")
        page = opened(path)
        page.get_by_role("tab", name="Memory", exact=True).click()
        assert said in page.locator(".gxt").first.inner_text()
