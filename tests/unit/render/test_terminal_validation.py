"""The validation section on a terminal of 80 columns."""

import re

import gexplorer as gx
from gexplorer.render.terminal_validation import print_bisection, print_validation
from gexplorer.validation import bisect, validate
from gexplorer.validation.record import Check, Note, OutputError, Validation


def compile_(model, **options):
    """Compiled, and not validated yet."""
    return gx.compile(model, validate="off", **options)


def printed(capsys, action, *arguments) -> str:
    action(*arguments)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    return "".join(f"{line.rstrip()}\n" for line in lines)


def test_a_line_a_check(capsys):
    compiled = compile_("resnet50:small=true")
    text = printed(capsys, print_validation, validate(compiled.steps, compiled.memory, compiled.schedule))
    marks = re.findall(r"^  ([✓✗–]) ([a-z ]+?) [0-9]", text, re.MULTILINE)
    assert marks == [
        *(("✓", name) for name in ("graph", "memory", "streams", "dry run")),
        ("–", "kernel drift"),
        ("✓", "pool execution"),
    ]
    assert text.startswith("validation passed in ")
    assert re.search(r"logits +\d\S+ +\d\S+ +\d\S+$", text, re.MULTILINE)
    assert "cure" not in text  # nothing is ill


def test_what_failed_is_said_with_its_cure(capsys):
    compiled = compile_("bert-base:small=true", memory="article_literal")
    text = printed(capsys, print_validation, validate(compiled.steps, compiled.memory, compiled.schedule))
    assert text.startswith("validation FAILED in ")
    assert "✗ memory" in text
    assert "✗ pool execution" in text
    assert "✓ dry run" in text
    assert text.count("cure: plan with GE_MEM_PLANNING_MODE=safe, or --memory safe") == 1


def test_switched_off(capsys):
    compiled = compile_("mlp:small=true")
    text = printed(capsys, print_validation, validate(compiled.steps, compiled.memory, level="off"))
    assert text == "validation skipped in 0 s\n  switched off by --validate off\n"


def test_names_of_a_model_do_no_harm(capsys):
    name = "[red]" + "x" * 200 + "\x1b[2J"
    errors = tuple(OutputError(f"{name}{i}", 0, {}, 1.0, 1.0, 0.5, "far off") for i in range(12))
    notes = (Note("output_differs", {"fault": "a", "limit": 1, "cosine": 1, "seed": 0, "sizes": ""}, name),)
    check = Check("dry_run", "failed", notes, 0.1, errors)
    text = printed(capsys, print_validation, Validation("failed", "", (check,), "quick"))
    assert "\x1b[2J" not in text
    assert "[red]" in text
    assert "... 4 more" in text


def test_nothing_wrong(capsys):
    compiled = compile_("mlp:small=true")
    text = printed(capsys, print_bisection, bisect(compiled.steps), None)
    assert text.startswith("✓ nothing is wrong")
