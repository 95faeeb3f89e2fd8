"""The CSV form of memory problems: what is read, what is written, and what is refused in one line."""

import csv
import tracemalloc
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gexplorer.errors import ModelError
from gexplorer.memory.csv_file import problem_csv, read_problem
from gexplorer.memory.problem import FREE, LARGEST_BYTES, make_problem

HEAD = "id,lower,upper,size\n"


@pytest.fixture
def read(tmp_path):
    def read(text: str | bytes, **options):
        path = tmp_path / "p.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_problem(path, **options)

    return read


def columns(problem):
    return problem.lower.tolist(), problem.upper.tolist(), problem.size_bytes.tolist()


# -- what is read -------------------------------------------------------------------------------------------------


def test_a_problem_as_the_field_writes_it(read):
    problem = read(HEAD + "b,0,3,100\na,2,5,7\n")
    assert problem.names == ("b", "a")
    assert columns(problem) == ([0, 2], [3, 5], [100, 7])
    assert problem.pinned is None
    assert not problem.lower.flags.writeable


@pytest.mark.parametrize(
    "text",
    [
        "size,id,upper,lower\n4,x,3,1\n",
        "ID, Lower ,UPPER,Size\n x , 1,3 ,4\n",
        "\ufeffid,lower,upper,size\r\nx,1,3,4\r\n",
        "id,begin,upper,size\n\nx,+1,3,4\n\n   \n",
        "id,start,end,size\nx,1,2,4\n",  # an end belongs to the lifetime
        "id,lower,upper,size,hint\nx,1,3,4,?\n",
        '"id","lower","upper","size"\n"x","1","3","4"\n',
        "id,lower,upper,size,gaps\nx,1,3,4,\n",
    ],
)
def test_other_ways_to_say_the_same(read, text):
    problem = read(text)
    assert problem.names == ("x",)
    assert columns(problem) == ([1], [3], [4])


def test_an_offset_pins_its_buffer_and_an_empty_cell_does_not(read):
    problem = read("id,lower,upper,size,offset\nx,0,2,4,8\ny,0,2,4,\n")
    assert problem.pinned is not None
    assert problem.pinned.tolist() == [8, FREE]
    assert read("id,lower,upper,size,offset\nx,0,2,4,\n").pinned is None


def test_sizes_are_rounded_up_to_the_alignment(read):
    problem = read(HEAD + "x,0,2,513\ny,0,2,0\n", alignment_bytes=512)
    assert problem.size_bytes.tolist() == [1024, 0]
    assert problem.alignment_bytes == 512


def test_no_buffer_is_a_problem_too(read):
    assert len(read(HEAD)) == 0


def test_the_largest_numbers_are_read(read):
    top = LARGEST_BYTES
    assert columns(read(HEAD + f"x,{top - 1},{top},{top - 1}\n")) == ([top - 1], [top], [top - 1])


def test_an_alignment_that_is_already_asked_for_is_met(read):
    text = "id,lower,upper,size,alignment\nx,0,2,4,32\ny,0,2,4,\n"
    assert read(text, alignment_bytes=64).size_bytes.tolist() == [64, 64]


# -- what is refused ----------------------------------------------------------------------------------------------

REFUSED = {
    "empty": ("", "p.csv:1: a first line with id,lower,upper,size is wanted"),
    "no head": ("0,1,2,3\n", "p.csv:1: a first line with id,lower,upper,size is wanted"),
    "missing column": ("id,lower,upper\nx,0,1\n", "p.csv:1: a first line with id,lower,upper,size is wanted"),
    "column twice": ("id,lower,upper,size,size\nx,0,1,2,3\n", "p.csv:1: column 'size' is there twice"),
    "negative size": (HEAD + "x,0,1,-4\n", "p.csv:2: 'x': a size of -4 bytes is negative"),
    "negative time": (HEAD + "x,-2,1,4\n", "p.csv:2: 'x': a lifetime from -2 is negative; points count from 0"),
    "reversed": (HEAD + "w,0,1,4\nx,5,2,4\n", "p.csv:3: 'x': a lifetime from 5 to 2 is empty"),
    "no lifetime": (HEAD + "x,5,5,4\n", "p.csv:2: 'x': a lifetime from 5 to 5 is empty"),
    "reversed end": ("id,lower,end,size\nx,5,4,4\n", "p.csv:2: 'x': a lifetime from 5 to 4 is empty"),
    "twice": (HEAD + "x,0,1,4\n\ny,0,1,4\nx,1,2,4\n", "p.csv:5: id 'x' is also on line 2"),
    "no id": (HEAD + " ,0,1,4\n", "p.csv:2: no id"),
    "no number": (HEAD + "x,0,1,4kB\n", "p.csv:2: size '4kB' is no whole number of at most 19 digits"),
    "a fraction": (HEAD + "x,0,1.5,4\n", "p.csv:2: upper '1.5' is no whole number of at most 19 digits"),
    "no cell": (HEAD + "x,0,1,\n", "p.csv:2: size '' is no whole number of at most 19 digits"),
    "foreign digits": (HEAD + "x,0,1,٣\n", "p.csv:2: size '٣' is no whole number of at most 19 digits"),
    "underscore": (HEAD + "x,0,1,1_0\n", "p.csv:2: size '1_0' is no whole number of at most 19 digits"),
    "overflow": (
        HEAD + "x,0,1,9223372036854775807\n",
        f"p.csv:2: size 9223372036854775807 does not fit (the largest is {LARGEST_BYTES})",
    ),
    "far overflow": (
        HEAD + f"x,0,1,{'9' * 60}\n",
        f"p.csv:2: size '{'9' * 40}...' is no whole number of at most 19 digits",
    ),
    "sum overflow": (
        HEAD + "".join(f"x{i},0,1,{LARGEST_BYTES // 4}\n" for i in range(5)),
        f"p.csv: the sizes add up to more than {LARGEST_BYTES} bytes",
    ),
    "few cells": (HEAD + "x,0\n", "p.csv:2: 2 cells, where the first line has 4"),
    "many cells": (HEAD + "x,0,1,4,5\n", "p.csv:2: 5 cells, where the first line has 4"),
    "negative offset": ("id,lower,upper,size,offset\nx,0,1,4,-8\n", "p.csv:2: offset -8 is negative"),
    "far offset": (
        f"id,lower,upper,size,offset\nx,0,1,4,{LARGEST_BYTES}\n",
        f"p.csv:2: 'x': there is no offset {LARGEST_BYTES} for 4 bytes",
    ),
    "alignment": (
        "id,lower,upper,size,alignment\nx,0,1,4,64\n",
        "p.csv:2: 'x' wants an alignment of 64 bytes: plan with --alignment 64",
    ),
    "gaps": (
        "id,lower,upper,size,gaps\nx,0,9,4,2-3\n",
        "p.csv:2: 'x' has gaps: buffers that change their size while they live are not planned",
    ),
    "binary": (bytes(range(256)) * 40, "p.csv: not a text file"),
    "zero bytes": (b"id,lower,upper,size\nx\0,0,1,2\n", "p.csv:2: not a line of a CSV table"),
    "one long line": (HEAD + "x" * 20_000, "p.csv:2: not a line of a CSV table"),
    "open quote": (HEAD + '"x,0,1,4\n' * 3, "p.csv:3: not a CSV table: ',' expected after '\"'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_said_in_one_line_with_its_place(read, tmp_path, case):
    text, message = REFUSED[case]
    with pytest.raises(ModelError) as caught:
        read(text)
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_an_offset_off_the_alignment_is_refused(read):
    with pytest.raises(ModelError, match="x: an offset of 8 is no multiple of 512 from 0"):
        read("id,lower,upper,size,offset\nx,0,1,4,8\n", alignment_bytes=512)


@pytest.mark.parametrize(
    "noise",
    [
        "lorem ipsum dolor sit amet\n" * 1_000_000,
        HEAD + "lorem,ipsum,dolor,sit\n" * 1_000_000,
        HEAD + "x,0,1,4\n" * 1_000_000,
        HEAD + '"' + "x\n" * 1_000_000,
        "x" * 50_000_000,
    ],
    ids=["no head", "no numbers", "one id", "one cell", "one line"],
)
def test_a_million_lines_of_noise_are_refused_at_once(read, noise):
    noise = noise.encode()
    start = process_time()
    with pytest.raises(ModelError) as caught:
        read(noise)
    assert process_time() - start < 1
    assert len(str(caught.value).splitlines()) == 1


def test_a_line_without_an_end_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "long.csv"
    path.write_bytes(b"x" * 50_000_000)
    tracemalloc.start()
    with pytest.raises(ModelError):
        read_problem(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1_000_000


def test_what_is_no_file_is_said(tmp_path):
    for path, words in ((tmp_path, "Is a directory"), (tmp_path / "none.csv", "No such file or directory")):
        with pytest.raises(ModelError, match=words):
            read_problem(path)


# -- what is written ----------------------------------------------------------------------------------------------


def test_a_plan_is_written_with_its_offsets(tmp_path):
    problem = make_problem([0, 1], [2, 3], [5, 6], ("a,b", 'say "x"'))
    text = problem_csv(problem, np.array([0, 5]))
    assert list(csv.reader(text.splitlines())) == [
        ["id", "lower", "upper", "size", "offset"],
        ["a,b", "0", "2", "5", "0"],
        ['say "x"', "1", "3", "6", "5"],
    ]


def test_buffers_without_names_are_numbered():
    assert problem_csv(make_problem([0], [1], [2])) == "id,lower,upper,size\n0,0,1,2\n"


NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8).map(str.strip).filter(bool)
BUFFERS = st.dictionaries(
    NAMES,
    st.tuples(st.integers(0, 1 << 40), st.integers(1, 1 << 40), st.integers(0, 1 << 50), st.integers(0, 1 << 50)),
    max_size=8,
)


@given(buffers=BUFFERS, plan=st.booleans())
def test_what_is_written_is_read_back(tmp_path_factory, buffers, plan):
    table = np.array(list(buffers.values()), dtype=np.int64).reshape(-1, 4)
    problem = make_problem(table[:, 0], table[:, 0] + table[:, 1], table[:, 2], tuple(buffers))
    path = tmp_path_factory.getbasetemp() / "back.csv"
    path.write_text(problem_csv(problem, table[:, 3] if plan else None), encoding="utf-8", newline="")
    back = read_problem(path)
    assert back.names == problem.names
    assert columns(back) == columns(problem)
    if plan and buffers:
        assert back.pinned is not None
        assert back.pinned.tolist() == table[:, 3].tolist()
