"""Plans are executed: every tensor lies in one block of bytes where the plan wants it, and results come out bit by bit.

Bytes are poisoned where a buffer's life ends, so that what is read too late is found as well. Kernels run once with a
place of their own for all tensors and once in the plan's.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import gexplorer as gx
from gexplorer.execution.lower import lower
from gexplorer.execution.machine import POISON, Machine
from gexplorer.execution.program import Instruction, Place
from gexplorer.validation.inputs import random_inputs

pytest.importorskip("onnxruntime")

SMALL = ("bert-base:small=true,layers=1", "qwen2.5-7b:small=true,layers=1", "mixtral-8x7b:small=true,layers=1")


def results(machine: Machine, inputs) -> list[bytes]:
    return [value.tobytes() for value in machine.run(inputs).outputs.values()]


@pytest.mark.parametrize(
    "options", [{}, {"preset": "unconfigured"}, {"preset": "unconfigured", "order": "memory_aware"}]
)
@pytest.mark.parametrize("model", SMALL)
def test_every_sound_plan_computes_the_same_bits(model, options):
    memory = gx.compile(model, **options).memory
    inputs = random_inputs(memory.graph, 0)
    program = lower(memory)
    apart = Machine(program, private=True)
    expected = results(apart, inputs)
    assert [i.name for i in program.instructions] == [node.name for node in memory.graph.order]
    assert sum(i.last_point - i.first_point + 1 for i in program.instructions) == len(memory.program)
    for mode in ("balanced", "fast", "safe", "ge_blocks", "best_fit", "skyline"):
        planned = memory.what_if(mode=mode)
        assert planned.is_sound
        other = lower(planned)
        assert [kernel.model for kernel in other.kernels] == [kernel.model for kernel in program.kernels]
        pooled = Machine(other, poison=True, sessions=apart.sessions)
        assert results(pooled, inputs) == expected, mode
        assert other.pool_bytes == planned.pool_bytes


@pytest.mark.parametrize("model", SMALL)
def test_tensors_take_in_the_program_what_the_plan_counts(model):
    memory = gx.compile(model).memory
    program = lower(memory)
    number = {name: index for index, name in enumerate(memory.program.tensors)}
    planned = [tensor for tensor in program.tensors.values() if tensor.place is not Place.OUTSIDE]
    assert planned
    for tensor in planned:
        assert tensor.nbytes(tensor.shape) == memory.program.size_bytes[number[tensor.name]]
        assert tensor.buffer == memory.liveness.buffer[number[tensor.name]]
        assert tensor.offset_bytes == memory.liveness.offset_bytes[number[tensor.name]]
        if tensor.place is Place.POOL:
            assert program.buffers.offset_bytes[tensor.buffer] == memory.addresses[tensor.buffer]


@pytest.mark.parametrize("model", SMALL)
def test_what_the_verifier_refuses_computes_something_else(model):
    planned = gx.compile(model, memory="article_literal").memory
    assert not planned.is_sound
    program = lower(planned)
    inputs = random_inputs(planned.graph, 0)
    assert results(Machine(program, poison=True), inputs) != results(Machine(program, private=True), inputs)


def written(machine: Machine, inputs, by: Instruction) -> list[bytes] | str:
    """What one instruction writes; the error where the run ends before, as an index of poison lies in no table."""
    found: dict[str, bytes] = {}

    def watch(instruction, outputs) -> None:
        if instruction.name == by.name:
            found.update({name: value.tobytes() for name, value in outputs.items()})

    try:
        machine.run(inputs, watch=watch)
    except gx.ModelError as error:
        return str(error)
    return [found[name] for name in by.outputs]


@pytest.mark.parametrize("model", SMALL)
def test_every_life_that_ends_too_early_is_seen(model):
    """Each buffer in turn is given up one operator too early: poison is then read, or overwritten bytes are."""
    memory = gx.compile(model, preset="unconfigured").memory
    program, inputs = lower(memory), random_inputs(memory.graph, 0)
    whole = Machine(program, poison=True)
    expected = results(whole, inputs)
    buffers = program.buffers
    read_by = {instruction.last_point: instruction for instruction in program.instructions}
    tried = 0
    for buffer in buffers.in_pool.tolist():
        reader = read_by[int(buffers.last[buffer])]
        readers = [name for name in reader.inputs if program.tensors[name].buffer == buffer]
        if not readers or reader.is_spared:
            continue
        last = buffers.last.copy()
        last[buffer] = max(int(buffers.first[buffer]), reader.first_point - 1)
        if last[buffer] == buffers.last[buffer]:
            continue
        tried += 1
        broken = replace(program, buffers=replace(buffers, last=last))
        right = written(whole, inputs, reader)
        trials = [Machine(broken, poison=True, pattern=byte, sessions=whole.sessions) for byte in (POISON, 0)]
        assert any(written(trial, inputs, reader) != right for trial in trials), buffers.names[buffer]
    assert tried > len(buffers.in_pool) // 3
    assert results(whole, inputs) == expected
