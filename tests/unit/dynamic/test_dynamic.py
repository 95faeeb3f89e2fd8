"""Shapes that change: sizes, workloads, strategies and the search for gears."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.dynamic.at_sizes import Shaper
from gexplorer.dynamic.free import FreeDims
from gexplorer.dynamic.gear_search import best_gears
from gexplorer.dynamic.simulate import simulate
from gexplorer.dynamic.stall import FULL_BUILD, NEW_SHAPE, TILING_US
from gexplorer.dynamic.strategies import Dynamic, Gears, Recompile, holds
from gexplorer.dynamic.workload import from_sizes, generate, read_csv
from gexplorer.errors import OptionError


def shaper(model):
    return Shaper(gx.compile(model))


@pytest.fixture(scope="module")
def one():
    return shaper("bert-base:small=true,seq=s")


@pytest.fixture(scope="module")
def two():
    return shaper("bert-base:small=true,batch=b,seq=s")


@pytest.mark.parametrize("text", ["b=2,s=16", "s=16,b=2", "2,16", " 2 , 16 "])
def test_sizes_are_read(two, text):
    assert two.free.names == ("b", "s")
    assert two.free.parse(text) == (2, 16)
    assert two.free.text((2, 16)) == "b=2,s=16"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("b=2", "no size of s"),
        ("b=2,x=1,s=3", "no free dimension x"),
        ("2", "b=SIZE,s=SIZE"),
        ("a,b", "is wanted"),
        ("0,3", "at least 1"),
        ("", "is wanted"),
        ("b=-1,s=2", "is wanted"),
    ],
)
def test_what_is_no_size_is_said(two, text, says):
    with pytest.raises(OptionError, match=says):
        two.free.parse(text)


def test_the_whole_shape_of_the_first_input_is_read(two):
    free = FreeDims.of(gx.compile("mlp:small=true,batch=n").graph)
    rank = len(free.graph.tensor(free.graph.inputs[0]).shape)
    if rank > 1:
        shape = [str(d) for d in free.graph.tensor(free.graph.inputs[0]).shape]
        assert free.parse(",".join(["7", *shape[1:]])) == (7,)


def test_sizes_give_what_a_compilation_for_them_gives(two):
    bound = two.at((2, 32))
    compiled = gx.compile("bert-base:small=true,batch=2,seq=32")
    assert all(isinstance(d, int) for v in bound.graph.outputs for d in bound.graph.tensor(v).shape)
    assert not bound.cost.uncosted
    assert bound.run_us == pytest.approx(compiled.cost.latency_us, rel=0.05)
    assert bound.pool_bytes == pytest.approx(compiled.memory.pool_bytes, rel=0.05)
    assert two.at((2, 32)) is bound


def test_a_workload_is_read_from_csv(tmp_path, two):
    path = tmp_path / "load.csv"
    path.write_text("arrival_ms,s,b\n5,16,2\n1,8,1\n")
    requests = read_csv(path, two.free).requests
    assert [(r.arrival_us, r.sizes) for r in requests] == [(1000.0, (1, 8)), (5000.0, (2, 16))]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("arrival_us,b\n1,2\n", "no column s"),
        ("b,s\n", "no request"),
        ("", "no column"),
        ("b,s\n1,x\n", "line 2: s 'x'"),
        ("arrival_us,b,s\n-1,1,1\n", "line 2: arrival"),
        ("arrival_us,b,s\nnan,1,1\n", "arrival 'nan'"),
        ("b,s\n1,0\n", "at least 1"),
        ("b,s\n1\n", "s None"),
    ],
)
def test_a_bad_workload_is_one_clear_line(tmp_path, two, text, says):
    path = tmp_path / "load.csv"
    path.write_text(text)
    with pytest.raises(OptionError, match=says):
        read_csv(path, two.free)
    path.write_bytes(b"\xff\xfe\x00b,s\n")
    with pytest.raises(OptionError, match=r"load\.csv"):
        read_csv(path, two.free)


def test_a_seed_makes_the_same_workload_within_its_bounds(two):
    first, again = (generate(two.free, {"b": (1, 4), "s": (8, 64)}, 500, 100, seed=3) for _ in range(2))
    assert first == again
    assert first != generate(two.free, {"b": (1, 4), "s": (8, 64)}, 500, 100, seed=4)
    sizes = np.array([r.sizes for r in first.requests])
    assert sizes.min(axis=0).tolist() == [1, 8]
    assert sizes.max(axis=0).tolist() == [4, 64]
    assert np.mean(sizes[:, 1] < math.sqrt(8 * 65)) == pytest.approx(0.5, abs=0.1)  # even on a logarithmic scale
    gaps = np.diff([0.0, *(r.arrival_us for r in first.requests)])
    assert gaps.mean() == pytest.approx(1e4, rel=0.15)


def test_a_shape_is_built_once_and_kept_as_long_as_there_is_room(one):
    load = from_sizes([(8,), (16,), (8,), (24,), (8,), (16,)], gap_us=1e9)
    every = simulate(load, Recompile(one), one)
    assert every.hit.tolist() == [False, False, True, False, True, True]
    assert every.stall_us.tolist() == [s * FULL_BUILD.seconds * 1e6 for s in (1, 1, 0, 1, 0, 0)]
    two_kept = simulate(load, Recompile(one, keep=2), one)
    assert two_kept.hit.tolist() == [False, False, True, False, True, False]
    warmed = simulate(load, Recompile(one, warmup=[(8,), (16,), (8,)]), one)
    assert warmed.hit.tolist() == [True, True, True, False, True, True]
    assert warmed.start_up_us == 2 * FULL_BUILD.seconds * 1e6
    assert every.padding == 0


def test_requests_wait_for_the_ones_before(one):
    load = from_sizes([(16,)] * 4, gap_us=1.0)
    timeline = simulate(load, Gears(one, [(16,)]), one)
    run = one.at((16,)).run_us
    assert timeline.latency_us.tolist() == pytest.approx([run, 2 * run - 1, 3 * run - 2, 4 * run - 3])
    assert timeline.percentile_us(50) == pytest.approx(2 * run - 1)
    assert timeline.percentile_us(99) == pytest.approx(4 * run - 3)


def test_tiling_at_run_time_costs_what_the_host_cannot_hide(one):
    at = one.at((16,))
    kernels = at.bound_kernels_us.tolist()
    assert Dynamic(one, tiling_us=0).run_us((16,)) == pytest.approx(sum(kernels))
    assert Dynamic(one, tiling_us=1e6).run_us((16,)) == pytest.approx(1e6 * len(kernels) + kernels[-1])
    assert sum(kernels) < Dynamic(one).run_us((16,)) <= sum(kernels) + TILING_US * len(kernels)
    assert at.run_us <= sum(kernels)  # what is constant at these sizes is folded
    timeline = simulate(from_sizes([(16,), (16,)], 1e9), Dynamic(one), one)
    assert timeline.stall_us.tolist() == [NEW_SHAPE.seconds * 1e6, 0]


def test_the_articles_share_on_the_step_that_it_speaks_of():
    decode = shaper("qwen2.5-7b:mode=decode,past=p")
    static = decode.at((1024,)).run_us
    assert 0.0 <= Dynamic(decode).run_us((1024,)) / static - 1 <= 0.10


def test_a_request_is_padded_to_the_cheapest_gear_that_holds_it(two):
    gears = Gears(two, [(4, 64), (1, 16), (4, 16)])
    assert gears.serve((1, 9)).ran_at == (1, 16)
    assert gears.serve((2, 16)).ran_at == (4, 16)
    assert gears.serve((1, 17)).ran_at == (4, 64)
    assert gears.serve((5, 1)) is None
    timeline = simulate(from_sizes([(1, 9), (5, 1), (1, 16)], 1e9), gears, two)
    assert timeline.request.tolist() == [0, 2]
    assert timeline.refused == {(5, 1): 1}
    assert timeline.pool_bytes == max(two.at(s).pool_bytes for s in [(4, 64), (1, 16), (4, 16)])
    assert 0 < timeline.padding < 1
    with pytest.raises(OptionError, match="at least one"):
        Gears(two, [])


def test_the_best_gears_of_one_dimension_are_the_best(one):
    load = generate(one.free, {"s": (4, 40)}, 60, 10, seed=1)
    asked = load.distinct
    times = {s: one.at(s).run_us for s in asked}
    sizes = sorted(asked)

    def total(gears):
        return sum(n * min(times[g] for g in gears if holds(g, s)) for s, n in asked.items())

    choices = best_gears(load, one, 3)
    assert [len(c.gears) for c in choices] == [1, 2, 3]
    for choice in choices:
        rest = itertools.combinations(sizes[:-1], len(choice.gears) - 1)
        best = min(total((*gears, sizes[-1])) for gears in rest)
        assert choice.run_us == pytest.approx(total(choice.gears))
        if choice.optimal:
            assert choice.run_us == pytest.approx(best)


def test_gears_of_two_dimensions_serve_everything_and_get_better(two):
    load = generate(two.free, {"b": (1, 4), "s": (4, 40)}, 40, 10, seed=1)
    choices = best_gears(load, two, 4)
    assert [c.run_us for c in choices] == sorted((c.run_us for c in choices), reverse=True)
    for choice in choices:
        timeline = simulate(load, Gears(two, choice.gears), two)
        assert not timeline.refused
        assert timeline.run_us.sum() == pytest.approx(choice.run_us)


def test_the_command(tmp_path):
    run = CliRunner().invoke(
        cli,
        ["dynamic", "bert-base:small=true,seq=s", "--range", "s=8..32", "--requests", "20", "--gears", "2", "--json",
         str(tmp_path / "out.json")],
        catch_exceptions=False,
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    data = json.loads((tmp_path / "out.json").read_text())
    assert [s["strategy"] for s in data["strategies"]] == ["recompile", "dynamic", "gears"]
    assert all(len(s["timeline"]) == 20 for s in data["strategies"])
    assert len(data["gears"]) == 2


@pytest.mark.parametrize("option", ["--keep", "--seed", "--gears"])
def test_a_count_below_0_is_refused(option):
    arguments = ["dynamic", "bert-base:small=true,seq=s", "--range", "s=8", "--requests", "3", option, "-1"]
    run = CliRunner().invoke(cli, arguments)
    assert run.exit_code == 2
    assert option in run.stderr


def test_warm_up_shapes_come_from_the_environment():
    run = CliRunner().invoke(
        cli,
        ["dynamic", "bert-base:small=true,seq=s", "--range", "s=8", "--requests", "3", "--json", "-"],
        env={"GE_WARMUP_SHAPES": "8;16"},
        catch_exceptions=False,
    )
    data = json.loads(run.stdout)
    assert [s["hits"] for s in data["strategies"]] == [3, 3]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["bert-base:small=true", "--range", "b=1"], "no dimension of the inputs is free"),
        (["bert-base:small=true,seq=s"], "a workload is wanted"),
        (["bert-base:small=true,seq=s", "--range", "s=9..3"], "9 is above 3"),
        (["bert-base:small=true,seq=s", "--range", "s:3"], "DIM=LOW..HIGH"),
        (["bert-base:small=true,seq=s", "--range", "s=1", "--rate", "0"], "above 0"),
        (["bert-base:small=true,batch=b,seq=s", "--range", "s=1", "--dynamic_batch_size", "1,2"], "one free dimension"),
        (["bert-base:small=true,seq=s", "--workload", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_bad_wishes_are_one_clear_line(arguments, says):
    run = CliRunner().invoke(cli, ["dynamic", *arguments], catch_exceptions=False)
    assert run.exit_code == 1
    assert says in run.stderr
    assert run.stderr.count("\n") == 1
