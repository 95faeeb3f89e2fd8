"""Mixtures of experts: the router and the unrolled loop over the experts."""

import pytest

from gexplorer.passes.fusion.rules.moe_experts import MoeExperts
from gexplorer.passes.fusion.rules.moe_router import MoeRouter
from tests.fused import check_count, check_kernels, check_miss
from tests.passes import run

ROUTER = """
input %l : float32[4,3]
input %h : float16[4,3]
constant %k = int64[1] {2}
constant %last = int64[1] {-1}
constant %first = int64[1] {0}
"""
SHARES = "%s = Softmax(%l) #s\n%t, %i = TopK(%s, %k) #t\n"
SUM = "%n = ReduceSum(%t, %last) #n\n%y = Div(%t, %n) #y\n"
USE = "%c = Cast(%i) {to = 1} #c\noutput %y\noutput %c"
NODES = "%y, %i = MoeGatingTopKSoftmax<ge>(%l) {k = 2} #y\n%c = Cast(%i) {to = 1} #c\noutput %y\noutput %c"
ROUTES = {
    "scaled to 1": (SHARES + SUM, NODES),
    "scaled and cast": (
        "%w = Cast(%h) {to = 1} #w\n"
        + SHARES.replace("%l", "%w")
        + SUM.replace("%y =", "%d =").replace("#y", "#d")
        + "%y = Cast(%d) {to = 10} #y\n",
        NODES.replace("%l", "%h"),
    ),
    "of the two alone": ("%t, %i = TopK(%l, %k) #t\n%y = Softmax(%t) #y\n", NODES),
    "as they are": (SHARES.replace("%t,", "%y,"), NODES.replace("#y", "#t", 1)),
}
WRONG_ROUTES = {
    "axis": (
        SHARES.replace("(%l)", "(%l) {axis = 0}") + SUM + USE,
        ("s", "s (Softmax) works along axis 0: the router's is the last"),
    ),
    "smallest": (
        SHARES.replace("%k)", "%k) {largest = 0}") + SUM + USE,
        ("t", "t takes the smallest, a router the largest"),
    ),
    "no_router": (
        SHARES + SUM + "output %y\noutput %i",
        ("t", "no node reads which entries t took: it routes nothing"),
    ),
}


@pytest.mark.parametrize(("model", "nodes"), ROUTES.values(), ids=ROUTES)
def test_routers(model, nodes):
    check_kernels(MoeRouter, ROUTER + model + USE, nodes)


@pytest.mark.parametrize(("code", "model", "said"), [(c, *m) for c, m in WRONG_ROUTES.items()], ids=WRONG_ROUTES)
def test_why_no_router(code, model, said):
    check_miss(MoeRouter, ROUTER + model, code, *said)


def test_a_sum_over_tokens_is_no_part_of_the_router():
    nodes = (
        "%t, %i = MoeGatingTopKSoftmax<ge>(%l) {k = 2} #t\n%n = ReduceSum(%t, %first) #n\n%y = Div(%t, %n) #y\n"
        "%c = Cast(%i) {to = 1} #c\noutput %y\noutput %c"
    )
    step = check_kernels(MoeRouter, ROUTER + SHARES + SUM.replace("%last", "%first") + USE, nodes)
    said = "n does not add up the shares of one token, which the router divides by"
    assert [(reject.code, step.reason(reject)) for reject in step.rejects] == [("sum", said)]


HEAD = """
input %rows : float32[4,2]
input %shares : float32[4,2]
input %start : float32[4,2]
input %chosen : int64[4,2]
constant %w1 = float32[2,3] {1.0, -2.0, 3.0, 4.0, -5.0, 6.0}
constant %w2 = float32[3,2] {1.0, -2.0, 3.0, 4.0, -5.0, 6.0}
constant %zero = int64[] {0}
constant %one = int64[1] {1}
"""
EXPERT = """
constant %number{0} = int64[] {{{0}}}
%hit{0} = Equal(%chosen, %number{0}) #hit{0}
%found{0} = NonZero(%hit{0}) #found{0}
%places{0} = Transpose(%found{0}) {{perm = [1, 0]}} #places{0}
%tokens{0} = Gather(%places{0}, %zero) {{axis = 1}} #tokens{0}
%state{0} = Gather(%rows, %tokens{0}) #state{0}
%gate{0} = MatMul(%state{0}, %w1) #gate{0}
"""
SILU = "%sigmoid{0} = Sigmoid(%gate{0}) #sigmoid{0}\n%act{0} = Mul(%gate{0}, %sigmoid{0}) #act{0}\n"
GATED = SILU + "%up{0} = MatMul(%state{0}, %w1) #up{0}\n%hidden{0} = Mul(%act{0}, %up{0}) #hidden{0}\n"
PLAIN = "%hidden{0} = Relu(%gate{0}) #hidden{0}\n"
BACK = """
%down{0} = MatMul(%hidden{0}, %w2) #down{0}
%share{0} = GatherND(%shares, %places{0}) #share{0}
%column{0} = Unsqueeze(%share{0}, %one) #column{0}
%scaled{0} = Mul(%down{0}, %column{0}) #scaled{0}
%at{0} = Unsqueeze(%tokens{0}, %one) #at{0}
"""
ADD = "%old{0} = Gather({1}, %tokens{0}) #old{0}\n%sum{0} = Add(%old{0}, %scaled{0}) #sum{0}\n"
SCATTER = ADD + "%total{0} = ScatterND({1}, %at{0}, %sum{0}) #total{0}\n"
REDUCED = '%total{0} = ScatterND({1}, %at{0}, %scaled{0}) {{reduction = "add"}} #total{0}\n'


def _layer(middle=GATED, end=SCATTER, experts=2):
    """Some experts that add to one total."""
    text, total = HEAD, "%start"
    for number in range(experts):
        text += (EXPERT + middle + BACK + end).format(number, total)
        total = f"%total{number}"
    return text + f"output {total}"


@pytest.mark.parametrize("middle", [GATED, PLAIN], ids=["gated", "plain"])
@pytest.mark.parametrize("end", [SCATTER, REDUCED], ids=["added before", "added by the scatter"])
def test_experts_become_four_kernels(middle, end):
    step = run(MoeExperts, _layer(middle, end, 3), opset=18)
    assert [(node.name, node.op, len(node.outputs)) for node in step.after.order] == [
        ("state2", "MoeInitRouting", 9),
        ("hidden2", "GroupedMatmul", 3),
        ("down2", "GroupedMatmul", 3),
        ("total2", "MoeFinalizeRouting", 1),
    ]
    assert dict(step.after.nodes["down2"].attributes) == {"experts": 3, "rows": 8}
    names = "state2, hidden2, down2, total2"
    assert [step.reason(rewrite) for rewrite in step.rewrites] == [f"3 experts become four kernels: {names}"]


def test_totals_that_others_see_end_a_group():
    step = run(MoeExperts, _layer(experts=4) + "\noutput %total1", opset=18)
    assert [rewrite.node for rewrite in step.rewrites] == ["total1", "total3"]


MISSES = {
    "alone": (
        _layer(experts=1),
        "total0",
        "total0 adds the results of one expert alone: there is nothing to group",
    ),
    "places": (
        _layer(experts=1)
        .replace("Gather(%start, %tokens0) ", "Gather(%start, %number0s) ")
        .replace("Unsqueeze(%tokens0", "Unsqueeze(%number0s")
        .replace("%hit0", "constant %number0s = int64[1] {0}\n%hit0", 1),
        "total0",
        "total0 puts the results into other rows than the expert's tokens came from",
    ),
    "other_user": (
        _layer(experts=1) + "\n%n = Neg(%down0) #n\noutput %n",
        "n",
        "down0, which down0 makes, is also used by n (Neg)",
    ),
    "not_constant": (
        _layer(experts=1)
        .replace("constant %w2 =", "input %w3 : float32[3,2]\nconstant %w2 =")
        .replace("hidden0, %w2", "hidden0, %w3"),
        "w3",
        "down0 (MatMul) reads w3, which is computed at run time; a constant weight is needed",
    ),
}


@pytest.mark.parametrize(("code", "model", "blocker", "said"), [(c, *m) for c, m in MISSES.items()], ids=MISSES)
def test_why_no_experts(code, model, blocker, said):
    check_miss(MoeExperts, model, code, blocker, said, opset=18)


@pytest.mark.parametrize("rules", [(), ("swish", "swiglu")], ids=["as exported", "behind SwiGLU"])
def test_every_expert_of_a_small_mixture(rules):
    counts = {"moe_router": 2, "moe_experts": 2} | dict.fromkeys(rules, 8)
    check_count("mixtral-8x7b:small=true", counts, numbers=True)


def test_every_router_and_layer_of_the_whole_mixture():
    check_count("mixtral-8x7b", {"moe_router": 32, "moe_experts": 32})
