"""The report's memory section in words and pictures of its own, in a real browser, on any screen."""

from pathlib import Path

import pytest

import gexplorer as gx

MODEL = "bert-base:layers=2"


@pytest.fixture(scope="module")
def compiled():
    return gx.compile(MODEL)


@pytest.fixture(scope="module")
def report(compiled, tmp_path_factory):
    return compiled.report(tmp_path_factory.mktemp("report") / "r.html", variants="none")


@pytest.fixture
def show(browser, report):
    pages = []

    def open_page(width=1280, **options):
        page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        page.seen = []
        page.on("console", lambda message: page.seen.append(message.text))
        page.goto(Path(report).as_uri())
        page.wait_for_selector("html[data-gexplorer=complete]")
        page.evaluate("dispatchEvent(new CustomEvent('gexplorer-failed', {detail: 'a test'}))")
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()


def boxes(page, selector):
    """Left, top, right and bottom of what is selected."""
    return page.evaluate(
        """selector => [...document.querySelectorAll(selector)].map(e => {
            const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom];
        })""",
        selector,
    )


@pytest.mark.parametrize("width", [400, 1280])
def test_buffers_are_seen_inside_of_the_picture(show, compiled, width):
    page = show(width)
    ((left, top, right, bottom),) = boxes(page, ".plot > svg[role=img]:not([aria-label^=Bytes])")
    drawn = boxes(page, ".pool .kind g > rect")
    plan = compiled.memory.plan
    assert len(drawn) == (plan.problem.size_bytes > plan.pool_bytes / 100).sum()
    for box in drawn:
        assert left - 1 <= box[0] < box[2] <= right + 1
        assert top - 1 <= box[1] < box[3] <= bottom + 1


def test_places_on_the_screen_are_places_in_the_plan(show, compiled):
    page = show()
    ((left, _, right, bottom),) = boxes(page, ".plot > svg[role=img]:not([aria-label^=Bytes])")
    memory = compiled.memory
    problem, points = memory.plan.problem, len(memory.program)
    titles = page.evaluate("[...document.querySelectorAll('.pool .kind g > title')].map(t => t.textContent)")
    shown = dict(zip((title.splitlines()[0] for title in titles), boxes(page, ".pool .kind g > rect"), strict=True))
    per_byte = {}
    for row, name in enumerate(problem.names):
        if name not in shown:
            continue
        box = shown[name]
        assert box[0] == pytest.approx(left + (right - left) * problem.lower[row] / points, abs=1.5)
        assert box[2] == pytest.approx(left + (right - left) * problem.upper[row] / points, abs=1.5)
        offset = int(memory.plan.placement.offsets[row])
        if offset:
            per_byte[name] = (bottom - box[3]) / offset
    assert max(per_byte.values()) == pytest.approx(min(per_byte.values()), rel=0.02)


def test_pointing_at_a_buffer_marks_it(show):
    page = show()
    rectangle = page.locator(".pool .kind g > rect").first
    before = rectangle.evaluate("e => getComputedStyle(e).strokeWidth")
    rectangle.hover(force=True)
    assert rectangle.evaluate("e => getComputedStyle(e).strokeWidth") != before


def test_names_are_cut_off_at_their_buffer(show):
    page = show(500)
    for svg in page.locator(".block-name").all():
        assert svg.evaluate("e => getComputedStyle(e).overflow") == "hidden"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_kinds_differ_by_colour_and_by_lines(show, scheme):
    page = show(color_scheme=scheme)
    looks = page.evaluate(
        """[...document.querySelectorAll('.pool .legend .kind')].map(e =>
            [getComputedStyle(e.querySelector('rect')).fill, getComputedStyle(e.querySelector('rect')).fillOpacity,
             e.querySelector('.hatch')?.getAttribute('d') ?? ''])"""
    )
    units = looks[:-1]
    assert len(units) >= 3
    assert len({fill for fill, _, _ in units}) == len(units)
    assert len({lines for _, _, lines in units}) == len(units)


@pytest.mark.parametrize("width", [400, 800, 1280])
def test_words_and_ticks_lie_inside_of_the_card(show, width):
    page = show(width)
    ((left, top, right, bottom),) = boxes(page, ".pool.card")
    for box in boxes(page, ".plot > svg > text"):
        assert left <= box[0]
        assert box[2] <= right
        assert top <= box[1]
        assert box[3] <= bottom


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_is_no_wider_than_the_screen_and_silent(show, width):
    page = show(width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.seen == []
