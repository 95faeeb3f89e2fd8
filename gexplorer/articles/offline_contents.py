"""Row 27: what an offline model holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_
from gexplorer.offline.session import load_om

_MODEL = "resnet50:small=true"


class OfflineContents(Row):
    """A small ResNet-50, saved and loaded again; ``gexplorer info`` and ``atc --mode=1 --om=`` show the same."""

    row = 27
    title = "What the offline model holds"
    article = says(
        holds="instruction stream, constants, memory layout",
        shown_by="atc --mode=1 --om=model.om",
        again="as often as wanted, while the shapes of the inputs stay",
    )
    note = (
        "Instructions are calls of kernels, not an NPU's machine code, which cannot be made here. Beside the article's "
        "three, the file holds schedule, tile programs and a digest of every section, so that it runs without the "
        "model and without a search, and a changed byte is found."
    )

    def compute(self) -> Mapping[str, object]:
        """Sections and what is in them; how long compiling takes, and loading."""
        with TemporaryDirectory() as folder:
            start = process_time()
            path = compile_(_MODEL, validate="off").save(Path(folder) / "resnet.om")
            saved = process_time()
            session = load_om(path)
            loaded = process_time()
            model = session.model
            program = session.program
            return {
                "instructions": len(program.instructions),
                "kernels": len(program.kernels),
                "constants": len(program.constants),
                "pool_bytes": session.pool_bytes,
                "file_bytes": path.stat().st_size,
                "compiling_ms": round(1e3 * (saved - start), 1),
                "loading_ms": round(1e3 * (loaded - saved), 1),
                "sections": [
                    {"section": name, "size_bytes": section.size} for name, section in model.container.sections.items()
                ],
            }
