"""RMSNorm from the pieces that exporters write."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.fusion.matcher import Match
from gexplorer.passes.fusion.norms import EPSILON, NORM_MESSAGES, WIDENED, check_norm, describe_norm, over_root, squared
from gexplorer.passes.fusion.pattern import Op, Pattern, either, op, optional
from gexplorer.passes.fusion.rule import Reject, Rule


def _normal(x: Pattern) -> tuple[Op, ...]:
    return over_root(x, op.Add(op.ReduceMean(squared(x), name="mean"), EPSILON))


_X = either(WIDENED, "x")
_NARROWED = either(*_normal(WIDENED))


class RmsNorm(Rule):
    """x / sqrt(mean(x²) + eps), with or without its scale, becomes one kernel, casts to float32 and back included.

    before:  Mul(Cast(Mul(Cast(x), Reciprocal(Sqrt(Add(ReduceMean(Pow(Cast(x), 2)), eps))))), gamma)
    after:   RmsNorm(x, gamma)

    Operators that are an RMSNorm as they stand stay as they are: later rules know them all (``norms.RMS_NORM``).
    """

    name = "rms_norm"
    order = 610
    kernel = "RmsNorm"
    saves = "Five round trips of the hidden state and of its mean through memory."
    near = 4
    telling = frozenset(("ReduceMean",))
    reads = ("x", "gamma")
    latest_first = True
    pattern = (
        op.Cast(op.Mul(_NARROWED, "gamma")),
        op.Mul(optional("Cast", either(*_normal(_X))), "gamma"),
        op.Cast(_NARROWED),
        *_normal(_X),
    )
    messages = NORM_MESSAGES

    def check(self, found: Match, draft: Draft) -> Reject | None:
        """The mean must be over the last axes, and the scale as long as these."""
        return check_norm(found, draft, self.kernel, ("gamma",))

    def describe(self, found: Match, draft: Draft) -> Map[str, object]:
        """The first axis and epsilon."""
        return describe_norm(found, draft)
