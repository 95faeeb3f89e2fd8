import base64
import gzip
import hashlib
import html
import json
import re
import shlex
import shutil
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import gexplorer as gx
from benchmarks.report import BYTES
from gexplorer.errors import OptionError
from gexplorer.options import Options
from gexplorer.render.base91 import decoded
from gexplorer.render.document import document as explorer_document
from gexplorer.render.html import document, text
from gexplorer.render.page import plain_page
from gexplorer.render.report import report_page, words_of, write_report
from gexplorer.render.report_steps import step_section
from gexplorer.render.variants import BUDGET_BYTES, carry, parse_wanted, possible
from gexplorer.units import bytes_text, change_text, count_text, plural_text, shortened, time_text
from gexplorer.views.delta import MAGIC, applied
from gexplorer.views.pack import unpack
from gexplorer.views.report import command_line, python_line, report_data, step_report

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's dot is not installed")

VOID = {"meta", "link", "br", "hr", "img", "input"}
HOSTILE = (
    '"><script>alert(1)</script>',
    "</style></title><img src=x onerror=alert(1)>",
    "javascript:alert(1)//'",
    "a&lt;b&amp;c",
    'back\\slash\\N "quoted"',
    "line\nbreak",
    "{node} {0} %s",
)


class Page(HTMLParser):
    """Reads a page strictly: every tag closed in order; collects tags, attributes and text."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in ("path", "rect")
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "script" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)


def hostile_model():
    """Every name that a file can choose is hostile, in the graph, in a foreign domain, and in a file it misses."""
    a, b, c, d, e, f, g = HOSTILE
    nodes = [
        helper.make_node("Identity", [a], [b], name=a),
        helper.make_node("Neg", [b], [c], name=b),
        helper.make_node("Mul", [c, g], [d], name=c),
        helper.make_node(a, [d], [e], name=d, domain=b, **{"attr<b>": f}),
        helper.make_node("Reshape", [e, "shape"], [f], name=e),
    ]
    graph = helper.make_graph(
        nodes,
        a,
        [helper.make_tensor_value_info(a, TensorProto.FLOAT, ["<i>n</i>", 4])],
        [helper.make_tensor_value_info(f, TensorProto.FLOAT, None)],
        [
            onnx.numpy_helper.from_array(np.ones(4, np.float32), g),
            onnx.numpy_helper.from_array(np.array([-1]), "shape"),
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(b, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def chain_model():
    return onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["" : 17]>
        g (float[n,4] x) => (float[n,4] y) <float[4] one = {1, 1, 1, 1}, int64[2] s = {-1, 4}> {
            a = Identity(x) b = Mul(a, one) c = Reshape(b, s) d = Reshape(c, s) e = Neg(d) f = Neg(d)
            g1 = Add(e, f) h = Cast <to = 7> (g1) i = Cast <to = 1> (h) y = Relu(i)
        }"""
    )


@pytest.fixture(scope="module")
def chain():
    return gx.compile(chain_model())


@pytest.fixture
def no_dot(monkeypatch):
    monkeypatch.setenv("GEXPLORER_DOT", "/nowhere/dot")


def page_of(compilation):
    return report_page(report_data(compilation), carry(compilation, "none"))


def carried_by(page):
    found = re.search(r'<script type="application/json" id="gexplorer-document">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def bytes_of(text_):
    return gzip.decompress(decoded(text_))


def opened(text_):
    return unpack(bytes_of(text_))


def test_hostile_names_stay_text():
    compilation = gx.compile(hostile_model())
    written = page_of(compilation)
    page = Page(written)
    assert page.tags.count("script") == 4
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "style"]
    assert not [value for name, value in page.attributes if name in ("href", "src") and value != "data:,"]
    for name in HOSTILE[:4]:
        assert name in page.text
    names = opened(carried_by(written)["parts"]["nodes"])["strings"]
    assert set(HOSTILE[:3]) <= set(names)


@pytest.mark.parametrize("dot", [pytest.param(True, marks=needs_dot), False])
def test_hostile_names_stay_text_in_pictures(dot, monkeypatch):
    if not dot:
        monkeypatch.setenv("GEXPLORER_DOT", "/nowhere/dot")
    steps = gx.compile(hostile_model()).steps
    for step in steps:
        page = Page(plain_page(step.name, [step_section(step_report(step))]))
        assert not {"script", "img"} & set(page.tags)
        assert not [name for name, _ in page.attributes if name.startswith("on") or name == "style"]


def test_only_what_the_page_was_made_with_runs(chain):
    page = page_of(chain)
    policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1])
    assert policy.startswith("default-src 'none'; img-src data:; ")
    assert "unsafe" not in policy
    static = Path(gx.__file__).parent / "static"
    scripts = [*re.findall(r"<script>(.*?)</script>", page, re.DOTALL), (static / "report.js").read_text("utf-8")]
    sheets = re.findall(r"<style[^>]*>(.*?)</style>", page, re.DOTALL)
    sheets.append((static / "gexplorer.css").read_text("utf-8"))
    for kind, codes in (("script", scripts), ("style", sheets)):
        allowed = re.search(rf"{kind}-src ([^;]*);", policy)[1].split()
        hashes = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes]
        assert sorted(allowed) == sorted(f"'sha256-{digest}'" for digest in hashes)


def test_the_program_in_it_is_the_one_that_its_policy_names(chain):
    page = page_of(chain)
    for id_, name in (("gexplorer-style", "gexplorer.css"), ("gexplorer-code", "report.js")):
        zipped = re.search(rf'id="{id_}">([^<]*)<', page)[1]
        own = (Path(gx.__file__).parent / "static" / name).read_text("utf-8")
        assert gzip.decompress(decoded(zipped)).decode() == own


def test_nothing_is_loaded(chain):
    page = page_of(chain)
    assert not re.search(r"(?:https?:)?//[a-z]", re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL))
    assert "@import" not in page
    assert "url(" not in page


def test_code_cannot_end_its_element_before_its_time():
    from gexplorer.render.html import code

    for words in ("a</script>b", "</STYLE >", "<!-- x"):
        with pytest.raises(ValueError, match="must not end it"):
            code("script", words)
    assert "<script>1 < 2</script>" in document("t", [code("script", "1 < 2")], [])


def test_what_it_must_say(chain):
    text = Page(page_of(chain)).text
    for step in chain.steps:
        if step.rewrites or step.rejects:
            assert step.name in text
            assert step.summary in text
    for words in ("g on Ascend910B3", "float32[n,4]"):
        assert words in text
    for rewrite_step in chain.steps:
        for code in {record.code for record in (*rewrite_step.rewrites, *rewrite_step.rejects)}:
            assert code in text


def drawn(compilation):
    return "".join(text(step_section(step_report(step))) for step in compilation.steps)


@needs_dot
def test_examples_are_drawn_side_by_side(chain):
    tags = Page(drawn(chain)).tags
    examples = tags.count("figure")
    assert examples >= 4
    assert tags.count("text") > 4 * examples


def test_without_dot_it_is_as_complete(chain, no_dot):
    html_ = drawn(chain)
    page = Page(html_)
    assert "text" in page.tags
    for step in report_data(chain).steps:
        for example in step.groups.examples:
            for picture in (example.region.before, example.region.after):
                assert all(box.name in page.text for box in picture.boxes)
    for mark in ("removed", "added", "changed", "kept"):
        assert re.search(f'class="box [a-z]+ {mark}"', html_) or mark == "added"


def untimed(page):
    """A page without what the planners, which run once more for every page, took this time."""
    return page.replace(carried_by(page)["parts"]["planners"], "")


def test_the_same_compilation_gives_the_same_bytes(chain):
    assert untimed(page_of(chain)) == untimed(page_of(chain))


def test_two_compilations_differ_in_times_only():
    import dataclasses

    pages = []
    for _ in range(2):
        data = report_data(gx.compile(chain_model()))
        steps = tuple(dataclasses.replace(step, seconds=1.0) for step in data.steps)
        stages = tuple(dataclasses.replace(stage, seconds=1.0) for stage in data.stages)
        pages.append(text(words_of(dataclasses.replace(data, steps=steps, stages=stages, seconds=1.0, memory=None))))
    assert pages[0] == pages[1]


def test_a_model_without_weights_says_so():
    text = Page(page_of(gx.compile("mlp"))).text
    assert ("Weights not available" in text) == bool(gx.compile("mlp").source.missing)


def test_a_near_miss_comes_with_its_cure():
    model = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["" : 17]> g (float[2] x, bool c) => (float[2] y) {
            y = If(c) <then_branch = t () => (float[2] p) { p = Neg(x) },
                       else_branch = e () => (float[2] r) { r = Relu(x) }>
        }"""
    )
    compilation = gx.compile(model)
    step = compilation.steps["subgraph_partition"]
    text = Page(page_of(compilation)).text
    assert step.reason(step.rejects[0]) in text
    assert f"Cure: {step.hint(step.rejects[0])}" in text


def test_a_model_without_nodes_has_a_report():
    model = onnx.parser.parse_model('<ir_version: 9, opset_import: ["" : 17]> g (float[2] x) => (float[2] x) { }')
    assert "nothing was found to improve" in Page(page_of(gx.compile(model))).text


def test_fallbacks_are_in_the_headline():
    text = Page(page_of(gx.compile(hostile_model()))).text
    assert "Host fallbacks" in text
    assert "E19010" in text


def test_it_stays_small():
    nodes = []
    value = "x"
    for number in range(4300):
        op = ("Identity", "Neg", "Relu", "Abs", "Exp")[number % 5]
        nodes.append(helper.make_node(op, [value], [f"v{number}"], name=f"/model/layers.{number}/attention/{op}"))
        value = f"v{number}"
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, [2])],
    )
    page = page_of(gx.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)))
    assert len(page.encode()) < 700_000


def test_a_thousand_nodes_take_no_more_than_is_wanted():
    compiled = gx.compile("qwen2.5-7b:layers=6")
    assert compiled.steps[0].nodes_before > 1_000
    assert sum(step.changed for step in compiled.steps) > 10
    assert len(page_of(compiled).encode()) <= BYTES[1_000]


def test_style_sheets_lose_only_room():
    page = page_of(gx.compile(chain_model()))
    own = Path(str(files("gexplorer.render").joinpath("report.css"))).read_text("utf-8")
    carried = re.search(r'<style id="summary-style">(.*?)</style>', page, re.DOTALL)[1]
    assert len(carried) < len(own)
    assert re.sub(r"\s", "", carried) == re.sub(r"\s", "", own)
    # Where room means something it stays: between a thing and what is in it, and between the numbers of a length.
    for kept in (".figure .big{", "@media (prefers-color-scheme: dark){", "margin:0 auto;", ".step > summary:hover{"):
        assert kept in carried or kept.replace(": ", ":") in carried


def test_it_is_written_whole(chain, tmp_path):
    path = write_report(chain, tmp_path / "r.html", variants="none")
    assert path == tmp_path / "r.html"
    assert untimed(path.read_text(encoding="utf-8")) == untimed(page_of(chain))
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]
    with pytest.raises(OptionError):
        write_report(chain, tmp_path / "missing" / "r.html")


@pytest.fixture(scope="module")
def bert():
    return gx.compile("bert-base:layers=1")


@pytest.fixture(scope="module")
def all_of_them(bert):
    return carry(bert, "rules")


def whole(made, key):
    """The parts of a variant, as the page makes them."""
    parts = {name: bytes_of(text) for name, text in made.parts.items()}
    others = {name: bytes_of(text) for name, text in made.variants[key].items() if text}
    found = {name: applied(parts[name], data) if data[:4] == MAGIC else data for name, data in others.items()}
    return {**{name: data for name, data in parts.items() if name not in made.variants[key]}, **found}


class TestVariants:
    def test_every_rule_that_did_something_and_every_mode_is_there(self, bert, all_of_them):
        acted = {step.name for step in bert.steps if step.stage == "passes" and step.rewrites}
        assert acted > {step.name for step in bert.steps if step.is_fusion and step.rewrites}
        keys = {json.dumps({"fusion": {name: False}}, separators=(",", ":")) for name in acted}
        keys |= {f'{{"memory":"{mode}"}}' for mode in ("fast", "exact", "safe")}
        assert set(all_of_them.variants) == keys
        assert all_of_them.left_out == ()
        assert len(acted) > 6

    def test_a_variant_is_what_compiling_gives(self, bert, all_of_them):
        other = bert.replace(fusion={"matmul_bias": False})
        parts = whole(all_of_them, '{"fusion":{"matmul_bias":false}}')
        figures = {row["key"]: row["value"] for row in unpack(parts["head"])["figures"]}
        assert figures["pool_bytes"] == other.memory.pool_bytes
        assert figures["hbm_bytes"] == other.cost.hbm_bytes
        steps = unpack(parts["steps"])["steps"]
        assert [row["name"] for row in steps] == [step.name for step in other.steps]

    def test_it_is_carried_as_a_difference(self, bert, all_of_them):
        other = bert.replace(fusion={"matmul_bias": False})
        made_anew = explorer_document(other, previous=explorer_document(bert, course=True), course=True)
        parts = whole(all_of_them, '{"fusion":{"matmul_bias":false}}')
        for name in ("nodes", "values", "cost", "memory", "sources"):
            assert parts[name] == made_anew.parts[name], name
        carried = all_of_them.variants['{"fusion":{"matmul_bias":false}}']
        assert sum(map(len, carried.values())) < 0.3 * sum(map(len, all_of_them.parts.values()))

    def test_only_parts_that_are_others_are_carried(self, all_of_them):
        safe = all_of_them.variants['{"memory":"safe"}']
        assert not {"nodes", "scenes", "cost"} & set(safe)
        for parts in all_of_them.variants.values():
            assert not [name for name, part in parts.items() if part == all_of_them.parts.get(name)]

    def test_the_page_says_which_are_there(self, bert):
        few = carry(bert, 1)
        assert len(few.shown) == 4
        assert len(few.left_out) == len(list(possible(bert))) - 4
        words = Page(report_page(report_data(bert), few)).text
        for one in (*few.shown, *few.left_out):
            assert one.label in words

    def test_without_a_number_they_keep_to_a_budget(self, bert, monkeypatch):
        assert sum(len(part) for parts in carry(bert).variants.values() for part in parts.values()) <= BUDGET_BYTES
        monkeypatch.setattr("gexplorer.render.variants.BUDGET_BYTES", 100_000)
        tight = carry(bert)
        assert sum(len(part) for parts in tight.variants.values() for part in parts.values()) <= 100_000
        assert tight.shown
        assert tight.left_out

    def test_progress_is_told(self, bert):
        told = []
        carry(bert, 1, told.append)
        assert [progress.done for progress in told] == [0, 1, 2, 3, 4]
        assert {progress.total for progress in told} == {5}

    @pytest.mark.parametrize("wanted", ["", "some", "-1", "1.5", "9" * 9])
    def test_nonsense_is_refused(self, wanted):
        with pytest.raises(OptionError, match="variants"):
            parse_wanted(wanted)


class TestFailure:
    @pytest.fixture
    def failing(self, monkeypatch):
        from gexplorer.passes.noop_elimination import NoopElimination

        def run(self, draft, log, context):
            raise RuntimeError("it broke")

        monkeypatch.setattr(NoopElimination, "run", run)

    def test_what_came_before_is_shown_and_the_status_is_1(self, failing, tmp_path):
        from click.testing import CliRunner

        from gexplorer.cli import cli

        (tmp_path / "m.onnx").write_bytes(chain_model().SerializeToString())
        page = tmp_path / "r.html"
        result = CliRunner().invoke(cli, ["report", str(tmp_path / "m.onnx"), "-o", str(page)])
        assert result.exit_code == 1
        assert len(result.stderr.splitlines()) == 1
        assert "noop_elimination" in result.stderr
        written = page.read_text("utf-8")
        words = Page(written).text
        assert "came to no end" in words
        assert "it broke" in words
        assert "identity_elimination" in words
        head = opened(carried_by(written)["parts"]["head"])
        assert head["failure"]["name"] == "noop_elimination"


class TestRepeating:
    OPTIONS = Options(
        soc="Ascend310P3",
        shapes={"x; rm -rf ~": (1, "n", 3)},
        fusion={"identity_elimination": False, "format_assignment": True},
        fold_read_bytes=5,
        seeds=(1, 2),
    )

    def test_the_command_is_quoted_and_complete(self):
        words = shlex.split(command_line("my model'.onnx", self.OPTIONS))
        assert words[:3] == ["gexplorer", "report", "my model'.onnx"]
        assert words[3:] == [
            *["--soc", "Ascend310P3", "--shape", "x; rm -rf ~:1,n,3"],
            *["--off", "identity_elimination", "--on", "format_assignment"],
            *["--set", "fold_read_bytes=5", "--set", "seeds=1,2"],
        ]

    def test_the_command_line_takes_it(self):
        from gexplorer.commands.report import report

        words = shlex.split(command_line("-m.onnx", self.OPTIONS))[2:]
        parsed = report.make_context("report", words).params
        assert parsed["model"] == "-m.onnx"
        assert parsed["shapes"] == ("x; rm -rf ~:1,n,3",)
        assert parsed["off"] == ("identity_elimination",)

    def test_the_python_gives_the_same_options(self):
        import ast

        call = ast.parse(python_line('a"b\n.onnx', self.OPTIONS)).body[1].value
        given = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        assert Options().with_changes(given) == self.OPTIONS
        assert ast.literal_eval(call.args[0]) == 'a"b\n.onnx'


class TestUnits:
    def test_numbers(self):
        assert count_text(1336) == "1,336"
        assert plural_text(1, "pass", "passes") == "1 pass"
        assert plural_text(2, "pass", "passes") == "2 passes"
        assert [bytes_text(n) for n in (0, 1023, 1024, 100_000_000)] == ["0 B", "1023 B", "1.00 KiB", "95.4 MiB"]
        assert [time_text(s) for s in (0, 2e-9, 1.5e-5, 0.0417, 3.1)] == [
            *["0 s", "2.00 ns", "15.0 µs", "41.7 ms", "3.10 s"]
        ]

    def test_changes(self):
        assert [change_text(*pair) for pair in ((1336, 636), (1, 3), (5, 5), (0, 3), (100_000, 99_999))] == [
            *["−52.4 %", "+200 %", "unchanged", "", "−<0.1 %"]
        ]

    def test_short_text_is_left_alone(self):
        assert shortened("abc", 3) == "abc"
        assert shortened("abcdefghij", 7) == "ab…ghij"


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_colour_can_be_read_on_every_ground(scheme):
    css = Path(str(files("gexplorer.render").joinpath("report.css"))).read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", blocks[scheme == "dark"]))
    grounds = ("page", "card", "sunk")
    pairs = [(ink, ground) for ink in ("ink", "soft", "accent", "kept", "changed") for ground in grounds]
    pairs += [(ink, ground) for ink in ("ink", "soft") for ground in colours if ground.endswith("-wash")]
    pairs += [(mark, f"{mark}-wash") for mark in ("removed", "added", "changed")]
    pairs += [(ink, ground) for ink in ("removed", "added", "warn") for ground in ("page", "card")]
    low = {}
    for ink, ground in pairs:
        dark, light = sorted((luminance(colours[ink]), luminance(colours[ground])))
        contrast = (light + 0.05) / (dark + 0.05)
        if contrast < 4.5:
            low[ink, ground] = round(contrast, 2)
    assert not low
