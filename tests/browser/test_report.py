"""The report in a real browser: nothing loaded, nothing logged, nothing wider than the screen."""

from pathlib import Path

import onnx
import pytest

import gexplorer as gx

LONG = "/model/layers.0/self_attn/" + "very_long_name_without_a_break_" * 6
MODEL = """<ir_version: 9, opset_import: ["" : 17]>
g (float[n,4] x) => (float[n,4] y) <float[4] one = {1, 1, 1, 1}, int64[2] s = {-1, 4}> {
    a = Identity(x) b = Mul(a, one) c = Reshape(b, s) d = Reshape(c, s)
    e = Neg(d) f = Neg(d) i = Add(e, f) j = Sin(i) k = Cos(i) l = Exp(i) m = Sum(j, k, l) y = Relu(m)
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    model = onnx.parser.parse_model(MODEL)
    model.graph.name = LONG
    for node in model.graph.node:
        node.name = f"{LONG}<script>window.hacked=1</script>{node.output[0]}"
    return gx.compile(model).report(tmp_path_factory.mktemp("report") / "r.html")


@pytest.fixture
def show(browser, report):
    pages = []

    def open_page(width=1400, **options):
        page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        page.seen = []
        page.on("console", lambda message: page.seen.append(message.text))
        page.on("pageerror", lambda error: page.seen.append(str(error)))
        page.on("request", lambda request: page.seen.append(request.url))
        page.goto(Path(report).as_uri())
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()


def test_it_asks_for_nothing_but_itself_and_logs_nothing(show, report):
    page = show()
    open_all(page)
    page.wait_for_timeout(200)
    assert [line for line in page.seen if line not in (Path(report).as_uri(), "data:,")] == []
    assert page.evaluate("window.hacked") is None


def test_its_style_sheet_is_in_force(show):
    page = show()
    assert page.evaluate("getComputedStyle(document.querySelector('.figures')).display") == "grid"


def test_a_script_put_into_it_would_not_run(browser, report, tmp_path):
    spoiled = tmp_path / "spoiled.html"
    text = Path(report).read_text(encoding="utf-8")
    spoiled.write_text(text.replace("<main>", "<main><script>window.hacked=1</script>"), encoding="utf-8")
    page = browser.new_page()
    page.goto(spoiled.as_uri())
    assert page.evaluate("window.hacked") is None
    page.close()


@pytest.mark.parametrize("width", [400, 1400])
def test_no_part_of_it_is_wider_than_the_screen(show, width):
    page = show(width)
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [400, 1400])
def test_no_text_sticks_out_of_its_card(show, width):
    page = show(width)
    open_all(page)
    out = page.evaluate(
        """() => [...document.querySelectorAll('.graph .box')].filter(box => {
            const edge = box.querySelector('rect').getBoundingClientRect().right + 1;
            return [...box.querySelectorAll('text')].some(t => t.getBoundingClientRect().right > edge);
        }).map(box => box.textContent)"""
    )
    assert out == []


def test_steps_open_and_close_from_the_keyboard(show):
    page = show()
    closed = page.locator("details.step:not([open])").first
    name = closed.locator("summary .pass").inner_text()
    closed.locator("summary").focus()
    page.keyboard.press("Enter")
    opened = page.locator("details.step[open]").filter(has_text=name.splitlines()[0])
    assert opened.locator(".body").first.is_visible()
    page.keyboard.press("Enter")
    assert not page.locator("details.step").filter(has_text=name).first.locator(".body").is_visible()


def test_a_link_to_a_step_opens_it(browser, report):
    step = next(step for step in gx.compile(onnx.parser.parse_model(MODEL)).steps if step.name == "noop_elimination")
    page = browser.new_page()
    page.goto(f"{Path(report).as_uri()}#step-{step.index}")
    assert page.locator(f"#step-{step.index} h3").first.is_visible()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_colour_scheme(show, scheme):
    page = show(color_scheme=scheme)
    red = page.evaluate("parseInt(getComputedStyle(document.body).backgroundColor.match(/[0-9]+/)[0])")
    assert (red > 128) == (scheme == "light")


def test_it_is_the_same_without_scripts(show):
    page = show(java_script_enabled=False)
    assert page.locator("details.step").count() > 2
    page.locator("details.step:not([open]) > summary").first.click()
    assert page.locator("details.step[open] .body").first.is_visible()


def test_printed_it_is_opened(show):
    page = show()
    page.emulate_media(media="print")
    hidden = page.evaluate(
        "[...document.querySelectorAll('details.step > .body')].filter(b => !b.checkVisibility()).length"
    )
    assert hidden == 0


def open_all(page):
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
