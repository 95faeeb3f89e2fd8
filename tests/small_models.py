"""Small models that between them use most of what ONNX can say, for tests that damage models."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

DATA_FILE = "weights.bin"
DATA = np.random.default_rng(0).standard_normal(256).astype(np.float32).tobytes()

DENSE = """
<ir_version: 10, opset_import: ["": 21]>
dense (float[n, 6, 8] x, int64[n, 6] ids) => (float[n, 6, 4] y, float16[n, 6, 4] half, int64[k] count)
<float[8, 4] w = ["location": "weights.bin", "offset": "0", "length": "128"],
 float[4] b = ["location": "weights.bin", "offset": "128", "length": "16"],
 float one = {1}, int64[1] axes = {-1}, int64 zero = {0}, int64[3] table = {1, 0, 2}, int64[2] flat = {-1, 4}>
{
    product = MatMul(x, w)
    same = Identity(product)
    biased = Add(same, b)
    scaled = Mul(biased, one)
    kept, mask = Dropout(scaled)
    zero1 = Constant<value = int64[1] {0}>()
    size = Shape(kept)
    rows = Gather(size, zero)
    columns = Constant<value_ints = [6, 4]>()
    head = Unsqueeze(rows, zero1)
    wanted = Concat<axis = 0>(head, columns)
    folded = Reshape(kept, flat)
    back = Reshape(folded, wanted)
    turned = Transpose<perm = [0, 2, 1]>(back)
    again = Transpose<perm = [0, 2, 1]>(turned)
    mean = ReduceMean<keepdims = 1>(again, axes)
    centred = Sub(again, mean)
    again2 = Sub(again, mean)
    both = Add(centred, again2)
    y = Softmax<axis = -1>(both)
    wide = Cast<to = 11>(y)
    half = Cast<to = 10>(wide)
    picked = Gather(table, ids)
    count = Reshape(picked, axes)
}
"""

CONTROL = """
<ir_version: 10, opset_import: ["": 21, "local": 1]>
control (float[n, 4] x, bool c, float[5, 2] track) => (float[n, 4] y, float[k, n, 4] z, float[5, 2] path)
<int64 trips = {3}, float[1] step = {0.5}, float[2] start = {0, 0}>
{
    t = If(c) <
        then_branch = yes () => (float[n, 4] a) { inner = Relu(x)
            a = local.twice<alpha = 0.25>(inner) },
        else_branch = no () => (float[n, 4] b) { k = Constant<value_float = 2.0>()
            b = Mul(x, k) }
    >
    go = Constant<value = bool {1}>()
    y, z = Loop(trips, go, t) <
        body = turn (int64 i, bool on, float[n, 4] v) => (bool on_out, float[n, 4] v_out, float[n, 4] seen) {
            on_out = Identity(on)
            v_out = Add(v, step)
            seen = Neg(v_out)
        }
    >
    last, path = Scan<num_scan_inputs = 1,
        body = add (float[2] sum, float[2] item) => (float[2] sum_out, float[2] copy) {
            sum_out = Add(sum, item)
            copy = Identity(sum_out)
        }
    >(start, track)
}
<domain: "local", opset_import: ["": 21, "local": 1]>
twice <alpha>(p) => (q) { e = Elu<alpha: float = @alpha>(p)
    q = local.double(e) }
<domain: "local", opset_import: ["": 21]>
double (p) => (q) { q = Add(p, p) }
"""

SHAPES = """
<ir_version: 10, opset_import: ["": 18]>
shapes (float[2, 3] x, float[a, b] s) => (float[p, q] y, int64[r, t] where, float[u, v] grown, int64[w] sums)
<int64[2] pair = {2, 3}, int64[2] ones = {1, 2}, int64[1] first = {0}, int64[1] last = {2}, int64[1] stride = {1},
 int64 zero = {0}, int64 one = {1}, int64 five = {5}, int64[4] pads = {0, 1, 0, 1}, float[2] on_off = {0, 1},
 int64[2] halves = {1, 2}, int64 three = {3}>
{
    one_f = Constant<value_float = 1.0>()
    blank = ConstantOfShape<value = float[1] {2}>(pair)
    wide = Expand(one_f, pair)
    tiled = Tile(x, ones)
    cut = Slice(tiled, first, last, stride, stride)
    padded = Pad(cut, pads)
    numbers = Range(zero, five, one)
    sums = CumSum(numbers, zero)
    hot = OneHot<axis = -1>(numbers, three, on_off)
    a, b = Split<axis = 1>(hot, halves)
    last_k = Constant<value = int64[1] {1}>()
    best, at = TopK(a, last_k)
    blank_t = Transpose<perm = [1, 0]>(blank)
    m = MatMul(x, blank_t)
    m2 = Mul(m, m)
    wanted = Shape(s)
    grown = Expand(one_f, wanted)
    cond = Greater(x, one_f)
    y = Where(cond, x, wide)
    where = NonZero(x)
}
"""

IMAGE = """
<ir_version: 8, opset_import: ["": 13]>
image (float[1, 3, 8, 8] x) => (float[1, 5] y, float[1, 4, 4, 4] small)
<float[4, 3, 3, 3] w = ["location": "weights.bin", "offset": "256", "length": "432"],
 float[4] scale = {1, 2, 1, 0.5}, float[4] bias = {0, 1, -1, 0}, float[4] mean = {0, 0.1, 0, 0},
 float[4] var = {1, 1, 2, 1}, float[5, 4] head = ["location": "weights.bin", "offset": "0", "length": "80"],
 float low = {0}, float high = {6}, float[4] scales = {1, 1, 1, 1}>
{
    axis = Constant<value = int64[1] {2}>()
    c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w)
    n = BatchNormalization<epsilon = 0.001>(c, scale, bias, mean, var)
    r = Clip(n, low, high)
    small = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r)
    big = Resize<mode = "nearest">(small, , scales)
    p = AveragePool<kernel_shape = [2, 2], auto_pad = "SAME_UPPER">(big)
    two = Concat<axis = 1>(p)
    g = GlobalAveragePool(two)
    f = Flatten(g)
    u = Unsqueeze(f, axis)
    q = Squeeze(u, axis)
    y = Gemm<transB = 1>(q, head)
}
"""

ODD = """
<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3, "com.example": 1]>
odd (float[2, 3] x, int64[2] ids) => (float[2, 3] y, bool[2] same, float[4, 3] joined, float[2, 3] there)
<string[3] words = {"one", "two", "three"}, string[1] two = {"two"}>
{
    square = Constant<value_ints = [3, 3]>()
    picked = Gather(words, ids)
    same = Equal(picked, two)
    weights = DequantizeLinear(packed, scale)
    w = Reshape(weights, square)
    y0 = MatMul(x, w)
    y = Add(y0, sparse)
    items = SequenceConstruct(x, y)
    joined = ConcatFromSequence<axis = 0>(items)
    maybe = Optional(y)
    there = OptionalGetElement(maybe)
}
"""


def build() -> dict[str, onnx.ModelProto]:
    """The models by name; the bytes of their data file are ``DATA``."""
    texts = {"dense": DENSE, "control": CONTROL, "shapes": SHAPES, "image": IMAGE}
    models = {name: parser.parse_model(text) for name, text in texts.items()}
    odd = parser.parse_model(ODD)
    packed = helper.make_tensor("packed", TensorProto.INT4, [9], [1, -2, 3, -4, 5, -6, 7, -8, 0])
    scale = numpy_helper.from_array(np.array(0.5, np.float32), "scale")
    odd.graph.initializer.extend([packed, scale])
    values = numpy_helper.from_array(np.array([1, -2], np.float32), "sparse")
    indices = numpy_helper.from_array(np.array([[0, 1], [1, 2]]), "sparse_indices")
    odd.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2, 3]))
    models["odd"] = odd
    return models
