from __future__ import annotations

import csv

import pytest

from gexplorer.cost.points import COLUMNS, PUBLISHED, read_points
from gexplorer.errors import OptionError
from gexplorer.ir.dtypes import DType

HEADER = ",".join(COLUMNS)
GEMM = 'gemm,A3 24 AIC,1536,1536,1536,fp16->fp32,128x256x64,38.8,54.5,72.2,7.7,"somewhere, page 3"'


@pytest.fixture
def points(tmp_path):
    def read(text: str):
        path = tmp_path / "mine.csv"
        path.write_text(text)
        return read_points(path)

    return read


def test_the_published_points_have_all_a_source():
    published = read_points()
    with PUBLISHED.open() as file:
        assert len(published) == len(list(csv.DictReader(file))) == 38
    assert all("/" in point.source and ".md" in point.source + ".md" for point in published)
    assert len({point.source for point in published}) == 6


def test_a_row_in_words(points):
    (point,) = points(f"{HEADER}\n{GEMM}\n")
    assert (point.line, point.op, point.device) == (2, "gemm", "A3 24 AIC")
    assert (point.shape, point.tile) == ((1536, 1536, 1536), (128, 256, 64))
    assert (point.dtype, point.out_dtype) == (DType.FLOAT16, DType.FLOAT32)
    assert (point.time_us, point.ratios) == (38.8, {"cube": 0.545, "mte2": 0.722, "fixpipe": 0.077})
    assert point.source == "somewhere, page 3"
    assert point.row["M_or_shape"] == 1536
    assert point.row["tile_MxNxK"] == "128x256x64"


def test_what_is_not_known_may_be_empty(points):
    (point,) = points(f"{HEADER}\ngemm,A3 die,16,3200,5120,bf16 (NZ weight),,32.118,,,,\n")
    assert (point.tile, point.ratios, point.source, point.dtype) == (None, {}, "", DType.BFLOAT16)
    assert point.row["tile_MxNxK"] is None


def test_shapes_of_other_operators(points):
    rows = "\n".join(
        f"RmsNorm,A3,{shape},{n},,bf16,,5,,,,"
        for shape, n in (("136x5120", ""), ('"(2, 3, 8)"', ""), ("136", "5120"), ('"4,8;8"', ""))
    )
    assert [point.shape for point in points(f"{HEADER}\n{rows}\n")] == [
        *((136, 5120), (2, 3, 8), (136, 5120), (4, 8)),
    ]


def test_columns_in_any_order_and_a_byte_order_mark(points):
    (point,) = points("\ufefftime_us,dtype,K,N,M_or_shape,device,op\n5,fp16,3,2,1,A3,gemm\n\n")
    assert point.shape == (1, 2, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; a first line with op, device,"),
        ("a,b\n1,2\n", "line 1: no column op; wanted are op, device"),
        (HEADER, "holds no points"),
        (f"{HEADER}\n{GEMM},7\n", "line 2: 13 cells, but 12 columns"),
        (f"{HEADER}\n{GEMM.replace('38.8', 'fast')}\n", "line 2: time_us: a number above 0 is wanted, not 'fast'"),
        (f"{HEADER}\n{GEMM.replace('38.8', '-1')}\n", "line 2: time_us: a number above 0 is wanted, not '-1'"),
        (f"{HEADER}\n{GEMM.replace('38.8', 'nan')}\n", "line 2: time_us: a number above 0 is wanted, not 'nan'"),
        (f"{HEADER}\n{GEMM}\n{GEMM.replace('1536,1536,1536', '1536,0,1536')}\n", "line 3: N: a size from 1 is wanted"),
        (f"{HEADER}\n{GEMM.replace('1536,1536,1536', 'big,1,1')}\n", "line 2: M_or_shape: a size from 1 is wanted"),
        (f"{HEADER}\n{GEMM.replace('128x256x64', '128')}\n", "line 2: tile_MxNxK: three sizes"),
        (f"{HEADER}\n{GEMM.replace('128x256x64', '0x256x64')}\n", "line 2: tile_MxNxK: three sizes"),
        (f"{HEADER}\n{GEMM.replace('fp16->fp32', 'fp17')}\n", "line 2: dtype: one of fp16,"),
        (f"{HEADER}\n{GEMM.replace('72.2', '172')}\n", "line 2: load_ratio_pct: at most 100 per cent"),
        (f"{HEADER}\n{GEMM.replace('A3 24 AIC', '')}\n", "line 2: device: is empty"),
        (f'{HEADER}\n"open', "not CSV"),
    ],
)
def test_a_bad_file_is_one_clear_line(points, text, message):
    with pytest.raises(OptionError) as caught:
        points(text)
    assert message in str(caught.value)
    assert "mine.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(OptionError, match="cannot be read: No such file"):
        read_points(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(OptionError, match=r"binary\.csv: cannot be read"):
        read_points(tmp_path / "binary.csv")
