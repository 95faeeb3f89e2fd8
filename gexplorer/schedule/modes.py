"""How kernels are spread over streams: the modes, by our names and by GE's."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gexplorer.errors import OptionError

# GE allows so many streams in its mode LoadBalance:N. Source: GE's stream allocator (multi_stream_parallel_mode).
MOST_STREAMS = 64

_PLAIN = {"single": "single", "dependency": "dependency", "cube_vector": "cube_vector", "cv": "cube_vector"}
_COUNTED = re.compile(r"(?:streams|LoadBalance):([0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class Mode:
    """How kernels are spread over streams.

    Attributes:
        rule: ``single`` for one stream; ``dependency`` for GE's dependency pass; ``cube_vector`` for a stream for each
            of the two core types; ``streams`` for list scheduling.
        streams: how many there are at most; 0 where the rule says it.
    """

    rule: str
    streams: int = 0

    def __str__(self) -> str:
        return f"{self.rule}:{self.streams}" if self.rule == "streams" else self.rule


def parse_mode(text: str) -> Mode:
    """The mode that a text names: single, dependency, cube_vector (GE: cv), streams:N (GE: LoadBalance:N).

    Raises:
        OptionError: it names none, or N is not from 1 to 64.

    >>> parse_mode("LoadBalance:4")
    Mode(rule='streams', streams=4)
    """
    if text in _PLAIN:
        return Mode(_PLAIN[text])
    counted = _COUNTED.fullmatch(text)
    if counted is None:
        raise OptionError(f"streams: single, dependency, cube_vector or streams:N is wanted, not {text!r}")
    count = int(counted[1])
    if not 1 <= count <= MOST_STREAMS:
        raise OptionError(f"streams: {text} means {count} streams; 1 to {MOST_STREAMS} are possible")
    return Mode("streams", count)
