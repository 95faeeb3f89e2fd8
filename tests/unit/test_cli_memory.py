"""The commands about memory: planners, plan, memory; and what they say to bad files and wishes."""

from __future__ import annotations

import csv
import json
import random
from io import StringIO
from pathlib import Path
from time import process_time

import pytest
from click.testing import CliRunner

import gexplorer as gx
from gexplorer.cli import cli
from gexplorer.memory.planners.registry import all_planners
from gexplorer.options import parse_settings

MODEL = "bert-base:small=true,layers=1"
HEAD = "id,lower,upper,size\n"
# Two large buffers one after the other, and a small one over both: the best pool is 120.
BUFFERS = HEAD + "a,0,4,100\nb,4,8,100\nc,2,6,20\n"
MEMORY = {
    *("planner", "pool_bytes", "lower_bound_bytes", "unplanned_bytes", "weight_bytes", "persistent_bytes"),
    *("fragmentation", "proved_optimal", "verified"),
}
INSTANCES = Path(__file__).parents[2] / ".." / "shared" / "data" / "dsa"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "p.csv").write_text(BUFFERS)
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str) -> str:
    """The one line on stderr with which a command ends with status 1."""
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 1, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("gexplorer: ")
    assert line.isprintable()
    return line.removeprefix("gexplorer: ")


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def overlaps(rows: list[dict[str, str]]) -> list[tuple[str, str]]:
    boxes = [(r["id"], *(int(r[k]) for k in ("lower", "upper", "offset", "size"))) for r in rows]
    return [
        (a[0], b[0])
        for i, a in enumerate(boxes)
        for b in boxes[:i]
        if a[1] < b[2] and b[1] < a[2] and a[3] < b[3] + b[4] and b[3] < a[3] + a[4]
    ]


@pytest.mark.parametrize("command", ["planners", "plan", "memory"])
def test_help_explains_every_option(command):
    text = run(command, "--help")
    for option in cli.commands[command].params:
        if option.param_type_name == "option":
            assert option.opts[-1] in text
            assert option.help


# -- plan ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["fast", "balanced", "exact", "safe", "greedy_by_size", "none"])
def test_a_file_is_planned_and_its_plan_is_sound(mode):
    summary = json.loads(run("plan", "p.csv", "--memory", mode, "--json", "-"))
    assert summary.keys() >= MEMORY | {"seconds", "offsets"}
    assert summary["verified"] is True
    written = rows_of(run("plan", "p.csv", "--memory", mode, "-o", "-"))
    assert [int(row["offset"]) for row in written] == summary["offsets"]
    assert overlaps(written) == []
    assert max(int(row["offset"]) + int(row["size"]) for row in written) == summary["pool_bytes"]


def test_the_best_pool_is_found_and_proved():
    summary = json.loads(run("plan", "p.csv", "--memory", "exact", "--json", "-"))
    assert (summary["pool_bytes"], summary["lower_bound_bytes"], summary["proved_optimal"]) == (120, 120, True)
    assert (summary["unplanned_bytes"], summary["fragmentation"]) == (220, 0.0)
    assert (summary["weight_bytes"], summary["persistent_bytes"]) == (0, 0)


def test_safe_lets_no_lifetimes_touch():
    rows = rows_of(run("plan", "p.csv", "--memory", "safe", "-o", "-"))
    assert overlaps([{**row, "upper": str(int(row["upper"]) + 1)} for row in rows]) == []
    assert [row["upper"] for row in rows] == ["4", "8", "6"]


def test_the_plan_is_written_to_a_file_and_told(folder):
    text = run("plan", "p.csv", "-o", "out.csv", "--json", "out.json")
    assert "120 B" in text
    assert [row["id"] for row in rows_of((folder / "out.csv").read_text())] == ["a", "b", "c"]
    assert json.loads((folder / "out.json").read_text())["pool_bytes"] == 120


def test_sizes_and_offsets_are_aligned():
    rows = rows_of(run("plan", "p.csv", "--alignment", "64", "-o", "-"))
    assert all(int(row[column]) % 64 == 0 for row in rows for column in ("size", "offset"))
    assert json.loads(run("plan", "p.csv", "--alignment", "64", "--json", "-"))["pool_bytes"] == 192


def test_a_plan_that_was_written_is_planned_anew(folder):
    run("plan", "p.csv", "--memory", "none", "-o", "out.csv")
    assert json.loads(run("plan", "out.csv", "--json", "-"))["pool_bytes"] == 220, "its offsets are kept"
    flags = ("--ignore-offsets", "--memory", "exact", "--alignment", "8")
    anew = json.loads(run("plan", "out.csv", *flags, "--json", "-"))
    assert anew["pool_bytes"] == 128, "offsets that are no multiples of 8 do not matter then"
    assert anew["proved_optimal"]


def test_a_plan_that_was_written_is_read_back_and_keeps_its_offsets():
    first = json.loads(run("plan", "p.csv", "--json", "-", "-o", "out.csv"))
    again = json.loads(run("plan", "out.csv", "--memory", "greedy_by_size", "--json", "-"))
    assert again["offsets"] == first["offsets"]


def test_an_unsound_plan_is_a_failure_with_one_line_and_no_file(folder):
    (folder / "p.csv").write_text(HEAD + "a,0,2,10\nb,2,4,1000\nc,3,5,1000\nd,3,6,1000\n")
    line = refused("plan", "p.csv", "--memory", "article_literal", "-o", "out.csv", "--json", "out.json")
    assert line.startswith("article_literal: the plan is unsound: ")
    assert not (folder / "out.csv").exists()
    summary = json.loads((folder / "out.json").read_text())
    assert summary["verified"] is False
    assert summary["findings"]


def test_two_results_are_not_mixed_on_standard_output(folder):
    for arguments in (("plan", "p.csv", "-o", "-", "--json", "-"), ("planners", MODEL, "--csv", "-", "--json", "-")):
        assert refused(*arguments).startswith("only one result fits on standard output")
    assert rows_of(run("planners", MODEL, "--csv", "-", "--json", "out.json"))
    assert json.loads((folder / "out.json").read_text())["planners"]


def test_what_cannot_be_done_is_a_failure_with_one_line(folder):
    (folder / "p.csv").write_text("id,lower,upper,size,offset\na,0,4,100,0\nb,2,8,100,50\n")
    refused("plan", "p.csv")
    (folder / "p.csv").write_text("id,lower,upper,size,offset\na,0,4,100,0\n")
    line = refused("plan", "p.csv", "--memory", "best_fit")
    assert line.startswith("memory: best_fit cannot pin")
    assert line.endswith("--ignore-offsets places every buffer anew")
    (folder / "p.csv").write_text("id,lower,upper,size\na,0,4,100\n")
    assert refused("plan", "p.csv", "--memory", "no_such_planner").count("--ignore-offsets") == 0


BAD = {
    "empty": "",
    "binary": bytes(range(256)) * 100,
    "a picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "missing column": "id,lower,size\na,0,1\n",
    "no head": "a,0,4,100\n",
    "negative size": HEAD + "a,0,4,-1\n",
    "negative time": HEAD + "a,-1,4,1\n",
    "reversed": HEAD + "a,4,0,1\n",
    "empty lifetime": HEAD + "a,4,4,1\n",
    "overflow": HEAD + "a,0,4,18446744073709551616\n",
    "int64 overflow": HEAD + "a,0,4,9223372036854775807\n",
    "sum overflow": HEAD + "".join(f"a{i},0,4,{1 << 61}\n" for i in range(9)),
    "duplicate": HEAD + "a,0,4,1\na,1,2,1\n",
    "fraction": HEAD + "a,0,4,1.5\n",
    "words": HEAD + "a,zero,four,much\n",
    "ragged": HEAD + "a,0\n",
    "noise": "".join(random.Random(1).choices("abc,;:0123456789\n ", k=4_000_000)),
    "noise below a head": HEAD + "".join(random.Random(2).choices("abc,;:0123456789\n ", k=4_000_000)),
    "a million times the same": HEAD + "a,0,4,1\n" * 1_000_000,
    "one line": "x" * 8_000_000,
    "names that command": HEAD + "\x1b[2J,4,0,1\n",
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_line_at_once(folder, case):
    text = BAD[case]
    (folder / "bad.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    refused("plan", "bad.csv")  # imports what it needs
    start = process_time()
    assert refused("plan", "bad.csv").startswith("bad.csv")
    assert process_time() - start < 1


def test_a_missing_file_and_a_folder_are_one_line(folder):
    assert refused("plan", "none.csv") == "none.csv: No such file or directory"
    assert refused("plan", str(folder)).endswith(": Is a directory")


def test_a_wrong_mode_is_told_with_the_nearest():
    assert "did you mean balanced?" in refused("plan", "p.csv", "--memory", "balance")
    assert "did you mean greedy_by_size?" in refused("planners", MODEL, "--memory", "greedy_by_sise")


def test_a_wrong_alignment_is_told():
    for alignment in ("0", "-4", "x", str(1 << 40)):
        result = CliRunner().invoke(cli, ["plan", "p.csv", "--alignment", alignment])
        assert result.exit_code == 2
        assert "--alignment" in result.stderr


@pytest.mark.skipif(not INSTANCES.is_dir(), reason="the field's benchmark files are not beside this checkout")
@pytest.mark.parametrize("name", ["A.1048576", "K.1048576", "input.12", "resnet50"])
def test_the_fields_benchmark_files_are_planned(name):
    summary = json.loads(run("plan", str(INSTANCES / f"{name}.csv"), "--memory", "fast", "--json", "-"))
    rows = rows_of((INSTANCES / f"{name}.csv").read_text())
    assert summary["verified"]
    assert summary["unplanned_bytes"] == sum(int(row["size"]) for row in rows)


# -- planners -----------------------------------------------------------------------------------------------------


def test_planners_lists_them_all():
    data = json.loads(run("planners", MODEL, "--json", "-"))
    assert [row["name"] for row in data["planners"]] == [planner.name for planner in all_planners()]
    assert data["what_if"] == {}
    text = run("planners", MODEL)
    assert max(map(len, text.splitlines())) <= 80
    for planner in all_planners():
        assert planner.name in text
    memory = gx.compile(MODEL).memory
    assert data["bound_bytes"] == memory.plan.problem.bound_bytes


def test_the_articles_planner_is_caught():
    (row,) = [
        r for r in json.loads(run("planners", MODEL, "--json", "-"))["planners"] if r["name"] == "article_literal"
    ]
    assert row["verified"] is False
    assert row["findings"]["overlap"] > 0
    assert f"UNSOUND: {row['findings']['overlap']} overlap" in run("planners", MODEL)


def test_the_buffers_and_the_plan_as_csv(folder):
    memory = gx.compile(MODEL).memory
    rows = rows_of(run("planners", MODEL, "--csv", "-"))
    assert [row["id"] for row in rows] == list(memory.plan.problem.names)
    assert [int(row["offset"]) for row in rows] == memory.plan.placement.offsets.tolist()
    run("planners", MODEL, "--csv", "out.csv")
    planned = json.loads(run("plan", "out.csv", "--memory", "greedy_by_size", "--json", "-"))
    assert planned["pool_bytes"] == memory.pool_bytes


def test_planners_of_a_file():
    data = json.loads(run("planners", "p.csv", "--json", "-"))
    assert (data["bound_bytes"], data["unplanned_bytes"], data["buffers"]) == (120, 220, 3)
    assert len(data["planners"]) == len(all_planners())
    assert "3 buffers, bound 120 B" in run("planners", "p.csv")
    assert "want a model" in refused("planners", "p.csv", "--order", "bfs")
    assert refused("planners", "none.csv") == "none.csv: No such file or directory"


@pytest.fixture(scope="module")
def memory():
    return gx.compile(MODEL).memory


def what_if(*flags: str) -> dict[str, dict[str, int]]:
    return json.loads(run("planners", MODEL, *flags, "--json", "-"))["what_if"]


def test_what_if_nobody_got_a_tensors_memory(memory):
    name = memory.plan.problem.names[0]
    moved = what_if("--never-reuse", name)
    after = memory.what_if(never_reuse=(name,))
    assert moved["pool"] == {"before": memory.pool_bytes, "after": after.pool_bytes}
    assert moved["peak"]["after"] >= moved["peak"]["before"]
    text = run("planners", MODEL, "--never-reuse", name)
    assert f"What if nobody got the memory of {name}?" in text


def test_what_if_a_tensor_were_pinned(memory):
    name, offset = memory.plan.problem.names[0], 1 << 20
    moved = what_if("--pin", f"{name}={offset}")
    assert moved["pool"]["after"] >= offset
    rows = {row["id"]: row for row in rows_of(run("planners", MODEL, "--pin", f"{name}={offset}", "--csv", "-"))}
    assert int(rows[name]["offset"]) == offset


def test_what_if_two_tensors_were_kept_apart(memory):
    problem, offsets = memory.plan.problem, memory.plan.placement.offsets
    first, second = next(
        (i, j)
        for i in range(len(problem))
        for j in range(i)
        if offsets[i] < offsets[j] + problem.size_bytes[j] and offsets[j] < offsets[i] + problem.size_bytes[i]
    )
    names = problem.names[first], problem.names[second]
    rows = {row["id"]: row for row in rows_of(run("planners", MODEL, "--apart", ",".join(names), "--csv", "-"))}
    a, b = (range(int(rows[n]["offset"]), int(rows[n]["offset"]) + int(rows[n]["size"])) for n in names)
    assert a.stop <= b.start or b.stop <= a.start


@pytest.mark.parametrize("order", ["bfs", "dfs", "rdfs", "stable_rdfs", "memory_aware", "as_written"])
def test_what_if_the_order_were_another(memory, order):
    moved = what_if("--order", order)
    after = memory.what_if(order=order)
    assert moved["peak"]["after"] == after.plan.problem.bound_bytes
    if order == "as_written":
        assert moved["pool"]["after"] == moved["pool"]["before"]
    if order == "memory_aware":
        assert moved["peak"]["after"] <= moved["peak"]["before"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--pin", "nothing"), "--pin 'nothing': NAME=OFFSET is wanted"),
        (("--pin", "a=-5"), "--pin 'a=-5': NAME=OFFSET is wanted"),
        (("--pin", f"a={'9' * 30}"), "NAME=OFFSET is wanted"),
        (("--pin", "=5"), "NAME=OFFSET is wanted"),
        (("--pin", "nobody=512"), "no tensor 'nobody'"),
        (("--apart", "alone"), "--apart 'alone': A,B is wanted"),
        (("--apart", "one,other"), "no tensor 'one'"),
        (("--never-reuse", "nobody"), "--never-reuse: no tensor or operator 'nobody'"),
    ],
)
def test_a_wish_that_means_nothing_is_one_line(flags, words):
    assert words in refused("planners", MODEL, *flags)


def test_names_may_hold_commas_and_equals_signs():
    from gexplorer.commands.memory import _pair, _pin

    assert _pin("a=b=12") == ("a=b", 12)
    assert _pair("a,b,c,d", frozenset(("a,b", "c,d"))) == ("a,b", "c,d")
    assert _pair("a,b,c", frozenset()) == ("a,b", "c")


# -- memory -------------------------------------------------------------------------------------------------------


def test_memory_tells_numbers_peak_and_tensors(memory):
    text = run("memory", MODEL)
    assert f"{memory.pool_bytes:,} B" in text
    assert "The peak" in text
    assert max(map(len, text.splitlines())) <= 80
    data = json.loads(run("memory", MODEL, "--json", "-"))
    assert data["memory"]["pool_bytes"] == memory.pool_bytes
    assert sum(row["size_bytes"] for row in data["peak"]) == memory.plan.problem.bound_bytes
    assert [row["name"] for row in data["tensors"]] == list(memory.program.tensors)


def test_one_tensor_is_told_and_a_wrong_name_suggests_the_nearest(memory):
    name = memory.plan.problem.names[0]
    assert run("memory", MODEL, "--tensor", name).startswith(name)
    data = json.loads(run("memory", MODEL, "--tensor", name, "--json", "-"))
    assert (data["name"], {*data} >= {"before", "after", "address"}) == (name, True)
    assert f"did you mean {name}?" in refused("memory", MODEL, "--tensor", f"{name}_")


def test_the_mode_reaches_every_command(memory):
    assert json.loads(run("compile", MODEL, "--memory", "safe", "--json", "-"))["memory"]["mode"] == "safe"
    assert json.loads(run("memory", MODEL, "--memory", "none", "--json", "-"))["memory"]["planner"] == "none"
    assert "[IMAS]AfterAssignMemory : " in log_of("--memory", "fast")


def log_of(*flags: str) -> str:
    run("compile", MODEL, *flags, "--log", "log.txt")
    return Path("log.txt").read_text()


def test_compile_tells_the_memory(memory):
    text = run("compile", MODEL)
    assert "\nmemory\n  pool " in text
    assert "verified" in text


def test_a_size_may_have_a_unit():
    sizes = {"8G": 8 << 30, "8GB": 8 << 30, "8 GiB": 8 << 30, "512k": 512 << 10, "0x10": 16, "7": 7}
    for text, size_bytes in sizes.items():
        assert parse_settings([f"mem_workspace_size={text}"]) == {"mem_workspace_size": size_bytes}
    assert "is not a number" in refused("memory", MODEL, "--set", "mem_workspace_size=8X")
    assert "more than the 1,024 allowed" in refused("memory", MODEL, "--set", "mem_workspace_size=1K")


def test_reuse_is_disabled_as_by_ges_own_tool():
    planner = json.loads(run("memory", MODEL, "--disable_reuse_memory=1", "--json", "-"))["memory"]["planner"]
    assert planner == "none"
    text = run("memory", MODEL, "--set", "disable_reuse_memory=1", "--json", "-")
    assert json.loads(text)["memory"]["planner"] == "none"
    assert "contradict" in refused(
        "memory", MODEL, "--disable_reuse_memory=1", "--set", "enable_mem_reuse=true", "--json", "-"
    )


def test_a_tensor_is_pinned_once():
    name = pool_names()[0]
    assert "is pinned twice" in refused("planners", MODEL, "--pin", f"{name}=0", "--pin", f"{name}=512")


def test_a_file_of_buffers_takes_no_word_about_compiling():
    for flags in (("--memory", "exact"), ("--set", "order=bfs"), ("--soc", "Ascend910B3"), ("--off", "x")):
        assert "is not compiled" in refused("planners", "p.csv", *flags)


def pool_names() -> list[str]:
    return list(gx.compile(MODEL).memory.plan.problem.names)


def test_options_come_back_from_plain_data():
    compilation = gx.compile(MODEL, no_reuse=("linear",), apart=(("gelu", "linear"),), seeds=(1, 2))
    told = json.dumps(compilation.options.as_dict())
    again = gx.compile(MODEL, **json.loads(told))
    assert json.dumps(again.options.as_dict()) == told
    assert again.memory.pool_bytes == compilation.memory.pool_bytes
