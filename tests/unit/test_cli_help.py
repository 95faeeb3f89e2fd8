"""Help ends with lines to try: each is one that the commands take."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from gexplorer.cli import cli

EXAMPLES = [
    pytest.param(line, id=line)
    for command in cli.commands.values()
    for line in re.findall(r"^ +gexplorer (.*)$", str(command.epilog or ""), re.MULTILINE)
]
# What a newcomer begins with; the others are lists, or say in a sentence all that there is.
WITH_EXAMPLES = [
    *["ablate", "atc", "bisect", "compile", "cost", "diff", "dynamic", "info", "kernels", "memory", "planners"],
    *["report", "rules", "run", "schedule", "steps", "why"],
]


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_is_one_that_the_command_takes(line):
    name, *words = shlex.split(line)
    command = cli.commands[name]
    context = click.Context(cli, info_name="gexplorer", allow_extra_args=False)
    command.make_context(name, words, parent=context)  # raises a usage error for an option or argument of none


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_a_command_has_examples(name):
    assert "Examples:" in str(cli.commands[name].epilog)
