"""Fusion switch files: GE's text and JSON forms and article A2's INI form, read and written.

GE's text form has one ``PassName:off`` a line. Its JSON form is
``{"Switch": {"GraphFusion": {"ALL": "off", "Name": "on"}, "UBFusion": {…}}}`` with, optionally, ``"Priority"``. The INI
form (``[matmul_add_fusion]`` with ``enable=1``) exists in article A2 alone; the real GE does not know it.
"""

from __future__ import annotations

import configparser
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gexplorer.errors import OptionError
from gexplorer.passes.base import Pass
from gexplorer.passes.switches import is_rule

# A2's section names and the rules that they mean.
ARTICLE_NAMES: Mapping[str, str] = {
    "matmul_add_fusion": "matmul_bias",
    "conv_bn_relu_fusion": "conv_batchnorm",
    "flash_attention_fusion": "flash_attention",
}
# A2's names of attributes and ours.
ARTICLE_ATTRIBUTES: Mapping[str, str] = {"head_num": "heads"}


@dataclass(frozen=True, slots=True)
class SwitchFile:
    """What a switch file says.

    Attributes:
        switches: on or off by name; ``ALL`` for every rule.
        limits: for a rule, values that its kernel's attributes may have, such as ``heads`` (A2: ``head_num``).
        priorities: for a pass, the number that a JSON file gives it; lower runs first.
        unmodelled: names of the real GE for which gexplorer has no rule; they change nothing.
    """

    switches: Mapping[str, bool]
    limits: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=dict)
    unmodelled: tuple[str, ...] = ()


def read_switch_file(path: str | Path, known: Iterable[str]) -> SwitchFile:
    """Reads a switch file of any form.

    Args:
        path: the file.
        known: names (ours and GE's) of the passes and rules that there are.

    Raises:
        OptionError: the file cannot be read, has no known form, or says something twice.
    """
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(
            f"{path}: cannot be read as a switch file: {getattr(error, 'strerror', None) or error}"
        ) from None
    names = frozenset(known)
    stripped = text.lstrip()
    if stripped.startswith("{"):
        return _read_json(text, str(path), names)
    if stripped.startswith("["):
        return _read_ini(text, str(path), names)
    return _read_text(text, str(path), names)


def switch_file_text(known: Sequence[type[Pass]], running: Collection[str], form: str) -> str:
    """A switch file for which of the fusion rules run.

    Args:
        known: every pass and rule.
        running: names of those that are on.
        form: ``text``, ``json`` or ``ini``.
    """
    rules = [p for p in known if is_rule(p)]
    if form == "text":
        return write_text({p.name: p.name in running for p in rules})
    if form == "ini":
        return write_ini({p.name: p.name in running for p in rules})
    kinds = {
        kind: {p.name: p.name in running for p in rules if getattr(p, "kind", "") == kind} for kind in ("graph", "ub")
    }
    return write_json(kinds["graph"], kinds["ub"])


def write_text(switches: Mapping[str, bool]) -> str:
    """GE's text form."""
    return "".join(f"{name}:{'on' if on else 'off'}\n" for name, on in switches.items())


def write_json(graph: Mapping[str, bool], ub: Mapping[str, bool]) -> str:
    """GE's JSON form, by kind of fusion."""
    sections = {"GraphFusion": graph, "UBFusion": ub}
    data = {"Switch": {key: {n: "on" if on else "off" for n, on in part.items()} for key, part in sections.items()}}
    return json.dumps(data, indent=2) + "\n"


def write_ini(switches: Mapping[str, bool], limits: Mapping[str, Mapping[str, tuple[float, ...]]] | None = None) -> str:
    """Article A2's INI form."""
    article = {rule: name for name, rule in ARTICLE_NAMES.items()}
    attribute = {ours: name for name, ours in ARTICLE_ATTRIBUTES.items()}
    lines: list[str] = []
    for rule, on in switches.items():
        lines += [f"[{article.get(rule, rule)}]", f"enable={int(on)}"]
        for key, values in (limits or {}).get(rule, {}).items():
            lines.append(f"{attribute.get(key, key)}={','.join(f'{v:g}' for v in values)}")
        lines.append("")
    return "\n".join(lines)


def _read_text(text: str, path: str, known: frozenset[str]) -> SwitchFile:
    switches: dict[str, bool] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, value = line.partition(":")
        if not colon or value.strip() not in ("on", "off"):
            raise OptionError(f"{path}, line {number}: PassName:on or PassName:off is wanted")
        if name.strip() in switches:
            raise OptionError(f"{path}, line {number}: {name.strip()} is switched twice")
        switches[name.strip()] = value.strip() == "on"
    return _sorted_out(switches, known)


def _read_json(text: str, path: str, known: frozenset[str]) -> SwitchFile:
    try:
        data = json.loads(text)
        switches = {
            name: {"on": True, "off": False}[value]
            for section in ("GraphFusion", "UBFusion")
            for name, value in data.get("Switch", {}).get(section, {}).items()
        }
        priorities = {
            name: int(number)
            for section in data.get("Priority", {}).values()
            for part in section.values()
            for name, number in part.items()
        }
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise OptionError(f"{path}: not a fusion switch file in JSON: {' '.join(str(error).split())[:100]}") from None
    return _sorted_out(switches, known, priorities=priorities)


def _read_ini(text: str, path: str, known: frozenset[str]) -> SwitchFile:
    parser = configparser.ConfigParser(interpolation=None)
    switches: dict[str, bool] = {}
    limits: dict[str, dict[str, tuple[float, ...]]] = {}
    try:
        parser.read_string(text)
        for section in parser.sections():
            rule = ARTICLE_NAMES.get(section, section)
            switches[rule] = parser.getboolean(section, "enable", fallback=True)
            for key, value in parser.items(section):
                if key != "enable":
                    name = ARTICLE_ATTRIBUTES.get(key, key)
                    limits.setdefault(rule, {})[name] = tuple(float(item) for item in value.split(","))
    except (configparser.Error, ValueError) as error:
        raise OptionError(
            f"{path}: not a fusion switch file in INI form: {' '.join(str(error).split())[:100]}"
        ) from None
    return _sorted_out(switches, known, limits=limits)


def _sorted_out(
    switches: Mapping[str, bool],
    known: frozenset[str],
    *,
    limits: Mapping[str, Mapping[str, tuple[float, ...]]] | None = None,
    priorities: Mapping[str, int] | None = None,
) -> SwitchFile:
    """Keeps names that we have; what looks like a name of the real GE is reported, anything else is left to fail."""
    foreign = tuple(n for n in switches if n not in known and n != "ALL" and not n.islower())
    kept = {name: on for name, on in switches.items() if name not in foreign}
    return SwitchFile(kept, limits or {}, priorities or {}, foreign)
