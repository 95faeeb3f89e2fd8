"""The key of a compiled part: SHA-256 over everything that the compilation depends on."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex

import gexplorer.errors
from gexplorer.hardware.catalogue import load_chip
from gexplorer.ir.constant import Constant, FileSource
from gexplorer.ir.dtypes import DType
from gexplorer.ir.graph import Graph
from gexplorer.ir.text import to_text
from gexplorer.memory.planners.registry import all_planners
from gexplorer.options import Options

_CHUNK_BYTES = 1 << 24


def graph_digest(graph: Graph) -> str:
    """SHA-256 of what a graph computes, the bytes of its constants included.

    Constants whose bytes are missing count by the place that they should be at. Data files are read once each.
    """
    digest = hashlib.sha256(to_text(graph).encode(errors="surrogatepass"))
    for name, constant in _constants(graph):
        digest.update(f"\n{len(name)}:{name}:".encode(errors="surrogatepass"))
        digest.update(_content(constant))
    return digest.hexdigest()


def compilation_key(graph: Graph, options: Options) -> str:
    """The key of what comes of compiling a graph with some options by this version of gexplorer."""
    parts = {
        "graph": graph_digest(graph),
        "options": options.as_dict(),
        "switches": [*options.fusion],  # of two that mean the same rule, the later one holds
        "from elsewhere": _from_elsewhere(options),
        "chip": repr(sorted(load_chip(options.soc).values.items())),
        "gexplorer": program_digest(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@cache
def program_digest() -> str:
    """SHA-256 of this program: its version, and size and time of change of its files, so that an edit counts too.

    The versions of the libraries that infer shapes and fold constants are in it.
    """
    folder = Path(gexplorer.errors.__file__).parent
    digest = hashlib.sha256(" ".join(map(version, ("gexplorer", "numpy", "onnx"))).encode())
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".yaml", ".csv"):
            status = path.stat()
            digest.update(f"{path.relative_to(folder)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _from_elsewhere(options: Options) -> list[str]:
    """The passes that would run and the planners that are no files of this program, each with a digest of its file.

    What is from no file (a notebook's) counts as new each time: nobody can tell whether it was changed.
    """
    found: list[str] = []
    for one in (*options.plan().passes, *all_planners()):
        if one.__module__.partition(".")[0] == "gexplorer":
            continue
        file = getattr(sys.modules.get(one.__module__), "__file__", None)
        content = hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else token_hex()
        found.append(f"{one.__module__}.{one.__qualname__} {content}")
    return found


def _constants(graph: Graph) -> Iterator[tuple[str, Constant]]:
    """Every constant with its name, those of bodies, nested graphs and attributes included, in a fixed order."""
    for name in sorted(graph.values):
        constant = graph.values[name].constant
        if constant is not None:
            yield name, constant
    for name in sorted(graph.defaults):
        yield f"default {name}", graph.defaults[name]
    for node in graph.order:
        for key in sorted(node.attributes):
            value = node.attributes[key]
            if isinstance(value, Constant):
                yield f"{node.name}.{key}", value
        for inner in (*node.graphs, *((node.body,) if node.body is not None else ())):
            yield from _constants(inner)


def _content(constant: Constant) -> bytes:
    source = constant.source
    if isinstance(source, FileSource):
        place = f"{source.location}:{source.offset}:{source.nbytes}"
        if not source.available:
            return f"missing {place}".encode()
        status = source.path.stat()
        content = _file_digest(source.path, status.st_size, status.st_mtime_ns, status.st_ino)
        return f"file {content} {source.offset}:{source.nbytes}".encode()
    if not constant.available:
        return f"unavailable {constant.dtype.label} {constant.shape} {source.key}".encode()
    array = constant.array()
    if constant.dtype == DType.STRING:  # an array of objects
        return json.dumps([text.hex() for text in array.reshape(-1)]).encode()
    return hashlib.sha256(array.tobytes()).digest()


@cache
def _file_digest(path: Path, size_bytes: int, changed_ns: int, inode: int) -> str:
    """SHA-256 of a file; size, time of change and inode only say when it must be read again."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
