"""Compilations with one thing changed, carried by a report so that switches work where nothing can compile."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gexplorer.errors import OptionError
from gexplorer.memory.modes import MODES
from gexplorer.progress import Progress, Tell
from gexplorer.render.document import Document, document
from gexplorer.render.page import carried, zipped
from gexplorer.views.delta import difference

if TYPE_CHECKING:
    from gexplorer.compiler import Compilation

# Which variants: as many as fit, none, of every rule, or of so many rules.
Wanted = Literal["fitting", "none", "rules"] | int

# Without a number said, variants add so much to a report at most, and are tried as long as their models together, each
# compiled and drawn again, have no more nodes than so many: about ten seconds.
BUDGET_BYTES = 1_000_000
BUDGET_NODES = 20_000
# So many in a row that do not fit, and the rest is not tried.
_MISSES = 3


@dataclass(frozen=True, slots=True)
class Variant:
    """One change that a report can show.

    Attributes:
        changes: options of the compilation that are different.
        label: what it is, in words.
    """

    changes: Mapping[str, object]
    label: str

    @property
    def key(self) -> str:
        """The name that the front end finds it by (``variantKey`` in ``widgets/src/core/pack.ts``)."""
        return json.dumps(self.changes, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Carried:
    """The parts of a report and of its variants.

    Attributes:
        parts: the document's, as a page carries them.
        variants: by key, the parts that are others: the difference to the document's (``views/delta.py``), or the
            whole where the document has none; "" for one that is not there.
        shown: what the variants are.
        left_out: those that could have been there too.
    """

    parts: Mapping[str, str]
    variants: Mapping[str, Mapping[str, str]]
    shown: tuple[Variant, ...]
    left_out: tuple[Variant, ...]


def parse_wanted(text: str) -> Wanted:
    """How many variants a text asks for. Raises OptionError where it says nothing of the kind."""
    if text in ("fitting", "none", "rules"):
        return text
    if text.isdecimal() and len(text) < 6:
        return int(text)
    raise OptionError(f"variants {text!r}: none, rules, fitting or a number is wanted")


def possible(compilation: Compilation) -> Iterator[Variant]:
    """What can be changed: the memory mode, then each rule and pass that did something, off.

    Rules come first, then the passes that are none; of both those that took the most nodes away.
    """
    for mode in MODES:
        if mode != compilation.options.memory:
            yield Variant({"memory": mode}, f"memory {mode}")
    passes = {one.name for one in compilation.plan.passes}
    acted = [step for step in compilation.steps if step.name in passes and step.rewrites]
    for step in sorted(acted, key=lambda step: (not step.is_fusion, step.nodes_after - step.nodes_before, step.index)):
        yield Variant({"fusion": {step.name: False}}, f"{step.name} off")


def carry(compilation: Compilation, wanted: Wanted = "fitting", tell: Tell | None = None) -> Carried:
    """Makes the parts of a report and of its variants.

    A variant costs a compilation from the step on that it changes, and its parts; of these the report carries those
    that are others.

    Args:
        compilation: what the report is about.
        wanted: ``fitting`` for as many variants as ``BUDGET_BYTES`` and ``BUDGET_NODES`` allow; ``none``; ``rules`` for
            all memory modes, rules and passes, whatever they add; a number for all memory modes and so many rules.
        tell: called before each document with how far the work is.

    Raises:
        OptionError: ``wanted`` is no such thing.
    """
    wanted = parse_wanted(str(wanted))
    say = tell or _silent
    known = list(possible(compilation))
    modes = [one for one in known if "memory" in one.changes]
    most = {"none": 0, "fitting": len(known), "rules": len(known)}.get(str(wanted))
    chosen = known[: len(modes) + wanted if isinstance(wanted, int) else most]
    if wanted == "fitting":
        chosen = chosen[: len(modes) + BUDGET_NODES // max(compilation.source.graph.nodes_deep, 1)]
    say(Progress("the page", 0, len(chosen) + 1))
    base = document(compilation, course=True)
    parts = dict(base.parts)
    others: dict[str, Mapping[str, str]] = {}
    added = misses = 0
    for number, variant in enumerate(chosen, 1):
        say(Progress(variant.label, number, len(chosen) + 1))
        made = _different(document(compilation.replace(**variant.changes), previous=base, course=True), parts)
        size = sum(map(len, made.values()))
        if wanted == "fitting" and added + size > BUDGET_BYTES:
            misses += 1
            if misses == _MISSES:
                break
            continue
        added += size
        misses = 0
        others[variant.key] = made
    shown = [one for one in known if one.key in others]
    left_out = [one for one in known if one.key not in others]
    return Carried(carried(parts, parts), others, tuple(shown), tuple(left_out))


def _silent(progress: Progress) -> None:
    """Nobody wants to know."""


def _different(made: Document, parts: Mapping[str, bytes]) -> dict[str, str]:
    """What of a variant is not the document's own. What takes long is left out."""
    found: dict[str, str] = {}
    for name in dict.fromkeys((*parts, *made.parts)):
        if name in made.taken_over:
            continue
        if name not in made.parts or name in made.slow:
            found[name] = ""
        elif name not in parts:
            found[name] = zipped(made.parts[name])
        elif parts[name] != made.parts[name]:
            found[name] = zipped(difference(parts[name], made.parts[name]))
    return found
