"""The tile program of attention with heads too wide for L0A and L0B: both products go along the width in slices.

The scores are summed up over slices of the width of Q and K, both fetched for each tile of keys. The output is computed
so many columns at a time as a tile has keys, summed up over slices of the keys: so every MMAD of both products has one
shape, and both take the same places, twice each: while a slice is multiplied, the next one is on its way. The output so
far is too wide for UB as well: it lies in a workspace in memory, of which one copy is read while the next one is
written. So no buffer of a core knows how wide the head is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gexplorer.kernels.affine import least, variable
from gexplorer.kernels.attention_kernel import keys_seen
from gexplorer.kernels.attention_writer import F32, ONE, AttentionWriter, turned
from gexplorer.kernels.handover import Handover
from gexplorer.kernels.program import Instruction, Loop, Mmad, Move, Slice, Span, Swap, VectorOp, pipe_of, tile


@dataclass(slots=True)
class SlicedWriter(AttentionWriter):
    """Slices of Q, K, P and V in L0A and L0B, and the output so far in memory."""

    _left: Handover = field(init=False)
    _right: Handover = field(init=False)
    _product: Handover = field(init=False)
    _sums: Handover = field(init=False)
    _old: Handover = field(init=False)
    _new: Handover = field(init=False)

    @property
    def _w(self) -> Span:
        """Columns of Q and K."""
        return tile("w", self.cut.slice, self.kernel.work.width)

    @property
    def _j(self) -> Span:
        """Keys, of those of a tile."""
        return Span(variable("j"), least(self.cut.slice, *(limit - variable("j") for limit in self._k.limits)))

    @property
    def _c(self) -> Span:
        """Columns of V and the output."""
        return tile("c", self.cut.keys, self.kernel.work.columns)

    def _block(self) -> list[Instruction]:
        """A block of queries: clear the state, go along the keys, divide by the total and store."""
        work, cut = self.kernel.work, self.cut
        into_ub = pipe_of("gm->ub", split=self._split)
        self._left = self._hand("left_l0a", "l0a", (cut.queries, cut.slice), work.dtype, "mte1", "cube", 2)
        self._right = self._hand("right_l0b", "l0b", (cut.slice, cut.keys), work.dtype, "mte1", "cube", 2)
        self._product = self._hand("product_l0c", "l0c", (cut.queries, cut.keys), F32, "cube", "fixpipe", 2)
        self._sums = self._hand("sums", "gm", (cut.queries, work.columns), F32, "mte3", into_ub, 2)
        self._old = self._hand("sums_ub", "ub", (self.rows, cut.keys), F32, into_ub, "vector", 2)
        self._new = self._hand("more_ub", "ub", (self.rows, cut.keys), F32, "vector", "mte3", 2)
        clear = [*self._cleared(), *self._sums.take, self._zeros(), *self._sums.give]
        probabilities, scores = self._scores()
        turn = (*scores, *self._values(probabilities))
        return [*clear, Loop("k", keys_seen(work, cut), cut.keys, turn), *self._leave()]

    def _scores(self) -> tuple[Handover, list[Instruction]]:
        """The first product, summed up over slices, and the softmax."""
        kernel, cut = self.kernel, self.cut
        q_l1, fetch_q, q_there = self._fetched("q", kernel.q, self._q, self._w, (cut.queries, cut.slice))
        k_l1, fetch_k, k_there = self._fetched("k", kernel.k, self._k, self._w, (cut.keys, cut.slice))
        q = Slice("left_l0a", (self._q.local, self._w.local))
        k = Slice("right_l0b", (self._w.local, self._k.local))
        scores = Slice("product_l0c", (self._q.local, self._k.local))
        turn = (
            *fetch_q,
            *fetch_k,
            *self._left.fill(*q_l1.use(Move(q_there, q))),
            *self._right.fill(*k_l1.use(Move(k_there, k, transposed=not turned(kernel.k)))),
            *self._left.use(*self._right.use(Mmad(scores, q, k, fresh="w"))),
        )
        compute = self._product.fill(Loop("w", least(kernel.work.width), cut.slice, turn))
        over, done = self._probabilities(self._product, scores)
        return over, [*compute, *done]

    def _values(self, p: Handover) -> list[Instruction]:
        """The second product, some columns at a time, each added to the output so far."""
        kernel, cut = self.kernel, self.cut
        p_l1, fetch_p = self._handed_over(p)
        taken = Span(variable("k") + variable("j"), self._j.length)
        v_l1, fetch_v, v_there = self._fetched("v", kernel.v, taken, self._c, (cut.slice, cut.keys))
        weights = Slice("left_l0a", (self._q.local, self._j.local))
        v = Slice("right_l0b", (self._j.local, self._c.local))
        partial = Slice("product_l0c", (self._q.local, self._c.local))
        product = (
            *fetch_v,
            *self._left.fill(Move(Slice("p_l1", (self._q.local, self._j)), weights)),
            *self._right.fill(*v_l1.use(Move(v_there, v, transposed=turned(kernel.v)))),
            *self._left.use(*self._right.use(Mmad(partial, weights, v, fresh="j"))),
        )
        before, into, (take, part), held = self._to_ub("partial", self._product, partial, cut.keys)
        old, more = (Slice(name, (self._strip.local, self._c.local)) for name in ("sums_ub", "more_ub"))
        kept, shrink = Slice("sums", (self._strip, self._c)), Slice("shrink", (self._strip, ONE))
        strip = (
            *into.fill(take),
            Swap("sums"),  # the copy of the last tile is read, this one's is written
            *self._old.fill(Move(kept, old)),
            Swap("sums"),
            *into.get,
            *self._old.get,
            *self._new.fill(VectorOp("mul", more, (old, shrink)), VectorOp("add", more, (more, part))),
            *into.free,
            *self._old.free,
            *self._new.use(Move(more, kept)),
        )
        turn = (
            *self._product.fill(Loop("j", least(*self._k.limits), cut.slice, product)),
            *before,
            Loop("r", least(*self._q.limits), self.rows, strip),
            *held.free,
        )
        columns = Loop("c", least(kernel.work.columns), cut.keys, turn)
        # The copy at hand is the new one; what was there before is the other.
        done = (Swap("sums"), *self._sums.free, Swap("sums"), *self._sums.give)
        return [*fetch_p, *p_l1.get, *self._sums.get, *self._sums.take, columns, *p_l1.free, *done]

    def _zeros(self) -> Loop:
        """The output before the first keys."""
        more = Slice("more_ub", (self._strip.local, self._c.local))
        store = Move(more, Slice("sums", (self._strip, self._c)))
        return self._each_strip((*self._new.fill(VectorOp("copy", more, (0.0,))), *self._new.use(store)))

    def _leave(self) -> list[Instruction]:
        """The output, divided by the total of the probabilities."""
        work = self.kernel.work
        leave = self._hand("out_ub", "ub", (self.rows, self.cut.keys), work.dtype, "vector", "mte3", 2)
        out, old = (Slice(name, (self._strip.local, self._c.local)) for name in ("out_ub", "sums_ub"))
        rows = Span(variable("q") + variable("r"), self._strip.length)
        turn = (
            *self._old.fill(Move(Slice("sums", (self._strip, self._c)), old)),
            *leave.fill(*self._old.use(VectorOp("div", out, (old, Slice("total", (self._strip, ONE)))))),
            *leave.use(Move(out, self._tile("out", self.kernel.out, rows, self._c))),
        )
        return [*self._sums.get, self._each_strip(turn), *self._sums.free]

    def _each_strip(self, turn: tuple[Instruction, ...]) -> Loop:
        strips = Loop("r", least(*self._q.limits), self.rows, turn)
        return Loop("c", least(self.kernel.work.columns), self.cut.keys, (strips,))
