"""What a compilation is asked to do, checked once and never changed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal, cast, get_args

from gexplorer.errors import OptionError
from gexplorer.memory.orders import ORDERS
from gexplorer.memory.policy import parse_never_reuse
from gexplorer.memory.wishes import Wishes
from gexplorer.schedule.modes import parse_mode

if TYPE_CHECKING:
    from gexplorer.passes.switches import Plan

Verify = Literal["off", "per-step"]
FusionMode = Literal["full", "fast"]
OP_BACKENDS = ("aicore",)
VALIDATION_LEVELS = ("quick", "full", "off")
FuseWhen = Literal["always", "if_profitable"]
TilingMode = Literal["library", "fast", "exhaustive"]
DimText = int | str
# Options that are one of a few words.
_ONE_OF: Mapping[str, tuple[str, ...]] = {
    "verify": get_args(Verify),
    "fusion_mode": get_args(FusionMode),
    "fuse_when": get_args(FuseWhen),
    "tiling_mode": get_args(TilingMode),
    "validate": VALIDATION_LEVELS,
    "op_backend": OP_BACKENDS,
}

_SWITCH = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}
_NUMBER = re.compile(r"[0-9]{1,18}")
_SIZE = re.compile(r"([0-9]{1,18}) ?([KMGT])(?:i?B)?", re.IGNORECASE)
_BYTES = ("fold_read_bytes", "fold_growth_bytes", "mem_workspace_size")
# GE's own names of a switch that the articles name the other way round: of its tool and of its sessions.
_OPPOSITES = {"disable_reuse_memory": "enable_mem_reuse", "ge.exec.disableReuseMemory": "enable_mem_reuse"}
_LIKE_A_NUMBER = re.compile(r"[+-]?[0-9]+$|[+-]")


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that a compilation depends on besides the model.

    Attributes:
        soc: the chip, by its CANN name; or a file that describes one (YAML in our form, or a CANN platform .ini).
        shapes: shape of an input by its name; text names a symbolic dimension.
        preset: which fusion rules run unless switched: ``ge``, ``unconfigured``, ``tensorrt-like`` or ``all``.
        fusion: passes and rules switched on or off, by our name or GE's; a single match as ``rule:node``; ``ALL``.
        allowed: for a rule, the values that attributes of its kernel may have.
        priorities: rules (by our name or GE's) that run before all others, lower numbers first.
        fusion_mode: ``fast`` leaves out costly rules; the articles' GE_FUSION_PASS_MODE.
        fuse_when: ``if_profitable`` prices every fusion on the chip and declines those that make their place slower;
            ``always``, like the real GE, asks for no price.
        fold_read_bytes: constant folding reads at most so many bytes for one fold.
        fold_growth_bytes: one fold may add at most so many bytes to the model.
        verify: ``per-step`` runs the model after every step and compares it with the model as read.
        seeds: seeds of the random inputs for ``verify``.
        validate: how the result is checked: ``quick`` within about two seconds, ``full``, or ``off``; the environment
            variable GEXPLORER_VALIDATE says it too.
        order: execution order: ``as_written``, GE's ``bfs``, ``dfs``, ``rdfs``, ``stable_rdfs``, or ``memory_aware``.
        tiling_mode: how tiles of products are found: ``library`` takes what a library would (validated against
            published silicon), ``fast`` searches a twentieth of all, ``exhaustive`` all; the articles'
            GE_TILING_SEARCH_MODE.
        streams: how kernels are spread over streams: ``single``, ``dependency``, ``cube_vector`` (GE: ``cv``), or
            ``streams:N`` (GE: ``LoadBalance:N``).
        memory: how memory is planned: ``fast``, ``balanced``, ``exact``, ``safe``, or the name of a planner.
        memory_alignment: ``ge`` for GE's padding and blocks of 512 bytes, ``none`` for none.
        memory_search_nodes: how many nodes a search for a plan may visit; -1 for what the mode says.
        enable_mem_reuse: false gives no tensor bytes that another one had (the articles' name; GE's opposites,
            ``disable_reuse_memory`` and ``ge.exec.disableReuseMemory``, are understood too).
        mem_workspace_size: a pool of more bytes is an error; 0 for no limit. (The articles' name. Their program gives
            bytes; their file has 8388608 for 8 GB, which would be KiB.)
        mem_allocator_strategy: 0 for what ``memory`` says, 1 for greedy by size (the articles' name and meaning).
        op_backend: ``aicore``, the only one that is modelled (the articles' name; the real GE has no such option).
        no_reuse: tensors, or operators by name or type, whose memory nobody else gets (GE's OP_NO_REUSE_MEM).
        pins: offset in the pool that a tensor must have.
        apart: pairs of tensors that must not share a byte, such as ``("gelu", "linear")``.
    """

    soc: str = "Ascend910B3"
    shapes: Mapping[str, tuple[DimText, ...]] = field(default_factory=dict)
    preset: str = "ge"
    fusion: Mapping[str, bool] = field(default_factory=dict)
    allowed: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=dict)
    fusion_mode: FusionMode = "full"
    fuse_when: FuseWhen = "always"
    fold_read_bytes: int = 1 << 20
    fold_growth_bytes: int = 1 << 20
    verify: Verify = "off"
    seeds: tuple[int, ...] = (0,)
    validate: str = "quick"
    order: str = "as_written"
    tiling_mode: TilingMode = "library"
    streams: str = "single"
    memory: str = "balanced"
    memory_alignment: str = "ge"
    memory_search_nodes: int = -1
    enable_mem_reuse: bool = True
    mem_workspace_size: int = 0
    mem_allocator_strategy: int = 0
    op_backend: str = "aicore"
    no_reuse: tuple[str, ...] = ()
    pins: Mapping[str, int] = field(default_factory=dict)
    apart: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        given: dict[str, object] = {f.name: getattr(self, f.name) for f in fields(self)}  # of any type, as yet
        for name in _BYTES:
            if not _is_count(given[name]):
                raise OptionError(f"{name}: a number of bytes is wanted, not {given[name]!r}")
        for name in ("shapes", "fusion", "allowed", "priorities", "pins"):
            _check_mapping(name, given[name])
        if not isinstance(given["preset"], str):
            raise OptionError(f"preset: a name is wanted, not {given['preset']!r}")
        seeds = given["seeds"]
        if not isinstance(seeds, tuple) or not seeds or not all(map(_is_count, cast("tuple[object, ...]", seeds))):
            raise OptionError(f"seeds: whole numbers from 0 are wanted, at least one, not {seeds!r}")
        for name, names in _ONE_OF.items():
            if given[name] not in names:
                *others, last = names
                wanted = f"{', '.join(others)} or {last}" if others else last
                raise OptionError(f"{name}: {wanted} is wanted, not {given[name]!r}")
        if not isinstance(given["soc"], str) or not self.soc:
            raise OptionError("soc: the name of a chip is wanted")
        if not isinstance(given["order"], str) or self.order not in ORDERS:
            raise OptionError(f"order: one of {', '.join(ORDERS)} is wanted, not {self.order!r}")
        if not isinstance(given["streams"], str):
            raise OptionError(f"streams: the name of a mode is wanted, not {given['streams']!r}")
        parse_mode(self.streams)
        if given["enable_mem_reuse"] not in (True, False):
            raise OptionError(f"enable_mem_reuse: true or false is wanted, not {given['enable_mem_reuse']!r}")
        if given["mem_allocator_strategy"] not in (0, 1):
            raise OptionError(f"mem_allocator_strategy: 0 or 1 is wanted, not {given['mem_allocator_strategy']!r}")
        nodes = given["memory_search_nodes"]
        if nodes != -1 and not _is_count(nodes):
            raise OptionError(f"memory_search_nodes: a number from 0 is wanted, or -1, not {nodes!r}")
        self.wishes()

    def wishes(self) -> Wishes:
        """What the memory stage is asked for. Raises OptionError where a mode or planner does not exist."""
        return Wishes(
            mode="greedy_by_size" if self.mem_allocator_strategy == 1 else self.memory,
            reuse=self.enable_mem_reuse,
            limit_bytes=self.mem_workspace_size,
            alignment=self.memory_alignment,
            never_reuse=self.no_reuse,
            pins=self.pins,
            apart=self.apart,
            search_nodes=self.memory_search_nodes if self.memory_search_nodes >= 0 else None,
        )

    def plan(self) -> Plan:
        """The passes and rules that run, in order. Raises OptionError for a name that nothing has."""
        from gexplorer.passes.manager import plan

        return plan(self.fusion, self.preset, priorities=self.priorities, fast=self.fusion_mode == "fast")

    def with_changes(self, changes: Mapping[str, object]) -> Options:
        """Options with some fields replaced; mappings are merged. Raises OptionError for an unknown field."""
        known = {f.name for f in fields(self)}
        merged: dict[str, object] = {}
        for name, value in _in_our_names(changes).items():
            if name not in known:
                raise OptionError(f"no option {name!r}; there are: {', '.join(sorted(known))}")
            old = getattr(self, name)
            if isinstance(old, tuple) and isinstance(value, list):
                value = tuple(value)  # as ``as_dict`` says it
            if isinstance(old, Mapping) and isinstance(value, Mapping):
                kept = {key: old[key] for key in old if key not in value}
                value = {**kept, **value}  # the new ones last: of switches that mean one rule, the later one holds
            merged[name] = value
        return replace(self, **merged)

    def same_as(self, other: Options) -> bool:
        """Equal, and switches come in the same order: of two that mean one rule, the later one holds."""
        return self == other and list(self.fusion) == list(other.fusion)

    def as_dict(self) -> dict[str, object]:
        """Plain data that repeats the compilation."""
        result: dict[str, object] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Mapping):
                value = {k: list(v) if isinstance(v, tuple) else v for k, v in value.items()}
            result[f.name] = list(value) if isinstance(value, tuple) else value
        return result


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_mapping(name: str, given: object) -> None:
    """Raises OptionError unless all keys are names, and all values what the option wants for each."""
    if not isinstance(given, Mapping):
        raise OptionError(f"{name}: a mapping by name is wanted, not {given!r}")
    entries = cast("Mapping[object, object]", given)
    if (odd := next((key for key in entries if not isinstance(key, str)), None)) is not None:
        raise OptionError(f"{name}: {odd!r} is no name")
    for key, value in entries.items():
        if name == "shapes" and not isinstance(value, tuple | list):
            raise OptionError(f"shapes: {key}: dimensions such as (1, 3, 224, 224) are wanted, not {value!r}")
        if name == "fusion" and not isinstance(value, bool):
            raise OptionError(f"fusion: {key}: true or false is wanted, not {value!r}")
        if name == "priorities" and (not isinstance(value, int) or isinstance(value, bool)):
            raise OptionError(f"priorities: {key}: a whole number is wanted, not {value!r}")
        if name == "allowed" and not _is_limits(value):
            raise OptionError(f"allowed: {key}: numbers by the name of an attribute are wanted, not {value!r}")


def _is_limits(given: object) -> bool:
    if not isinstance(given, Mapping):
        return False
    entries = cast("Mapping[object, object]", given)
    lists = [cast("Sequence[object]", numbers) for numbers in entries.values() if isinstance(numbers, tuple | list)]
    numeric = all(isinstance(number, int | float) for numbers in lists for number in numbers)
    return numeric and len(lists) == len(entries) and all(isinstance(key, str) for key in entries)


def _in_our_names(changes: Mapping[str, object]) -> Mapping[str, object]:
    """GE's names of what we call by the opposite, turned round."""
    ours = {name: value for name, value in changes.items() if name not in _OPPOSITES}
    for name in _OPPOSITES.keys() & changes.keys():
        value, opposite = changes[name], _OPPOSITES[name]
        if value not in (True, False):
            raise OptionError(f"{name}: 0 or 1 is wanted, not {value!r}")
        if ours.setdefault(opposite, not value) != (not value):
            raise OptionError(f"{name} and {opposite} contradict each other")
    return ours


def from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    """Options that environment variables set: of the articles (the real GE has none of those), of GE, and one of ours.

    Raises:
        OptionError: a variable has a value that means nothing.
    """
    found: dict[str, object] = {}
    mode = environment.get("GE_FUSION_PASS_MODE")
    if mode is not None:
        if mode not in ("fast", "full"):
            raise OptionError(f"GE_FUSION_PASS_MODE: fast or full is wanted, not {mode!r}")
        found["fusion_mode"] = mode
    planning = environment.get("GE_MEM_PLANNING_MODE")
    if planning is not None:
        if planning not in ("fast", "safe"):
            raise OptionError(f"GE_MEM_PLANNING_MODE: fast or safe is wanted, not {planning!r}")
        found["memory"] = planning
    tiling = environment.get("GE_TILING_SEARCH_MODE")
    if tiling is not None:
        if tiling not in get_args(TilingMode):
            raise OptionError(f"GE_TILING_SEARCH_MODE: library, fast or exhaustive is wanted, not {tiling!r}")
        found["tiling_mode"] = tiling
    if (level := environment.get("GEXPLORER_VALIDATE")) is not None:
        found["validate"] = level
    if (names := environment.get("OP_NO_REUSE_MEM")) is not None:
        found["no_reuse"] = parse_never_reuse(names)
    return found


def parse_shapes(texts: Sequence[str]) -> dict[str, tuple[DimText, ...]]:
    """Shapes from ``NAME:1,3,224,224`` texts; a name may itself hold colons. Raises OptionError."""
    shapes: dict[str, tuple[DimText, ...]] = {}
    for text in texts:
        name, colon, dims = text.rpartition(":")
        if not colon or not name:
            raise OptionError(f"--shape {text!r}: NAME:1,3,224,224 is wanted")
        parts = [part.strip() for part in dims.split(",")] if dims.strip() else []
        if not all(_NUMBER.fullmatch(part) or (part and not _LIKE_A_NUMBER.match(part)) for part in parts):
            raise OptionError(f"--shape {text!r}: dimensions are numbers from 0 or names")
        if name in shapes:
            raise OptionError(f"--shape: input {name!r} is given twice")
        shapes[name] = tuple(int(part) if _NUMBER.fullmatch(part) else part for part in parts)
    return shapes


def parse_bytes(text: str) -> int:
    """A number of bytes from ``65536``, ``0x1000``, ``8M`` or ``8 GiB``. Raises ValueError."""
    size = _SIZE.fullmatch(text.strip())
    return int(text, 0) if size is None else int(size[1]) << 10 * (1 + "KMGT".index(size[2].upper()))


def parse_settings(texts: Sequence[str]) -> dict[str, object]:
    """Option values from ``KEY=VALUE`` texts, converted to the type of the option. Raises OptionError."""
    defaults = Options()
    settings: dict[str, object] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        known = [*(f.name for f in fields(defaults)), *_OPPOSITES]
        if not equals or key not in known:
            raise OptionError(f"--set {text!r}: KEY=VALUE is wanted, with a KEY of {', '.join(known)}")
        default = getattr(defaults, _OPPOSITES.get(key, key))
        try:
            if isinstance(default, bool):
                settings[key] = _SWITCH[value.lower()]
            elif key in _BYTES:
                settings[key] = parse_bytes(value)
            elif isinstance(default, int):
                settings[key] = int(value, 0)
            elif key == "no_reuse":
                settings[key] = parse_never_reuse(value)
            elif key == "seeds":
                settings[key] = tuple(int(item) for item in value.split(","))
            elif isinstance(default, str):
                settings[key] = value
            else:
                raise OptionError(f"--set {key}: this option has a flag of its own")
        except ValueError:
            raise OptionError(f"--set {key}: {value!r} is not a number") from None
        except KeyError:
            raise OptionError(f"--set {key}: true or false is wanted, not {value!r}") from None
    return settings
