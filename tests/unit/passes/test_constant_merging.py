"""Equal constants become one: equal bit for bit, in type and in shape."""

import pytest

from gexplorer.passes.constant_merging import ConstantMerging
from tests.passes import check_codes, check_rewrite, codes, run

REWRITES = {
    "equal": (
        "input %x : int64[2]\nconstant %a = int64[2] {1, 2}\nconstant %b = int64[2] {1, 2}\n"
        "%y = Add(%x, %a) #y\n%z = Mul(%y, %b) #z\noutput %z",
        "constant %a = int64[2] {1, 2}\n%y = Add(%x, %a) #y\n%z = Mul(%y, %a) #z\noutput %z",
    ),
    "equal results": (
        "input %x : int64[2]\nconstant %a = int64[2] {1, 2}\nconstant %b = int64[2] {1, 2}\n"
        "%y = Add(%x, %a) #y\noutput %y\noutput %b\noutput %a",
        "constant %a = int64[2] {1, 2}\n%y = Add(%x, %a) #y\noutput %y\noutput %a as b\noutput %a",
    ),
    "equal and no node": (
        "input %x : int64[]\nconstant %a = int64[] {1}\nconstant %b = int64[] {1}\noutput %x\noutput %a\noutput %b",
        "constant %a = int64[] {1}\noutput %x\noutput %a\noutput %a as b",
    ),
    "equal strings": (
        'input %x : string[2]\nconstant %a = string[1] {"a"}\nconstant %b = string[1] {"a"}\n'
        "%y = Equal(%x, %a) #y\n%z = Equal(%x, %b) #z\noutput %y\noutput %z",
        'constant %a = string[1] {"a"}\n%y = Equal(%x, %a) #y\n%z = Equal(%x, %a) #z\noutput %y\noutput %z',
    ),
    "equal where a branch captures one": (
        """
        input %x : int64[1]
        input %c : bool[]
        constant %a = int64[1] {1}
        constant %b = int64[1] {1}
        %w = Mul(%x, %a) #w
        %y = If(%c) #if
          else_branch = graph else
            output %w
          then_branch = graph then
            %n = Add(%w, %b) #n
            output %n
        output %y
        """,
        """
        constant %a = int64[1] {1}
        %w = Mul(%x, %a) #w
        %y = If(%c) #if
          else_branch = graph else
            output %w
          then_branch = graph then
            %n = Add(%w, %a) #n
            output %n
        output %y
        """,
    ),
}
TWO = "input %x : float32[1]\nconstant %a = {}\nconstant %b = {}\n%y = Add(%x, %a) #y\n%z = Div(%y, %b) #z\noutput %z"
STAYS = {
    "the sign of zero": TWO.format("float32[1] {0.0}", "float32[1] {-0.0}"),
    "another shape": TWO.format("float32[1] {2.0}", "float32[] {2.0}"),
    "equal bytes of another type": (
        "input %x : float32[1]\nconstant %a = float32[1] {0.0}\nconstant %b = int32[1] {0}\n"
        "%y = Add(%x, %a) #y\n%z = Cast(%b) {to = 1} #z\noutput %y\noutput %z"
    ),
    "weights that are not there, from different places": (
        "input %x : float32[40]\nconstant %a = float32[40] 160 bytes ...\nconstant %b = float32[40] 160 bytes ...\n"
        "%y = Add(%x, %a) #y\n%z = Add(%y, %b) #z\noutput %z"
    ),
    "one that nothing uses": (
        "input %x : float32[1]\nconstant %a = float32[] {2.0}\n"
        "constant %b = float32[] {2.0}\n%y = Add(%x, %a) #y\noutput %y"
    ),
}


def test_every_code_has_an_example():
    check_codes(ConstantMerging, REWRITES)


@pytest.mark.parametrize("name", REWRITES)
def test_rewrites(name):
    check_rewrite(ConstantMerging, "equal", *REWRITES[name])


@pytest.mark.parametrize("name", STAYS)
def test_stays(name):
    assert codes(run(ConstantMerging, STAYS[name])) == []


def test_nan_is_equal_to_itself_by_its_bits():
    assert codes(run(ConstantMerging, TWO.format("float32[1] {nan}", "float32[1] {nan}"))) == ["equal"]
    assert codes(run(ConstantMerging, TWO.format("float32[1] {nan}", "float32[1] {0xffc00001}"))) == []
