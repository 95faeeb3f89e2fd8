from __future__ import annotations

import pytest

from gexplorer.hardware.quantities import Quantity, read_quantity


@pytest.mark.parametrize(
    ("text", "kind", "base"),
    [
        ("64 KiB", "bytes", 65536),
        ("64KiB", "bytes", 65536),
        (4096, "bytes", None),
        ("1.85 GHz", "frequency", 1.85e9),
        ("1060 MHz", "frequency", 1.06e9),
        ("1.6 TB/s", "rate", 1.6e6),
        ("110 B/cycle", "rate", 110 * 2000),
        ("122 ns", "time", 0.122),
        ("4.7 us", "time", 4.7),
        ("0 ns", "time", 0),
        (24, "count", 24),
        (1.5, "number", 1.5),
        (0, "number", 0),
        (1, "fraction", 1),
        ("2e-9", "fraction", 2e-9),
        (0, "share", 0),
    ],
)
def test_a_quantity_in_the_unit_of_its_kind(text, kind, base):
    if base is None:
        with pytest.raises(ValueError, match="a size in B, KiB"):
            read_quantity(text, kind)
        return
    assert read_quantity(text, kind).in_base(kind, 2e9) == pytest.approx(base)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ("64 KB/s", "bytes", "a size in B, KiB, MiB, GiB or GB is wanted, not '64 KB/s'"),
        ("fast", "rate", "a rate in .* is wanted, not 'fast'"),
        (None, "count", "a count is wanted, not None"),
        (True, "count", "a count is wanted, not True"),
        (2.5, "count", "a whole number is wanted, not 2.5"),
        (0, "count", "above 0 is wanted"),
        (-1, "number", "is wanted, not -1"),
        ("1.5", "fraction", "a fraction of at most 1"),
        ("nan us", "time", "is wanted"),
        ("1e99 B", "bytes", "above 0 is wanted"),
        ([1], "count", "is wanted"),
    ],
)
def test_what_is_no_quantity_says_what_is_wanted(value, kind, message):
    with pytest.raises(ValueError, match=message):
        read_quantity(value, kind)


def test_a_quantity_is_shown_as_written():
    assert str(Quantity(110, "B/cycle")) == "110 B/cycle"
    assert str(Quantity(0.97)) == "0.97"
