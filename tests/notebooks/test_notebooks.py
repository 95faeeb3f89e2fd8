"""The notebooks run from top to bottom, and what they print is the truth that their text tells."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (the extra 'dev')")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (the extra 'dev')")
pytest.importorskip("ipykernel", reason="ipykernel is not installed (the extra 'lab')")

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# For each notebook and cell, what its output must match.
EXPECTED = {
    "01_tour": {
        "compile": r"1,060 nodes of the file -> 38 kernels",
        "explore": r"Explorer",
        "parse": r"727 nodes\ninput_ids: int64\[1,128\]\n(.|\n)*parse .*\npasses .*\n(.|\n)*validation .* ms",
        "passes": r"Steps\(85\)",
        "shown": r"flash_attention \(GE: no such rule\): 167 -> 75 nodes\nPanelWidget",
        "why": r"16 near misses\n(.|\n)*cure: switch add_rms_norm off",
        "run_step": r"largest difference: 0\.0",
        "memory": r"pool: [\d,]+ bytes(.|\n)*of 68,719,476,736 bytes\nsound: True  no plan is smaller: True\n",
        "schedule": r"single .* us(.|\n)*cube_vector .* us(.|\n)*Schedule",
        "kernels": r"GraphCost\('Ascend910B3', 38 kernels",
        "fallback": r"0 operators fall back: 0 to the host, 0 to the AI CPU",
        "kernel": r"DistinctKernel\('FlashAttentionScore' of '\w+' and 3 more, cube",
        "validation": r"Validation\(passed; .*dry_run passed, kernel_drift skipped, pool_execution passed",
        "offline": r"\(1, 128, 2000\) largest difference: 0\.00\d+",
        "what_if": r"Compared\(.* rules differ",
        "controls": r"Controls\(\d+ rules of Explorer",
        "drive": r"\{'memory': 'safe'\}",
        "report": r"tour\.html [\d,]+ bytes",
    },
    "02_fusion": {
        "blocked": r"'MatMul', 'Reshape', 'Add'(.|\n)*1 near miss\n.*stands between(.|\n)*cure: move",
        "cured": r"\['MatMulBias', 'Reshape'\]",
        "places": r"flash_attention +fused   2",
        "near": r"5 near misses(.|\n)*norm_qkv at",
        "every": r"taken_here +far\n.*other_operator +far",
        "priced": r"would take [\d.]+ us; apart",
        "one_match": r"12 -> 11\nCompared",
    },
    "03_memory": {
        "plan": r"alive at once: [\d,]+\n(.|\n)*in all [\d,]+ of 68,719,476,736 bytes",
        "planners": r"article_literal .*UNSOUND",
        "caught": r"cannot hold(.|\n)*both are alive",
        "what_if": r"never reuse gelu(.|\n)*price of safety: [\d,]+ bytes",
        "museum": r"(caught +\w+ .*\n?){16}",
    },
    "04_cost_and_kernels": {
        "accuracy": r"gemm +\d+ points, mean error \d+%",
        "rows": r"GateUpMatMul .* us  bound by",
        "fallback": r"Strange +host +[\d.]+ us +CANN's ONNX parser knows no operator Strange",
        "kernel": r"DistinctKernel\('GateUpMatMul'",
        "tiling": r"of which [\d,]+ fit\nkept out by \{'l0(.|\n)*Landscape\(",
        "program": r"kernel GateUpMatMul on Ascend910B3(.|\n)*mmad +cube",
        "over_fusion": r"l1 wants [\d,]+ of 524,288 bytes\n[\d,]+ MiB spill\n.* slower than the best split",
    },
    "05_dynamic_shapes": {
        "free": r"free: \('n',\)",
        "cited": r"45\.0 s \(article A3",
        "served": r"recompile(.|\n)*dynamic(.|\n)*gears .* hits 200 of 200",
        "recompiled": r"(request +\d+: n=\d+ +waits 150 ms\n){16}",
        "gears": r"True(.|\n)*True",
        "warm": r"hits 200 of 200",
    },
}
# Cells that show a result: each has a picture that needs no kernel and no network.
SHOWN = {
    "01_tour": {
        "explore",
        "passes",
        "shown",
        "why",
        "memory",
        "schedule",
        "kernels",
        "kernel",
        "validation",
        "what_if",
    },
    "02_fusion": {"blocked", "near", "one_match", "graph"},
    "03_memory": {"picture"},
    "04_cost_and_kernels": {"roofline", "kernel", "tiling"},
    "05_dynamic_shapes": set(),
}

# A model of a camera: a convolution and a free batch.
CAMERA = """
<ir_version: 10, opset_import: ["": 18]>
camera (float[n, 3, 16, 16] image) => (float[n, 4] y)
<float[8, 3, 3, 3] w1 = {WEIGHT}, float[8] b1 = {0, 0, 0, 0, 0, 0, 0, 0}, float[4, 8] w2 = {DENSE}>
{
    c = Conv<pads = [1, 1, 1, 1]>(image, w1, b1)
    r = Relu(c)
    p = GlobalAveragePool(r)
    f = Flatten(p)
    y = Gemm<transB = 1>(f, w2)
}
"""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_of_a_run_is_in_the_repository(path):
    book = json.loads(path.read_text())
    nbformat.validate(book)
    for cell in book["cells"]:
        assert cell["metadata"] == {}, cell["id"]
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], cell["id"]
            assert cell["execution_count"] is None, cell["id"]
    assert set(book["metadata"]) == {"kernelspec", "language_info"}, "clear all outputs, also the state of widgets"
    assert set(book["metadata"]["language_info"]) == {"name"}, "the version of Python is that of the last run"


def test_every_notebook_is_expected_to_say_something():
    assert [path.stem for path in NOTEBOOKS] == sorted(EXPECTED)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # ipykernel would hide what libraries write to stderr
    monkeypatch.delenv("GEXPLORER_VALIDATE", raising=False)  # as for a user
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))

    def run(book):
        """Runs a notebook as JupyterLab does, which saves no state of widgets unless it is asked to."""
        resources = {"metadata": {"path": str(tmp_path)}}
        nbclient.NotebookClient(
            book, timeout=240, kernel_name="python3", resources=resources, store_widget_state=False
        ).execute()
        return {cell.id: text_of(cell.outputs) for cell in book.cells if cell.cell_type == "code"}

    return run


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_says_what_it_promises(path, tmp_path, run):
    book = nbformat.read(path, as_version=4)
    said = run(book)
    assert not [name for name, text in said.items() if not text.strip()], "a cell shows nothing"
    for name, pattern in EXPECTED[path.stem].items():
        assert re.search(pattern, said[name]), f"{name}:\n{said[name]}"
    if path.stem == "01_tour":
        assert (tmp_path / "tour.html").stat().st_size > 100_000
    pictures = {
        cell.id for cell in book.cells if any("text/html" in o.get("data", {}) for o in cell.get("outputs", ()))
    }
    assert pictures == SHOWN[path.stem]
    page = html_of(book)
    assert page.count("<iframe ") == len(SHOWN[path.stem]), "nbconvert leaves a picture out"


@pytest.mark.parametrize("shapes", ["{}", '{"image": (2, 3, 16, 16)}'], ids=["open", "bound"])
def test_the_tour_takes_any_model(tmp_path, run, shapes):
    """What its text promises: another path in MODEL, sizes in SHAPES, and every cell runs."""
    rng = np.random.default_rng(0)
    numbers = {"WEIGHT": rng.standard_normal(216), "DENSE": rng.standard_normal(32)}
    text = CAMERA
    for name, array in numbers.items():
        text = text.replace(name, ", ".join(f"{x:.4f}" for x in array))
    onnx.save(onnx.parser.parse_model(text), tmp_path / "camera.onnx")
    book = nbformat.read(ROOT / "notebooks" / "01_tour.ipynb", as_version=4)
    (first,) = [cell for cell in book.cells if cell.id == "compile"]
    first.source, changed = re.subn(r'MODEL = "[^"]*"', 'MODEL = "camera.onnx"', first.source)
    first.source, bound = re.subn("SHAPES = {}", f"SHAPES = {shapes}", first.source)
    assert (changed, bound) == (1, 1)
    said = run(book)
    assert "5 nodes of the file" in said["compile"]
    assert "0 operators fall back" in said["fallback"]
    if shapes == "{}":
        assert "no size for n: bind it in SHAPES" in said["compile"]
        assert "it cannot run here: no size for n" in said["run_step"]
        assert "it cannot run here: no size for n" in said["offline"]
    else:
        assert "cannot run" not in said["compile"]
        assert re.search(r"largest difference: [\d.e-]+ of values up to", said["run_step"])
        assert re.search(r"\(2, 4\) largest difference: [\d.e-]+", said["offline"])


def html_of(book) -> str:
    """The notebook as ``jupyter nbconvert --to html`` writes it."""
    nbconvert = pytest.importorskip("nbconvert", reason="nbconvert is not installed (the extra 'lab')")
    return nbconvert.HTMLExporter().from_notebook_node(book)[0]


def text_of(outputs) -> str:
    """All text of a cell, as it stands there: what is printed may come in pieces, cut anywhere.

    Warnings and logging are no output that a notebook should have.
    """
    texts = []
    for output in outputs:
        assert output.get("name") != "stderr", output["text"]
        texts.append(output["text"] if "text" in output else f"{output['data'].get('text/plain', '')}\n")
    return "".join(texts)
