"""A press is not lost because the rows are drawn anew between its going down and up, as when a message comes then."""

import pytest

import gexplorer as gx

FRAME = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"


@pytest.fixture
def page(opened, tmp_path):
    compiled = gx.compile("bert-base:small=true,layers=2", validate="off")
    return opened(compiled.report(tmp_path / "report.html", variants=1))


def centre(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_switch_that_is_drawn_anew_while_it_is_pressed_still_switches(page):
    switch = page.locator(".gx-steps [role=switch]:not([aria-disabled])").first
    rule = switch.get_attribute("aria-label")
    steps = page.evaluate("gexplorer.store.parts.steps.steps.map((step) => step.name)")
    page.mouse.move(*centre(switch))
    page.mouse.down()
    page.evaluate("(step) => gexplorer.store.move({ step })", steps.index(rule))  # the row is lit: all rows anew
    page.evaluate(FRAME)
    page.mouse.up()
    page.locator(".gx-notice", has_text=f"{rule} off").wait_for(timeout=5_000)
    # What was put off has come.
    page.locator(f".gx-steps [role=switch][aria-label='{rule}'][aria-checked=false]").wait_for(timeout=5_000)


def test_rows_that_stay_in_the_window_stay_the_same_elements(page):
    kept = page.evaluate(
        """async () => {
            const list = document.querySelector(".gx-steps .gx-virtual"), inner = list.firstElementChild;
            const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            const rows = () => [...inner.children].map((row) => Number(row.dataset.row));
            const before = [...inner.children];
            list.scrollTop += 12 * before[0].offsetHeight;
            await frame(); await frame();
            const down = rows(), same = [...inner.children].filter((row) => before.includes(row)).length;
            list.scrollTop = 0;
            await frame(); await frame();
            return { before: before.length, same, down, up: rows() };
        }"""
    )
    assert kept["same"] == kept["before"] - 4
    for rows in (kept["down"], kept["up"]):
        assert rows == list(range(rows[0], rows[0] + len(rows)))
