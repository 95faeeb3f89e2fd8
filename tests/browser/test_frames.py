"""Results of a notebook, saved by nbconvert as HTML and opened without a kernel and without a network."""

import pytest

import gexplorer as gx

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbconvert = pytest.importorskip("nbconvert", reason="nbconvert is not installed")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A notebook whose cells show a step, a memory plan and a schedule, as nbconvert --to html writes it."""
    compiled = gx.compile("bert-base:small=true,layers=2", validate="off")
    cells = []
    for result in (compiled.steps["matmul_bias"], compiled.memory, compiled.schedule):
        data = dict(result._repr_mimebundle_())
        output = nbformat.v4.new_output("execute_result", data=data, execution_count=1)
        cells.append(nbformat.v4.new_code_cell("result", outputs=[output], execution_count=1))
    body, _ = nbconvert.HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=cells))
    path = tmp_path_factory.mktemp("notebook") / "saved.html"
    path.write_text(body, encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_frames_survive_nbconvert_without_a_network(browser, saved, scheme):
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 1400}, color_scheme=scheme)
    page = context.new_page()
    complaints = []
    page.goto(saved.as_uri(), wait_until="domcontentloaded")
    page.on("console", lambda message: complaints.append(message.text))
    frames = [page.frame_locator("iframe").nth(number) for number in range(3)]
    for frame in frames:
        frame.locator("#summary").wait_for(timeout=10_000)
    step, memory, schedule = frames
    assert step.locator("h2").first.inner_text().endswith("matmul_bias")
    assert step.locator(".example svg").count() >= 2
    step.locator("summary").first.click()
    assert step.locator("details[open]").count() == 1
    assert memory.locator(".pool .kind g").count() > 3
    assert schedule.locator(".lanes rect").count() > 10
    # The frame's style sheet is in force: its policy names the hash of what is there.
    assert memory.locator(".figures").first.evaluate("e => getComputedStyle(e).display") == "grid"
    red = step.locator("body").evaluate("e => Number(getComputedStyle(e).backgroundColor.match(/[0-9]+/)[0])")
    assert (red > 128) == (scheme == "light")
    assert [text for text in complaints if "Content Security" in text] == []
    context.close()
