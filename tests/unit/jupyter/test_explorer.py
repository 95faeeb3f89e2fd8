"""The widgets' Python side, without a browser: messages in, parts out, the newest wish wins."""

from __future__ import annotations

import html
import re
import threading
import time
from pathlib import Path

import pytest

import gexplorer as gx
from gexplorer.errors import OptionError
from gexplorer.jupyter.controls import Controls
from gexplorer.jupyter.explorer import PANELS, Explorer, PanelWidget
from gexplorer.jupyter.workbench import Wish, Workbench
from gexplorer.render.document import document
from gexplorer.views.pack import pack, unpack

MODEL = "bert-base:small=true"
STATIC = Path(gx.__file__).parent / "static"


@pytest.fixture(scope="module")
def compiled():
    return gx.compile(MODEL)


class Front:
    """What a front end has heard."""

    def __init__(self):
        self.messages = []
        self.parts = {}

    def __call__(self, message, buffers):
        assert threading.current_thread() is not threading.main_thread()
        self.messages.append(message)
        if message["type"] == "parts":
            assert len(message["names"]) == len(buffers)
            for name in message["gone"]:
                del self.parts[name]
            self.parts |= {name: unpack(data) for name, data in zip(message["names"], buffers, strict=True)}


def opened(compiled, **more):
    front = Front()
    bench = Workbench(compiled, front, **more)
    bench.show()
    assert bench.wait(60)
    return bench, front


def figure(front, key):
    return next(f["value"] for f in front.parts["head"]["figures"] if f["key"] == key)


def test_a_front_end_that_opens_gets_what_is_not_on_demand(compiled):
    _, front = opened(compiled)
    assert {"head", "steps", "nodes", "values", "scenes", "memory", "schedule", "cost", "rules"} <= set(front.parts)
    assert not {"planners", "tiling", "kernel", "log"} & set(front.parts)


def test_a_change_compiles_again_and_sends_only_what_is_new(compiled):
    bench, front = opened(compiled)
    kernels = figure(front, "kernels")
    del front.messages[:]
    bench.change(Wish(1, {"fusion": {"matmul_bias": False}}))
    assert bench.wait(60)
    (answer,) = [m for m in front.messages if m["type"] == "parts"]
    assert answer["sequence"] == 1
    assert figure(front, "kernels") > kernels
    assert bench.current.options.fusion == {"matmul_bias": False}
    bench.change(Wish(2, {}))
    assert bench.wait(60)
    assert bench.current is compiled
    assert figure(front, "kernels") == kernels
    bench.change(Wish(3, {"memory": "safe"}))
    assert bench.wait(60)
    assert not {"nodes", "scenes"} & set(front.messages[-1]["names"])


def test_what_is_copied_is_what_was_asked_for():
    """Not how the explorer compiles: it leaves validation out, so that a switch is quick."""
    bench, front = opened(gx.compile(MODEL, validate="quick"))

    def python(changes):
        bench.change(Wish(bench.sequence + 1, changes))
        assert bench.wait(60)
        return front.parts["head"]["copy"]["python"].rpartition("\n")[2]

    assert python({"memory": "safe"}) == f"c = gx.compile({MODEL!r}, memory='safe')"
    assert bench.current.options.validate == "off"
    assert "validate" not in front.parts["head"]["copy"]["cli"]
    assert front.parts["head"]["options"]["validate"] == "quick"
    # Asked for, it is said, although nothing else is compiled; and not any more when it is not.
    assert python({"memory": "safe", "validate": "off"}) == f"c = gx.compile({MODEL!r}, validate='off', memory='safe')"
    assert python({"memory": "safe"}) == f"c = gx.compile({MODEL!r}, memory='safe')"
    assert python({}) == f"c = gx.compile({MODEL!r})"


def test_an_answer_comes_even_when_nothing_is_new(compiled):
    bench, front = opened(compiled)
    del front.messages[:]
    bench.change(Wish(5, {}))
    assert bench.wait(60)
    assert front.messages[-1] == {"type": "parts", "names": [], "gone": [], "coming": [], "sequence": 5, "changes": {}}


def test_what_is_on_demand_comes_when_asked_for_and_stays_true(compiled):
    bench, front = opened(compiled)
    bench.ask("planners")
    bench.ask("nothing of the kind")
    assert bench.wait(60)
    assert front.parts["planners"]["planners"]
    bench.change(Wish(1, {"fusion": {"matmul_bias": False}}))
    assert bench.wait(60)
    main, later = [m for m in front.messages if m["type"] == "parts"][-2:]
    assert (
        main["gone"] == main["coming"] == ["planners"]
    )  # the other graph has other plans, and nothing else waits for them
    assert later["names"] == ["planners"]
    assert pools(front.parts["planners"]) == pools(unpack(document(bench.current).parts["planners"]))
    bench.change(Wish(2, {}))
    assert bench.wait(60)
    back = front.messages[-1]
    assert back["sequence"] == 2
    assert "planners" in back["names"]  # they were made before
    assert pools(front.parts["planners"]) == pools(unpack(document(compiled).parts["planners"]))


def test_what_was_on_its_way_still_is_when_a_newer_change_comes_between(compiled, monkeypatch):
    bench, front = opened(compiled)
    bench.ask("planners")
    bench.ask("nothing of the kind")
    assert bench.wait(60)
    send, newer = Workbench._send, Wish(2, {"fusion": {"flash_attention": False}})

    def superseded(self, names):
        monkeypatch.setattr(Workbench, "_send", send)
        bench.change(newer)
        return send(self, names)

    monkeypatch.setattr(Workbench, "_send", superseded)
    bench.change(Wish(1, {"fusion": {"matmul_bias": False}}))
    assert bench.wait(60)
    answers = {m["sequence"]: m for m in front.messages if "sequence" in m}
    assert answers[1]["coming"] == answers[2]["coming"] == ["planners"]
    assert pools(front.parts["planners"]) == pools(unpack(document(bench.current).parts["planners"]))


def test_a_change_that_was_never_shown_leaves_nothing_behind(compiled, monkeypatch):
    """Parts that a document takes over are those of what the front end has, not of what was given up meanwhile."""
    bench, front = opened(compiled)
    bench.ask("kernel")
    assert bench.wait(60)
    made = Workbench._made

    def given_up(self, names):
        bench.change(Wish(2, {"fusion": {"matmul_bias": False}, "streams": "dependency"}))
        monkeypatch.setattr(Workbench, "_made", made)
        return made(self, names)

    monkeypatch.setattr(Workbench, "_made", given_up)
    bench.change(Wish(1, {"fusion": {"matmul_bias": False}}))
    assert bench.wait(60)
    assert [m["sequence"] for m in front.messages if "sequence" in m] == [2]
    afresh = document(bench.current).parts
    for name in ("kernel", "memory", "cost"):
        assert pack(front.parts[name]) == afresh[name], name


def pools(planners):
    return [(row["name"], row["pool_bytes"]) for row in planners["planners"]]


def test_the_newest_wish_wins(compiled, monkeypatch):
    import gexplorer.jupyter.workbench as module

    begun, go = threading.Event(), threading.Event()
    whole = module.compile_source

    def slow(source, options, *, previous, tell):
        begun.set()
        go.wait(10)
        return whole(source, options, previous=previous, tell=tell)

    bench, front = opened(compiled)
    monkeypatch.setattr(module, "compile_source", slow)
    del front.messages[:]
    bench.change(Wish(1, {"fusion": {"matmul_bias": False}}))
    assert begun.wait(10)
    for number in range(2, 6):
        bench.change(Wish(number, {"fusion": {"gelu": number % 2 == 0}}))
    go.set()
    assert bench.wait(60)
    assert [m["sequence"] for m in front.messages if m["type"] == "parts"] == [5]
    assert bench.current.options.fusion == {"gelu": False}


def test_who_asks_meanwhile_is_not_forgotten(compiled):
    bench, front = opened(compiled)
    for number in range(1, 4):
        bench.change(Wish(number, {"fusion": {"matmul_bias": number % 2 == 0}}))
        bench.ask("planners")
        bench.show()
    assert bench.wait(60)
    assert {"planners", "scenes"} <= set(front.parts)


def test_a_failure_is_said_and_the_next_wish_works(compiled):
    bench, front = opened(compiled)
    bench.change(Wish(1, {"mem_workspace_size": 1}))
    assert bench.wait(60)
    assert front.messages[-1]["type"] == "failure"
    assert "mem_workspace_size" in front.messages[-1]["message"]
    bench.change(Wish(2, {"memory": "safe"}))
    assert bench.wait(60)
    assert bench.current.options.memory == "safe"


def messages_of(widget):
    heard = []
    widget.on_result(heard.append)
    return heard


def test_a_widget_hears_what_its_front_end_says(compiled):
    widget = Explorer(compiled)
    heard = messages_of(widget)
    widget._handle_custom_msg({"type": "ready"}, [])
    assert widget.wait(60)
    widget._handle_custom_msg({"type": "change", "sequence": 1, "changes": {"memory": "safe"}}, [])
    assert widget.wait(60)
    assert widget.compilation.options.memory == "safe"
    assert widget.changes == {"memory": "safe"}
    widget._handle_custom_msg({"type": "change", "sequence": 2, "changes": {"memory": "no such thing"}}, [])
    assert heard[-1]["type"] == "failure"
    assert widget.changes == {"memory": "safe"}
    widget._handle_custom_msg({"type": "reset", "sequence": 3}, [])
    assert widget.wait(60)
    assert widget.compilation is compiled
    widget._handle_custom_msg("nonsense", [])


def test_shapes_are_changed_from_the_front_end():
    widget = Explorer(gx.compile("bert-base:small=true,batch=b"))
    (name, *_) = widget.compilation.graph.inputs
    rank = len(widget.compilation.graph.tensor(name).shape)
    shapes = {name: [2, *[None] * (rank - 1)]}
    widget._handle_custom_msg({"type": "change", "sequence": 1, "changes": {"shapes": shapes}}, [])
    assert widget.wait(60)
    assert widget.compilation.graph.tensor(name).shape[0] == 2


def test_python_changes_what_is_shown(compiled):
    widget = Explorer(compiled)
    widget.change(fusion={"matmul_bias": False})
    widget.change(fusion={"gelu": False}, memory="safe")
    assert widget.wait(60)
    assert widget.compilation.options.fusion == {"matmul_bias": False, "gelu": False}
    assert widget.compilation.options.memory == "safe"
    with pytest.raises(OptionError, match="no option"):
        widget.change(colour="red")
    widget.reset()
    assert widget.wait(60)
    assert widget.compilation is compiled


def test_the_selection_is_a_trait(compiled):
    widget = compiled.explore(height=500)
    widget.selection = {"node": "x"}
    assert widget.get_state()["selection"] == {"node": "x"}
    assert widget.get_state()["height"] == 500
    assert repr(widget) == f"Explorer({MODEL!r})"


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_by_itself_gets_what_it_needs(compiled, panel):
    widget = compiled.widget(panel)
    state = widget.get_state()
    assert state["_esm"] == (STATIC / f"panel-{panel}.js").read_text("utf-8")
    assert len(state["_esm"]) < 80_000  # a notebook keeps it for every widget
    sent = []
    widget.on_result(sent.append)
    widget._handle_custom_msg({"type": "ready"}, [])
    assert widget.wait(60)
    names = sent[-1]["names"]
    assert {"head", "steps", "nodes", "values"} <= set(names)
    assert {name for name in PANELS[panel] if name not in ("planners", "tiling", "kernel", "log")} <= set(names)
    if panel != "graph":
        assert "scenes" not in names


def test_every_panel_of_the_front_end_is_known():
    from pathlib import Path

    folder = Path(__file__).parents[3] / "widgets" / "src" / "tabs"
    named = {
        name: tuple(re.findall(r'"(\w+)"', needs))
        for file in folder.glob("*.ts")
        for name, needs in re.findall(r'name: "(\w+)",\s*title: "[^"]+",\s*needs: \[([^\]]*)\]', file.read_text())
    }
    assert set(named) | {"graph"} == set(PANELS)
    always = {"head", "steps", "nodes", "values"}
    for name, needs in named.items():
        assert set(needs) - always <= set(PANELS[name]), name


def test_no_such_panel(compiled):
    with pytest.raises(OptionError, match="there are graph, memory"):
        PanelWidget(compiled, "colours")


def test_controls_change_the_explorer_and_follow_it(compiled):
    widget = Explorer(compiled)
    controls = Controls(widget)
    assert "matmul_bias" in controls.rules
    controls.rules["matmul_bias"].value = False
    assert widget.wait(60)
    assert widget.compilation.options.fusion == {"matmul_bias": False}
    controls.choices["memory"].value = "safe"
    assert widget.wait(60)
    assert widget.compilation.options.memory == "safe"
    assert widget.compilation.options.fusion == {"matmul_bias": False}
    widget._handle_custom_msg({"type": "reset", "sequence": 100}, [])
    assert widget.wait(60)
    time.sleep(0.05)
    assert controls.rules["matmul_bias"].value is True
    assert controls.choices["memory"].value == "balanced"


def test_controls_that_come_later_show_what_was_changed_before(compiled):
    widget = Explorer(compiled)
    widget.change(fusion={"matmul_bias": False}, memory="safe")
    assert widget.wait(60)
    controls = Controls(widget)
    assert controls.rules["matmul_bias"].value is False
    assert controls.choices["memory"].value == "safe"
    assert set(widget.controls(every=True).rules) > set(controls.rules)


def still_of(widget):
    """The picture that comes with a widget, for whoever cannot show widgets."""
    return html.unescape(html.unescape(widget._repr_mimebundle_()[0]["text/html"]))


def test_a_still_of_the_graph_shows_the_step_that_is_chosen(compiled):
    busy = [step for step in compiled.steps if step.rewrites]
    first, last = busy[0], busy[-1]
    assert f"{first.index} {first.name}</h2>" in still_of(compiled.widget("graph", selection={"step": first.name}))
    assert f"{first.index} {first.name}</h2>" in still_of(compiled.widget("graph", selection={"step": first.index}))
    for nothing in ({}, {"step": "none of them"}, {"step": 10_000}, {"step": None}):
        assert f"{last.index} {last.name}</h2>" in still_of(compiled.widget("graph", selection=nothing))


def test_a_still_of_a_kernel_shows_the_one_that_is_chosen(compiled):
    kernel = next(kernel for kernel in compiled.kernels.distinct if kernel.programs)
    for panel in ("kernel", "tiling"):
        assert "Bytes that it moves" in still_of(compiled.widget(panel, selection={"node": kernel.nodes[0]}))
        assert "what it computes" in still_of(compiled.widget(panel, selection={"node": "none of them"}))


def test_an_observer_is_told_what_is_chosen_by_python_and_by_the_page(compiled):
    widget, told = Explorer(compiled), []
    widget.observe(lambda change: told.append(change["new"]), names="selection")
    widget.selection = {"node": "a"}
    widget.set_state({"selection": {"step": "matmul_bias", "rewrite": 1}})
    assert told == [{"node": "a"}, {"step": "matmul_bias", "rewrite": 1}]


def test_controls_say_what_they_are_in_a_few_words(compiled):
    controls = Explorer(compiled).controls()
    assert repr(controls) == f"Controls({len(controls.rules)} rules of {Explorer(compiled)!r})"
