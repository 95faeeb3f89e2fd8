"""Row 21: parts compiled apart and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from gexplorer.articles.row import Row, says
from gexplorer.cache.compiled import Part, compile_parts
from gexplorer.cache.store import Store
from gexplorer.frontends.load import load
from gexplorer.options import Options

_MODEL = "bert-base:small=true,layers=4"
_PARTS = ("embeddings", "encoder", "pooler")


class SplitCompile(Row):
    """A small BERT by its modules, compiled into an empty cache, again, and again with another option."""

    row = 21
    title = "Parts of a model compiled separately, each offline model kept"
    article = says(parts="encoder, decoder", kept_as="encoder.om, decoder.om", second_time="loaded, not compiled")
    note = (
        "What is kept is found by its content: the part's graph, the bytes of its weights, the options, the chip and "
        "this program. So the second time is a hit, and another option is none."
    )

    def compute(self) -> Mapping[str, object]:
        """Parts with their seconds and bytes: the first time, the second, and with memory planned safely."""
        source = load(_MODEL)
        with TemporaryDirectory() as folder:
            store = Store(Path(folder) / "cache")
            first, second, other = (
                compile_parts(source, options, store, scopes=_PARTS)
                for options in (_options("balanced"), _options("balanced"), _options("safe"))
            )
            return {
                "parts": [_line(a, b) for a, b in zip(first, second, strict=True)],
                "hits": {"first": _hits(first), "second": _hits(second), "other_option": _hits(other)},
                "files": len(store.entries()),
            }


def _options(memory: str) -> Options:
    return Options(memory=memory, validate="off")


def _line(first: Part, second: Part) -> dict[str, object]:
    return {
        "part": first.name.rpartition("/")[2],
        "nodes": first.nodes,
        "om_bytes": first.path.stat().st_size,
        "compiled_ms": round(1e3 * first.seconds, 1),
        "found_ms": round(1e3 * second.seconds, 1),
    }


def _hits(parts: Sequence[Part]) -> int:
    return sum(part.hit for part in parts)
