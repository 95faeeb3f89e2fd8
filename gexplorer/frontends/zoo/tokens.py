"""How many tokens a call of a language model sees, and where the graph reads the numbers that have names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gexplorer.frontends.zoo import aten
from gexplorer.frontends.zoo.writer import dims_of

if TYPE_CHECKING:
    import onnx_ir as ir

    from gexplorer.frontends.zoo.entry import Dim
    from gexplorer.frontends.zoo.writer import Writer


@dataclass(frozen=True, slots=True)
class Tokens:
    """The sizes that attention needs.

    Attributes:
        batch: sequences.
        seq: tokens of this call in each.
        past: tokens in the cache.
        total: past + seq.
        batch_size: ``batch`` as masks use it: a number, or the scalar that holds it.
    """

    batch: Dim
    seq: Dim
    past: Dim
    total: Dim
    batch_size: int | ir.Value


def read_tokens(w: Writer, ids: ir.Value, batch: Dim, seq: Dim, cached_key: ir.Value | None = None) -> Tokens:
    """Read the named sizes of ``ids`` (batch, seq) and of a cached key (batch, heads, past, size)."""
    past: Dim = 0 if cached_key is None else dims_of(cached_key)[2]
    batch_size: int | ir.Value | None = batch if isinstance(batch, int) and isinstance(seq, int) else None
    if batch_size is None:
        # With either named, the exporter reads the batch: even a batch that it has fixed in all other places.
        batch_size = read_size(w, ids, 0)
        if isinstance(batch, str):
            w.bind(batch, batch_size)
    if isinstance(seq, str):
        w.bind(seq, read_size(w, ids, 1))
    if isinstance(past, str):
        assert cached_key is not None
        w.bind(past, read_size(w, cached_key, 2))
    if isinstance(batch_size, int):
        return Tokens(batch, seq, past, sum_of(w, past, seq), batch_size)
    with w.outside_modules(), w.call("<built-in function eq>", "eq"):
        w.constant(1)  # of a guard on the batch, whose comparison is gone by the time the graph is written
    return Tokens(batch, seq, past, sum_of(w, past, seq), batch_size)


def read_size(w: Writer, source: ir.Value, axis: int) -> ir.Value:
    """The size of an axis of an input as a scalar, read when the model runs."""
    with w.outside_modules(), w.call("aten.sym_size.int", "sym_size_int"):
        part = w.op("Shape", source, end=axis + 1, start=axis)
        return w.result("Squeeze", part, shape=(), dtype=aten.INT64)


def sum_of(w: Writer, left: Dim, right: Dim) -> Dim:
    """The size ``left + right``; if it is not a number, it is computed when the model runs."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if 0 in (left, right):
        return left or right
    name = f"{left} + {right}" if isinstance(left, str) else f"{right} + {left}"
    with w.call("<built-in function add>", "add"):
        w.bind(name, w.result("Add", w.size(left), w.size(right), shape=(), dtype=aten.INT64))
    return name


def product_of(w: Writer, left: Dim, right: Dim) -> Dim:
    """The size ``left * right``; if it is not a number, it is computed when the model runs."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if 1 in (left, right):
        return right if left == 1 else left
    name = f"{left}*{right}" if isinstance(right, str) else f"{right}*{left}"
    with w.call("<built-in function mul>", "mul"):
        w.bind(name, w.result("Mul", w.size(left), w.size(right), shape=(), dtype=aten.INT64))
    return name
