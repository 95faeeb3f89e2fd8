"""Padding that goes into a Conv, and padding that must not."""

import pytest

from gexplorer.passes.fusion.rules.pad_conv import PadConv
from tests.fused import check_count, check_kernels, check_miss

HEAD = """
input %x : float32[1,2,3,3]
input %late : int64[8]
constant %w = float32[2,2,1,1] {1.0, -2.0, -3.0, 4.0}
constant %pads = int64[8] {0, 0, 1, 2, 0, 0, 3, 4}
constant %two = int64[4] {1, 2, 3, 4}
constant %axes = int64[2] {-1, 2}
constant %channel = int64[8] {0, 1, 1, 1, 0, 0, 1, 1}
constant %cut = int64[8] {0, 0, 1, -1, 0, 0, 1, 1}
constant %zero = float32[] {0.0}
constant %half = float32[] {0.5}
"""
CONV = "%y = Conv(%p, %w) #y\noutput %y"
FIRES = {
    "plain": ("%p = Pad(%x, %pads) #p\n" + CONV, "[1, 2, 3, 4]"),
    "with zeros": ("%p = Pad(%x, %pads, %zero) #p\n" + CONV, "[1, 2, 3, 4]"),
    "of some axes": ("%p = Pad(%x, %two, _, %axes) #p\n" + CONV, "[2, 1, 4, 3]"),
    "onto its own": ("%p = Pad(%x, %pads) #p\n" + CONV.replace(") #y", ") {pads = [1, 0, 0, 1]} #y"), "[2, 2, 3, 5]"),
}
MISSES = {
    "mode": (
        '%p = Pad(%x, %pads) {mode = "edge"} #p\n' + CONV,
        ("p", "p pads in the mode edge, a Conv pads with zeros"),
    ),
    "value": ("%p = Pad(%x, %pads, %half) #p\n" + CONV, ("p", "p pads with half, a Conv pads with zeros")),
    "unknown": ("%p = Pad(%x, %late) #p\n" + CONV, ("p", "how much p pads is not known beforehand")),
    "channels": (
        "%p = Pad(%x, %channel) #p\n%y = Conv(%p, %w3) #y\noutput %y",
        ("p", "p pads by [0, 1, 1, 1, 0, 0, 1, 1], other axes than the Conv's window moves on"),
    ),
    "negative": (
        "%p = Pad(%x, %cut) #p\n" + CONV,
        ("p", "p pads by [0, 0, 1, -1, 0, 0, 1, 1]: negative padding cuts, which a Conv does not"),
    ),
    "auto_pad": (
        "%p = Pad(%x, %pads) #p\n" + CONV.replace(") #y", ') {auto_pad = "SAME_UPPER"} #y'),
        ("y", "y computes its own padding (SAME_UPPER) from the size of its input"),
    ),
}


@pytest.mark.parametrize(("model", "pads"), FIRES.values(), ids=FIRES)
def test_fires(model, pads):
    nodes = f'%y = Conv(%x, %w) {{auto_pad = "NOTSET", pads = {pads}}} #y\noutput %y'
    check_kernels(PadConv, HEAD + model, nodes, opset=18)


@pytest.mark.parametrize(("code", "model", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_not(code, model, said):
    head = HEAD + "constant %w3 = float32[1,3,1,1] {1.0, 2.0, 3.0}\n"
    check_miss(PadConv, head + model, code, *said, opset=18)


def test_pads_of_two_convs_go_into_each():
    check_count("corpus/traps/pad_two_convs.onnx", {"pad_conv": 2}, numbers=True)


@pytest.mark.parametrize("trap", ["pad_avgpool", "pad_maxpool_negative"])
def test_pooling_is_left_alone(trap):
    check_count(f"corpus/traps/{trap}.onnx", {"pad_conv": 0}, numbers=True)


@pytest.mark.parametrize("name", ["fuse-pad-conv", "fuse-pad-nopadsconv"])
def test_models_of_onnxruntime(name):
    check_count(f"data/ort_fusion/fusion/{name}.onnx", {"pad_conv": 1})
