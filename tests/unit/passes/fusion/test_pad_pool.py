"""Padding that pooling can do by itself, and padding that it cannot."""

import pytest

from gexplorer.passes.fusion.rules.pad_pool import PadPool
from tests.fused import check_count, check_kernels, check_miss

HEAD = """
input %x : float32[1,2,4,4]
input %late : int64[8]
input %u : uint8[1,2,4,4]
constant %pads = int64[8] {0, 0, 1, 1, 0, 0, 1, 0}
constant %channel = int64[8] {0, 1, 1, 1, 0, 0, 1, 1}
constant %cut = int64[8] {0, 0, 1, -1, 0, 0, 1, 1}
constant %much = int64[8] {0, 0, 2, 1, 0, 0, 1, 1}
constant %zero = float32[] {0.0}
constant %byte = uint8[] {0}
constant %half = float32[] {0.5}
constant %least = float32[] {-inf}
"""
PAD = "%p = Pad(%x, %pads) #p\n"
AVERAGE, MAXIMUM = (
    "%y = " + op + "({}) {{kernel_shape = [2, 2]{}}} #y\noutput %y" for op in ("AveragePool", "MaxPool")
)
COUNTED = '%y = AveragePool(%x) {auto_pad = "NOTSET", count_include_pad = 1, kernel_shape = [2, 2], pads = [1, 1, 1, 0]} #y\noutput %y'  # noqa: E501
PADDED = '%y = MaxPool({}) {{auto_pad = "NOTSET", kernel_shape = [2, 2], pads = [1, 1, 1, 0]}} #y\noutput %y'
RELU = "%r = Relu(%x) #r\n"
FIRES = {
    "an average": (PAD + AVERAGE.format("%p", ""), COUNTED),
    "an average that counts its own": (
        PAD + AVERAGE.format("%p", ", pads = [0, 0, 0, 1], count_include_pad = 1"),
        COUNTED.replace("1, 0]}", "1, 1]}"),
    ),
    "minus infinity": ("%p = Pad(%x, %pads, %least) #p\n" + MAXIMUM.format("%p", ""), PADDED.format("%x")),
    "zeros behind a Relu": (
        RELU + "%p = Pad(%r, %pads) #p\n" + MAXIMUM.format("%p", ""),
        RELU + PADDED.format("%r"),
    ),
    "zeros behind a Clip": (
        "%r = Clip(%x, %zero) #r\n%p = Pad(%r, %pads) #p\n" + MAXIMUM.format("%p", ""),
        "%r = Clip(%x, %zero) #r\n" + PADDED.format("%r"),
    ),
    "zeros around bytes": ("%p = Pad(%u, %pads, %byte) #p\n" + MAXIMUM.format("%p", ""), PADDED.format("%u")),
}


@pytest.mark.parametrize(("model", "nodes"), FIRES.values(), ids=FIRES)
def test_fires(model, nodes):
    check_kernels(PadPool, HEAD + model, nodes, opset=18)


def test_a_pad_that_two_read():
    model = PAD + "%y = AveragePool(%p) {kernel_shape = [2, 2]} #y\n%z = Neg(%p) #z\noutput %y\noutput %z"
    nodes = PAD + COUNTED.replace("output %y", "%z = Neg(%p) #z\noutput %y\noutput %z")
    check_kernels(PadPool, HEAD + model, nodes, opset=18)


MISSES = {
    "mode": (
        '%p = Pad(%x, %pads) {mode = "edge"} #p\n' + AVERAGE.format("%p", ""),
        ("p", "p pads in the mode edge, pooling with one number"),
    ),
    "value": ("%p = Pad(%x, %pads, %half) #p\n" + AVERAGE.format("%p", ""), ("p", "p pads with 0.5, y averages zeros")),
    "below": (
        PAD + MAXIMUM.format("%p", ""),
        ("p", "p pads with 0, and something in x may be less: it would be the maximum of its window"),
    ),
    "below, though behind a Relu": (
        RELU + "%p = Pad(%r, %pads, %half) #p\n" + MAXIMUM.format("%p", ""),
        ("p", "p pads with 0.5, and something in r may be less: it would be the maximum of its window"),
    ),
    "unknown": (
        "%p = Pad(%x, %late) #p\n" + AVERAGE.format("%p", ""),
        ("p", "how much p pads is not known beforehand"),
    ),
    "channels": (
        "%p = Pad(%x, %channel) #p\n" + AVERAGE.format("%p", ""),
        ("p", "p pads by [0, 1, 1, 1, 0, 0, 1, 1], other axes than the window moves on"),
    ),
    "negative": (
        "%p = Pad(%x, %cut) #p\n" + AVERAGE.format("%p", ""),
        ("p", "p pads by [0, 0, 1, -1, 0, 0, 1, 1]: negative padding cuts, which pooling does not"),
    ),
    "auto_pad": (
        PAD + AVERAGE.format("%p", ', auto_pad = "SAME_UPPER"'),
        ("y", "y computes its own padding (SAME_UPPER) from the size of its input"),
    ),
    "ceil": (
        PAD + AVERAGE.format("%p", ", ceil_mode = 1"),
        ("y", "y rounds its size up (ceil_mode), so its last windows end beyond the padding"),
    ),
    "counts": (
        PAD + AVERAGE.format("%p", ", pads = [0, 0, 0, 1]"),
        ("y", "y pads by [0, 0, 0, 1] itself and leaves that out of the average, but not what p pads"),
    ),
    "window": (
        "%p = Pad(%x, %much) #p\n" + AVERAGE.format("%p", ""),
        (
            "y",
            "p and y pad by [2, 1, 1, 1], as much as the window of [2, 2]: some windows would hold nothing else",
        ),
    ),
    "dilated": (
        PAD + MAXIMUM.format("%p", ", dilations = [2, 1]"),
        ("y", "y leaves out places in its windows ([2, 1]), so that some may hold padding alone"),
    ),
    "indices": (
        PAD + "%y, %i = MaxPool(%p) {kernel_shape = [2, 2]} #y\noutput %y\noutput %i",
        ("y", "y gives the places of its maxima (i), which count the padding"),
    ),
}


@pytest.mark.parametrize(("code", "model", "said"), [(c.split(",")[0], *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    check_miss(PadPool, HEAD + model, code, *said, opset=18)


def test_an_average_that_cannot_count():
    model = "input %x : float32[1,2,4,4]\n%p = Pad(%x) {pads = [0, 0, 1, 1, 0, 0, 1, 0]} #p\n" + AVERAGE.format(
        "%p", ""
    )
    check_miss(PadPool, model, "old", "y", "y of opset 6 has no way to count what is padded", opset=6)


@pytest.mark.parametrize(("trap", "count"), [("pad_avgpool", 1), ("pad_maxpool_negative", 0)])
def test_traps(trap, count):
    """An average must count what was padded; a maximum of negative numbers must not become 0."""
    check_count(f"corpus/traps/{trap}.onnx", {"pad_pool": count}, numbers=True)


def test_a_model_of_onnxruntime():
    check_count("data/ort_fusion/fusion/fuse-pad-avgpool.onnx", {"pad_pool": 1}, numbers=True)
