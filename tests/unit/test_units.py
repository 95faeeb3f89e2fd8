"""Sizes are written by one formatter, which stands below every stage."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gexplorer
from gexplorer.units import bytes_text
from gexplorer.validation import comparing


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (15_247_000_000, "14.2 GiB"), (2**60, "1,048,576 TiB")],
)
def test_a_size_has_three_digits_and_a_unit(size_bytes, text):
    assert bytes_text(size_bytes) == text


def test_validation_writes_sizes_as_everybody_does():
    assert comparing.bytes_text is bytes_text


def test_nobody_else_scales_bytes():
    """A list of binary units in the code is a formatter of somebody's own; what reads sizes has a table of them."""
    package = Path(gexplorer.__file__).parent
    found = [
        str(path.relative_to(package))
        for path in sorted(package.rglob("*.py"))
        if re.search(r'"KiB",\s*"MiB"', path.read_text(encoding="utf-8"))
    ]
    assert found == ["units.py"]
