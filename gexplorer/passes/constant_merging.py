"""Equal constants become one."""

from __future__ import annotations

from immutables import Map

from gexplorer.ir.draft import Draft
from gexplorer.passes.base import Context, Log, Pass
from gexplorer.trace.records import Message


class ConstantMerging(Pass):
    """Merges constants that are equal bit for bit: small ones by their elements, large ones by their place.

    before:  const a = [1, 2]; const b = [1, 2]; y = Add(x, a); z = Mul(y, b)
    after:   const a = [1, 2]; y = Add(x, a); z = Mul(y, a)
    """

    name = "constant_merging"
    ge_name = "RemoveSameConstPass"
    order = 500
    outer_first = True
    messages = Map(equal=Message("{count} constants are equal to {kept}"))

    def run(self, draft: Draft, log: Log, context: Context) -> None:
        """Groups the constants by content; the first by name stays."""
        groups: dict[object, list[str]] = {}
        for value in draft.constants():
            if value.constant is not None and draft.use_count(value.name):
                groups.setdefault(value.constant.key, []).append(value.name)
        for kept, *doubles in groups.values():
            if not doubles:
                continue
            anchor = next(iter(draft.users(doubles[0])), None) or draft.anchor() or draft.value(kept)
            assert anchor is not None
            with log.rewrite(anchor, "equal", kept=kept, count=len(doubles)):
                for name in doubles:
                    draft.replace_uses(name, kept)
                    draft.drop_value(name)
