import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gexplorer.errors import ModelError, VerifyError
from gexplorer.ir.constant import constant
from gexplorer.ir.dtypes import DType
from gexplorer.ir.elements import elements_of, words_of
from gexplorer.ir.graph import Value, make_graph
from gexplorer.ir.text import from_text, to_text
from gexplorer.ir.types import TensorType
from gexplorer.ir.verify import verify
from tests.graphs import GraphMaker, content

EVERYTHING = """\
graph main opset(17, com.microsoft=1)
  input %x : float32[batch,4] declared
  input %c : bool[] default bool[] {true}
  constant %large = bfloat16[400] 800 bytes ...
  constant %names = string[2] {"a", b"\\u00ff"}
  constant %w : float32[4] declared float32[*] = float32[4] {1.0, 0.1, inf, 0xffc00001}
  %y : float32[batch,"s + 1"]:FRACTAL_NZ, _ = Add<com.microsoft>(%x, _, %w) {axis = 1, pads = [0, 1], \
scale = 1.0, tags = ["a", b"b"], zero = floats[], zp = int4[2] {-8, 7}} #add_0 in model.layers.0
  %z declared float32[*] = If(%c) #if_0 part aicore.0 at 5097152 from add_1, if_0
    else_branch = graph else opset()
      %"a b" = Identity(%y) #id from ()
      output %"a b"
    then_branch = graph then
      output %y
  %k = Fused(%z) #fused
    body graph fused
      input %in
      %out = Relu(%in) #relu
      output %out
  output %z as result
  output %k
"""


def test_every_part_of_the_form_survives():
    graph = from_text(EVERYTHING)
    verify(graph)
    assert to_text(graph) == EVERYTHING
    assert [node.name for node in graph] == ["add_0", "if_0", "fused"]


def test_golden(golden):
    graph = from_text(EVERYTHING)
    golden("everything.txt", to_text(graph))
    golden("everything_without_locations.txt", to_text(graph, locations=False))


@given(st.integers(0, 2**32))
def test_round_trip(seed: int):
    graph = GraphMaker(seed).graph()
    verify(graph)
    text = to_text(graph)
    back = from_text(text)
    assert content(back) == content(graph)
    assert to_text(back) == text
    assert text.encode().decode() == text  # a lone surrogate could not be written to a file


@given(st.integers(0, 2**32))
def test_round_trip_without_locations(seed: int):
    graph = GraphMaker(seed).graph()
    text = to_text(graph, locations=False)
    back = from_text(text)
    assert to_text(back, locations=False) == text
    assert [node.name for node in back] == [node.name for node in graph]


def test_serial_is_found_again():
    graph = from_text("graph g\n  input %x@7\n  %y = If(%x@7) #n@12\n    then = graph t\n      input %z@40\n")
    assert graph.serial == 41


@pytest.mark.parametrize("dtype", [d for d in DType if d not in (DType.UNDEFINED, DType.STRING)])
def test_elements_are_bit_exact(dtype: DType):
    raw = np.random.default_rng(0).integers(0, 256, 64 * dtype.numpy().itemsize, np.uint8)
    if dtype == DType.BOOL or (dtype.is_integer and dtype.bits < 8):
        array = np.array(range(2), np.int64).astype(dtype.numpy())
    else:
        array = raw.view(dtype.numpy())
    words = words_of(dtype, array)
    assert elements_of(dtype, words).tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("dtype", "values", "words"),
    [
        (DType.FLOAT32, [0.1, 1, -0.0, 1e30], ["0.1", "1.0", "-0.0", "1e+30"]),
        (DType.FLOAT64, [1 / 3, 0.1], ["0.3333333333333333", "0.1"]),
        (DType.FLOAT16, [0.1, 65504], ["0.1", "65504.0"]),
        (DType.BFLOAT16, [3.14], ["3.14"]),
        (DType.FLOAT8E4M3FN, [0.5, 448], ["0.5", "448.0"]),
        (DType.INT4, [-8, 7], ["-8", "7"]),
        (DType.COMPLEX64, [1 - 0.1j], ["1-0.1j"]),
        (DType.BOOL, [True], ["true"]),
    ],
)
def test_elements_are_short_numbers(dtype: DType, values: list, words: list[str]):
    assert words_of(dtype, np.array(values).astype(dtype.numpy())) == words


def test_nan_with_a_payload_is_printed_as_bits():
    array = np.array([0x7FC00001], np.uint32).view(np.float32)
    assert words_of(DType.FLOAT32, array) == ["0x7fc00001"]


def test_large_constant_is_not_read():
    class Trap:
        available = True
        key = "trap"

        def array(self):
            pytest.fail("the constant was read")

    data = constant(np.zeros(100, np.float32))
    object.__setattr__(data, "source", Trap())
    value = Value("w", TensorType(DType.FLOAT32, (100,)), constant=data)
    graph = make_graph("g", inputs=(), nodes=(), values=(value,), outputs=("w",), opsets={})
    back = from_text(to_text(graph))
    read = back.values["w"].constant
    assert read is not None
    assert (read.shape, read.nbytes, read.available) == ((100,), 400, False)
    with pytest.raises(ModelError, match="not available"):
        read.array()


def test_cycle_has_no_text():
    graph = from_text("graph g\n  %a = A(%b) #a\n  %b = B(%a) #b\n")
    with pytest.raises(VerifyError, match="cycle: a -> b -> a"):
        to_text(graph)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: there is no graph"),
        ("graph g\n input %x", "line 2: indentation is two spaces a level"),
        ("graph g\n    input %x", "line 2: indented too far"),
        ("graph g\ngraph h", "line 2: a text holds one outermost graph"),
        ("graph g\n\n  input %x\n  input %x", "line 4: value 'x' is defined twice"),
        ("graph g\n  %x = A() #n\n  %y = A() #n", "line 3: node 'n' is defined twice"),
        ("graph g\n  %x = A(%y", "line 2: ',' is expected, not the line's end"),
        ("graph g\n  input %x : float33[2]", "line 2: there is no element type 'float33'"),
        ("graph g\n  constant %x = int8[1] {300}", "line 2: 300 does not fit into int8"),
        ("graph g\n  constant %x = int8[2] {3}", "line 2: the constant has 2 elements, but 1 are given"),
        ("graph g\n  constant %x = int8[2] 3 bytes ...", "line 2: the constant takes 2 bytes, not 3"),
        ("graph g\n  output %x extra", "line 2: cannot read 'extra' here"),
        ("graph g\n  = A() {a = 1, a = 2} #n", "line 2: attribute 'a' is given twice"),
        ("graph g\n  = A() {a = 1} #n\n    a = graph h", "line 3: attribute 'a' is given twice"),
        ("graph g\n  = A() #n\n    a = graph h\n    a += graph h", "line 4: attribute 'a' is given twice"),
        ("graph g\n  = A() #n\n    body graph h\n    body graph h", "line 4: a node has one body"),
        ('graph g\n  = A() {a = b"\\u0100"} #n', r"""line 2: 'b"\\u0100"' holds characters that are no bytes"""),
        ("graph g\n  constant %x = undefined[0] {}", "line 2: undefined has no elements"),
        ("graph g\n  = A() {a = x} #n", "line 2: 'x' is no value of an attribute"),
        ("graph g\n  input %x : " + "seq(" * 1000, "line 2: the type is nested too deeply"),
        ("graph g\n  § 1", r"line 2: cannot read '\xa7 1'"),
    ],
)
def test_what_cannot_be_read_says_where(text: str, message: str):
    with pytest.raises(ModelError) as caught:
        from_text(text)
    assert str(caught.value) == message


def _graph_or_error(text: str) -> None:
    message = "line "
    try:
        from_text(text)
    except ModelError as error:
        message = str(error)
    assert message.startswith("line ")
    assert "\n" not in message


@given(st.text())
def test_any_text_gives_a_graph_or_one_line(text: str):
    _graph_or_error(text)
    _graph_or_error("graph g\n  " + text)


_WORDS = """graph g input output constant % %x %y # #n = _ ( ) { } [ ] , : < > * ? at from in as opset body
    default declared float32 string undefined int4 opaque seq ints floats graphs + 1 -1 1.0 1e999 nan 0x00 "a"
    b"a" b"\\u0100" "\\x" 9999999999999999999999 bytes ... true 00 :ND [] {} part -"""
_PIECES = st.sampled_from([*_WORDS.split(), "\n", "\n  ", "\n    ", "\n      "])


@given(st.lists(_PIECES, max_size=40))
def test_any_words_give_a_graph_or_one_line(pieces: list[str]):
    _graph_or_error("graph g\n  " + " ".join(pieces))


@given(st.integers(0, 9999), st.integers(0, len(EVERYTHING)), st.integers(0, 20), st.text(max_size=3))
def test_damaged_text_gives_a_graph_or_one_line(seed: int, start: int, length: int, new: str):
    text = to_text(GraphMaker(seed).graph()) if seed % 2 else EVERYTHING
    start %= len(text)
    _graph_or_error(text[:start] + new + text[start + length :])


def test_deep_nesting_is_refused():
    lines = ["graph g"]
    for level in range(400):
        lines += ["  " * (2 * level + 1) + f"= If() #n{level}", "  " * (2 * level + 2) + "b = graph g"]
    with pytest.raises(ModelError, match="too far"):
        from_text("\n".join(lines))
