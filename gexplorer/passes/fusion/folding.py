"""Folds a factor and an addend by channel into the weights and the bias of a Conv or a linear layer in front."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.ir.graph import Node, joined_origin, program_key
from gexplorer.ir.types import TensorType
from gexplorer.passes.base import Context, Limits, Log
from gexplorer.passes.fusion.matcher import Match, tensor_of
from gexplorer.passes.fusion.rule import Reject, Rule
from gexplorer.trace.records import Message

if TYPE_CHECKING:
    import numpy as np

_MESSAGES = Map(
    unavailable=Message("{blocker} is not available, so nothing can be computed into the weights of {conv}"),
    too_large=Message(
        "computing new weights for {conv} would read or add {bytes:,} bytes, more than the limit of {limit:,}",
        "raise fold_read_bytes and fold_growth_bytes",
    ),
    overflow=Message("the new weights of {blocker} are too large for {dtype}", "compute {blocker} in a wider type"),
    residual=Message("{blocker} is computed at run time and as large as what {conv} makes: a residual, not a bias"),
    by_channel=Message("{blocker} is {type}, not one number for each channel of {conv} ({conv_type})"),
)


class WeightFolding(Rule):
    """What a node behind a layer does to each channel goes into the layer's weights (input 1) and bias (input 2).

    The pattern gives the layer the name in ``layer``.

    Attributes:
        layer: what the pattern calls the layer.
        scales: whether there is a factor, so that the weights have to be read and written anew.
    """

    near = 2
    settles = True  # of a run of factors and addends, each is next to the layer once
    layer: ClassVar[str] = "conv"
    scales: ClassVar[bool] = True
    limits = Limits()

    @abstractmethod
    def factor_and_addend(self, found: Match, draft: Draft) -> tuple[np.ndarray | None, np.ndarray | None]:
        """By channel, as float64; None for 1 and for 0."""

    @abstractmethod
    def constants(self, found: Match) -> tuple[str, ...]:
        """The constants that ``factor_and_addend`` reads."""

    @abstractmethod
    def scaled(self, layer: Node, weights: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """The weights of a layer that multiplies each channel by the factor as well, as float64."""

    @abstractmethod
    def channels(self, layer: Node, draft: Draft) -> int:
        """How many channels the layer makes."""

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Keeps the limits at hand."""
        self.limits = context.limits
        super().run(draft, log, context)

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """All bytes must be there, few enough, and the results must fit the type of the weights."""
        layer = found.named[self.layer]
        read, new = 0, 0
        for name in self.read(found):
            data = draft.constant_of(name)
            if data is None:
                reader = layer if name in layer.inputs else found.root
                return Reject("not_constant", name, wanted="a constant", node=reader.name, op=reader.op)
            if not data.available:
                return Reject("unavailable", name, conv=layer.name)
            read += data.nbytes
            new += data.nbytes if name in layer.inputs else 0
        for size, limit in ((read, self.limits.fold_read_bytes), (new, self.limits.fold_growth_bytes)):
            if size > limit:
                return Reject("too_large", layer.name, conv=layer.name, bytes=size, limit=limit)
        if not all(_is_finite(array) for array in self.folded(found, draft) if array is not None):
            return Reject("overflow", layer.name, dtype=_weights(layer, draft).dtype.label)
        return None

    def read(self, found: Match) -> tuple[str, ...]:
        """All constants that folding reads."""
        inputs = found.named[self.layer].inputs
        own = inputs[1:3] if self.scales else inputs[2:3]
        return tuple(name for name in (*own, *self.constants(found)) if name)

    def folded(self, found: Match, draft: Draft) -> tuple[np.ndarray | None, np.ndarray | None]:
        """New weights and bias, rounded once; None where they stay as they are."""
        import numpy as np

        layer = found.named[self.layer]
        factor, addend = self.factor_and_addend(found, draft)
        dtype = _weights(layer, draft).dtype.numpy()
        _, own_weights, own_bias = (*layer.inputs, "")[:3]
        bias = _array(own_bias, draft) if own_bias else None
        new_weights = new_bias = None
        with np.errstate(all="ignore"):
            if factor is not None:
                new_weights = self.scaled(layer, _array(own_weights, draft), factor).astype(dtype)
            if bias is not None or addend is not None:
                old = np.zeros(self.channels(layer, draft)) if bias is None else bias.astype(np.float64)
                new_bias = (old * (1 if factor is None else factor) + (0 if addend is None else addend)).astype(dtype)
        return new_weights, new_bias

    def __init_subclass__(cls, **settings: object) -> None:
        cls.messages = Map({**_MESSAGES, **cls.messages})
        super().__init_subclass__(**settings)


class ConvFolding(WeightFolding):
    """What a node behind a Conv does to each channel goes into the Conv; all other nodes of the match go."""

    kernel = "Conv"

    def fuse(self, found: Match, draft: Draft) -> Node:
        """Gives the Conv new weights and lets it make what the root made."""
        conv, root = found.named["conv"], draft.node(found.root.name)
        weights, bias = self.folded(found, draft)
        names = [*conv.inputs, ""][:3]
        for place, array in ((1, weights), (2, bias)):
            if array is not None:
                names[place] = draft.add_constant(array, names[place] or f"{conv.name}/bias")
        names = names if names[2] else names[:2]
        value = draft.own_value(root.outputs[0])
        assert value is not None
        gone = sorted((node for node in found.nodes if node is not conv), key=program_key)
        for node in gone:
            draft.drop_node(node.name)
        origin = joined_origin(conv, *gone)
        new = replace(conv, inputs=tuple(names), outputs=(value.name,), origin=origin)
        draft.put_node(new)
        draft.put_value(replace(value, producer=new.name))
        for node in found.nodes:
            if node is not found.root:
                draft.drop_value(node.outputs[0])
        for name in dict.fromkeys(self.read(found)):
            if draft.own_value(name) is not None and not draft.use_count(name):
                draft.drop_value(name)
        return new

    def channels(self, layer: Node, draft: Draft) -> int:
        """A Conv has (out, in / group, ...) weights, a ConvTranspose (in, out / group, ...)."""
        first, second, *_ = _weights(layer, draft).shape or (0, 0)
        channels = first if layer.op == "Conv" else second
        assert isinstance(channels, int)
        return channels if layer.op == "Conv" else channels * layer.integer("group", 1)

    def scaled(self, layer: Node, weights: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Along the first axis, for a ConvTranspose along the second, by group."""
        import numpy as np

        wide = weights.astype(np.float64)
        behind = (1,) * (weights.ndim - 2)
        if layer.op == "Conv":
            return wide * np.broadcast_to(factor, (weights.shape[0],)).reshape(-1, 1, *behind)
        group = layer.integer("group", 1)
        by_group = np.broadcast_to(factor, (weights.shape[1] * group,)).reshape(group, 1, -1, *behind)
        return (wide.reshape(group, -1, *weights.shape[1:]) * by_group).reshape(weights.shape)


def by_channel(draft: Draft, conv: Node, name: str) -> Reject | None:
    """Refuses a constant that broadcasts along other axes than the channels, or widens the Conv's result."""
    type_, made = tensor_of(draft, name), tensor_of(draft, conv.outputs[0])
    if draft.constant_of(name) is None and made is not None and type_ == made:
        return Reject("residual", name, conv=conv.name)
    if type_ is not None and type_.shape is not None and made is not None and made.shape is not None:
        rank, channels = len(made.shape), made.shape[1:2]
        shape = (1,) * (rank - len(type_.shape)) + type_.shape
        if len(shape) == rank and shape[1:2] in ((1,), channels) and all(d == 1 for d in (shape[0], *shape[2:])):
            return None
    said = "of unknown type"
    return Reject("by_channel", name, type=type_ or said, conv=conv.name, conv_type=made or said)


def _weights(conv: Node, draft: Draft) -> TensorType:
    type_ = tensor_of(draft, conv.inputs[1])
    assert type_ is not None
    return type_


def _array(name: str, draft: Draft) -> np.ndarray:
    data = draft.constant_of(name)
    assert data is not None
    return data.array()


def _is_finite(array: np.ndarray) -> bool:
    import numpy as np

    return bool(np.isfinite(array.astype(np.float64)).all())
