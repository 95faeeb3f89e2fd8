"""Storage formats: which operators take them, where they pass on, and what keeps its plain order."""

import pytest

from gexplorer.passes.format_assignment import FormatAssignment
from tests.passes import check_codes, check_reject, codes, graph_of, lines_of, near_misses, run

CONV = "input %x : float32[1,3,5,5]\nconstant %w = float32[4,3,1,1] {0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}\n"
TWO = CONV + "constant %v = float32[2,4,1,1] {1, 2, 3, 4, 5, 6, 7, 8}\n"
REWRITES = {
    "cube": "input %x : float32[5,7]\n%y = MatMul(%x, %z) #y\ninput %z : float32[7,3]\noutput %y",
    "follows": CONV + "%c = Conv(%x, %w) #c\n%r = Relu(%c) #r\n%s = Sigmoid(%r) #s\noutput %s",
    "cancelled": TWO + "%c = Conv(%x, %w) #c\n%r = Relu(%c) #r\n%y = Conv(%r, %v) #y\noutput %y",
    "same": CONV + "%a = Conv(%x, %w) #a\n%b = Conv(%x, %w) #b\noutput %a\noutput %b",
    "unused": TWO + "%c = Conv(%x, %w) #c\n%y = Conv(%c, %v) #y\noutput %y",
}
REJECTS = {
    "dynamic": (
        "input %x : float32[2,n]\ninput %w : float32[n,4]\n%y = MatMul(%x, %w) #y\noutput %y",
        ("y", "x", "y (MatMul): the shape of x is not known before run time"),
    ),
    "unfit": (
        "input %x : float32[4]\ninput %w : float32[4,4]\n%y = MatMul(%x, %w) #y\noutput %y",
        ("y", "x", "y (MatMul): FRACTAL_NZ cannot hold x, which is float32[4]"),
    ),
    "unfit three dimensions": (
        "input %x : float32[1,2,8]\ninput %w : float32[4,2,3]\n%y = Conv(%x, %w) #y\noutput %y",
        ("y", "x", "y (Conv): NC1HWC0 cannot hold x, which is float32[1,2,8]"),
    ),
    "unfit without elements": (
        "input %x : float32[0,4]\ninput %w : float32[4,4]\n%y = MatMul(%x, %w) #y\noutput %y",
        ("y", "x", "y (MatMul): FRACTAL_NZ cannot hold x, which is float32[0,4]"),
    ),
    "grouped": (
        "input %x : float32[1,4,5,5]\ninput %w : float32[4,1,3,3]\n%y = Conv(%x, %w) {group = 4} #y\noutput %y",
        ("y", None, "y is a convolution in 4 groups, which has a format of its own (FRACTAL_Z_G)"),
    ),
    "element_type": (
        "input %x : float64[4,4]\n%y = MatMul(%x, %x) #y\noutput %y",
        ("y", None, "y (MatMul) works on float64, for which no format is modelled"),
    ),
}


def ops(step):
    return [node.op for node in step.after]


def test_every_code_has_an_example():
    check_codes(FormatAssignment, REWRITES, REJECTS)


@pytest.mark.parametrize("name", REWRITES)
def test_rewrites(name):
    assert name in codes(run(FormatAssignment, REWRITES[name]))


@pytest.mark.parametrize("name", REJECTS)
def test_near_misses(name):
    check_reject(FormatAssignment, name.split()[0], *REJECTS[name])


def test_a_product_between_the_formats_of_the_cube():
    step = run(FormatAssignment, REWRITES["cube"])
    assert lines_of(step.after).split("\n")[-1].endswith("output %y")
    assert ops(step) == ["TransData", "TransData", "MatMul", "TransData"]
    stored = {node.name: str(step.after.tensor(node.outputs[0])) for node in step.after}
    assert stored["y"] == "float32[1,1,16,8]:FRACTAL_NZ"
    assert str(step.after.tensor("y")) == "float32[5,3]"


def test_elementwise_operators_follow_and_formats_meet_without_a_copy():
    assert ops(run(FormatAssignment, REWRITES["cancelled"])) == [
        "TransData", "TransData", "Conv", "Relu", "TransData", "Conv", "TransData",
    ]  # fmt: skip


def test_weights_packed_once():
    assert ops(run(FormatAssignment, REWRITES["same"])).count("TransData") == 4


@pytest.mark.parametrize(
    "text",
    [
        CONV + "%c = Conv(%x, %w) #c\n%s = Softmax(%c) {axis = 1} #s\noutput %s",
        CONV + "%c = Conv(%x, %w) #c\n%s = Add(%c, %x1) #s\ninput %x1 : float32[1,4,5,5]\noutput %s",
        CONV + "%c = Conv(%x, %w) #c\n%s = Cast(%c) {to = 6} #s\noutput %s",
        CONV + "constant %lo = float32[] {0.0}\n%c = Conv(%x, %w) #c\n%s = Clip(%c, %lo) #s\noutput %s",
    ],
    ids=["along an axis", "a plain operand", "another element type", "a scalar operand"],
)
def test_what_does_not_follow(text):
    assert "follows" not in codes(run(FormatAssignment, text))


def test_two_stored_operands_follow():
    text = CONV + "%a = Conv(%x, %w) #a\n%b = Conv(%x, %w) #b\n%y = Mul(%a, %b) #y\noutput %y"
    assert "follows" in codes(run(FormatAssignment, text))


def test_what_fills_up_a_block_never_shows():
    """Sigmoid makes 0.5 of the zeros that fill up the channels; the sum over channels must not see them."""
    text = CONV + (
        "%c = Conv(%x, %w) #c\n%s = Sigmoid(%c) #s\nconstant %v = float32[1,4,1,1] {1, 1, 1, 1}\n"
        "%y = Conv(%s, %v) #y\noutput %y"
    )
    assert "cancelled" in codes(run(FormatAssignment, text))


def test_a_symbolic_batch_and_an_absent_bias():
    text = CONV.replace("float32[1,3", "float32[n,3") + "%y = Conv(%x, %w, _) #y\noutput %y"
    assert "cube" in codes(run(FormatAssignment, text))


def test_a_value_that_a_branch_captures():
    text = """
        input %x : float32[2,3]
        input %w : float32[3,4]
        input %c : bool[]
        %a = Abs(%x) #a
        %y = If(%c) #if
          else_branch = graph else
            %m = MatMul(%a, %w) #m
            output %m
          then_branch = graph then
            %z = MatMul(%a, %w) #z
            %r = Relu(%z) #r
            output %r
        output %y
        """
    step = run(FormatAssignment, text)
    assert codes(step).count("cube") == 2
    assert step.after.nodes["if"].captures == ("a", "w")


def test_the_kernel_and_its_way_out_come_from_the_operator():
    step = run(FormatAssignment, REWRITES["cube"].replace("#y", "#y from one, two"))
    assert {node.origin for node in step.after} == {("one", "two")}


def test_off_by_default_and_not_before_version_11():
    assert not FormatAssignment.default
    step = run(FormatAssignment, graph_of(REWRITES["cube"], 9))
    assert (codes(step), near_misses(step)) == ([], {})


def test_a_channel_that_is_broadcast_does_not_follow():
    """One channel and four fill the same block; only the shapes tell them apart."""
    text = CONV + (
        "constant %one = float32[1,3,1,1] {1, 2, 3}\n%a = Conv(%x, %w) #a\n%b = Conv(%x, %one) #b\n"
        "%y = Mul(%a, %b) #y\noutput %y"
    )
    assert "follows" not in codes(run(FormatAssignment, text))
