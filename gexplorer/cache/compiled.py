"""Compiles a model, or parts of it one by one, unless the cache has what would come of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from gexplorer.cache.key import compilation_key, graph_digest
from gexplorer.cache.store import Store
from gexplorer.compiler import compile_source
from gexplorer.errors import ModelError
from gexplorer.frontends.onnx import SourceModel
from gexplorer.frontends.parts import part_model, part_of_scope, parts_between
from gexplorer.offline.model import OfflineModel
from gexplorer.ops.shapes import bind_inputs, infer_graph, with_types
from gexplorer.options import Options
from gexplorer.progress import Tell


@dataclass(frozen=True, slots=True)
class Part:
    """One compiled part.

    Attributes:
        name: the model's name, or the part's behind it.
        key: what it was made of.
        path: its offline model in the cache.
        hit: whether it was there already.
        seconds: wall-clock time: of finding it, or of compiling and saving it.
        nodes: nodes before compiling.
    """

    name: str
    key: str
    path: Path
    hit: bool
    seconds: float
    nodes: int


def compile_parts(
    source: SourceModel,
    options: Options,
    store: Store,
    *,
    scopes: Sequence[str] = (),
    cuts: Sequence[str] = (),
    tell: Tell | None = None,
) -> list[Part]:
    """Compiles a model, its modules, or the parts of a pipeline, each as an offline model of its own.

    Args:
        source: the model.
        options: what is asked for; shapes are those of the whole model's inputs.
        store: where compiled parts are kept.
        scopes: modules to compile, such as ``encoder`` and ``decoder``; nodes outside of them are left out.
        cuts: tensors to cut the model at.
        tell: called before each pass.

    Raises:
        OptionError: there is no such module or tensor, or a part cannot run by itself.
        ModelError: a part was validated, and is wrong.
    """
    if not scopes and not cuts:
        return [_one(source, options, store, tell)]
    bound = bind_inputs(source.graph, options.shapes)
    typed = with_types(bound, infer_graph(bound))
    parts = [part_of_scope(typed, scope) for scope in scopes] + (parts_between(typed, cuts) if cuts else [])
    inside = replace(options, shapes={})  # the types of a part's inputs say them
    return [_one(part_model(source, part, graph_digest(part)), inside, store, tell) for part in parts]


def _one(source: SourceModel, options: Options, store: Store, tell: Tell | None) -> Part:
    start = perf_counter()
    key = compilation_key(source.graph, options)
    found = store.find(key, _checked)
    if found is None:
        compiled = compile_source(source, options, tell=tell)
        if compiled.validation.status == "failed":
            raise ModelError(f"{source.name}: validation failed, nothing is kept: {compiled.validation.reason}")
        found = store.put(key, compiled.save)
        return Part(source.name, key, found, False, perf_counter() - start, source.nodes)
    return Part(source.name, key, found, True, perf_counter() - start, source.nodes)


def _checked(path: Path) -> Path:
    OfflineModel(path).check()
    return path
