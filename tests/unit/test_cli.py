from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from click.testing import CliRunner
from onnx import parser

import gexplorer
from gexplorer.cli import cli

MODEL = """
<ir_version: 10, opset_import: ["": 21]>
small (float[n, 4] x) => (float[n, 2] y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float one = {1}>
{
    a = Identity(x)
    b = MatMul(a, w)
    c = Mul(b, one)
    y = Relu(c)
}
"""
SURFACE = {
    "model": {"name", "sha256", "nodes", "weight_bytes", "inputs", "opset"},
    "options": {"soc"},
    "graph": {"nodes", "kernels", "fused_kernels"},
}
ROWS = {
    "stages": {"name", "seconds", "steps"},
    "steps": {
        *("index", "stage", "name", "ge_name", "seconds"),
        *("nodes_before", "nodes_after", "rewrites", "rejects"),
    },
    "rules": {"name", "ge_name", "enabled", "matched", "effective", "rejects"},
}
COMMANDS = (
    "articles",
    "chips",
    "compile",
    "cost",
    "memory",
    "plan",
    "planners",
    "report",
    "rules",
    "schedule",
    "steps",
    "validate-cost",
    "why",
    "zoo",
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    onnx.save(parser.parse_model(MODEL), tmp_path / "small.onnx")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def start(*arguments: str | Path, program: tuple[str | Path, ...] = ("-m", "gexplorer"), **options):
    return subprocess.Popen([sys.executable, *program, *arguments], **options)


def on_a_terminal(*arguments: str, program: tuple[str | Path, ...]) -> str:
    """What the command shows on a terminal of 80 columns, stdout and stderr together."""
    shown, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    running = start(*arguments, program=program, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    text = b""
    while True:
        try:
            text += os.read(shown, 1 << 16)
        except OSError:  # the other end is closed
            break
    os.close(shown)
    assert running.wait(60) == 0, text
    return text.decode()


# -- help ---------------------------------------------------------------------------------------------------------


def test_help_names_every_command_and_says_what_it_does():
    text = run("--help")
    for command in COMMANDS:
        assert f"\n  {command} " in text


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_of_a_command_explains_every_option(command, flag):
    text = run(command, flag)
    assert text.startswith(f"Usage: cli {command}")
    for option in cli.commands[command].params:
        if option.param_type_name == "option":
            assert option.opts[-1] in text
            assert option.help


# -- compile ------------------------------------------------------------------------------------------------------


def test_compile_shows_the_model_and_each_step():
    text = run("compile", "small.onnx")
    assert "input  x: float32[n,4]" in text
    assert "output y: float32[n,2]" in text
    steps = gexplorer.compile("small.onnx").steps
    assert f"4 -> {steps[-1].nodes_after} nodes" in text
    told = [step for step in steps if step.stage == "parse" or step.changed or step.rejects]
    assert [step.name in text.split() for step in steps] == [step in told for step in steps]
    assert f"{len(steps) - len(told)} more steps found nothing to do" in text


def test_steps_all_lists_the_quiet_ones_too():
    text = run("steps", "small.onnx", "--all")
    for step in gexplorer.compile("small.onnx").steps:
        assert step.name in text


@pytest.mark.parametrize(
    "arguments",
    [
        *(("compile", "small.onnx"), ("steps", "small.onnx"), ("steps", "small.onnx", "--step", "noop_elimination")),
        *(("rules",), ("zoo",), ("compile", "simple-attention")),
    ],
)
def test_text_fits_80_columns(arguments):
    assert max(map(len, run(*arguments).splitlines())) <= 80


def test_json_has_the_public_surface():
    summary = json.loads(run("compile", "small.onnx", "--json", "-"))
    assert summary["schema"] == "gexplorer.summary/1"
    assert [stage["name"] for stage in summary["stages"]] == [
        *("parse", "passes", "memory", "schedule", "kernels", "validation")
    ]
    assert {*summary} >= {"memory", "schedule", "cost", "validation", *SURFACE, *ROWS}
    for name, keys in SURFACE.items():
        assert {*summary[name]} >= keys
    for name, keys in ROWS.items():
        assert all({*row} >= keys for row in summary[name])
    assert summary["model"]["inputs"] == [{"name": "x", "dtype": "float32", "shape": ["n", 4]}]
    assert summary["model"]["opset"] == {"ai.onnx": 21}


def test_json_to_a_file_and_text_beside_it(folder):
    assert "4 -> 1 nodes" in run("compile", "small.onnx", "--json", "out.json")
    assert json.loads((folder / "out.json").read_text())["model"]["name"] == "small.onnx"


def test_options_reach_the_compilation():
    off = ["--off", "noop_elimination", "--off", "matmul_scale"]
    flags = ["--shape", "x:5,4", *off, "--soc", "Ascend310P3", "--set", "fold_read_bytes=0x10"]
    summary = json.loads(run("compile", "small.onnx", *flags, "--json", "-"))
    assert summary["options"]["soc"] == "Ascend310P3"
    assert summary["options"]["fold_read_bytes"] == 16
    assert summary["model"]["inputs"][0]["shape"] == [5, 4]
    assert [rule["name"] for rule in summary["rules"] if not rule["enabled"]] >= ["noop_elimination"]
    assert "noop_elimination" not in {step["name"] for step in summary["steps"]}
    assert summary["graph"]["nodes"] == 2


@pytest.mark.parametrize("name", ["identity_elimination", "IdentityPass"])
def test_a_pass_is_switched_by_our_name_and_by_ge_s(name):
    rules = json.loads(run("compile", "small.onnx", "--off", name, "--json", "-"))["rules"]
    assert not next(rule for rule in rules if rule["name"] == "identity_elimination")["enabled"]


def test_a_pass_that_is_off_by_default_is_switched_on():
    off = [rule["name"] for rule in json.loads(run("rules", "--json", "-")) if not rule["default"]]
    for name in off:
        steps = json.loads(run("compile", "small.onnx", "--on", name, "--json", "-"))["steps"]
        assert name in {step["name"] for step in steps}


def test_a_zoo_model_by_name_and_options():
    assert json.loads(run("compile", "mlp:small=true", "--json", "-"))["model"]["name"] == "mlp:small=true"


def test_names_that_are_not_ascii_come_out_as_utf_8(folder):
    name = "模型é.onnx"
    (folder / "small.onnx").rename(name)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    as_json = start("compile", name, "--json", "-", stdout=subprocess.PIPE, env=environment).communicate(timeout=60)[0]
    assert json.loads(as_json)["model"]["name"] == name
    as_text = start("compile", name, stdout=subprocess.PIPE, env=environment).communicate(timeout=60)[0]
    assert rb"\u6a21\u578b\xe9.onnx" in as_text


def test_names_cannot_command_the_terminal(folder):
    bad = parser.parse_model(MODEL)
    bad.graph.input[0].name = bad.graph.node[0].input[0] = bad.graph.node[0].name = "x\x1b[2J\nfake"
    onnx.save(bad, "small.onnx")
    for arguments in (["compile"], ["steps", "--step", "identity_elimination"], ["steps", "--text"]):
        text = run(arguments[0], "small.onnx", *arguments[1:])
        assert "\x1b" not in text
        assert "\nfake" not in text


# -- steps --------------------------------------------------------------------------------------------------------


def test_steps_lists_them():
    text = run("steps", "small.onnx")
    assert [row["name"] for row in json.loads(run("steps", "small.onnx", "--json", "-"))] == [
        step.name for step in gexplorer.compile("small.onnx").steps
    ]
    assert "noop_elimination" in text


@pytest.mark.parametrize("step", ["noop_elimination", "NoUseReshapeRemovePass", "5", "-1"])
def test_one_step_by_number_by_name_and_by_ge_s_name(step):
    key = int(step) if step.lstrip("-").isdigit() else step
    wanted = gexplorer.compile("small.onnx").steps[key]
    assert f"{wanted.index} {wanted.name} ({wanted.stage})" in run("steps", "small.onnx", "--step", step)
    detail = json.loads(run("steps", "small.onnx", "--step", step, "--json", "-"))
    assert (detail["index"], detail["name"]) == (wanted.index, wanted.name)
    assert len(detail["rewritten"]) == len(wanted.rewrites) == detail["rewrites"]


@pytest.mark.parametrize("step", ["check_dry_run", "-1"])
def test_the_steps_that_compile_counts_are_there_to_be_shown(step, monkeypatch):
    monkeypatch.setenv("GEXPLORER_VALIDATE", "quick")
    counted = json.loads(run("compile", "small.onnx", "--json", "-"))["steps"]
    assert [row["name"] for row in json.loads(run("steps", "small.onnx", "--json", "-"))] == [
        s["name"] for s in counted
    ]
    wanted = next(s for s in reversed(counted) if step in (s["name"], "-1"))
    for name in (step, str(wanted["index"])):
        assert f"{wanted['index']} {wanted['name']} (validation)" in run("steps", "small.onnx", "--step", name)
    refused = CliRunner().invoke(gexplorer.cli.cli, ["steps", "small.onnx", "--step", str(len(counted))])
    assert f"there are 0 to {len(counted) - 1}: " in refused.output


def test_a_match_that_is_off_at_no_node_is_refused():
    refused = CliRunner().invoke(gexplorer.cli.cli, ["compile", "small.onnx", "--off", "conv_batchnorm:nope"])
    assert (refused.exit_code, refused.output) == (
        1,
        "gexplorer: conv_batchnorm:nope is switched off, but there is no node 'nope'\n",
    )


def test_one_step_says_what_it_did_and_why():
    text = run("steps", "small.onnx", "--step", "noop_elimination")
    assert "the other operand is 1 everywhere" in " ".join(text.split())


@pytest.mark.parametrize("step", ["read", "identity_elimination", None])
def test_the_graph_after_a_step_is_a_model_that_gives_the_same(step, folder):
    chosen = ["--step", step] if step else []
    assert not run("steps", "small.onnx", *chosen, "--onnx", "after.onnx")
    x = {"x": np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)}
    before, after = (onnxruntime.InferenceSession(folder / name).run(None, x) for name in ("small.onnx", "after.onnx"))
    np.testing.assert_array_equal(before[0], after[0])


def test_the_graph_after_a_step_as_text():
    whole, last = run("steps", "small.onnx", "--step", "read", "--text"), run("steps", "small.onnx", "--text")
    assert "Identity" in whole
    assert "Identity" not in last
    assert "MatMul" in last


# -- the other commands -------------------------------------------------------------------------------------------


def test_rules_lists_every_pass_with_ge_s_name():
    rows = json.loads(run("rules", "--json", "-"))
    text = run("rules")
    assert {"constant_folding", "dead_code_elimination"} <= {row["name"] for row in rows}
    for row in rows:
        assert row["name"] in text
        assert {*row} == {"name", "ge_name", "order", "default", "summary"}


def test_zoo_lists_every_model():
    rows = json.loads(run("zoo", "--json", "-"))
    text = run("zoo")
    assert tuple(row["name"] for row in rows) == gexplorer.zoo.names()
    for row in rows:
        assert row["name"] in text


def test_report_writes_one_page_and_says_where(folder):
    shown = run("report", "small.onnx", "-o", "page.html").strip()
    assert Path(shown) == folder / "page.html"
    assert "</html>" in (folder / "page.html").read_text()


def test_report_is_named_after_the_model(folder):
    run("report", "small.onnx")
    assert (folder / "small.html").exists()


# -- how it behaves -----------------------------------------------------------------------------------------------


@pytest.fixture
def slow_pass(folder, monkeypatch):
    """A pass that sleeps, in every process started from here on."""
    code = """
        import os, time
        import gexplorer.passes.manager as manager
        from gexplorer.passes.base import Pass

        @manager.register
        class Slow(Pass):
            '''Sleeps.'''
            name = "slow"
            order = 1
            def run(self, draft, log, context):
                print("sleeps", file=open(os.environ.get("SLOW_SAYS", os.devnull), "w"), flush=True)
                time.sleep(float(os.environ["SLOW_SECONDS"]))
    """
    (folder / "slow.py").write_text("\n".join(line[8:] for line in code.splitlines()))
    # Imported first, so that no more than the pass takes time.
    (folder / "run.py").write_text(
        "import numpy, onnx, onnx_ir, rich.progress, slow, gexplorer.compiler\nfrom gexplorer.cli import main\nmain()\n"
    )
    monkeypatch.setenv("SLOW_SECONDS", "1.5")
    return (folder / "run.py",)


def test_progress_is_shown_on_a_terminal_when_work_takes_more_than_a_second(slow_pass, monkeypatch):
    command = ("compile", "small.onnx")
    assert "slow" in on_a_terminal(*command, program=slow_pass).partition("ONNX nodes")[0]
    monkeypatch.setenv("SLOW_SECONDS", "0.01")
    assert "slow" not in on_a_terminal(*command, program=slow_pass).partition("ONNX nodes")[0]


def test_progress_is_not_shown_elsewhere(slow_pass):
    done = start("compile", "small.onnx", program=slow_pass, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, shown = done.communicate(timeout=60)
    assert done.returncode == 0
    assert not shown


def test_an_interrupt_ends_it_quietly_with_130(slow_pass, folder, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SLOW_SECONDS", "60")
    said = tmp_path_factory.mktemp("slow") / "said"
    monkeypatch.setenv("SLOW_SAYS", str(said))
    before = sorted(folder.iterdir())
    command = ("compile", "small.onnx", "--json", "out.json")
    running = start(*command, program=slow_pass, stderr=subprocess.PIPE, text=True)
    while not said.exists():
        time.sleep(0.05)
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    _, shown = running.communicate(timeout=30)
    assert running.returncode == 130
    assert shown == "gexplorer: interrupted\n"
    assert [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"] == before


@pytest.mark.parametrize(
    "arguments",
    [["compile", "bert-base:layers=2", "--json", "-"], ["steps", "bert-base:layers=2", "--text"], ["rules"]],
)
def test_a_reader_that_leaves_early_is_no_failure_to_talk_about(arguments):
    running = start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    running.stdout.close()
    assert not running.stderr.read()
    running.stderr.close()
    running.wait(60)


def test_a_full_disk_behind_standard_output_is_one_line():
    with open("/dev/full", "w") as full:
        done = start("compile", "small.onnx", "--json", "-", stdout=full, stderr=subprocess.PIPE, text=True)
        _, shown = done.communicate(timeout=60)
    assert done.returncode == 1
    assert shown == "gexplorer: output: No space left on device\n"


@pytest.mark.parametrize(
    "code", ["import gexplorer", "import gexplorer.cli as c; c.cli(['--help'], standalone_mode=False)"]
)
def test_nothing_heavy_is_imported_before_it_is_needed(code):
    heavy = "('onnx', 'numpy', 'onnxruntime', 'onnx_ir', 'rich', 'plotly', 'ipywidgets', 'graphviz', 'yaml')"
    check = f"{code}\nimport sys\nassert not {{*{heavy}}} & {{*sys.modules}}, {{*{heavy}}} & {{*sys.modules}}"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


# -- why ----------------------------------------------------------------------------------------------------------


def test_why_explains_and_ranks():
    text = run("why", "bert-base:small=true,layers=1")
    numbers = "tried 4: 0 fused, 1 nearly, 3 others"
    assert f"norm_matmul {numbers} added x 1, could save up to 2.00 KiB of memory traffic" in " ".join(text.split())
    assert "cure: " in text
    assert "What costs most" in text
    assert max(map(len, text.splitlines())) <= 80
    data = json.loads(run("why", "bert-base:small=true,layers=1", "--json", "-"))
    assert {*data} == {"near_misses", "far_misses", "tallies", "blockers", "story"}
    assert data["near_misses"]
    assert data["tallies"]
    assert data["far_misses"] == data["story"] == []
    known = {"rule", "node", "code", "reason", "blocker", "hint", "freed_bytes", "inside", "near", "wanted", "kind"}
    known |= {"saved_bytes", "settled"}
    for miss in data["near_misses"]:
        assert {*miss} == known


def test_why_of_a_rule_says_how_its_places_add_up():
    text = run("why", "bert-base:small=true,layers=1", "--rule", "matmul_bias")
    assert [re.sub(r" or \d+ others", "", line.rstrip()) for line in text.splitlines()] == [
        "matmul_bias",
        "  tried 10: 6 fused, 0 nearly, 4 not this pattern",
        "  not this pattern",
        "    2  Add without MatMul before it",
        "    2  Add whose MatMul is part of another match",
        "    --all lists each of them",
    ]
    text = run("why", "bert-base:small=true,layers=1", "--rule", "elementwise_chain")
    assert "  tried 5: 2 fused, 2 part of these, 0 nearly, 1 not this pattern" in text
    text = run("why", "bert-base:small=true,layers=1", "--rule", "conv_bias_epilogue", "--off", "ALL")
    assert text.startswith("conv_bias_epilogue is switched off")
    text = run("why", "small.onnx", "--rule", "moe_experts")
    assert "tried no place: no node has an operator that its matches end in" in text


def test_why_all_shows_each_place():
    text = run("why", "bert-base:small=true,layers=1", "--rule", "matmul_bias", "--all")
    short = re.sub(r" or \d+ others", "", text)
    assert "  not this pattern: Add without MatMul before it x 2" in short
    assert "    node_add_1 (Add) reads node_add (Add), not MatMul" in short
    assert "--all" not in text
    data = json.loads(run("why", "bert-base:small=true,layers=1", "--rule", "matmul_bias", "--all", "--json", "-"))
    (tally,) = data["tallies"]
    assert (tally["tried"], tally["fused"], len(data["near_misses"]), len(data["far_misses"])) == (10, 6, 0, 4)
    text = run("why", "bert-base:small=true,layers=1", "--all")
    assert "flash_attention\n" in text
    assert "became part of what this rule fused at" in text
    assert max(map(len, text.splitlines())) <= 80


def test_why_of_a_node_is_its_story():
    text = run("why", "bert-base:small=true,layers=1", "--node", "node_linear_4")
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "node_linear_4 (Add)"
    assert any(line.endswith("matmul_bias  rewritten") for line in lines)
    assert any(line.endswith("norm_matmul  nearly") for line in lines)
    assert "conv_bias: node_linear_4 (Add) reads" in text
    assert lines[-1].endswith("rules for other operators ran while it was there")
    data = json.loads(run("why", "bert-base:small=true,layers=1", "--node", "node_linear_4", "--json", "-"))
    assert {"rewritten", "near", "far"} <= {chapter["outcome"] for chapter in data["story"]}
    assert "No rule tried it" in run("why", "bert-base:small=true,layers=1", "--node", "layer_norm")
    result = CliRunner().invoke(cli, ["why", "bert-base:small=true,layers=1", "--node", "node_linear_444"])
    assert (result.exit_code, result.stderr.partition(";")[0]) == (1, "gexplorer: no node or value 'node_linear_444'")


def test_why_of_a_rule_that_is_off_says_so():
    text = run("why", "small.onnx", "--rule", "mega_kernel")
    assert text == "mega_kernel is switched off; --on mega_kernel switches it on.\n"


def test_why_of_one_rule_suggests_the_nearest_name():
    result = CliRunner().invoke(cli, ["why", "small.onnx", "--rule", "flash_atention"])
    assert result.exit_code == 1
    assert result.stderr == "gexplorer: no pass or rule 'flash_atention'; did you mean flash_attention?\n"


def test_the_mode_of_the_articles_is_taken_from_the_environment(monkeypatch):
    monkeypatch.setenv("GE_FUSION_PASS_MODE", "fast")
    summary = json.loads(run("compile", "small.onnx", "--json", "-"))
    assert summary["options"]["fusion_mode"] == "fast"
    assert "elementwise_chain" not in {step["name"] for step in summary["steps"]}
    monkeypatch.setenv("GE_FUSION_PASS_MODE", "slow")
    result = CliRunner().invoke(cli, ["compile", "small.onnx"])
    assert (result.exit_code, result.stderr) == (
        1,
        "gexplorer: GE_FUSION_PASS_MODE: fast or full is wanted, not 'slow'\n",
    )


def test_log_lines_go_to_a_file(folder):
    run("compile", "small.onnx", "--log", "ge_log.txt")
    lines = (folder / "ge_log.txt").read_text().splitlines()
    assert all(line.startswith(("[INFO] GE(", "[WARNING] GE(")) for line in lines)
    assert any("[GEPERFTRACE] The time cost of InferShapePass is [" in line for line in lines)
