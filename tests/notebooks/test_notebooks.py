"""The notebooks run from top to bottom, and what they print is the truth that their text tells."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (the extra 'dev')")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (the extra 'dev')")
pytest.importorskip("ipykernel", reason="ipykernel is not installed (the extra 'lab')")

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# For each notebook and cell, what its output must match.
EXPECTED = {
    "01_tour": {
        "compile": r"parse .*\npasses .*\nmemory .*\nschedule .*\nkernels .*\nvalidation .*",
        "passes": r"flash_attention +167 ->   75 nodes    4 rewrites",
        "shown": r"rms_norm(.|\n)*9 rewrites",
        "what_if": r"Compared\(.* rules differ",
        "rewrite": r"operators become one FlashAttentionScore kernel(.|\n)*PanelWidget",
        "why": r"AddRmsNorm(.|\n)*cure: switch add_rms_norm off",
        "run_step": r"largest difference: 0\.0",
        "memory": r"sound: True  no plan is smaller: True(.|\n)*PanelWidget",
        "schedule": r"single .* us(.|\n)*cube_vector .* us",
        "kernels": r"FlashAttentionScore +cube +[\d.]+ us +±\d+% +bound by launch(.|\n)*of 196,608 bytes",
        "validation": r"passed +dry_run(.|\n)*no element differs(.|\n)*passed +pool_execution",
        "offline": r"\(1, 128, 2000\) largest difference: 0\.00\d+",
        "explore": r"Explorer",
        "controls": r"Controls",
        "drive": r"\{'memory': 'safe'\}",
        "report": r"tour\.html [\d,]+ bytes",
    },
    "02_fusion": {
        "blocked": r"'MatMul', 'Reshape', 'Add'(.|\n)*stands between(.|\n)*cure: move",
        "cured": r"\['MatMulBias', 'Reshape'\]",
        "places": r"flash_attention +fused   2",
        "near": r"norm_qkv",
        "every": r"\d+ x \w+ +far",
        "priced": r"would take [\d.]+ us; apart",
    },
    "03_memory": {
        "planners": r"article_literal .*UNSOUND",
        "caught": r"cannot hold(.|\n)*both are alive",
        "what_if": r"price of safety: [\d,]+ bytes",
        "museum": r"(caught +\w+ .*\n?){16}",
    },
    "04_cost_and_kernels": {
        "accuracy": r"gemm +\d+ points, mean error \d+%",
        "rows": r"GateUpMatMul .* us  bound by",
        "tiling": r"of which [\d,]+ fit\nkept out by \{'l0",
        "program": r"kernel GateUpMatMul on Ascend910B3(.|\n)*mmad +cube",
        "over_fusion": r"l1 wants [\d,]+ of 524,288 bytes\n[\d,]+ MiB spill\n.* slower than the best split",
    },
    "05_dynamic_shapes": {
        "free": r"free: \('n',\)",
        "cited": r"45\.0 s \(article A3",
        "served": r"recompile(.|\n)*dynamic(.|\n)*gears .* hits 200 of 200",
        "gears": r"True(.|\n)*True",
        "warm": r"hits 200 of 200",
    },
}


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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_says_what_it_promises(path, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # ipykernel would hide what libraries write to stderr
    monkeypatch.delenv("GEXPLORER_VALIDATE", raising=False)  # as for a user
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        book, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    said = {cell.id: text_of(cell.outputs) for cell in book.cells if cell.cell_type == "code"}
    assert not [name for name, text in said.items() if not text.strip()], "a cell shows nothing"
    for name, pattern in EXPECTED[path.stem].items():
        assert re.search(pattern, said[name]), f"{name}:\n{said[name]}"
    if path.stem == "01_tour":
        kernels = re.search(r"kernels +(\d+) -> +(\d+)", said["what_if"])
        assert kernels
        assert int(kernels[1]) < int(kernels[2]), "without attention kernels there are more"
        assert (tmp_path / "tour.html").stat().st_size > 100_000


def text_of(outputs) -> str:
    """All text of a cell, as it stands there: what is printed may come in pieces, cut anywhere.

    Warnings and logging are no output that a notebook should have.
    """
    texts = []
    for output in outputs:
        assert output.get("name") != "stderr", output["text"]
        texts.append(output["text"] if "text" in output else f"{output['data'].get('text/plain', '')}\n")
    return "".join(texts)
