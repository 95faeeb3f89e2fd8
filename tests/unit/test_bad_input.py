"""What a user can get wrong: always one clear line on stderr, exit status 1, no traceback, nothing written."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, parser

from gexplorer.cli import cli

GOOD = """
<ir_version: 10, opset_import: ["": 21]>
good (float[n, 3] x) => (float[n, 4] y) <float[3, 4] w = {1,2,3,4,5,6,7,8,9,10,11,12}> { y = MatMul(x, w) }
"""


def model(body: str, inputs: str = "float[2, 3] x", constants: str = "", opset: int = 21):
    head = f'<ir_version: 10, opset_import: ["": {opset}]> bad ({inputs}) => (float[a, b] y)'
    return parser.parse_model(f"{head} <{constants}> {{ {body} }}")


def functions(*bodies: str):
    texts = [f'<domain: "f", opset_import: ["": 21, "f": 1]> {body}' for body in bodies]
    head = '<ir_version: 10, opset_import: ["": 21, "f": 1]> m (float[2] x) => (float[2] y) { y = f.a(x) }'
    return parser.parse_model("\n".join([head, *texts]))


def twice_an_initializer():
    bad = parser.parse_model(GOOD)
    bad.graph.initializer.append(bad.graph.initializer[0])
    return bad


def without(field: str):
    bad = parser.parse_model(GOOD)
    bad.ClearField(field)
    return bad


def opset(version: int):
    bad = parser.parse_model(GOOD)
    bad.opset_import[0].version = version
    return bad


def with_constant(**fields: object):
    """A weight of other fields than its elements."""
    bad = parser.parse_model(GOOD)
    weight = bad.graph.initializer[0]
    weight.ClearField("float_data")
    weight.MergeFrom(TensorProto(**fields))
    return bad


def external(location: str, **entries: str):
    bad = with_constant(data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        bad.graph.initializer[0].external_data.add(key=key, value=value)
    return bad


def doubled_functions():
    """Forty functions, each of which calls the next one twice: a tera-node in two kilobytes."""
    names = ["a", *(f"f{i}" for i in range(40))]
    bodies = [f"{n} (p) => (q) {{ r = f.{m}(p) q = f.{m}(r) }}" for n, m in pairwise(names)]
    return functions(*bodies, f"{names[-1]} (p) => (q) {{ q = Relu(p) }}")


MODELS = {
    "cycle": (model("a = Add(x, b) b = Relu(a) y = Relu(b)"), "cycle"),
    "self loop": (model("y = Add(x, y)"), "cycle"),
    "undefined input": (model("y = Relu(nothing)"), "input nothing is not defined"),
    "value twice": (model("y = Relu(x) y = Neg(x)"), "y is defined twice"),
    "value named as an input": (model("x = Relu(x) y = Neg(x)"), "x is defined twice"),
    "initializer twice": (twice_an_initializer(), "initializer w: the name is defined twice"),
    "input twice": (model("y = Relu(x)", inputs="float[2] x, float[2] x"), "listed twice"),
    "output nobody makes": (model("z = Relu(x)"), "output 'y' is not produced"),
    "float and int": (model("y = Add(x, i)", constants="int64[3] i = {1, 2, 3}"), "differ in type"),
    "3 by 4": (model("y = MatMul(x, x)", inputs="float[2, 4] x"), "inner dimensions 4 and 2 differ"),
    "ranks": (model("y = Concat <axis = 0> (x, z)", inputs="float[2, 3] x, float[2] z"), "rank"),
    "axis": (model("y = Softmax <axis = 5> (x)"), "axis 5"),
    "two open dimensions": (
        model("y = Reshape(x, s)", constants="int64[2] s = {-1, -1}"),
        "[-1, -1] leaves more than one dimension open",
    ),
    "steps of zero": (model("y = Range(o, i, o)", constants="int64 o = {0}, int64 i = {5}"), "steps of 0"),
    "too few inputs": (model("y = Add(x)"), "takes 2 inputs, not 1"),
    "too many outputs": (model("y, z = Relu(x)"), "takes 1 outputs, not 2"),
    "absent input": (model('y = Add("", x)'), "input 0 is missing"),
    "attribute of another kind": (model("y = Softmax <axis = 1.5> (x)"), "axis must be an integer"),
    "missing attribute": (model("y = Cast(x)"), "attribute to is missing"),
    "unknown element type": (with_constant(data_type=99), "unknown element type 99"),
    "operator of a later opset": (model("y = Gelu(x)", opset=13), "no operator Gelu in opset 13"),
    "opset 999": (opset(999), "unknown opset 999"),
    "opset 0": (opset(0), "unknown opset 0"),
    "opset -1": (opset(-1), "unknown opset -1"),
    "no opset": (without("opset_import"), "imports no opset"),
    "domain without import": (model("y = far.away.Foo(x)"), "uses domain far.away"),
    "no graph": (without("graph"), "no graph"),
    "functions in a circle": (functions("a (p) => (q) { q = f.b(p) }", "b (p) => (q) { q = f.a(p) }"), "circle"),
    "functions without end": (doubled_functions(), "more than 1,000,000 nodes"),
    "attribute of no function": (model("y = Elu <alpha: float = @beta> (x)"), "refers to beta"),
    "too few bytes": (with_constant(raw_data=b"1234"), "4 bytes"),
    "too few elements": (with_constant(float_data=[1.0, 2.0]), "2 elements"),
    "negative dimension": (with_constant(dims=[-1]), "negative dimension"),
    "huge dimension": (with_constant(dims=[1 << 40]), "elements"),
    "parent folder": (external("../outside.bin"), "leaves the model's folder"),
    "hidden parent folder": (external("folder/../../outside.bin"), "leaves the model's folder"),
    "absolute path": (external("/etc/passwd"), "leaves the model's folder"),
    "backslash": (external("..\\outside.bin"), "leaves the model's folder"),
    "NUL": (external("weights.bin\0"), "leaves the model's folder"),
    "no location": (external(""), "leaves the model's folder"),
    "link": (external("link.bin"), "link out of the model's folder"),
    "linked folder": (external("linked/outside.bin"), "link out of the model's folder"),
    "link in a circle": (external("circle.bin"), "circle.bin"),
    "folder": (external("folder"), "not a regular file"),
    "pipe": (external("pipe"), "not a regular file"),
    "past the end": (external("weights.bin", offset="4"), "past the end of weights.bin"),
    "far past the end": (external("weights.bin", offset="9" * 30), "past the end"),
    "too long": (external("weights.bin", length="4096"), "4096 bytes"),
    "negative offset": (external("weights.bin", offset="-1"), "negative"),
    "negative length": (external("weights.bin", length="-48"), "negative"),
    "no number": (external("weights.bin", offset="1e3"), "not a number"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with all that the models above hope to reach."""
    here = tmp_path / "here"
    (here / "folder").mkdir(parents=True)
    (tmp_path / "outside.bin").write_bytes(bytes(48))
    (here / "weights.bin").write_bytes(bytes(48))
    (here / "link.bin").symlink_to("../outside.bin")
    (here / "linked").symlink_to("..")
    (here / "circle.bin").symlink_to("circle.bin")
    os.mkfifo(here / "pipe")
    onnx.save(parser.parse_model(GOOD), here / "good.onnx")
    monkeypatch.chdir(here)
    return here


def listing(folder: Path) -> list[tuple[Path, int]]:
    return sorted((path, path.lstat().st_mtime_ns) for path in folder.rglob("*"))


def refuse(*arguments: str) -> str:
    """Runs the command and gives its one line, after checking that it is refused as all must be."""
    before = listing(Path())
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 1, (result.output, result.exception)
    assert isinstance(result.exception, SystemExit)
    assert not result.stdout
    assert result.stderr.startswith("gexplorer: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.rstrip("\n").isprintable()
    assert listing(Path()) == before
    return result.stderr


@pytest.mark.parametrize("name", MODELS)
def test_a_bad_model(name, folder):
    bad, why = MODELS[name]
    (folder / "bad.onnx").write_bytes(bad.SerializeToString())
    assert why in refuse("compile", "bad.onnx")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("empty.onnx", b"", "the file is empty"),
        ("text.onnx", b"This is a text, and no model at all.\n" * 9, "not an ONNX model"),
        ("junk.onnx", bytes(range(256)) * 40, "not an ONNX model"),
        ("zeros.onnx", bytes(4096), "not an ONNX model"),
        ("page.onnx", b"<html><body>404 Not Found</body></html>", "not an ONNX model"),
        ("pointer.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "not an ONNX model"),
        ("bad.json", b"{", "not an ONNX model in json form"),
        ("list.json", b"[1, 2]", "not an ONNX model in json form"),
        ("other.json", b'{"name": "x"}', "not an ONNX model in json form"),
        ("void.json", b"{}", "no graph"),
        ("latin.json", b'"\xff\xfe"', "not an ONNX model in json form"),
        ("deep.json", b"[" * 100_000, "not an ONNX model in json form"),
        ("bad.onnx.pbtxt", b"graph { node {", "not an ONNX model in textproto form"),
        ("other.pbtxt", b"weights: 3", "not an ONNX model in textproto form"),
        ("bad.onnxtxt", b"agraph (float[n] x", "not an ONNX model in onnxtxt form"),
    ],
)
def test_a_file_that_is_no_model(name, content, why, folder):
    (folder / name).write_bytes(content)
    assert why in refuse("compile", name)


def test_every_truncation_of_a_model(folder):
    whole = (folder / "good.onnx").read_bytes()
    for end in range(len(whole)):
        (folder / "cut.onnx").write_bytes(whole[:end])
        result = CliRunner().invoke(cli, ["compile", "cut.onnx"])
        # A cut between two fields may leave a model, only never a traceback.
        assert isinstance(result.exception, SystemExit | None), end
        if result.exit_code:
            assert result.exit_code == 1
            assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing.onnx", "no such file"),
        ("folder", "not a file"),
        ("folder/", "not a file"),
        ("good.onnx/x.onnx", "no such file"),
        ("pipe", "not a file"),
        ("/dev/null", "not a file"),
        ("circle.bin", "circle.bin"),
        ("x" * 5000, "no such file"),
        ("a\0b", "no such file"),
        ("", "no such file"),
        ("a\nb\x1b[31m.onnx", r"a\nb\x1b[31m.onnx: no such file"),
        ("no-such-model:layers=2", "no model of the zoo"),
        ("mlp:layers", "option=value"),
        ("mlp:nonsense=1", "nonsense"),
        ("mlp:batch=-1", "batch"),
    ],
)
def test_a_path_that_leads_to_no_model(name, why, folder):
    assert why in refuse("compile", name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(folder):
    (folder / "good.onnx").chmod(0)
    assert "Permission denied" in refuse("compile", "good.onnx")


def test_names_that_are_no_text_or_command_the_terminal(folder):
    data = parser.parse_model(GOOD).SerializeToString()
    (folder / "bad.onnx").write_bytes(data.replace(b"\x01x", b"\x01\xff"))
    assert "is not UTF-8 text" in refuse("compile", "bad.onnx")
    bad = model("y = Relu(x)")
    bad.graph.node[0].input[0] = "a\nb\x1b[2J\u202e"
    onnx.save(bad, "bad.onnx")
    assert r"a\nb\x1b[2J\u202e is not defined" in refuse("compile", "bad.onnx")


@pytest.mark.parametrize(
    ("dims", "indices", "why"),
    [
        ([2, 3], [[0, 3]], "outside of [2, 3]"),
        ([2, 3], [[-1, 0]], "outside of [2, 3]"),
        ([-2, 3], [[0, 0]], "do not fit"),
        ([1 << 40, 1 << 40], [[0, 0]], "outside of"),
    ],
)
def test_a_sparse_initializer_that_does_not_fit(dims, indices, why, folder):
    bad = model("y = Add(x, s)")
    values = helper.make_tensor("s", TensorProto.FLOAT, [1], [1.0])
    places = helper.make_tensor("i", TensorProto.INT64, [1, 2], indices[0])
    bad.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, dims))
    (folder / "bad.onnx").write_bytes(bad.SerializeToString())
    assert why in refuse("compile", "bad.onnx")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--shape", "z:1,3"], "no such input (it has x)"),
        (["--shape", "x:1"], "1 dimensions given"),
        (["--shape", "x:2,4"], "dimension 1 is 3 and cannot be 4"),
        (["--shape", "x"], "NAME:1,3,224,224 is wanted"),
        (["--shape", "x:1,-3"], "numbers from 0"),
        (["--shape", "x:1,,3"], "numbers from 0"),
        (["--shape", "x:" + "9" * 5000 + ",3"], "numbers from 0"),
        (["--shape", "x:1,3", "--shape", "x:2,3"], "given twice"),
        (["--set", "nonsense=1"], "KEY=VALUE is wanted"),
        (["--set", "replace=1"], "KEY=VALUE is wanted"),
        (["--set", "seeds"], "KEY=VALUE is wanted"),
        (["--set", "seeds=-1"], "whole numbers from 0"),
        (["--set", "fold_read_bytes=many"], "not a number"),
        (["--set", "fold_read_bytes=-1"], "number of bytes"),
        (["--set", "verify=sometimes"], "off or per-step"),
        (["--set", "shapes=x"], "flag of its own"),
        (["--soc", ""], "name of a chip"),
        (["--off", "nonsense"], "no pass or rule 'nonsense'"),
        (["--on", "nonsense"], "no pass or rule 'nonsense'"),
        (["--on", "constant_folding", "--off", "constant_folding"], "both on and off"),
        (["--json", "nowhere/out.json"], "no folder"),
        (["--json", "folder"], "is a directory"),
        (["--json", "good.onnx/out.json"], "no folder"),
    ],
)
def test_a_bad_option(arguments, why, folder):
    assert why in refuse("compile", "good.onnx", *arguments)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--step", "nonsense"], "no step 'nonsense'; there are 0 to"),
        (["--step", "99"], "no step '99'"),
        (["--step", "-99"], "no step '-99'"),
        (["--step", "²"], "no step"),
        (["--step", "9" * 5000], "no step"),
        (["--onnx", "nowhere/out.onnx"], "no folder"),
        (["--onnx", "folder"], "is a directory"),
    ],
)
def test_a_bad_step(arguments, why, folder):
    assert why in refuse("steps", "good.onnx", *arguments)


@pytest.mark.parametrize(
    "arguments", [["compile", "--json", "folder"], ["steps", "--onnx", "folder"], ["report", "-o", "folder"]]
)
def test_a_place_is_looked_at_before_the_work(arguments, folder):
    assert "is a directory" in refuse(*arguments, "missing.onnx")


@pytest.mark.parametrize("output", ["folder", "nowhere/report.html"])
def test_a_bad_place_for_the_report(output, folder):
    refuse("report", "good.onnx", "-o", output)


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["compile"], ["compile", "a", "b"], ["compile", "a", "--nonsense"], ["steps", "--step"]]
)
def test_usage(arguments, folder):
    before = listing(folder)
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert "Error: " in result.stderr
    assert listing(folder) == before


@pytest.mark.parametrize(
    "arguments", [["compile", "pipe"], ["compile", "bad.onnx"], ["steps", "good.onnx", "--step", "x"]]
)
def test_the_program_itself(arguments, folder):
    (folder / "bad.onnx").write_bytes(MODELS["pipe"][0].SerializeToString())
    before = listing(folder)
    command = [sys.executable, "-m", "gexplorer", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert not done.stdout
    assert done.stderr.startswith("gexplorer: ")
    assert done.stderr.count("\n") == 1
    assert listing(folder) == before
