"""Row 22: the second article's example, with the words that it prints."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from gexplorer import ge
from gexplorer.articles.row import Row, says

_MODEL = "simple-attention:weights=random"


class MinimalExample(Row):
    """SimpleAttention at 1 x 2048 x 768: options, graph, build, export, load, run, under the article's names."""

    row = 22
    title = "The minimal example: ge.init, GraphOptions, Graph, build_graph, export, Session"
    article = says(log="Planning completed, fusion 12 operators", fused=12)
    note = (
        "The article counts 12 fused operators of a model with no more than four linear layers and one attention, and "
        "does not say how. Here every rewrite of a fusion rule counts once. The model runs on this CPU, in the memory "
        "that was planned."
    )

    def compute(self) -> Mapping[str, object]:
        """What is printed, what was built, and what one run gives."""
        said = StringIO()
        ge.init()
        try:
            with TemporaryDirectory() as folder, redirect_stdout(said):
                graph = ge.build_graph(ge.Graph("attention"), _MODEL, ge.GraphOptions(enable_mem_reuse=True))
                path = graph.export(Path(folder) / "attention.om")
                size_bytes = path.stat().st_size
                session = ge.session.Session()
                session.load_model(path)
                x = np.random.default_rng(0).standard_normal((1, 2048, 768)).astype(np.float32)
                y = session.run(x)
        finally:
            ge.finalize()
        built = graph.compilation
        assert built is not None
        return {
            "log": next(line for line in said.getvalue().splitlines() if "Planning completed" in line),
            "fused": sum(len(step.rewrites) for step in built.steps if step.is_fusion),
            "kernels": len(built.graph),
            "om_bytes": size_bytes,
            "result_shape": list(y.shape),
            "finite": bool(np.isfinite(y).all()),
        }
