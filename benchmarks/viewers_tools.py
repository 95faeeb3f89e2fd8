"""The viewers: how each is started, when its graph is shown, and what is shown then."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Interpreter of the peers, the model, a folder to write to, a free port; what to run.
Command = Callable[[str, Path, Path, int], list[str]]
PAGE = "report.html"
# The picture has gone over to another step, which it does in motion.
MOVED = "await new Promise(done => setTimeout(done, 800))"
# One after the other, as a double click does it; then the whole in view.
OPEN = """(() => { const { graph } = gexplorer.explorer;
    for (;;) {
        const { scene } = graph.stage;
        const box = Array.from({ length: scene.count }, (_, i) => i)
            .find(i => scene.member[i] < 0 && scene.path[i] && !scene.open[i]);
        if (box === undefined) break;
        graph.open(box);
    }
    graph.fit(); })()"""
# The picture stands where it stood when this was last asked.
STILL = """(() => { const { x, y, k } = gexplorer.explorer.graph.camera, was = window.camera_was;
    return (window.camera_was = `${x} ${y} ${k}`) === was; })()"""
# Where Model Explorer's picture is; it changes when another graph is fitted in.
ZOOM = "document.querySelector('webgl-renderer .zoom-target').getAttribute('transform')"


@dataclass(frozen=True)
class Viewer:
    """A viewer in a browser.

    Attributes:
        name: of its row.
        packages: of the interpreter of the peers; nothing is run where one is missing.
        command: what is run before the page is opened: it ends by itself, or serves.
        serves: it prints the address of the page and goes on; otherwise ``PAGE`` is in the folder when it has ended.
        shown: expression that is true when the page says that the graph stands.
        says: the same in words.
        area: selector of where the graph is drawn; ``shown`` counts only once pixels differ in the middle of it.
        boxes: expression for how many nodes are drawn, None where the page does not tell.
        shows: what is shown then, in words.
        before: expression that answers what the page asks before it begins; it does nothing else.
        unfold: expression that opens all that is folded, None where nothing is.
        unfolded: expression that is true when that is done.
    """

    name: str
    packages: tuple[str, ...]
    command: Command
    serves: bool
    shown: str
    says: str
    area: str
    boxes: str | None
    shows: str
    before: str = "0"
    unfold: str | None = None
    unfolded: str = "true"


def _report(variants: str) -> Command:
    def command(python: str, model: Path, folder: Path, port: int) -> list[str]:
        page = str(folder / PAGE)
        return [sys.executable, "-m", "gexplorer", "report", str(model), "--variants", variants, "-o", page]

    return command


def _netron(python: str, model: Path, folder: Path, port: int) -> list[str]:
    return [python, "-c", "import netron; netron.main()", str(model), "--host", "127.0.0.1", "--port", str(port)]


def _model_explorer(python: str, model: Path, folder: Path, port: int) -> list[str]:
    flags = ["--no_open_in_browser", "--extensions=model_explorer_onnx", "--host=127.0.0.1", f"--port={port}"]
    return [python, "-m", "model_explorer", str(model), *flags]


def _ours(name: str, variants: str) -> Viewer:
    return Viewer(
        name=name,
        packages=(),
        command=_report(variants),
        serves=False,
        shown="document.documentElement.dataset.gexplorer === 'complete'",
        says="all parts of the page are unpacked (`html[data-gexplorer=complete]`)",
        area=".gx-canvas",
        boxes="gexplorer.explorer.graph.stage.scene.count",
        shows="the compiled result, kernels within folded modules, repeated blocks as one with their number; all "
        "opened, the model as read with the repeats still as one",
        unfold=f"(async () => {{ gexplorer.store.move({{step: 0}}); {MOVED}; {OPEN}; }})()",
        unfolded=STILL,
    )


OURS = "gexplorer report"
VIEWERS = (
    _ours(OURS, "fitting"),
    _ours("gexplorer report --variants none", "none"),
    Viewer(
        name="Netron",
        packages=("netron",),
        command=_netron,
        serves=True,
        shown="document.body.classList.contains('default') && document.querySelectorAll('#target g.node').length > 0",
        says="the body is of class `default` and there are `g.node` in the SVG",
        area="#target",
        boxes="document.querySelectorAll('#target g.node').length",
        shows="the whole graph, flat, weights within their users and Constant nodes as boxes",
        before="""document.body.classList.contains('notification')
            && document.getElementById('message-text').innerText.includes('cookies')
            && document.getElementById('message-button').click()""",
    ),
    Viewer(
        name="Model Explorer",
        packages=("ai-edge-model-explorer", "model-explorer-onnx"),
        command=_model_explorer,
        serves=True,
        shown="""document.querySelector('webgl-renderer canvas.main')?.clientWidth > 0
            && !/Processing|Loading|Please wait/.test(document.body.innerText)""",
        says="`webgl-renderer` has its canvas and no text says Processing, Loading or Please wait",
        area="webgl-renderer canvas.main",
        boxes=None,
        shows="the outermost layer folded: Input, main_graph, Output",
        unfold=f"window.folded = {ZOOM}; document.querySelector('.bubble.expand-all').click()",
        unfolded=f"{ZOOM} !== window.folded && !/Processing|Please wait/.test(document.body.innerText)",
    ),
)
