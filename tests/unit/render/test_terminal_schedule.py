"""What is printed about a schedule fits 80 columns and says what is wrong."""

from __future__ import annotations

import pytest
from rich.console import Console

import gexplorer as gx
from gexplorer.render import terminal_schedule
from gexplorer.render.terminal_schedule import SLICES, print_schedule, schedule_lines
from gexplorer.schedule.stage import kernel_names, schedule
from gexplorer.units import time_text
from gexplorer.views.schedule import longest_waits
from tests.schedules import durations

MODEL = "bert-base:small=true,layers=2"


@pytest.fixture
def printed(monkeypatch):
    """Calls a printer and gives what it prints, on 80 columns."""

    def call(printer, *arguments) -> str:
        out = Console(width=80, highlight=False)
        monkeypatch.setattr(terminal_schedule, "console", lambda: out)
        with out.capture() as captured:
            printer(*arguments)
        return captured.get()

    return call


@pytest.mark.parametrize("mode", ["single", "cube_vector", "streams:64"])
@pytest.mark.parametrize("model", [MODEL, "mixtral-8x7b:small=true", "resnet50:small=true"])
def test_it_fits_80_columns(printed, model, mode):
    memory = gx.compile(model).memory
    text = printed(print_schedule, schedule(memory, durations(memory, 5), mode))
    assert max(map(len, text.splitlines())) <= 80
    assert "verified" in text


def test_numbers_bars_and_waits(printed):
    memory = gx.compile(MODEL).memory
    found = schedule(memory, durations(memory, 5), "cv")
    text = printed(print_schedule, found)
    lines = text.splitlines()
    assert any(line.startswith("makespan") and time_text(found.makespan_us / 1e6) in line for line in lines)
    assert any(line.startswith("critical path") and time_text(found.critical_path_us / 1e6) in line for line in lines)
    bars = [line.split(maxsplit=1)[1] for line in lines if line.startswith(("  0 ", "  1 "))]
    assert [len(bar) for bar in bars] == [SLICES, SLICES]
    assert set("".join(bars)) <= set("Cvm.")
    shown = text[text.index("The longest waits") :]
    assert all(row.kernel[-8:] in shown for row in longest_waits(found, 3))


def test_one_stream_never_waits(printed):
    memory = gx.compile(MODEL).memory
    assert "No stream ever waits." in printed(print_schedule, schedule(memory, durations(memory), "single"))


def test_a_race_is_told(printed):
    memory = gx.compile(MODEL, memory="article_literal").memory
    found = schedule(memory, dict.fromkeys(kernel_names(memory), 1.0), "cv")
    text = printed(print_schedule, found)
    assert "NO" in text
    assert found.findings[0].code in text
    assert "UNSOUND" in schedule_lines(found, {})[0]


def test_the_line_of_compile():
    memory = gx.compile(MODEL).memory
    (line,) = schedule_lines(schedule(memory, dict.fromkeys(kernel_names(memory), 2.0), "single"), {})
    assert time_text(len(kernel_names(memory)) * 2e-6) in line
    assert "1 stream:" in line
    assert "verified" in line


def test_the_line_of_compile_says_that_times_are_missing():
    memory = gx.compile(MODEL).memory
    names = kernel_names(memory)
    found = schedule(memory, {name: 2.0 * (name != names[0]) for name in names}, "single")
    line, why = schedule_lines(found, {names[0]: "no size"})
    assert f"at least [bold]{time_text((len(names) - 1) * 2e-6)}" in line
    assert "no time of 1 kernel[/yellow]: no size" in why
    line, why = schedule_lines(schedule(memory, dict.fromkeys(names, 0.0), "single"), dict.fromkeys(names, "no size"))
    assert "0 s" not in line  # nobody can tell, which is not nothing
    assert f"no time of {len(names)}" in why
