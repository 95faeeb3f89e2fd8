"""ONNX files, protobuf messages and ``onnx_ir`` models -> Graph.

Nothing is executed, no weight is read, and no file is opened but the model and, when a weight is asked for later,
the data files that it names inside its own folder.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from gexplorer.errors import ModelError, reason_of
from gexplorer.frontends.external_data import WeightFolder
from gexplorer.frontends.functions import inline
from gexplorer.frontends.onnx_graph import GraphReader
from gexplorer.frontends.onnx_texts import require_text
from gexplorer.ir.graph import Graph
from gexplorer.ops.signature import check_signatures

if TYPE_CHECKING:
    import onnx
    import onnx_ir

TEXT_FORMATS = {
    ".pbtxt": "textproto",
    ".textproto": "textproto",
    ".prototxt": "textproto",
    ".json": "json",
    ".onnxjson": "json",
    ".onnxtxt": "onnxtxt",
}


@dataclass(frozen=True, slots=True)
class SourceModel:
    """A model as read.

    Attributes:
        name: file name without folder, or the graph's name.
        sha256: of the file's bytes (of the serialised message where there is no file).
        graph: what it computes.
        nodes: nodes that the file has (Constant nodes included; nested graphs not).
        weight_bytes: bytes of all constants, nested graphs included.
        missing: data files that are named but do not exist.
        seconds: wall-clock time that reading took.
        original: the file, or the model in memory; None for a part of a model.
    """

    name: str
    sha256: str
    graph: Graph
    nodes: int
    weight_bytes: int
    missing: tuple[str, ...]
    seconds: float
    original: Path | onnx.ModelProto | None = field(default=None, repr=False)


def read(source: str | Path | onnx.ModelProto | onnx_ir.Model) -> SourceModel:
    """Reads a model; every fault of the file is a ModelError of one line.

    Args:
        source: path of a ``.onnx`` file (or ``.onnx.pbtxt``, ``.onnx.json``, ``.onnxtxt``), or a model in memory.
    """
    import onnx

    start = perf_counter()
    if isinstance(source, str | Path):
        path = Path(source)
        proto, sha256 = _load(path)
        found = _convert(proto, path.name.encode(errors="replace").decode(), sha256, path.parent, start)
        return replace(found, original=path.absolute())
    if not isinstance(source, onnx.ModelProto):
        import onnx_ir

        source = onnx_ir.to_proto(source)
    data = source.SerializeToString(deterministic=True)
    found = _convert(source, source.graph.name or "model", hashlib.sha256(data).hexdigest(), None, start)
    return replace(found, original=source)


def _load(path: Path) -> tuple[onnx.ModelProto, str]:
    import onnx
    from google.protobuf.message import DecodeError
    from google.protobuf.text_format import ParseError as TextError

    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ModelError(f"{path}: not a file")
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: {getattr(error, 'strerror', error)}") from None
    if not data:
        raise ModelError(f"{path}: the file is empty")
    text_format = TEXT_FORMATS.get(path.suffix.lower())
    try:
        if text_format is None:
            proto = onnx.ModelProto.FromString(data)
        elif text_format == "onnxtxt":
            proto = onnx.parser.parse_model(data.decode())
        else:
            proto = onnx.load_model_from_string(data, text_format)
    except DecodeError:
        raise ModelError(f"{path}: not an ONNX model, or a truncated one") from None
    except (TextError, json.JSONDecodeError, ValueError, onnx.parser.ParseError) as error:
        raise ModelError(f"{path}: not an ONNX model in {text_format} form: {reason_of(error)}") from None
    except Exception as error:
        if type(error).__module__.startswith("google.protobuf"):
            raise ModelError(f"{path}: not an ONNX model in {text_format} form: {reason_of(error)}") from None
        raise
    return proto, hashlib.sha256(data).hexdigest()


def _convert(proto: onnx.ModelProto, name: str, sha256: str, folder: Path | None, start: float) -> SourceModel:
    if not proto.HasField("graph"):
        raise ModelError(f"{name}: the file holds no graph; it is not an ONNX model")
    opsets = _opsets(proto, name)
    require_text(proto)
    if proto.functions:
        proto = inline(proto, name)
        opsets = _opsets(proto, name)
    reader = GraphReader(opsets, WeightFolder(folder), proto.ir_version)
    graph = reader.read_graph(proto.graph, {}, root=True)
    _require_opsets(graph, graph.opsets, name)
    check_signatures(graph)
    return SourceModel(
        name, sha256, graph, len(proto.graph.node), reader.weight_bytes, reader.folder.missing, perf_counter() - start
    )


def _opsets(proto: onnx.ModelProto, name: str) -> dict[str, int]:
    import onnx

    newest = onnx.defs.onnx_opset_version()
    opsets: dict[str, int] = {}
    for entry in proto.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if opsets.setdefault(domain, entry.version) != entry.version:
            raise ModelError(f"{name}: operator domain {domain or 'ai.onnx'} is imported in two versions")
    if not opsets and proto.ir_version < 3:
        opsets[""] = 1
    version = opsets.get("", 1)
    if not 1 <= version <= newest:
        raise ModelError(f"{name}: unknown opset {version} of ai.onnx (this onnx knows 1 to {newest})")
    return opsets


def _require_opsets(graph: Graph, opsets: Mapping[str, int], name: str) -> None:
    """Every domain in use must be imported, as the specification of ONNX demands."""
    for node in graph.nodes.values():
        if node.domain not in opsets:
            raise ModelError(
                f"{name}: node {node.name} uses domain {node.domain or 'ai.onnx'}, of which the model imports no opset"
            )
        for nested in node.graphs:
            _require_opsets(nested, opsets, name)
