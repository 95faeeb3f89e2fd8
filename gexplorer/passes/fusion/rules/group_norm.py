"""GroupNorm as exporters write it for opsets without one: an instance normalisation between two reshapes."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.constant import Constant
from gexplorer.ir.draft import Draft
from gexplorer.ir.types import TensorType
from gexplorer.passes.fusion.matcher import Match, is_number
from gexplorer.passes.fusion.pattern import const, op
from gexplorer.passes.fusion.rule import Reject, Rule, tensor_of
from gexplorer.trace.records import Message


def _is_ones(data: Constant) -> bool:
    return is_number(data, 1.0)


def _is_zeros(data: Constant) -> bool:
    return is_number(data, 0.0)


_NORMAL = op.Reshape(
    op.InstanceNormalization(
        op.Reshape("x", name="split"),
        const(test=_is_ones, wanted="ones: the scale comes behind"),
        const(test=_is_zeros, wanted="zeros: the bias comes behind"),
    ),
    name="joined",
)


class GroupNorm(Rule):
    """Instance normalisation of the channels in groups becomes one kernel, with or without scale and bias.

    before:  Add(Mul(Reshape(InstanceNormalization(Reshape(x, [0, groups, -1]), 1, 0), shape), gamma), beta)
    after:   GroupNorm(x, gamma, beta)
    """

    name = "group_norm"
    ge_name = "GroupNormFusionPass"
    order = 608
    kernel = "GroupNorm"
    saves = "Two round trips of the feature map."
    near = 2
    telling = frozenset(("InstanceNormalization",))
    reads = ("x", "gamma", "beta")
    latest_first = True
    pattern = (op.Add(op.Mul(_NORMAL, "gamma"), "beta"), op.Mul(_NORMAL, "gamma"), _NORMAL)
    messages = Map(
        groups=Message("{blocker} makes {type} of {input}, which is not its channels in equal groups"),
        joined=Message("{blocker} makes {type}, not the shape that it had before, {input}"),
        channels=Message("{blocker} is {type}, not one number for each of the {channels} channels"),
    )

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """The first reshape must split the channels, the second undo it, scale and bias be one number a channel."""
        split, joined = found.named["split"], found.named["joined"]
        x, groups, back = (tensor_of(draft, v) for v in (found["x"], split.outputs[0], joined.outputs[0]))
        if not _splits(x, groups):
            return Reject("groups", split.name, type=str(groups), input=str(x))
        assert x is not None
        assert x.shape is not None
        if back is None or None in x.shape or back.shape != x.shape:
            return Reject("joined", joined.name, type=str(back), input=str(x))
        wanted = (x.shape[1], *(1,) * (len(x.shape) - 2))
        for name in ("gamma", "beta"):
            value = tensor_of(draft, found[name]) if name in found.values else None
            if name in found.values and (value is None or value.shape not in (wanted, (1, *wanted))):
                return Reject("channels", found[name], type=str(value), channels=x.shape[1])
        return None

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """The number of groups."""
        type_ = tensor_of(draft, found.named["split"].outputs[0])
        assert type_ is not None
        assert type_.shape is not None
        return Map(num_groups=type_.shape[1])


def _splits(x: TensorType | None, groups: TensorType | None) -> bool:
    """True when [n, c, ...] became [n, g, rest] with c a multiple of g."""
    if x is None or groups is None or x.shape is None or groups.shape is None:
        return False
    if len(x.shape) < 2 or len(groups.shape) != 3 or x.shape[0] is None or x.shape[0] != groups.shape[0]:
        return False
    channels, count = x.shape[1], groups.shape[1]
    return isinstance(channels, int) and isinstance(count, int) and count > 0 and channels % count == 0
