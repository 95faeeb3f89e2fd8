"""The flags by which two pipes share a buffer: a copy is free, is filled, is ready, is used, and is free again."""

from __future__ import annotations

from dataclasses import dataclass

from gexplorer.kernels.program import Buffer, Instruction, Pipe, SetFlag, Swap, WaitFlag

Instructions = tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Handover:
    """A buffer that one pipe fills and another uses.

    With two copies the producer is a turn ahead of the consumer; with one they take turns.

    Attributes:
        buffer: the buffer.
        producer: the pipe that fills it.
        consumer: the pipe that uses it.
    """

    buffer: Buffer
    producer: Pipe
    consumer: Pipe

    @property
    def start(self) -> Instructions:
        """Before the first turn: every copy is free."""
        return tuple(SetFlag(self.consumer, self.producer, self.buffer.name, i) for i in range(self.buffer.copies))

    @property
    def finish(self) -> Instructions:
        """After the last turn: no flag stays up."""
        return tuple(WaitFlag(self.consumer, self.producer, self.buffer.name, i) for i in range(self.buffer.copies))

    @property
    def take(self) -> Instructions:
        """The producer gets the next copy as soon as it is free."""
        swap = (Swap(self.buffer.name),) if self.buffer.copies > 1 else ()
        return (*swap, WaitFlag(self.consumer, self.producer, self.buffer.name))

    @property
    def give(self) -> Instructions:
        """The producer is done."""
        return (SetFlag(self.producer, self.consumer, self.buffer.name),)

    @property
    def get(self) -> Instructions:
        """The consumer gets the copy as soon as it is ready."""
        return (WaitFlag(self.producer, self.consumer, self.buffer.name),)

    @property
    def free(self) -> Instructions:
        """The consumer is done."""
        return (SetFlag(self.consumer, self.producer, self.buffer.name),)

    def fill(self, *instructions: Instruction) -> Instructions:
        """Instructions that fill the next copy."""
        return (*self.take, *instructions, *self.give)

    def use(self, *instructions: Instruction) -> Instructions:
        """Instructions that use the copy at hand for the last time."""
        return (*self.get, *instructions, *self.free)


def starts(*handovers: Handover) -> Instructions:
    """What a core does for them before its first block."""
    return tuple(i for handover in handovers for i in handover.start)


def finishes(*handovers: Handover) -> Instructions:
    """What a core does for them after its last block."""
    return tuple(i for handover in handovers for i in handover.finish)
