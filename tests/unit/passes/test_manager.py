"""The pass manager: finding, choosing, running and recording passes."""

from dataclasses import replace
from typing import ClassVar

import pytest
from immutables import Map

from gexplorer.errors import OptionError, PassError, VerifyError
from gexplorer.ir.text import to_text
from gexplorer.passes import manager
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.passes.identity_elimination import IdentityElimination
from gexplorer.passes.manager import all_passes, plan, register, run_passes
from gexplorer.trace.records import Message, Steps
from tests.passes import graph_of, near_misses, run

MODEL = "input %x : float32[2]\n%a = Identity(%x) #a\n%b = Neg(%a) #b\n%y = Identity(%b) #y\noutput %y"
NESTED = """
    input %x : float32[2]
    input %c : bool[]
    %y = If(%c) #if
      else_branch = graph else
        %e = Identity(%x) #e
        output %e
      then_branch = graph then
        %t = If(%c) #inner
          else_branch = graph inner_else
            output %x
          then_branch = graph inner_then
            %i = Identity(%x) #i
            %j = Identity(%i) #j
            output %j
        output %t
    %z = Identity(%y) #z
    output %z
    """


class Marking(Pass):
    """Marks nothing, and says what it looked at.

    More than one line.
    """

    name = "marking"
    ge_name = "MarkingPass"
    order = 205
    messages = Map(seen=Message("{node} was seen by {who}", "look away, {node}"))

    def run(self, draft, log, context):
        for node in draft.candidates("Identity"):
            log.reject(node, "seen", who="marking")


class Breaking(Pass):
    """Leaves a graph with a hole."""

    name = "breaking"
    order = 215

    def run(self, draft, log, context):
        node = draft.candidates("Neg")[0]
        with log.rewrite(node, "broken"):
            draft.update(node, inputs=("nothing",))


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(manager, "_registered", {})
    return register(Marking)


def test_every_file_of_the_package_is_found_in_order():
    passes = all_passes()
    assert [p.order for p in passes] == sorted(p.order for p in passes)
    assert len({p.name for p in passes}) == len(passes) >= 13
    assert all(p.summary().endswith(".") and p.messages for p in passes)


def test_every_pass_shows_a_graph_before_and_after():
    assert [
        p.name for p in all_passes() if "before:" not in (p.__doc__ or "") or "after:" not in (p.__doc__ or "")
    ] == []


def test_a_registered_pass_is_in_its_place(registered):
    names = [p.name for p in all_passes()]
    at = names.index("marking")
    assert names[at - 1 : at + 2] == ["dropout_elimination", "marking", "identity_elimination"]
    assert registered.summary() == "Marks nothing, and says what it looked at."


def test_a_registered_pass_is_in_a_compilation_and_its_summary(registered):
    import gexplorer
    from gexplorer.views.rules import rule_list

    compiled = gexplorer.compile("mlp")
    assert "marking" in [step.name for step in compiled.steps]
    assert "marking" in str(compiled.summary())
    assert "marking" in str(rule_list())


@pytest.mark.parametrize("name", ["format_assignment", "RefineRunningFormat"])
def test_switched_on_by_our_name_and_by_ge_s(name):
    assert "format_assignment" not in [p.name for p in plan({}).passes]
    assert "format_assignment" in [p.name for p in plan({name: True}).passes]


@pytest.mark.parametrize("name", ["identity_elimination", "IdentityPass"])
def test_switched_off_by_our_name_and_by_ge_s(name):
    assert "identity_elimination" not in [p.name for p in plan({name: False}).passes]


def test_an_unknown_name_is_refused():
    with pytest.raises(OptionError, match=r"no pass.* 'identity'.*identity_elimination"):
        plan({"identity": False})


def test_an_error_names_the_pass_and_those_before_and_keeps_their_steps():
    with pytest.raises(PassError) as caught:
        run_passes(graph_of(MODEL), [Marking, IdentityElimination, Breaking], Context())
    assert str(caught.value) == (
        "pass breaking failed: b: uses nothing, which nothing defines (passes before it: marking, identity_elimination)"
    )
    assert [step.name for step in caught.value.steps] == ["marking", "identity_elimination"]
    assert isinstance(caught.value.__cause__, VerifyError)


def test_any_exception_of_a_pass_is_one_line():
    class Raising(Breaking):
        """Raises."""

        def run(self, draft, log, context):
            raise KeyError("two\nlines")

    with pytest.raises(PassError, match=r"^pass breaking failed: KeyError: '?\S*two"):
        run_passes(graph_of(MODEL), [Raising], Context())


def test_what_a_pass_touched_is_verified(monkeypatch):
    seen = []
    monkeypatch.setattr(manager, "verify_changes", lambda graph, changes: seen.append(len(changes)))
    run_passes(graph_of(MODEL), [Marking, IdentityElimination], Context())
    assert seen == [6]


def test_a_pass_that_does_nothing_gives_the_very_same_graph():
    graph = graph_of(MODEL)
    (step,) = run_passes(graph, [Marking], Context())
    assert step.after is graph
    assert not step.changed


def test_a_sentence_of_a_rule_never_fails_for_want_of_a_number():
    """Rules come from anywhere: a message may ask for what its record does not have."""
    step = run(Marking, MODEL)
    told = replace(step, messages={one.code: Message("{node}: {bytes:,} bytes, {more:.1f}") for one in step.rejects})
    assert told.reason(replace(step.rejects[0], parameters={"bytes": 4096})) == "a: 4,096 bytes, {more}"


def test_a_reject_says_why_and_what_would_cure_it():
    step = run(Marking, MODEL)
    assert [step.reason(r) for r in step.rejects] == ["a was seen by marking", "y was seen by marking"]
    assert [step.hint(r) for r in step.rejects] == ["look away, a", "look away, y"]
    assert near_misses(step) == {"seen": ("y", None)}


@pytest.mark.parametrize("text", [MODEL, NESTED])
def test_graph_after_walks_through_the_rewrites(text):
    step = run(IdentityElimination, text)  # the graph after each is verified and compared there
    sizes = [step.graph_after(count).nodes_deep for count in range(len(step.rewrites) + 1)]
    assert sizes == list(range(step.nodes_before, step.nodes_after - 1, -1))
    assert to_text(step.graph_after(99)) == to_text(step.after)


def test_nested_graphs_come_first_and_their_records_say_where():
    step = run(IdentityElimination, NESTED)
    found = [("/".join(f"{p.node}.{p.attribute}" for p in r.path), r.node) for r in step.rewrites]
    inner = "if.then_branch/inner.then_branch"
    assert found == [("if.else_branch", "e"), (inner, "i"), (inner, "j"), ("", "z")]


def test_or_last_where_a_pass_asks_for_it():
    class OuterFirst(Marking):
        """Looks at the graph itself first."""

        outer_first: ClassVar[bool] = True

    (step,) = run_passes(graph_of(NESTED), [OuterFirst], Context())
    assert [reject.node for reject in step.rejects] == ["z", "e", "i", "j"]


def test_lists_of_graphs():
    text = (
        "input %x : float32[2]\n%y = Strange<own>(%x) #y\n  cases += graph one\n    %i = Identity(%x) #i\n"
        "    output %i\n"
    )
    text += "  cases += graph two\n    %j = Identity(%x) #j\n    output %j\noutput %y"
    step = run(IdentityElimination, text)
    assert [(rewrite.path[0].index, rewrite.node) for rewrite in step.rewrites] == [(0, "i"), (1, "j")]


def test_progress_is_told_before_each_pass():
    told = []
    run_passes(graph_of(MODEL), [Marking, IdentityElimination], Context(), tell=told.append)
    assert [(p.name, p.done, p.total) for p in told] == [("marking", 0, 2), ("identity_elimination", 1, 2)]


def test_steps_by_number_and_by_both_names():
    steps = Steps(run_passes(graph_of(MODEL), [Marking, IdentityElimination], Context(), first_index=2))
    assert [step.index for step in steps] == [2, 3]
    assert steps["IdentityPass"] is steps["identity_elimination"] is steps[1]
    with pytest.raises(KeyError, match="marking, identity_elimination"):
        _ = steps["nothing"]


def test_a_rewrite_without_an_edit_is_none():
    from gexplorer.ir.draft import Draft

    draft = Draft(graph_of(MODEL))
    log = Log(draft)
    with log.rewrite(draft.node("a"), "nothing"):
        pass
    assert log.rewrites == []
