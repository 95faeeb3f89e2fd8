"""Runs a graph in a memory that a plan laid out, and notices every value that somebody overwrote too early.

The memory holds one token for each 32 bytes; a kernel writes new tokens, a view and a copy pass tokens on. Whoever
reads a tensor finds its tokens where the plan has put it, or else the plan is wrong. Branches and numbers of turns are
drawn.
"""

import random

import numpy as np

from gexplorer.memory.program import Kind, Sharing

UNIT_BYTES = 32


class ClobberedError(AssertionError):
    """A tensor was read, and something else was there."""


class Machine:
    """One run.

    Args:
        liveness: which tensors lie in which buffer.
        address: of each buffer, in bytes.
        seed: which branches are taken, and how often loops turn.
    """

    def __init__(self, liveness, address, seed) -> None:
        self.random = random.Random(seed)
        self.program, self.liveness = liveness.program, liveness
        self.index = {name: i for i, name in enumerate(self.program.tensors)}
        ends = [int(address[b] + liveness.size_bytes[b]) for b in range(len(address))]
        self.memory = np.zeros(max(ends, default=0) // UNIT_BYTES + 1, dtype=np.int64)
        self.address = address
        self.tokens = 0
        self.held: dict[str, np.ndarray] = {}

    # -- memory -----------------------------------------------------------------------------------------------

    def place(self, name) -> slice:
        i = self.index[name]
        start = int(self.address[self.liveness.buffer[i]] + self.liveness.offset_bytes[i]) // UNIT_BYTES
        return slice(start, start + int(self.program.size_bytes[i]) // UNIT_BYTES)

    def fresh(self, name) -> np.ndarray:
        place = self.place(name)
        count = place.stop - place.start
        self.tokens += count
        return np.arange(self.tokens - count, self.tokens) + 1

    def write(self, name, tokens, *, silent=False) -> None:
        """Gives a tensor a value; ``silent`` where its bytes hold it already."""
        self.held[name] = tokens
        if not silent:
            self.memory[self.place(name)] = tokens

    def read(self, name, who) -> np.ndarray:
        place = self.place(name)
        if not np.array_equal(self.memory[place], self.held[name]):
            raise ClobberedError(f"{who} reads {name} at {place}: something else is there")
        return self.held[name]

    def row(self, name):
        """How a tensor came to lie in another's bytes: sharing and host, (None, "") where it did not."""
        row = int(self.liveness.shared[self.index[name]])
        if row < 0:
            return None, ""
        rows = self.program.may_share
        return Sharing(int(rows.sharing[row])), self.program.tensors[int(rows.host[row])]

    # -- programs ---------------------------------------------------------------------------------------------

    def run(self, graph) -> None:
        for i, name in enumerate(self.program.tensors):
            if self.program.kind[i] in (Kind.WEIGHT, Kind.CONSTANT, Kind.INPUT, Kind.STATE):
                self.write(name, self.fresh(name))
        kept = list(self.held)
        self.walk(graph)
        for name in (*kept, *graph.outputs):
            self.read(name, "the end")

    def walk(self, graph) -> None:
        for node in graph.order:
            for name in node.inputs:
                if name:
                    self.read(name, node.name)
            if node.op == "If":
                self.branches(node)
            elif node.op in ("Loop", "Scan"):
                self.turns(node)
            else:
                self.kernel(node)

    def kernel(self, node) -> None:
        inputs = [name for name in node.inputs if name]
        if node.op in ("Reshape", "Identity", "Dropout"):
            sharing, _ = self.row(node.outputs[0])
            self.write(node.outputs[0], self.held[inputs[0]], silent=sharing is Sharing.VIEW)
        elif node.op == "Concat":
            spared = self.row(inputs[0]) == (Sharing.CONCAT, node.outputs[0])
            self.write(node.outputs[0], np.concatenate([self.held[name] for name in inputs]), silent=spared)
        elif node.op == "Split":
            ends = np.cumsum([len(self.fresh(name)) for name in node.outputs])
            for name, tokens in zip(node.outputs, np.split(self.held[inputs[0]], ends[:-1]), strict=True):
                self.write(name, tokens, silent=self.row(name) == (Sharing.SPLIT, inputs[0]))
        else:
            scratch = f"{node.name}:workspace"
            if scratch in self.index:
                self.write(scratch, self.fresh(scratch))
            over = []
            for name in node.outputs:
                self.write(name, self.fresh(name))
                if self.row(name)[0] is Sharing.IN_PLACE:
                    over.append(self.place(name))
            # What is not overwritten on purpose must still be there: a kernel reads while it writes.
            for name in inputs:
                if self.place(name) not in over:
                    self.read(name, f"{node.name}, which has begun to write,")
        for name in node.outputs:
            self.read(name, f"{node.name} itself")

    def branches(self, node) -> None:
        branch = node.attributes[self.random.choice(("then_branch", "else_branch"))]
        self.walk(branch)
        pairs = list(zip(branch.outputs, node.outputs, strict=True))
        self.random.shuffle(pairs)  # the copies may come in any order
        for result, output in pairs:
            tokens = self.read(result, node.name)
            self.write(output, tokens, silent=self.row(output) == (Sharing.IN_PLACE, result))
        for name in node.outputs:
            self.read(name, node.name)

    def turns(self, node) -> None:
        body = node.attributes["body"]
        scan = node.op == "Scan"
        carried = body.inputs[:-1] if scan else body.inputs[2:]
        begin, shift = (0, 0) if scan else (2, 1)
        values = [self.held[name] for name in node.inputs[begin : begin + len(carried)]]
        for name, first, tokens in zip(carried, node.inputs[begin:], values, strict=False):
            self.write(name, tokens, silent=self.row(name) == (Sharing.IN_PLACE, first))
        single = body.inputs[-1:] if scan else body.inputs[:2]
        for name in single:
            silent = self.row(name)[0] is Sharing.IN_PLACE
            self.write(name, self.held[node.inputs[1]] if silent else self.fresh(name), silent=silent)
        stacked = node.outputs[len(carried) :]
        for _ in range(self.random.choice((0, 1, 2, 3))):
            for name in stacked:
                self.write(name, self.fresh(name))
            for name in body.inputs[-1:] if scan else body.inputs[:1]:
                self.write(name, self.fresh(name))
            if scan:
                self.read(node.inputs[-1], node.name)
            self.walk(body)
            pairs = list(zip(carried, body.outputs[shift:], strict=False))
            if not scan:
                pairs.append((body.inputs[1], body.outputs[0]))
            self.copy_back(pairs, node.name)
            for name in (*carried, *stacked):
                self.read(name, node.name)
        for name in stacked:
            self.write(name, self.held.get(name, self.fresh(name)))
        for output, inside in zip(node.outputs, carried, strict=False):
            self.write(output, self.read(inside, node.name), silent=self.row(output) == (Sharing.IN_PLACE, inside))
        for name in node.outputs:
            self.read(name, node.name)

    def copy_back(self, pairs, who) -> None:
        """The end of a turn: results become what the next turn is given, one after the other in any order."""
        given = {name for name, _ in pairs}
        if any(result in given for _, result in pairs):  # a swap needs a third place: all are read before
            for name, tokens in [(name, self.read(result, who)) for name, result in pairs]:
                self.write(name, tokens)
            return
        self.random.shuffle(pairs)
        for name, result in pairs:
            self.write(name, self.read(result, who))


def laid_out(liveness, seed):
    """Addresses of all buffers: the pool's first fit in random order, the others behind it."""
    problem, rows = liveness.problem()
    offsets: dict[int, int] = {}
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    for i in order:
        met = sorted(
            (offsets[j], offsets[j] + int(problem.size_bytes[j]))
            for j in offsets
            if problem.lower[i] < problem.upper[j] and problem.lower[j] < problem.upper[i]
        )
        at = 0
        for low, high in met:
            if low - at >= problem.size_bytes[i]:
                break
            at = max(at, high)
        offsets[i] = at
    address = np.zeros(len(liveness.size_bytes), dtype=np.int64)
    end = max((offsets[i] + int(problem.size_bytes[i]) for i in offsets), default=0)
    for i, row in enumerate(rows.tolist()):
        address[row] = offsets[i]
    for buffer in np.setdiff1d(np.arange(len(address)), rows).tolist():
        address[buffer] = end
        end += int(liveness.size_bytes[buffer])
    return address
