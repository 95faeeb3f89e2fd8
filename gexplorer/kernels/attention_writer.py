"""What the programs of attention have in common: from the scores of a tile to its probabilities, and the buffers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import TypeVar

from gexplorer.hardware.spec import Chip
from gexplorer.ir.dtypes import DType
from gexplorer.kernels.affine import Affine, least, variable
from gexplorer.kernels.attention_kernel import AttentionCut, AttentionKernel, Layout, keys_seen
from gexplorer.kernels.gemm import in_order
from gexplorer.kernels.handover import Handover, Instructions, finishes, starts
from gexplorer.kernels.program import (
    Axis,
    Buffer,
    Instruction,
    Level,
    Loop,
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
LOWEST = -3.0e38  # below every score, and still finite when the largest score is taken away from it
ONE = Span(Affine(), least(1))
F32 = DType.FLOAT32


@dataclass(slots=True)
class AttentionWriter(ABC):
    """Puts a program together, with strips of so many rows in UB.

    Attributes:
        kernel: what is computed.
        cut: queries of a block and keys of a tile.
        chip: the chip.
        rows: rows of a strip.
    """

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

    @abstractmethod
    def _block(self) -> list[Instruction]:
        """What a core does for a block of queries of one head."""

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

    # Parts of a program.

    def _cleared(self) -> list[Instruction]:
        """The state of a block's rows in UB, and how it is before the first keys."""
        self._buffers += [Buffer(name, "ub", (self.cut.queries, 1), F32) for name in ("largest", "total", "shrink")]
        rows = self._q.local
        return [
            VectorOp("copy", Slice("largest", (rows, ONE)), (LOWEST,)),
            VectorOp("copy", Slice("total", (rows, ONE)), (0.0,)),
        ]

    def _probabilities(self, product: Handover, scores: Slice) -> tuple[Handover, list[Instruction]]:
        """The softmax of a tile of scores, which leaves probabilities in memory or in L1."""
        work, cut = self.kernel.work, self.cut
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
        done = [*before, *row_load, *over.take, strips, *over.give, *row_free, *held.free]
        return over, done

    def _softmax(
        self, scores: Slice, out: Slice, mask: Sequence[Move], mask_row: Sequence[tuple[Handover, Move]]
    ) -> list[VectorOp]:
        """Scores of a strip become probabilities against the largest score so far; the state moves on with it."""
        work = self.kernel.work
        s, row = (self._scratch(name, w) for name, w in (("s", self.cut.keys), ("new", 1)))
        largest, total, shrink = (Slice(name, (self._strip, ONE)) for name in ("largest", "total", "shrink"))
        scale = self.kernel.scale if self.kernel.scale is not None else 1 / sqrt(work.width)
        done = [VectorOp("mul", s, (scores, scale))]
        added = [*(move.destination for move in mask), *(move.destination for _, move in mask_row)]
        for part in added:
            if self.kernel.mask is not None and self.kernel.mask.dtype != F32:
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
                VectorOp("select", s, (seen, s, LOWEST)),
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
        in_ub = Slice("mask_ub", (self._strip.local if high else ONE, self._k.local))
        move = Move(self._tile("mask", mask.layout, rows, self._k), in_ub)
        return ([hand], [move], []) if high else ([], [], [(hand, move)])

    def _handed_over(self, p: Handover) -> tuple[Handover, Instructions]:
        """Probabilities on their way to L1, where they are not there already: whose flags, and the instructions."""
        if not self._split:
            return p, ()
        cut, spans = self.cut, (self._q.local, self._k.local)
        p_l1 = self._hand("p_l1", "l1", (cut.queries, cut.keys), self.kernel.work.dtype, "mte2", "mte1", 2)
        return p_l1, p_l1.fill(*p.use(Move(Slice("p", spans), Slice("p_l1", spans))))

    def _fetched(
        self, name: str, layout: Layout, rows: Span, columns: Span, shape: tuple[int, int]
    ) -> tuple[Handover, Instructions, Slice]:
        """A tile of Q, K or V on its way to L1: whose flags, the instructions, and the tile there, as it lies."""
        lies_turned = turned(layout)
        l1 = self._hand(f"{name}_l1", "l1", lying(shape, lies_turned), self.kernel.work.dtype, "mte2", "mte1", 2)
        in_l1 = Slice(f"{name}_l1", tuple(span.local for span in lying((rows, columns), lies_turned)))
        return l1, l1.fill(Move(self._tile(name, layout, rows, columns), in_l1)), in_l1

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
            held = self._hand(name, "gm", (self.cut.queries, columns), F32, "fixpipe", first, 2)
            source = name
            before = [*held.fill(*product.use(Move(part, Slice(name, part.spans)))), *held.get]
        ub = self._hand(f"{name}_ub", "ub", (self.rows, columns), F32, first, "vector", 2)
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
        self._buffers.append(Buffer(name, "ub", (self.rows if high else 1, columns), F32))
        return Slice(name, (self._strip.local if high else ONE, ONE if columns == 1 else self._k.local))

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


def turned(layout: Layout) -> bool:
    """True where a tensor lies column by column."""
    return layout.index("columns") < layout.index("rows")


def lying(pair: tuple[_T, _T], turned: bool) -> tuple[_T, _T]:
    """What belongs to rows and columns, in the order in which they lie."""
    return (pair[1], pair[0]) if turned else pair
