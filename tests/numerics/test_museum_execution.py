"""Every bug of the museum, and the articles' planner, on real models: what the verifier refuses computes other bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gexplorer as gx
from gexplorer.errors import ModelError
from gexplorer.execution.lower import lower
from gexplorer.memory.museum import PlacedBuffers, PlacedTensors, Spoilt, all_exhibits
from gexplorer.memory.problem import make_problem
from gexplorer.validation.inputs import random_inputs
from gexplorer.validation.launch_orders import launch_orders
from gexplorer.validation.pool import PoolTrial
from tests.byte_memory import Rows, Run, Tensor
from tests.museum_models import SCENES, Scene
from tests.spoilt_programs import placed, spoil, spoilt_program


def compile_(model, **options):
    """Compiled, and not validated yet."""
    return gx.compile(model, validate="off", **options)


EXHIBITS = {exhibit.name: exhibit for exhibit in all_exhibits()}
SHOWN = sorted(name for name, scene in SCENES.items() if not scene.why_not)
RACES = ("early_free_across_streams", "in_place_beside_a_branch")
# One byte of the model stands for so many in the plan, whose sizes go through 32 bits: the logits' 4,096 for 2^31.
SCALE = 1 << 19


def compiled_scene(name: str):
    """The scene's plan without any reuse, so that only the bug shares bytes; and its schedule."""
    scene = SCENES[name]
    compiled = compile_(
        scene.model(), fusion={"ALL": False}, streams=scene.streams, enable_mem_reuse=False, memory_alignment="none"
    )
    schedule = compiled.schedule
    if scene.waits is not None:
        pairs = np.array(scene.waits, np.int64)
        events = np.arange(len(pairs))
        syncs = replace(schedule.syncs, source=pairs[:, 0], target=pairs[:, 1], event=events)
        schedule = replace(schedule, syncs=syncs)
    return compiled.memory, schedule


def spoilt_scene(name: str):
    """The scene's plan with the bug in it."""
    memory, schedule = compiled_scene(name)
    exhibit = EXHIBITS[name]
    if name != "int32_size":
        return memory, schedule, spoil(exhibit, memory, schedule)
    problem, plan = memory.plan.problem, placed(memory)[1]
    names = [problem.name(row) for row in range(len(problem))]
    large = make_problem(problem.lower, problem.upper, problem.size_bytes * SCALE, names, alignment_bytes=SCALE)
    assert large.size_bytes.max() == 1 << 31
    spoilt = exhibit.spoil(PlacedBuffers(large, plan.offsets * SCALE, plan.pool_bytes * SCALE))
    assert exhibit.caught(spoilt) is not None
    assert not (spoilt.plan.offsets % SCALE).any()
    small = PlacedBuffers(problem, spoilt.plan.offsets // SCALE, spoilt.plan.pool_bytes // SCALE)
    return memory, schedule, Spoilt(small, spoilt.rows)


def test_every_bug_has_a_scene():
    assert set(SCENES) == set(EXHIBITS)
    assert len(SHOWN) == 13


@pytest.mark.parametrize("name", sorted(SCENES))
def test_the_sound_plan_computes_the_same_bits(name):
    memory, schedule = compiled_scene(name)
    trial = PoolTrial(lower(memory))
    feed = random_inputs(memory.graph, 0)
    for order in (None, *launch_orders(trial.program, schedule)):
        assert trial.compare(feed, order) is None


@pytest.mark.parametrize("name", SHOWN)
def test_the_verifier_and_the_execution_catch_the_bug(name):
    scene = SCENES[name]
    memory, schedule, spoilt = spoilt_scene(name)
    assert spoilt is not None
    assert EXHIBITS[name].caught(spoilt) is not None
    trial = PoolTrial(spoilt_program(memory, spoilt))
    feed = random_inputs(memory.graph, 0)
    if name == "enlarged_output":
        # The caller's memory has the size that was declared: there is no room for what the plan puts there.
        with pytest.raises(ModelError, match=r"^a tensor does not fit where the plan puts it"):
            trial.compare(feed)
        return
    if name in RACES:
        launched, *ahead = launch_orders(trial.program, schedule)
        assert trial.compare(feed, launched) is None  # in the order of launching all looks right
        found = next(found for order in ahead if (found := trial.compare(feed, order)) is not None)
    else:
        found = trial.compare(feed)
    assert found is not None
    if scene.tensor:
        assert (found.tensor, found.culprit) == (scene.tensor, scene.culprit)
    if name != "output_over_input":  # that one is right once: it is the next run that starts from garbage
        assert found.output == "y"
        assert found.wrong_bytes > 0


def test_a_true_that_is_lost_shows_when_the_poison_is_false():
    body = """
        yes = GreaterOrEqual(x, x)
        a = Where(yes, x, x)
        b = Softmax(a)
        no = Less(x, x)
        either = Or(yes, no)
        y = Where(either, b, x)
        """
    compiled = compile_(Scene(body).model(), fusion={"ALL": False}, enable_mem_reuse=False)
    sound = lower(compiled.memory)
    last = sound.buffers.last.copy()
    last[sound.tensors["yes"].buffer] = sound.instructions[1].last_point  # that of a, the first of its two readers
    trial = PoolTrial(replace(sound, buffers=replace(sound.buffers, last=last)))
    feed = random_inputs(compiled.graph, 0)
    assert trial.compare(feed) is None
    found = trial.compare(feed, pattern=0)
    assert (found.tensor, found.output) == ("yes", "y")
    assert PoolTrial(sound).compare(feed, pattern=0) is None


@pytest.mark.parametrize("name", sorted(set(SCENES) - set(SHOWN)))
def test_what_running_cannot_show_is_known_with_its_reason(name):
    """The bits stay the same though the verifier refuses the plan, or no plan of a graph has room for the bug."""
    memory, _, spoilt = spoilt_scene(name)
    if name == "bodies_share_results":
        assert spoilt is None
    else:
        assert EXHIBITS[name].caught(spoilt) is not None
        assert PoolTrial(spoilt_program(memory, spoilt)).compare(random_inputs(memory.graph, 0)) is None
    if name == "loop_carried":
        inside = memory.program.tensors[spoilt.rows[1]]
        assert inside not in lower(memory).tensors


@pytest.mark.parametrize("name", sorted(set(SCENES) - set(SHOWN)))
def test_a_byte_memory_shows_those_too(name):
    """There an operator reads while it writes, and loops turn: the museum's own example comes out damaged."""
    exhibit = EXHIBITS[name]
    sound, spoilt = exhibit.example(), exhibit.spoil(exhibit.example())
    assert _run(sound).sound
    assert _run(spoilt.plan).damaged


def _run(plan: PlacedTensors):
    program = plan.program
    share = program.may_share
    columns = (share.guest, share.host, share.offset_bytes, share.sharing, share.point)
    rows = Rows(
        tensors=[
            Tensor(*row)
            for row in zip(program.size_bytes.tolist(), program.kind.tolist(), program.writer.tolist(), strict=True)
        ],
        points=len(program),
        reads=list(zip(program.read_tensor.tolist(), program.read_point.tolist(), strict=True)),
        share=list(zip(*(column.tolist() for column in columns), strict=True)),
        loops=[tuple(loop) for loop in program.loops.tolist()],
    )
    return Run(rows, (plan.address[plan.buffer] + plan.offset).tolist()).run()


@pytest.mark.parametrize("batch", [63, 64])
def test_only_batch_64_wraps(batch):
    """Of [batch, 2048, 4096] float32: 2^31 bytes for 64 samples. Below, the same planner is right."""
    problem = make_problem([0, 1, 2], [2, 4, 4], [1 << 25, 1 << 25, batch << 25])
    offsets = np.array([0, batch << 25, 0])
    plan = PlacedBuffers(problem, offsets, (batch + 1) << 25)
    assert plan.verify() == ()
    assert (EXHIBITS["int32_size"].spoil(plan) is not None) == (batch == 64)


@pytest.mark.parametrize("model", ["bert-base:small=true", "qwen2.5-7b:small=true", "mixtral-8x7b:small=true"])
def test_the_articles_planner_is_caught_by_both(model):
    from gexplorer.validation import validate

    compiled = compile_(model, memory="article_literal")
    found = validate(compiled.steps, compiled.memory, compiled.schedule)
    assert found.status == "failed"
    assert {check.name for check in found.checks if check.status == "failed"} >= {"memory", "pool_execution"}
    assert found["dry_run"].status == "passed"  # the graph is right, it is the plan that is not
    told = {note.code for note in found["pool_execution"].notes}
    assert told & {"pool_differs", "pool_does_not_run"}
