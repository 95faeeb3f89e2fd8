"""LayerNorm from the pieces that exporters write."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.norms import EPSILON, NORM_MESSAGES, WIDENED, check_norm, describe_norm, over_root, squared
from gexplorer.passes.fusion.pattern import Op, Pattern, Value, either, op, optional
from gexplorer.passes.fusion.rule import Reject, Rule


def _normal(x: Pattern) -> tuple[Op, ...]:
    centred = op.Sub(x, op.ReduceMean(x, name="mean"))
    centred = either(op.Cast(centred), centred)
    return over_root(centred, op.Add(op.ReduceMean(squared(optional("Cast", centred)), name="variance"), EPSILON))


def _scaled(normal: tuple[Op, ...]) -> tuple[Op, ...]:
    inner = optional("Cast", either(*normal))
    scaled = op.Mul(inner, "gamma")
    return op.Add(optional("Cast", scaled), "beta"), op.Add(inner, "beta"), scaled


def _by_inverse(x: Pattern) -> tuple[Op, ...]:
    """X * r + (beta - mean * r) with r = gamma / deviation: what TensorFlow's batch_normalization comes to."""
    mean = op.ReduceMean(x, name="mean")
    shifted = op.Add(op.ReduceMean(squared(op.Sub(x, mean)), name="variance"), EPSILON)
    root = either(op.Sqrt(shifted), op.Pow(shifted, 0.5))
    inverse = either(op.Reciprocal(root), op.Pow(shifted, -0.5), op.Div(1, root))
    factor = either(op.Mul(inverse, "gamma"), inverse)
    scaled = op.Mul(x, factor)
    return op.Add(scaled, op.Sub("beta", op.Mul(mean, factor))), op.Sub(scaled, op.Mul(mean, factor))


class LayerNorm(Rule):
    """(x - mean) / sqrt(variance + eps), with or without scale and bias, becomes one kernel, casts around it included.

    before:  d = Sub(x, ReduceMean(x)); Add(Mul(Div(d, Sqrt(Add(ReduceMean(Pow(d, 2)), eps))), gamma), beta)
             m = ReduceMean(x); r = Mul(Reciprocal(Sqrt(Add(ReduceMean(…), eps))), gamma); x * r + (beta - m * r)
    after:   LayerNorm(x, gamma, beta)

    It comes before ``rms_norm``, which fits the part behind the subtraction.
    """

    name = "layer_norm"
    ge_name = "LayerNormONNXFusionPass"
    order = 609
    kernel = "LayerNorm"
    saves = "Seven round trips of the hidden state and of its moments through memory."
    near = 5
    telling = frozenset(("ReduceMean",))
    reads = ("x", "gamma", "beta")
    latest_first = True
    pattern = (
        *(op.Cast(scaled) for scaled in (*_scaled(_normal(WIDENED)), *_normal(WIDENED))),
        *_scaled(_normal(either(WIDENED, "x"))),
        *_normal(either(WIDENED, "x")),
        *_by_inverse(Value("x")),
    )
    messages = NORM_MESSAGES

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """Both means must be over the same last axes, scale and bias as long as these."""
        return check_norm(found, draft, self.kernel, ("gamma", "beta"))

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """The first axis and epsilon."""
        return describe_norm(found, draft)
