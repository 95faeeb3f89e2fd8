"""Attention masks as transformers builds them: booleans (batch, 1, queries, keys), true where allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gexplorer.frontends.zoo import aten
from gexplorer.frontends.zoo.tokens import sum_of

if TYPE_CHECKING:
    import onnx_ir as ir

    from gexplorer.frontends.zoo.entry import Dim
    from gexplorer.frontends.zoo.tokens import Tokens
    from gexplorer.frontends.zoo.writer import Writer


def find_positions(w: Writer, tokens: Tokens) -> ir.Value:
    """Positions (1, seq): those after the cache."""
    return aten.unsqueeze(w, _arange_from(w, tokens.seq, tokens.past), 0)


def causal_mask(w: Writer, tokens: Tokens, positions: ir.Value) -> ir.Value:
    """A token attends to itself and to those before it.

    Without a cache, transformers also looks for several texts packed into one row (positions that do not go
    up by one) and keeps them apart; the nodes of that search are part of every exported prefill.
    """
    shape = (tokens.batch, 1, tokens.seq, tokens.total)
    sizes = (tokens.batch_size, 1, tokens.seq, tokens.total)
    if tokens.past != 0:
        queries = _arange_from(w, tokens.seq, tokens.past)
        keys = _arange_from(w, tokens.total)
        query, key = _query_axis(w, queries), _key_axis(w, keys)
        allowed = _both(w, _all_true(w), _not_after(w, key, query))
        return aten.expand(w, allowed, shape, sizes)
    texts = _number_texts(w, tokens, positions)
    rows = (tokens.batch_size, 1)
    positions = aten.expand(w, positions, (tokens.batch, tokens.seq), rows)
    if tokens.batch != 1:
        # The exporter leaves one row here and thereby fixes the batch to 1; other batches need them all.
        texts = aten.expand(w, texts, (tokens.batch, tokens.seq), rows)
    row, queries, keys = _arange_axes(w, tokens)
    row, query, key = _batch_axis(w, row), _query_axis(w, queries), _key_axis(w, keys)
    true = _all_true(w)
    at_query, at_key = aten.index(w, positions, row, query), aten.index(w, positions, row, key)
    allowed = _both(w, true, _not_after(w, at_key, at_query))
    at_query, at_key = aten.index(w, texts, row, query), aten.index(w, texts, row, key)
    same = aten.binary(w, "Equal", "aten.eq.Tensor", at_query, at_key, aten.BOOL)
    return aten.expand(w, _both(w, allowed, same), shape, sizes)


def padding_mask(w: Writer, tokens: Tokens, attention_mask: ir.Value) -> ir.Value:
    """Every token attends to all tokens that ``attention_mask`` (batch, seq) marks with other than 0."""
    marked = aten.to_copy(w, attention_mask, aten.BOOL)
    row, queries, keys = _arange_axes(w, tokens)
    row = _batch_axis(w, aten.slice_(w, row, 0))
    query, key = _query_axis(w, queries), _key_axis(w, keys)
    true = _all_true(w)
    with w.call("aten.ge.Scalar"):
        shape = (1, 1, tokens.seq, 1)
        bidirectional = w.result("GreaterOrEqual", query, w.constant(0), shape=shape, dtype=aten.BOOL)
    allowed = _both(w, true, bidirectional)
    allowed = _both(w, allowed, aten.index(w, marked, row, key))
    sizes = (tokens.batch_size, 1, tokens.seq, tokens.seq)
    return aten.expand(w, allowed, (tokens.batch, 1, tokens.seq, tokens.seq), sizes)


def _number_texts(w: Writer, tokens: Tokens, positions: ir.Value) -> ir.Value:
    """The number of the text that each token (1, seq) belongs to, counted up where positions break off."""
    seq = tokens.seq
    first = aten.slice_(w, positions, 1, 0, 1, size=1)
    before = aten.with_scalar(w, "Sub", "aten.sub.Tensor", first, 1)
    extended_size = seq + 1 if isinstance(seq, int) else f"{seq} + 1"
    extended = aten.cat(w, (before, positions), -1, extended_size)
    sum_of(w, 1, seq)
    earlier = aten.slice_(w, extended, -1, 0, seq, size=seq)
    later = aten.slice_(w, extended, -1, 1, extended_size, size=seq)
    step = aten.binary(w, "Sub", "aten.sub.Tensor", later, earlier)
    with w.call("aten.ne.Scalar"):
        regular = w.op("Equal", step, w.constant(1))
        broken = w.result("Not", regular, shape=(1, seq), dtype=aten.BOOL)
    with w.call("prims.convert_element_type.default", "convert_element_type_default"):
        broken = w.result("Cast", broken, shape=(1, seq), dtype=aten.INT64, to=int(aten.INT64))
    with w.call("aten.cumsum.default"):
        last = w.constant(-1)
        return w.result("CumSum", broken, last, shape=(1, seq), dtype=aten.INT64, reverse=0, exclusive=0)


def _arange_axes(w: Writer, tokens: Tokens) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Numbers of rows, queries and keys, without a cache."""
    end = None if isinstance(tokens.batch_size, int) else tokens.batch_size
    rows = aten.arange(w, tokens.batch, end)
    return rows, _arange_from(w, tokens.seq), _arange_from(w, tokens.seq)


def _arange_from(w: Writer, size: Dim, start: Dim = 0) -> ir.Value:
    """The ``size`` integers from ``start``."""
    numbers = aten.arange(w, size)
    with w.call("aten.add.Tensor"):
        return w.result("Add", numbers, w.size(start), shape=(size,), dtype=aten.INT64)


def _all_true(w: Writer) -> ir.Value:
    """The boolean scalar that masks start from."""
    with w.call("aten.new_ones.default"):
        one = w.op("Constant", value_float=1.0)
        ones = w.op("Expand", one, w.own_constant([], aten.INT64))
        return w.result("Cast", ones, shape=(), dtype=aten.BOOL, to=int(aten.BOOL))


def _both(w: Writer, left: ir.Value, right: ir.Value) -> ir.Value:
    return aten.binary(w, "And", "aten.bitwise_and.Tensor", left, right)


def _not_after(w: Writer, key: ir.Value, query: ir.Value) -> ir.Value:
    return aten.binary(w, "LessOrEqual", "aten.le.Tensor", key, query, aten.BOOL)


def _batch_axis(w: Writer, numbers: ir.Value) -> ir.Value:
    """(batch,) to (batch, 1, 1, 1)."""
    for axis in (1, 2, 3):
        numbers = aten.unsqueeze(w, numbers, axis)
    return numbers


def _query_axis(w: Writer, numbers: ir.Value) -> ir.Value:
    """(queries,) to (1, 1, queries, 1)."""
    numbers = aten.unsqueeze(w, aten.unsqueeze(w, numbers, 0), 1)
    return aten.unsqueeze(w, aten.slice_(w, numbers, 2), 3)


def _key_axis(w: Writer, numbers: ir.Value) -> ir.Value:
    """(keys,) to (1, 1, 1, keys)."""
    for axis in (0, 1, 2):
        numbers = aten.unsqueeze(w, numbers, axis)
    return aten.slice_(w, numbers, 3)
