import numpy as np
import pytest

from gexplorer.errors import OptionError
from gexplorer.memory.policy import Policy, parse_never_reuse


def test_ge_pads_a_tensor_and_takes_whole_blocks():
    sizes = np.array([802816, 0, 1, 31, 32, 33, 447, 448, 449, 480, 481])
    policy = Policy()
    assert policy.padded_bytes(sizes).tolist() == [802848, 32, 64, 64, 64, 96, 480, 480, 512, 512, 544]
    assert policy.aligned_bytes(sizes).tolist() == [803328, 512, 512, 512, 512, 512, 512, 512, 512, 512, 1024]


def test_without_alignment_a_size_is_itself():
    sizes = np.array([0, 1, 511, 512])
    assert Policy.unaligned().aligned_bytes(sizes).tolist() == [0, 1, 511, 512]


def test_no_padding_leaves_blocks():
    assert Policy(tensor_padding_bytes=0).aligned_bytes(np.array([0, 1, 512, 513])).tolist() == [0, 512, 512, 1024]


def test_other_paddings_of_newer_chips():
    assert Policy(tensor_padding_bytes=16).padded_bytes(np.array([32, 16])).tolist() == [64, 32]


@pytest.mark.parametrize("wrong", [{"alignment_bytes": 0}, {"tensor_padding_bytes": -1}])
def test_meaningless_numbers_are_errors(wrong):
    with pytest.raises(OptionError, match="means nothing"):
        Policy(**wrong)


@pytest.mark.parametrize(
    ("text", "entries"),
    [("", ()), ("  ", ()), ("conv1", ("conv1",)), (" MatMul , add_3,MatMul", ("MatMul", "add_3"))],
)
def test_reading_the_variable(text, entries):
    assert parse_never_reuse(text) == entries


def test_ten_entries_and_two_thousand_characters_are_the_most():
    assert len(parse_never_reuse(",".join(f"n{i}" for i in range(10)))) == 10
    assert parse_never_reuse("n" * 2000) == ("n" * 2000,)
    with pytest.raises(OptionError, match="11 entries, at most 10"):
        parse_never_reuse(",".join(f"n{i}" for i in range(11)))
    with pytest.raises(OptionError, match="2001 characters, at most 2000"):
        parse_never_reuse("n" * 2001)


@pytest.mark.parametrize("text", ["a,,b", ",", "a,", ",a"])
def test_an_empty_entry_is_an_error(text):
    with pytest.raises(OptionError, match="is empty"):
        parse_never_reuse(text)
