"""The explorer for who has no mouse, sees other colours, or hears the page: axe-core's rules, and keys."""

from pathlib import Path

import pytest

import gexplorer as gx
from gexplorer.units import bytes_text
from gexplorer.views.why import near_misses

AXE = Path(__file__).parents[2] / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
# Its residuals need tensors that a kernel would not have to write else.
BLOCKED = "qwen2.5-7b:layers=1"
MODEL = "qwen2.5-7b:small=true,layers=2"
FOUND = """async where => (await axe.run(where, {resultTypes: ['violations']})).violations
    .filter(one => ['moderate', 'serious', 'critical'].includes(one.impact))
    .flatMap(one => one.nodes.map(node => `${one.id}: ${node.target.join(' ')} ${node.html.slice(0, 120)}`))"""


@pytest.fixture(scope="module")
def compiled():
    return gx.compile(MODEL)


@pytest.fixture(scope="module")
def reports(compiled, tmp_path_factory):
    folder = tmp_path_factory.mktemp("accessible")
    return {
        "report": compiled.report(folder / "report.html", variants=2),
        "blocked": gx.compile(BLOCKED).report(folder / "blocked.html", variants="none"),
        "difference": gx.diff(compiled, compiled.replace(memory="safe")).report(folder / "difference.html"),
    }


@pytest.fixture
def opened(browser, reports):
    """Opens a page; the page's own policy is left aside, so that a checker can be taken into it."""
    contexts = []

    def open_page(which="report", fragment="", width=1280, height=860, **options):
        wanted = {"reduced_motion": "reduce", "bypass_csp": True, **options}
        context = browser.new_context(viewport={"width": width, "height": height}, **wanted)
        contexts.append(context)
        page = context.new_page()
        page.goto(reports[which].as_uri() + fragment)
        page.wait_for_selector("html[data-gexplorer=complete]", timeout=30_000)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("which", ["report", "difference"])
def test_axe_finds_nothing_moderate_or_worse(opened, which, theme):
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: cd widgets && npm ci")
    page = opened(which, color_scheme=theme)
    page.evaluate(AXE.read_text("utf-8"))
    assert page.evaluate("typeof axe.run") == "function"
    views = [tab.inner_text() for tab in page.locator("[role=tab]").all()]
    found = {}
    for view in views if which == "report" else ():  # the same views stand below both
        page.get_by_role("tab", name=view, exact=True).click()
        page.wait_for_timeout(150)
        found |= dict.fromkeys(page.evaluate(FOUND, ".gx-below"), view)
    for selection in ("step: 0, node: 3", "node: undefined, value: 0", "value: undefined, rule: 'gelu'"):
        page.evaluate(f"gexplorer.store.move({{{selection}}})")
        found |= dict.fromkeys(page.evaluate(FOUND, ".gx-right"), selection)
    for key in ("/", "Escape", "?"):
        page.keyboard.press(key)
        found |= dict.fromkeys(page.evaluate(FOUND, "html"), key)
    assert found == {}


def test_every_control_is_reached_by_tab_and_its_focus_is_seen(opened):
    page = opened(fragment="#step=flash_attention")
    page.evaluate("document.activeElement.blur()")
    reached, unseen = set(), []
    for _ in range(160):
        page.keyboard.press("Tab")
        at = page.evaluate(
            """() => { const e = document.activeElement, style = getComputedStyle(e);
                const name = e.getAttribute('aria-label') ?? e.closest('label')?.textContent ?? e.textContent;
                const seen = parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== 'none'
                    || style.boxShadow !== 'none' || e.classList.contains('gx-split') || e === document.body;
                return {what: e.className + ' ' + name.slice(0, 60), seen, kind: e.tagName}; }"""
        )
        if at["kind"] == "BODY":
            break
        if at["what"] in reached:
            continue
        reached.add(at["what"])
        if not at["seen"]:
            unseen.append(at["what"])
    assert unseen == []
    text = "\n".join(reached)
    for wanted in (
        "Search",
        "Copy as",
        "theme",
        "Keys",
        "memory",
        "Steps of the",
        "before",
        "Width of",
        "Memory",
        "kernels",
    ):
        assert wanted in text, f"{wanted} cannot be reached"


def test_a_figure_leads_to_where_it_comes_from(opened):
    page = opened()
    wanted = {
        "hbm_bytes": "Traffic",
        "latency_us": "Schedule",
        "compile_seconds": "Compile time",
        "pool_bytes": "Memory",
    }
    for key, view in wanted.items():
        page.locator(f"[data-figure={key}]").click()
        assert page.locator("[role=tab][aria-selected=true]").inner_text() == view
        assert "Press to see" in page.locator(f"[data-figure={key}]").get_attribute("title")
    assert "±" in page.locator("[data-figure=latency_us]").inner_text()
    assert "≈" in page.locator("[data-figure=hbm_bytes]").inner_text()


def test_headline_and_rules_say_the_same_of_what_near_misses_would_save(opened):
    compiled, page = gx.compile(BLOCKED), opened("blocked")
    sums, curable = {}, set()
    for step in compiled.steps:
        if step.is_fusion and step.rejects:
            misses = near_misses([step], step.name, between=compiled.between)
            sums[step.name] = sum({miss.blocker or miss.node: miss.traffic_bytes or 0 for miss in misses}.values())
            curable |= {step.name} if any(miss.hint and miss.traffic_bytes for miss in misses) else set()
    rule = max(curable or sums, key=lambda name: sums[name])
    assert sums[rule] > 0
    tile = page.locator(".gx-figure-blocked")
    assert tile.locator(".gx-figure-now").inner_text() == bytes_text(sums[rule])
    assert f"{rule} could save up to {bytes_text(sums[rule])} of memory traffic" in tile.get_attribute("title")
    page.get_by_role("tab", name="Rules", exact=True).click()
    page.get_by_placeholder("filter rules").fill(rule)
    row = page.get_by_role("table", name="Rules", exact=True).get_by_role("row", name=rule)
    assert bytes_text(sums[rule]) in row.inner_text().split("\n")
    tile.click()
    assert (
        f"could save up to {bytes_text(sums[rule])} of memory traffic"
        in page.locator(".gxt-rules .gxt-heading").inner_text()
    )
    assert "of memory traffic" in page.locator(".gx-right .gx-saved").first.inner_text()
    step = page.evaluate("gexplorer.store.parts.steps.steps[gexplorer.store.cursor.step].name")
    assert step == rule
    assert page.evaluate("gexplorer.store.cursor.reject") >= 0
    assert page.locator(".gx-row-reject.gx-chosen").count() == 1


def test_a_switch_that_cannot_be_moved_is_no_switch_to_look_at(opened):
    """One that can: by Space; the old figures stay beside the new ones until they are dismissed."""
    page = opened()
    rows = page.locator(".gx-row-step")
    live = rows.locator(".gx-switch:not(.gx-fixed)")
    assert 0 < live.count() < rows.count()
    assert page.locator(".gx-row-step .gx-fixed:visible").count() == 0
    name = live.first.get_attribute("aria-label")
    page.evaluate(
        "name => gexplorer.store.move({step: gexplorer.store.parts.steps.steps.findIndex(s => s.name === name)})", name
    )
    then = page.locator("[data-figure=kernels] .gx-figure-now").inner_text()
    page.keyboard.press("Space")
    page.wait_for_function("() => gexplorer.store.baseline && !gexplorer.store.work")
    assert page.evaluate("gexplorer.store.changes") == {"fusion": {name: False}}
    assert then in page.locator("[data-figure=kernels] .gx-figure-then").inner_text()
    page.get_by_role("button", name="Pin as baseline").click()
    page.get_by_role("button", name="Dismiss").click()
    now = page.locator("[data-figure=kernels]").get_attribute("title")
    assert "before all passes" in now
    assert "before the change" not in now


def test_the_code_of_a_rule_can_be_read(opened):
    page = opened(fragment="#step=flash_attention")
    assert page.locator(".gx-code").is_hidden()
    page.locator(".gx-source summary").click()
    assert "class FlashAttention" in page.locator(".gx-code").inner_text()
    page.keyboard.press("ArrowUp")
    assert page.locator(".gx-code").is_visible()  # it stays as it was left


def test_at_twice_the_size_everything_is_still_there(opened):
    page = opened(width=640, height=430)
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
    page.get_by_role("button", name="Steps").click()
    assert page.locator(".gx-left").is_visible()
    assert page.locator(".gx-canvas").bounding_box()["height"] > 60


def test_forced_colours_keep_what_is_chosen_and_switched_apart(opened):
    page = opened(fragment="#step=flash_attention", forced_colors="active")
    look = """selector => { const s = getComputedStyle(document.querySelector(selector));
        return [s.backgroundColor, s.outlineStyle, s.borderInlineStartColor, s.borderBottomColor].join(' '); }"""
    assert page.evaluate(look, ".gx-row-step.gx-chosen") != page.evaluate(look, ".gx-row-step:not(.gx-chosen)")
    on, off = ".gx-segment[aria-pressed=true]", ".gx-segment[aria-pressed=false]"
    assert page.evaluate(look, on) != page.evaluate(look, off)
    tabs = [page.evaluate(look, f"[role=tab][aria-selected={held}]") for held in ("true", "false")]
    assert tabs[0] != tabs[1]


def test_paper_gets_the_words(opened):
    page = opened()
    page.emulate_media(media="print")
    assert page.locator("#gexplorer").is_hidden()
    assert page.locator("#summary h1").is_visible()
