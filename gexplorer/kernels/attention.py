"""The tile program of attention in one kernel: the scores are never whole anywhere (FlashAttention).

A core takes a block of queries of one head and goes along the keys. For each tile of keys the cube computes the
scores, the vector unit turns them into unscaled probabilities against the largest score so far, the cube multiplies
these with the values, and the vector unit adds that to the output so far, scaled down by how much the largest score
has grown (online softmax; source: Milakov and Gimelshein 2018, Dao et al. 2022). What cube and vector unit hand to
each other goes through workspaces in memory where they are cores apart, else from buffer to buffer.

Heads whose whole width the buffers do not hold go in slices (``attention_sliced.py``).

The instructions stand in the order of the data, a tile's second product behind its softmax. A kernel written for speed
issues the next tile's first product before that; it moves the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from gexplorer.hardware.spec import Chip
from gexplorer.kernels.affine import Affine, least, variable
from gexplorer.kernels.attention_kernel import AttentionCut, AttentionKernel, Layout, keys_seen
from gexplorer.kernels.attention_sliced import SlicedWriter
from gexplorer.kernels.attention_writer import F32, ONE, AttentionWriter, lying, turned
from gexplorer.kernels.handover import Handover
from gexplorer.kernels.program import Buffer, Instruction, Loop, Mmad, Move, Program, Slice, Span, VectorOp

_ROW = 16  # strips are a multiple of this many rows where UB holds as many


def attention_program(kernel: AttentionKernel, cut: AttentionCut, chip: Chip, name: str = "FlashAttention") -> Program:
    """The program of attention.

    Inputs are ``q``, ``k``, ``v`` and ``mask``, the output is ``out``, with the axes that the kernel says.

    Args:
        kernel: what is computed.
        cut: queries of a block and keys of a tile, and whether the head is taken in slices.
        chip: the chip.
        name: of the kernel.

    Raises:
        OptionError: a tile is no multiple of what the cube multiplies in a cycle, or a query would see no key.
    """
    kernel.require_possible(cut, chip)
    writer = SlicedWriter if cut.slice else _WholeWriter
    least_bytes, more = (_ub_bytes(writer(kernel, cut, chip, rows).program("")) for rows in (1, 2))
    room = chip.capacity.ub_bytes - (2 * least_bytes - more)
    rows = max(1, min(cut.queries, room // (more - least_bytes)))
    return writer(kernel, cut, chip, rows if rows < _ROW else rows // _ROW * _ROW).program(name)


def _ub_bytes(program: Program) -> int:
    return sum(buffer.total_bytes for buffer in program.buffers if buffer.level == "ub")


@dataclass(slots=True)
class _WholeWriter(AttentionWriter):
    """Q, K and V with the whole width of the head in L0A and L0B at once, and the output so far in UB."""

    @property
    def _width(self) -> Span:
        return Span(Affine(), least(self.kernel.work.width))

    @property
    def _columns(self) -> Span:
        return Span(Affine(), least(self.kernel.work.columns))

    def _block(self) -> list[Instruction]:
        """A block of queries: fetch it, clear the state, go along the keys, divide by the total and store."""
        work, cut = self.kernel.work, self.cut
        q_l1 = self._hand("q_l1", "l1", (cut.queries, work.width), work.dtype, "mte2", "mte1")
        q_l0 = self._hand("q_l0a", "l0a", (cut.queries, work.width), work.dtype, "mte1", "cube")
        in_l1, in_l0 = (Slice(name, (self._q.local, self._width)) for name in ("q_l1", "q_l0a"))
        fetch = q_l1.fill(Move(self._tile("q", self.kernel.q, self._q, self._width), in_l1))
        feed = q_l0.fill(*q_l1.use(Move(in_l1, in_l0)))
        clear = [*self._cleared(), VectorOp("copy", Slice("sums", (self._q.local, self._columns)), (0.0,))]
        self._buffers.append(Buffer("sums", "ub", (cut.queries, work.columns), F32))
        probabilities, scores = self._scores(in_l0)
        turn = (*scores, *self._values(probabilities))
        keys = Loop("k", keys_seen(work, cut), cut.keys, turn)
        return [*fetch, *feed, *clear, *q_l0.get, keys, *q_l0.free, self._leave()]

    def _scores(self, q: Slice) -> tuple[Handover, list[Instruction]]:
        """The first product and the softmax, which leaves probabilities in memory or in L1."""
        cut = self.cut
        load, k_l0, k = self._panel("k", self.kernel.k, self._width, wanted_turned=True)
        scores = Slice("scores_l0c", (self._q.local, self._k.local))
        product = self._hand("scores_l0c", "l0c", (cut.queries, cut.keys), F32, "cube", "fixpipe")
        compute = product.fill(*k_l0.use(Mmad(scores, q, k)))
        over, done = self._probabilities(product, scores)
        return over, [*load, *compute, *done]

    def _values(self, p: Handover) -> list[Instruction]:
        """The second product, added to the output so far."""
        work, cut = self.kernel.work, self.cut
        load, v_l0, v = self._panel("v", self.kernel.v, self._columns, wanted_turned=False)
        spans = (self._q.local, self._k.local)
        p_l0 = self._hand("p_l0a", "l0a", (cut.queries, cut.keys), work.dtype, "mte1", "cube")
        in_l0 = Slice("p_l0a", spans)
        p_l1, fetch = self._handed_over(p)
        feed = p_l0.fill(*p_l1.use(Move(Slice("p_l1", spans), in_l0)))
        partial = Slice("partial_l0c", (self._q.local, self._columns))
        product = self._hand("partial_l0c", "l0c", (cut.queries, work.columns), F32, "cube", "fixpipe")
        compute = product.fill(*p_l0.use(*v_l0.use(Mmad(partial, in_l0, v))))
        before, into, strip, held = self._to_ub("partial", product, partial, work.columns)
        sums, shrink = (Slice(n, (self._strip, s)) for n, s in (("sums", self._columns), ("shrink", ONE)))
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
        sums, total = (Slice(n, (self._strip, s)) for n, s in (("sums", self._columns), ("total", ONE)))
        rows = Span(variable("q") + variable("r"), self._strip.length)
        store = Move(out, self._tile("out", self.kernel.out, rows, self._columns))
        turn = (*leave.fill(VectorOp("div", out, (sums, total))), *leave.use(store))
        return Loop("r", least(*self._q.limits), self.rows, turn)

    def _panel(
        self, name: str, layout: Layout, width: Span, *, wanted_turned: bool
    ) -> tuple[list[Instruction], Handover, Slice]:
        """A tile of K or V on its way to L0B: the instructions, whose flags, and the tile there."""
        shape = (self.cut.keys, width.length.at({}))
        l1, fetch, in_l1 = self._fetched(name, layout, self._k, width, shape)
        l0 = self._hand(f"{name}_l0b", "l0b", lying(shape, wanted_turned), self.kernel.work.dtype, "mte1", "cube")
        in_l0 = Slice(f"{name}_l0b", lying((self._k.local, width), wanted_turned))
        feed = l0.fill(*l1.use(Move(in_l1, in_l0, transposed=turned(layout) != wanted_turned)))
        return [*fetch, *feed], l0, in_l0
