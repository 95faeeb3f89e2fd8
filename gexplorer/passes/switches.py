"""Which passes and rules run: presets, switches by name, single matches switched off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from gexplorer.errors import OptionError
from gexplorer.passes.base import Pass
from gexplorer.passes.forbidden_close import FORBIDDEN_CLOSE

PRESETS: Mapping[str, str] = {
    "ge": "every rule as it is by default, like the real GE",
    "unconfigured": "no fusion rule, as article A2 believes of a GE without a switch file",
    "tensorrt-like": "a few simple rules: convolution and matrix product with what follows them, elementwise chains",
    "all": "every rule, those that are off by default too",
}

# What article A1 means by TensorRT's "few simple rules"; ours to choose.
_SIMPLE = frozenset(
    ("conv_batchnorm", "conv_bias", "conv_activation", "matmul_bias", "matmul_activation", "elementwise_chain")
)


# Where rules with a priority of their own run: before the first rule without one.
FIRST_RULE = 600


@dataclass(frozen=True, slots=True)
class Plan:
    """What one compilation runs.

    Attributes:
        passes: in running order.
        matches_off: for a rule by name, the nodes at which it must not fuse.
    """

    passes: tuple[type[Pass], ...]
    matches_off: Mapping[str, frozenset[str]] = field(default_factory=dict)


def make_plan(
    known: tuple[type[Pass], ...],
    preset: str,
    switches: Mapping[str, bool],
    *,
    priorities: Mapping[str, int] | None = None,
    fast: bool = False,
) -> Plan:
    """The plan for a preset and switches on top of it.

    Args:
        known: every pass and rule, in running order.
        preset: one of ``PRESETS``.
        switches: on or off by our name, by GE's name (which may stand for several rules), or, for a single match, by
            ``rule:node``; ``ALL`` means every fusion rule (off, as in GE: but for those that it leaves on). Later
            entries win, names win over ``ALL``.
        priorities: rules that run before all other rules, lower numbers first, as GE runs what a file lists first.
        fast: leave out costly rules unless they are switched on by name.

    Raises:
        OptionError: no such preset, pass or rule; the nearest names are suggested.
    """
    if preset not in PRESETS:
        raise OptionError(f"no preset {preset!r}; there are: {', '.join(PRESETS)}")
    on = {p.name: _default(p, preset) for p in known}
    if fast:
        on |= {p.name: False for p in known if getattr(p, "costly", False)}
    if "ALL" in switches:
        every = switches["ALL"]
        on |= {p.name: every for p in known if is_rule(p) and (every or p.ge_name not in FORBIDDEN_CLOSE)}
    matches: dict[str, set[str]] = {}
    for name, wanted in switches.items():
        if name == "ALL":
            continue
        rule, colon, node = name.partition(":")
        if colon and node:
            _single(known, rule)
            (matches.setdefault(rule, set()).discard if wanted else matches.setdefault(rule, set()).add)(node)
            continue
        for found in _named(known, name):
            on[found.name] = wanted
    first = {found.name: number for name, number in (priorities or {}).items() for found in _named(known, name)}
    ordered = sorted(known, key=lambda p: (FIRST_RULE, 0, first[p.name]) if p.name in first else (p.order, 1, 0))
    return Plan(
        tuple(p for p in ordered if on[p.name]),
        {rule: frozenset(nodes) for rule, nodes in matches.items() if nodes},
    )


def is_rule(pass_class: type[Pass]) -> bool:
    """True for fusion rules, which presets and ``ALL`` switch; False for general passes."""
    return getattr(pass_class, "kernel", None) is not None


def _default(pass_class: type[Pass], preset: str) -> bool:
    if not is_rule(pass_class) or preset == "ge":
        return pass_class.default
    if preset == "tensorrt-like":
        return pass_class.name in _SIMPLE
    return preset == "all"


def _named(known: tuple[type[Pass], ...], name: str) -> list[type[Pass]]:
    found = [p for p in known if name in (p.name, p.ge_name)]
    if not found:
        names = [n for p in known for n in (p.name, p.ge_name) if n]
        raise OptionError(f"no pass or rule {name!r}{_suggestion(name, names)}")
    return found


def _single(known: tuple[type[Pass], ...], name: str) -> None:
    names = [p.name for p in known if is_rule(p)]
    if name not in names:
        raise OptionError(f"no rule {name!r}{_suggestion(name, names)}")


def _suggestion(name: str, names: list[str]) -> str:
    longer = [known for known in names if len(name) > 3 and name.lower() in known.lower()]
    near = list(dict.fromkeys((*longer, *get_close_matches(name, names, n=3, cutoff=0.7))))[:3]
    return f"; did you mean {' or '.join(near)}?" if near else "; gexplorer rules lists them"
