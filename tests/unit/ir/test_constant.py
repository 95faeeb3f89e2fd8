import pickle
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

from gexplorer.errors import ModelError
from gexplorer.ir.constant import Constant, FileSource, ProtoSource, constant, decode
from gexplorer.ir.dtypes import DType


class Trap:
    """A source that must not be read."""

    available = True
    key = "trap"

    def array(self):
        pytest.fail("the bytes were read")


def test_nothing_is_read_until_asked():
    data = Constant(DType.FLOAT16, (4096, 4096), Trap())
    assert (data.elements, data.nbytes, data.available, data.is_small) == (1 << 24, 1 << 25, True, False)
    assert repr(data) == "Constant(float16[4096,4096])"
    assert data.key == Constant(DType.FLOAT16, (4096, 4096), Trap()).key


def in_file(path: Path, dtype: DType, shape: tuple[int, ...], offset: int, nbytes: int, **fields) -> Constant:
    source = FileSource(path, path.name, offset, nbytes, dtype, shape, **{"available": True, **fields})
    return Constant(dtype, shape, source)


def test_file_is_mapped_not_copied(tmp_path: Path):
    path = tmp_path / "w.data"
    path.write_bytes(b"skipped!" + np.arange(6, dtype=np.float32).tobytes())
    array = in_file(path, DType.FLOAT32, (2, 3), 8, 24).array()
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    base = array
    while not isinstance(base, np.memmap):
        base = base.base
    assert not array.flags.writeable


@pytest.mark.parametrize(
    "dtype", [DType.INT4, DType.UINT4, DType.FLOAT4E2M1, DType.INT2, DType.UINT2, DType.FLOAT6E2M3]
)
def test_packed_elements_in_a_file(tmp_path: Path, dtype: DType):
    array = np.array([1, 0, 1, 1, 0], np.float32).astype(dtype.numpy())
    raw = onnx.numpy_helper.from_array(array).raw_data
    (tmp_path / "w").write_bytes(raw)
    data = in_file(tmp_path / "w", dtype, (5,), 0, len(raw))
    assert data.nbytes == len(raw)
    assert data.array().tobytes() == array.tobytes()


def test_empty_tensor_needs_no_file(tmp_path: Path):
    assert in_file(tmp_path / "none", DType.INT8, (0, 3), 0, 0).array().shape == (0, 3)


@pytest.mark.parametrize(("offset", "nbytes"), [(0, 0), (0, 4), (0, 9), (6, 8), (1 << 40, 8)])
def test_bytes_that_do_not_fit_are_refused(tmp_path: Path, offset: int, nbytes: int):
    (tmp_path / "w").write_bytes(bytes(12))
    with pytest.raises(ModelError, match="w: "):
        in_file(tmp_path / "w", DType.FLOAT32, (2,), offset, nbytes).array()


def test_missing_file_says_so(tmp_path: Path):
    data = in_file(tmp_path / "none", DType.FLOAT32, (2,), 0, 8, available=False)
    assert not data.is_small
    with pytest.raises(ModelError, match="weights not available"):
        data.array()
    with pytest.raises(ModelError, match="none: cannot read 8 bytes"):
        in_file(tmp_path / "none", DType.FLOAT32, (2,), 0, 8).array()


def test_small_constants_are_equal_by_their_bits():
    assert constant(np.array([1.0, 2.0])).key == constant(np.array([1.0, 2.0])).key
    assert constant(np.array([0.0])).key != constant(np.array([-0.0])).key
    assert constant(np.array([1], np.int8)).key != constant(np.array([1], np.uint8)).key
    assert constant(np.zeros((2, 1))).key != constant(np.zeros((1, 2))).key
    assert constant(np.array([np.nan])).key == constant(np.array([np.nan])).key
    strings = np.array([b"a", b"b"], object)
    assert constant(strings).key == constant(strings.copy()).key != constant(strings[::-1]).key


def test_large_constants_are_equal_by_their_place(tmp_path: Path):
    array = np.zeros(10_000)
    assert constant(array).key == constant(array).key != constant(array.copy()).key
    files = [in_file(tmp_path / "w", DType.INT8, (5000,), offset, 5000) for offset in (0, 0, 8)]
    assert files[0].key == files[1].key != files[2].key


def test_strings_are_bytes_and_take_no_fixed_space():
    proto = onnx.helper.make_tensor("s", onnx.TensorProto.STRING, (2, 1), [b"a", b"\xff"])
    data = Constant(DType.STRING, (2, 1), ProtoSource(proto))
    assert data.array().tolist() == [[b"a"], [b"\xff"]]
    assert data.nbytes == 0
    assert constant(data.array()).dtype == DType.STRING


@pytest.mark.parametrize("kind", [onnx.TensorProto.FLOAT, onnx.TensorProto.STRING, onnx.TensorProto.INT4])
def test_wrong_number_of_elements_is_refused(kind: int):
    with pytest.raises(ModelError, match="constant 't'"):
        decode(onnx.TensorProto(name="t", data_type=kind, dims=[7]))


def test_types_are_found_from_arrays():
    assert constant(np.zeros(1, ml_dtypes.bfloat16)).dtype == DType.BFLOAT16
    assert constant(np.zeros(1, ml_dtypes.int4)).dtype == DType.INT4
    assert constant(np.zeros(3, ml_dtypes.int4)).nbytes == 2


def test_fingerprint_is_of_the_elements():
    a, b = constant(np.arange(3)), constant(np.arange(3))
    assert a.fingerprint() == b.fingerprint() != constant(np.arange(4)).fingerprint()
    assert pickle.loads(pickle.dumps(a)).fingerprint() == a.fingerprint()
