"""What is first seen of a model can be read: measured in a real browser, by the texts that are really drawn."""

import re

import pytest

import gexplorer as gx
from tests.browser.test_explorer_page import page_of

# How many layers of each look alike: where there is a norm before the first there is no Add before it to be fused with.
MODELS = {
    "mlp": 0,
    "simple-attention": 0,
    "resnet50": 0,
    "resnet50:small=true": 0,
    "bert-base": 12,
    "bert-base:small=true,layers=3": 3,
    "llama2-7b": 31,
    "llama2-7b:layers=4,mode=decode,past=64": 4,
    "llama-70b:layers=8": 7,
    "qwen2.5-7b:layers=6,seq=128": 5,
    "mixtral-8x7b:layers=4": 3,
    "mixtral-8x7b:small=true,layers=3": 2,
}
SIZES = [*((name, 1280) for name in MODELS), ("bert-base", 900), ("bert-base", 1920), ("resnet50", 900)]

# Draws the graph once more and notes every text: its place and size on the screen, how much it is narrowed, and the
# innermost box that its middle is in. Then every box that is seen whole, with its place on the screen and its label.
LOOK = """async () => {
    const g = gexplorer.explorer.graph, s = g.stage.scene, c = g.camera, texts = [];
    const real = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y, most = Infinity) {
        if (this.canvas === g.canvas) {
            const m = this.getTransform(), ratio = g.canvas.width / g.canvas.clientWidth, zoom = m.a / ratio;
            const natural = this.measureText(text).width, width = Math.min(natural, most);
            const size = parseFloat(/[\\d.]+px/.exec(this.font)[0]);
            const left = this.textAlign === 'center' ? x - width / 2 : x;
            texts.push({text, left: (m.a * left + m.e) / ratio, right: (m.a * (left + width) + m.e) / ratio,
                top: (m.d * (y - size / 2) + m.f) / ratio, bottom: (m.d * (y + size / 2) + m.f) / ratio,
                narrowed: natural / width, box: g.stage.index.box(left + width / 2, y, 'both'), px: size * zoom}); }
        return real.apply(this, arguments); };
    g.draw();
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    CanvasRenderingContext2D.prototype.fillText = real;
    const boxes = [...s.member].map((member, box) => {
        const x = s.x[box] * c.k + c.x, y = s.y[box] * c.k + c.y, w = s.w[box] * c.k, h = s.h[box] * c.k;
        return {box, member, left: x - w / 2, right: x + w / 2, top: y - h / 2, bottom: y + h / 2, open: s.open[box],
            parent: s.parent[box], label: g.labels.full(box), times: g.labels.times(box), width: s.w[box]}; });
    return {zoom: c.k, width: c.width, height: c.height, texts, boxes}; }"""


def overlap(a, b, slack=0.5):
    return (
        a["left"] < b["right"] - slack
        and b["left"] < a["right"] - slack
        and a["top"] < b["bottom"] - slack
        and b["top"] < a["bottom"] - slack
    )


def inside(a, b, slack=1.0):
    return (
        a["left"] >= b["left"] - slack
        and a["right"] <= b["right"] + slack
        and a["top"] >= b["top"] - slack
        and a["bottom"] <= b["bottom"] + slack
    )


def stands_for(text, label):
    """The label itself, or its ends with the middle left out."""
    start, dots, end = text.partition("…")
    return text == label or bool(dots and start and label.startswith(start) and label.endswith(end))


@pytest.mark.parametrize(("model", "width"), SIZES)
def test_what_is_first_seen_can_be_read(opened, tmp_path, model, width):
    path = tmp_path / "page.html"
    compiled = gx.compile(model, validate="off")
    path.write_text(page_of(compiled, parts=("head", "steps", "nodes", "values", "scenes")), encoding="utf-8")
    page = opened(path, width=width)
    look = page.evaluate(LOOK)
    boxes, texts = look["boxes"], look["texts"]
    window = {"left": 0, "top": 0, "right": look["width"], "bottom": look["height"]}
    seen = [box for box in boxes if inside(box, window, 0)]

    assert look["zoom"] >= 0.8
    assert len(texts) > 5
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            if other["parent"] == one["parent"]:
                assert not overlap(one, other), "two boxes overlap"
        if one["parent"] >= 0:
            assert inside(one, boxes[one["parent"]]), "a box sticks out of its container"
    for number, one in enumerate(texts):
        assert one["px"] >= 8, one
        assert one["narrowed"] < 1.17, f"{one['text']} is squeezed"
        assert inside(one, boxes[one["box"]]), f"{one['text']} sticks out of its box"
        for other in texts[:number]:
            assert not overlap(one, other), f"{one['text']} lies on {other['text']}"
    for box in seen:
        own = [text for text in texts if text["box"] == box["box"]]
        title = [text["text"] for text in own if stands_for(text["text"], box["label"])]
        assert title, f"{box['label']!r} is not written in its box"
        if "…" in title[0] and "…" not in box["label"]:
            assert box["width"] >= 220, f"{box['label']} is cut where its box could have been wider"
        if box["times"]:
            assert box["times"] in [text["text"] for text in own]
    if MODELS[model]:
        # Layers are no ribbon: one open block stands for all that are alike, its head with the badge in sight.
        (block,) = (box for box in boxes if box["open"] and box["times"] == f"× {MODELS[model]}")
        assert 0 <= block["top"] < look["height"] / 2
        assert 0 <= block["left"] + 120 < look["width"]
        assert len(boxes) < 80


# Numbers and notes of the headline that stick out of the room that they have; a sentence may be cut.
STICK_OUT = """[...document.querySelectorAll('.gx-figure :is(.gx-figure-value, .gx-figure-note) > span')]
    .filter(one => !one.classList.contains('gx-cut')
        && one.getBoundingClientRect().right > one.parentElement.getBoundingClientRect().right + 0.5)
    .map(one => one.textContent)"""


def test_no_number_of_the_headline_is_cut(opened, tmp_path):
    """Where sums are not compared there is most to say: how many kernels have no price on each side."""
    page = opened(gx.compile("mixtral-8x7b:layers=2").report(tmp_path / "narrow.html", variants="none"))
    assert "unpriced" in page.locator(".gx-figures").inner_text()
    for width in (1280, 1024, 900, 800):
        page.set_viewport_size({"width": width, "height": 600})
        assert page.evaluate(STICK_OUT) == [], width


def test_a_label_that_is_cut_has_its_ends_and_is_told_whole(opened, tmp_path):
    """Where a box cannot be as wide as its label: an ellipsis in the middle, and all of it under the pointer."""
    from onnx import TensorProto, helper

    long = "ThisOperatorHasANameThatIsMuchTooLongForAnyBoxOfAnyGraphThatAnybodyWouldDraw"
    node = helper.make_node(long, ["x"], ["y"], name="n", domain="own")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    model = helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=opsets, ir_version=8)
    path = tmp_path / "page.html"
    path.write_text(page_of(gx.compile(model)), encoding="utf-8")
    page = opened(path)
    look = page.evaluate(LOOK)
    (box,) = (one for one in look["boxes"] if one["member"] >= 0)
    drawn = [text["text"] for text in look["texts"] if text["box"] == box["box"]]
    assert any("…" in text and stands_for(text, box["label"]) for text in drawn)
    assert re.search(long, box["label"])
    corner = page.locator(".gx-canvas").bounding_box()
    page.mouse.move(corner["x"] + (box["left"] + box["right"]) / 2, corner["y"] + (box["top"] + box["bottom"]) / 2)
    assert long in page.locator(".gx-graph .gx-tip").inner_text()
