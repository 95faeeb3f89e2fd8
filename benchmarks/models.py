"""The models to measure on, written by name: ``python -m benchmarks.models NAME FOLDER``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ZOO = ("qwen2.5-7b", "mixtral-8x7b")
EXPORT = "qwen28"  # a real export with weights; it lies beside the repository, if at all
SYNTHETIC = {"synthetic-1k": 1_000, "synthetic-10k": 10_000, "synthetic-100k": 100_000}
NAMES = (*ZOO, EXPORT, *SYNTHETIC)
EXPORT_FILE = Path(__file__).parents[2] / "shared" / "corpus" / "exports" / f"{EXPORT}.onnx"


@dataclass(frozen=True)
class Prepared:
    """A model ready to be measured.

    Attributes:
        name: one of ``NAMES``.
        path: its file.
        sparse: the same with a weight file of nothing but zeros that takes no room on disk, for tools that do not
            start without one; ``path`` again where the weights are in the file.
        nodes: nodes of its outermost graph, Constant nodes apart.
        weight_bytes: bytes of its weight file, 0 where the weights are in the model's file.
    """

    name: str
    path: str
    sparse: str
    nodes: int
    weight_bytes: int = 0


def write(name: str, folder: Path) -> Prepared:
    """Writes a model (and its sparse weight file) into a folder."""
    if name in ZOO:
        return _write_zoo(name, folder)
    if name == EXPORT:
        import onnx

        return Prepared(name, str(EXPORT_FILE), str(EXPORT_FILE), count(onnx.load(EXPORT_FILE)))
    return write_synthetic(name, SYNTHETIC[name], folder)


def write_synthetic(name: str, nodes: int, folder: Path) -> Prepared:
    """Writes a synthetic model of about so many nodes."""
    import onnx

    from benchmarks.synthetic import build

    model, path = build(nodes), str(folder / f"{name}.onnx")
    onnx.save(model, path)
    return Prepared(name, path, path, count(model))


def _write_zoo(name: str, folder: Path) -> Prepared:
    import onnx
    import onnx_ir

    from gexplorer.frontends import zoo

    path, sparse = folder / "bare" / f"{name}.onnx", folder / "sparse" / f"{name}.onnx"
    model = onnx_ir.to_proto(zoo.build(name))
    for file in (path, sparse):
        file.parent.mkdir(exist_ok=True)
        onnx.save(model, file)
    weight_bytes = 0
    for location, end in _external_ends(model):
        weight_bytes = max(weight_bytes, end)
        with (sparse.parent / location).open("ab") as data:
            data.truncate(weight_bytes)
    return Prepared(name, str(path), str(sparse), count(model), weight_bytes)


def _external_ends(model: object) -> Iterator[tuple[str, int]]:
    """For every weight: the file it lies in and the first byte behind it."""
    for tensor in model.graph.initializer:  # type: ignore[attr-defined]
        place = {entry.key: entry.value for entry in tensor.external_data}
        if place:
            yield place["location"], int(place.get("offset", 0)) + int(place["length"])


def count(model: object) -> int:
    """Nodes of a ModelProto's outermost graph, Constant nodes apart."""
    return sum(node.op_type != "Constant" for node in model.graph.node)  # type: ignore[attr-defined]


if __name__ == "__main__":
    wanted, target = sys.argv[1], Path(sys.argv[2])
    made = write_synthetic(wanted, int(wanted), target) if wanted.isdigit() else write(wanted, target)
    print(json.dumps(asdict(made)))
