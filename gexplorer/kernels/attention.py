"""The tile program of attention in one kernel: the scores are never whole anywhere (FlashAttention).

A core takes a block of queries of one head and goes along the keys. For each tile of keys the cube computes the
scores, the vector unit turns them into unscaled probabilities against the largest score so far, the cube multiplies
these with the values, and the vector unit adds that to the output so far, scaled down by how much the largest score
has grown (online softmax; source: Milakov and Gimelshein 2018, Dao et al. 2022). What cube and vector unit hand to
each other goes through workspaces in memory where they are cores apart, else from buffer to buffer.

The instructions stand in the order of the data, a tile's second product behind its softmax. A kernel written for speed
issues the next tile's first product before that; it moves the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import TypeVar

from gexplorer.hardware.spec import Chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.affine import Affine, least, variable
from gexplorer.kernels.attention_kernel import AttentionCut, AttentionKernel, Layout, keys_seen
from gexplorer.kernels.gemm import in_order
from gexplorer.kernels.handover import Handover, finishes, starts
from gexplorer.kernels.program import (
    Axis,
    Buffer,
    Instruction,
    Level,
    Loop,
    Mmad,
    Move,
    Pipe,
    Program,
    Slice,
    Span,
    VectorOp,
    one,
    pipe_of,
    tile,
)

_T = TypeVar("_T")
_LOWEST = -3.0e38  # below every score, and still finite when the largest score is taken away from it
_ONE = Span(Affine(), least(1))
_F32 = DType.FLOAT32
_ROW = 16  # strips are a multiple of this many rows where UB holds as many


def attention_program(kernel: AttentionKernel, cut: AttentionCut, chip: Chip, name: str = "FlashAttention") -> Program:
    """The program of attention.

    Inputs are ``q``, ``k``, ``v`` and ``mask``, the output is ``out``, with the axes that the kernel says.

    Args:
        kernel: what is computed.
        cut: queries of a block and keys of a tile.
        chip: the chip.
        name: of the kernel.

    Raises:
        OptionError: a tile is no multiple of what the cube multiplies in a cycle, or a query would see no key.
    """
    kernel.require_possible(cut, chip)
    least_bytes, more = (_ub_bytes(kernel, cut, chip, rows) for rows in (1, 2))
    room = chip.capacity.ub_bytes - (2 * least_bytes - more)
    rows = max(1, min(cut.queries, room // (more - least_bytes)))
    return _Writer(kernel, cut, chip, rows if rows < _ROW else rows // _ROW * _ROW).program(name)


def _ub_bytes(kernel: AttentionKernel, cut: AttentionCut, chip: Chip, rows: int) -> int:
    program = _Writer(kernel, cut, chip, rows).program("")
    return sum(buffer.total_bytes for buffer in program.buffers if buffer.level == "ub")


@dataclass(slots=True)
class _Writer:
    """Puts the program together, with strips of so many rows in UB."""

    kernel: AttentionKernel
    cut: AttentionCut
    chip: Chip
    rows: int
    _buffers: list[Buffer] = field(default_factory=list[Buffer])
    _handovers: list[Handover] = field(default_factory=list[Handover])

    def program(self, name: str) -> Program:
        """The whole."""
        kernel, work = self.kernel, self.kernel.work
        self._memory("q", kernel.shape(kernel.q, work.queries, work.width))
        self._memory("k", kernel.shape(kernel.k, work.keys, work.width))
        self._memory("v", kernel.shape(kernel.v, work.keys, work.columns))
        self._memory("out", kernel.shape(kernel.out, work.queries, work.columns))
        heads = tuple(Axis(f"h{i}", size, 1) for i, size in enumerate(kernel.heads))
        body = self._block()
        return Program(
            name=name,
            chip=self.chip.name,
            split=self._split,
            cores=self.chip.cube_cores,
            buffers=in_order(self._buffers),
            axes=(*heads, Axis("q", work.queries, self.cut.queries)),
            start=starts(*self._handovers),
            body=tuple(body),
            finish=finishes(*self._handovers),
        )

    # The stretches that the loops are at.

    @property
    def _split(self) -> bool:
        return self.chip.cube_vector_path == "gm"

    @property
    def _q(self) -> Span:
        return tile("q", self.cut.queries, self.kernel.work.queries)

    @property
    def _k(self) -> Span:
        seen = keys_seen(self.kernel.work, self.cut).of
        return Span(variable("k"), least(self.cut.keys, *(limit - variable("k") for limit in seen)))

    @property
    def _strip(self) -> Span:
        return Span(variable("r"), least(self.rows, *(limit - variable("r") for limit in self._q.limits)))

    @property
    def _width(self) -> Span:
        return Span(Affine(), least(self.kernel.work.width))

    @property
    def _columns(self) -> Span:
        return Span(Affine(), least(self.kernel.work.columns))

    # The parts of the program.

    def _block(self) -> list[Instruction]:
        """A block of queries: fetch it, clear the state, go along the keys, divide by the total and store."""
        work, cut = self.kernel.work, self.cut
        q_l1 = self._hand("q_l1", "l1", (cut.queries, work.width), work.dtype, "mte2", "mte1")
        q_l0 = self._hand("q_l0a", "l0a", (cut.queries, work.width), work.dtype, "mte1", "cube")
        in_l1, in_l0 = (Slice(name, (self._q.local, self._width)) for name in ("q_l1", "q_l0a"))
        fetch = q_l1.fill(Move(self._tile("q", self.kernel.q, self._q, self._width), in_l1))
        feed = q_l0.fill(*q_l1.use(Move(in_l1, in_l0)))
        for name, columns in (("largest", 1), ("total", 1), ("shrink", 1), ("sums", work.columns)):
            self._buffers.append(Buffer(name, "ub", (cut.queries, columns), _F32))
        rows = self._q.local
        clear = (
            VectorOp("copy", Slice("largest", (rows, _ONE)), (_LOWEST,)),
            VectorOp("copy", Slice("total", (rows, _ONE)), (0.0,)),
            VectorOp("copy", Slice("sums", (rows, self._columns)), (0.0,)),
        )
        probabilities, scores = self._scores(in_l0)
        turn = (*scores, *self._values(probabilities))
        keys = Loop("k", keys_seen(work, cut), cut.keys, turn)
        return [*fetch, *feed, *clear, *q_l0.get, keys, *q_l0.free, self._leave()]

    def _scores(self, q: Slice) -> tuple[Handover, list[Instruction]]:
        """The first product and the softmax, which leaves probabilities in memory or in L1."""
        work, cut = self.kernel.work, self.cut
        load, k_l0, k = self._panel("k", self.kernel.k, self._width, wanted_turned=True)
        scores = Slice("scores_l0c", (self._q.local, self._k.local))
        product = self._hand("scores_l0c", "l0c", (cut.queries, cut.keys), _F32, "cube", "fixpipe")
        compute = product.fill(*k_l0.use(Mmad(scores, q, k)))
        before, into, strip, held = self._to_ub("scores", product, scores, cut.keys)
        masks, mask, mask_row = self._mask()
        leave = self._hand("p_ub", "ub", (self.rows, cut.keys), work.dtype, "vector", "mte3", 2)
        out = Slice("p_ub", (self._strip.local, self._k.local))
        if self._split:
            over = self._hand("p", "gm", (cut.queries, cut.keys), work.dtype, "mte3", "mte2", 2)
        else:
            over = self._hand("p_l1", "l1", (cut.queries, cut.keys), work.dtype, "mte3", "mte1", 2)
        store = Move(out, Slice(over.buffer.name, (self._strip, self._k.local)))
        got = (into, *masks)
        turn = (
            *into.fill(strip[0]),
            *(i for hand in masks for i in hand.fill(*mask)),
            *(i for hand in got for i in hand.get),
            *leave.fill(*self._softmax(strip[1], out, mask, mask_row)),
            *(i for hand in got for i in hand.free),
            *leave.use(store),
        )
        row_load = [i for hand, move in mask_row for i in (*hand.fill(move), *hand.get)]
        row_free = [i for hand, _ in mask_row for i in hand.free]
        strips = Loop("r", least(*self._q.limits), self.rows, turn)
        done = [*load, *compute, *before, *row_load, *over.take, strips, *over.give, *row_free, *held.free]
        return over, done

    def _values(self, p: Handover) -> list[Instruction]:
        """The second product, added to the output so far."""
        work, cut = self.kernel.work, self.cut
        load, v_l0, v = self._panel("v", self.kernel.v, self._columns, wanted_turned=False)
        spans = (self._q.local, self._k.local)
        p_l0 = self._hand("p_l0a", "l0a", (cut.queries, cut.keys), work.dtype, "mte1", "cube")
        in_l0 = Slice("p_l0a", spans)
        if self._split:
            p_l1 = self._hand("p_l1", "l1", (cut.queries, cut.keys), work.dtype, "mte2", "mte1", 2)
            fetch = p_l1.fill(*p.use(Move(Slice("p", spans), Slice("p_l1", spans))))
        else:
            p_l1, fetch = p, ()
        feed = p_l0.fill(*p_l1.use(Move(Slice("p_l1", spans), in_l0)))
        partial = Slice("partial_l0c", (self._q.local, self._columns))
        product = self._hand("partial_l0c", "l0c", (cut.queries, work.columns), _F32, "cube", "fixpipe")
        compute = product.fill(*p_l0.use(*v_l0.use(Mmad(partial, in_l0, v))))
        before, into, strip, held = self._to_ub("partial", product, partial, work.columns)
        sums, shrink = (Slice(n, (self._strip, s)) for n, s in (("sums", self._columns), ("shrink", _ONE)))
        turn = (
            *into.fill(strip[0]),
            *into.use(VectorOp("mul", sums, (sums, shrink)), VectorOp("add", sums, (sums, strip[1]))),
        )
        strips = Loop("r", least(*self._q.limits), self.rows, turn)
        return [*load, *fetch, *feed, *compute, *before, strips, *held.free]

    def _leave(self) -> Loop:
        """The output, divided by the total of the probabilities."""
        work = self.kernel.work
        leave = self._hand("out_ub", "ub", (self.rows, work.columns), work.dtype, "vector", "mte3", 2)
        out = Slice("out_ub", (self._strip.local, self._columns))
        sums, total = (Slice(n, (self._strip, s)) for n, s in (("sums", self._columns), ("total", _ONE)))
        rows = Span(variable("q") + variable("r"), self._strip.length)
        store = Move(out, self._tile("out", self.kernel.out, rows, self._columns))
        turn = (*leave.fill(VectorOp("div", out, (sums, total))), *leave.use(store))
        return Loop("r", least(*self._q.limits), self.rows, turn)

    def _softmax(
        self, scores: Slice, out: Slice, mask: Sequence[Move], mask_row: Sequence[tuple[Handover, Move]]
    ) -> list[VectorOp]:
        """Scores of a strip become probabilities against the largest score so far; the state moves on with it."""
        work = self.kernel.work
        s, row = (self._scratch(name, w) for name, w in (("s", self.cut.keys), ("new", 1)))
        largest, total, shrink = (Slice(name, (self._strip, _ONE)) for name in ("largest", "total", "shrink"))
        scale = self.kernel.scale if self.kernel.scale is not None else 1 / sqrt(work.width)
        done = [VectorOp("mul", s, (scores, scale))]
        added = [*(move.destination for move in mask), *(move.destination for _, move in mask_row)]
        for part in added:
            if self.kernel.mask is not None and self.kernel.mask.dtype != _F32:
                wide = self._scratch("wide", self.cut.keys, high="rows" in self.kernel.mask.layout)
                done.append(VectorOp("copy", wide, (part,)))
                part = wide
            done.append(VectorOp("add", s, (s, part)))
        if work.causal:
            # Query i sees the keys up to keys - queries + i.
            place = self._scratch("place", 1)
            key = self._scratch("key", self.cut.keys, high=False)
            seen = self._scratch("seen", self.cut.keys)
            first = variable("q") + variable("r") + (work.keys - work.queries)
            done += [
                VectorOp("index_rows", place, ()),
                VectorOp("add", place, (place, first)),
                VectorOp("index_columns", key, ()),
                VectorOp("add", key, (key, variable("k"))),
                VectorOp("less_equal", seen, (key, place)),
                VectorOp("select", s, (seen, s, _LOWEST)),
            ]
        done += [
            VectorOp("reduce_max", row, (s,)),
            VectorOp("max", row, (row, largest)),
            VectorOp("sub", shrink, (largest, row)),
            VectorOp("exp", shrink, (shrink,)),
            VectorOp("copy", largest, (row,)),
            VectorOp("sub", s, (s, row)),
            VectorOp("exp", s, (s,)),
            VectorOp("reduce_sum", row, (s,)),
            VectorOp("mul", total, (total, shrink)),
            VectorOp("add", total, (total, row)),
            VectorOp("copy", out, (s,)),
        ]
        return done

    def _mask(self) -> tuple[list[Handover], list[Move], list[tuple[Handover, Move]]]:
        """A mask on its way to UB: with each strip, or one row for a whole tile of keys."""
        mask = self.kernel.mask
        if mask is None:
            return [], [], []
        work, high = self.kernel.work, "rows" in mask.layout
        shape = self.kernel.shape(mask.layout, work.queries, work.keys)
        self._buffers.append(Buffer("mask", "gm", shape, mask.dtype, role="input"))
        rows = Span(variable("q") + variable("r"), self._strip.length)
        pipe = pipe_of("gm->ub", split=self._split)
        hand = self._hand("mask_ub", "ub", (self.rows if high else 1, self.cut.keys), mask.dtype, pipe, "vector", 2)
        in_ub = Slice("mask_ub", (self._strip.local if high else _ONE, self._k.local))
        move = Move(self._tile("mask", mask.layout, rows, self._k), in_ub)
        return ([hand], [move], []) if high else ([], [], [(hand, move)])

    def _panel(
        self, name: str, layout: Layout, width: Span, *, wanted_turned: bool
    ) -> tuple[list[Instruction], Handover, Slice]:
        """A tile of K or V on its way to L0B: the instructions, whose flags, and the tile there."""
        lies_turned = _turned(layout)
        shape, dtype = (self.cut.keys, width.length.at({})), self.kernel.work.dtype
        l1 = self._hand(f"{name}_l1", "l1", _lying(shape, lies_turned), dtype, "mte2", "mte1", 2)
        l0 = self._hand(f"{name}_l0b", "l0b", _lying(shape, wanted_turned), dtype, "mte1", "cube")
        box = _lying((self._k, width), lies_turned)
        in_l1 = Slice(f"{name}_l1", tuple(span.local for span in box))
        in_l0 = Slice(f"{name}_l0b", _lying((self._k.local, width), wanted_turned))
        fetch = l1.fill(Move(self._tile(name, layout, self._k, width), in_l1))
        feed = l0.fill(*l1.use(Move(in_l1, in_l0, transposed=lies_turned != wanted_turned)))
        return [*fetch, *feed], l0, in_l0

    def _to_ub(
        self, name: str, product: Handover, part: Slice, columns: int
    ) -> tuple[list[Instruction], Handover, tuple[Move, Slice], Handover]:
        """A product on its way to UB.

        Returns:
            What is done for the tile, the strip's flags, the move of a strip and where it lies, and what is held while
            the strips are taken.
        """
        source, held, before, first = part.buffer, product, [*product.get], "fixpipe"
        if self._split:
            first = pipe_of("gm->ub", split=True)
            held = self._hand(name, "gm", (self.cut.queries, columns), _F32, "fixpipe", first, 2)
            source = name
            before = [*held.fill(*product.use(Move(part, Slice(name, part.spans)))), *held.get]
        ub = self._hand(f"{name}_ub", "ub", (self.rows, columns), _F32, first, "vector", 2)
        strip = Slice(ub.buffer.name, (self._strip.local, part.spans[1]))
        return before, ub, (Move(Slice(source, (self._strip, part.spans[1])), strip), strip), held

    # Buffers.

    def _memory(self, name: str, shape: tuple[int, ...]) -> None:
        role = "output" if name == "out" else "input"
        self._buffers.append(Buffer(name, "gm", shape, self.kernel.work.dtype, role=role))

    def _tile(self, name: str, layout: Layout, rows: Span, columns: Span) -> Slice:
        """A tile of a tensor in memory, of the head at hand."""
        spans = {"rows": rows, "columns": columns}
        return Slice(name, tuple(spans.get(axis) or one(axis) for axis in layout))

    def _scratch(self, name: str, columns: int, *, high: bool = True) -> Slice:
        self._buffers.append(Buffer(name, "ub", (self.rows if high else 1, columns), _F32))
        return Slice(name, (self._strip.local if high else _ONE, _ONE if columns == 1 else self._k.local))

    def _hand(
        self,
        name: str,
        level: Level,
        shape: tuple[int, int],
        dtype: DType,
        producer: Pipe,
        consumer: Pipe,
        copies: int = 1,
    ) -> Handover:
        buffer = Buffer(name, level, shape, dtype, copies, "workspace" if level == "gm" else "local")
        handover = Handover(buffer, producer, consumer)
        self._buffers.append(buffer)
        self._handovers.append(handover)
        return handover


def _turned(layout: Layout) -> bool:
    return layout.index("columns") < layout.index("rows")


def _lying(pair: tuple[_T, _T], turned: bool) -> tuple[_T, _T]:
    return (pair[1], pair[0]) if turned else pair
