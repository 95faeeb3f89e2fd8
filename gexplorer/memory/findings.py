"""What the verifier finds: one record a defect, and one catalogue with the sentence for each code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gexplorer.trace.records import Message

MESSAGES: Mapping[str, Message] = MappingProxyType(
    {
        # A placement as a whole.
        "wrong_length": Message("there are {offsets} offsets for {buffers} buffers"),
        "wrong_dtype": Message("offsets are whole bytes, but they came as {dtype}"),
        "pool_below_bound": Message(
            "a pool of {pool_bytes} bytes cannot hold the {bound_bytes} bytes that are alive at point {first_point}",
            "a pool below the max live load is a sure sign that somebody's size was not looked at",
        ),
        # One buffer.
        "negative_size": Message("{first} has a size of {size_bytes} bytes", "a size field of 32 bits has wrapped"),
        "empty_lifetime": Message("{first} lives from point {lower} to before point {upper}: never"),
        "negative_offset": Message("{first} begins {before_bytes} bytes before byte 0"),
        "address_overflow": Message("{first}: offset {offset} plus {size_bytes} bytes does not fit 64 bits"),
        "outside_pool": Message("{first} ends at byte {end} of a pool of {pool_bytes} bytes"),
        "misaligned": Message("{first} begins at byte {offset}, which is no multiple of {alignment_bytes}"),
        "pin_moved": Message("{first} is pinned to byte {pinned}, but begins at byte {offset}"),
        # Two buffers.
        "overlap": Message(
            "{first} and {second} share {shared_bytes} bytes from byte {low_byte}, and both are alive at points "
            "{first_point} to {last_point}"
        ),
        "apart_shared": Message(
            "{first} and {second} must be kept apart, but share {shared_bytes} bytes from {low_byte}"
        ),
        # One tensor of a program.
        "unknown_buffer": Message("{first} is put into buffer {buffer}, which there is none of"),
        "unplaced": Message("{first} has {size_bytes} bytes, but no buffer"),
        "outside_buffer": Message(
            "{first} takes {size_bytes} bytes from byte {offset} of buffer {buffer}, which has {room_bytes}",
            "compare bytes with bytes: elements, packed or not, are another unit",
        ),
        # A name for bytes of another tensor.
        "view_misplaced": Message(
            "{second} is a view of {first}, but begins {begins} bytes from it, where nobody writes it"
        ),
        "view_outside_source": Message("{second} is a view of {first} and reaches beyond its {host_bytes} bytes"),
        "part_outside_whole": Message("{second} lies in {first} and reaches beyond its {host_bytes} bytes"),
        "kept_shared": Message(
            "{second} shares {shared_bytes} bytes from byte {low_byte} with {first}, a tensor of kind {kind}, which "
            "shares its place with nothing"
        ),
        # A write over a value that is still needed.
        "overwritten": Message("{writer} writes {second} over {first}, which {reader} still reads"),
        "outputs_collide": Message("{writer} writes {first} and {second} to the same {shared_bytes} bytes"),
        "unread_output_overwrites": Message(
            "{writer} writes {second}, which nobody reads, over {first}, which {reader} still reads",
            "an output without a reader is written all the same: it lives at its own point",
        ),
        "in_place_still_needed": Message(
            "{writer} writes {second} in place over {first}, which {reader} still reads",
            "in place is for an input's last reader",
        ),
        "in_place_shifted": Message(
            "{writer} writes {second} over a part of its own input {first}: in place means exactly the same bytes"
        ),
        "part_misplaced": Message(
            "{writer} copies between {first} and {second}, which share {shared_bytes} bytes at the wrong place"
        ),
        "loop_value_overwritten": Message(
            "{writer} writes {second} over {first}, which {reader} reads again in the next round of the loop",
            "what is written before a loop and read inside lasts to the loop's end",
        ),
        "kept_overwritten": Message(
            "{writer} writes {second} over {first}, a tensor of kind {kind}, which must outlast the program"
        ),
        # Streams.
        "reuse_races": Message(
            "{writer} on stream {writer_stream} writes {second} over {first}, which {reader} on stream {reader_stream} "
            "may not be done with",
            "let {writer} wait for {reader}",
        ),
        "read_races": Message(
            "{reader} on stream {reader_stream} reads {first}, which {writer} on stream {writer_stream} may not have "
            "written yet",
            "let {reader} wait for {writer}",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect of a plan.

    Attributes:
        code: key into ``MESSAGES``.
        rows: the buffers of the problem, or the tensors of the program, that it is about; the pair where there is one.
        parameters: names and numbers for the sentence.
        window: first and last point (inclusive) at which the defect holds, None where it is no matter of time.
        span: first byte and byte behind the last that both claim, None where it is no matter of place.
    """

    code: str
    rows: tuple[int, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    window: tuple[int, int] | None = None
    span: tuple[int, int] | None = None

    @property
    def sentence(self) -> str:
        """What is wrong, for people."""
        return MESSAGES[self.code].reason.format_map(self.shown())

    @property
    def hint(self) -> str | None:
        """What usually causes it, None where nothing general can be said."""
        hint = MESSAGES[self.code].hint
        return hint.format_map(self.shown()) if hint else None

    def shown(self) -> dict[str, object]:
        """The parameters of the sentence: names, numbers, points and bytes."""
        shown = dict(self.parameters)
        if self.window is not None:
            shown["first_point"], shown["last_point"] = self.window
        if self.span is not None:
            shown["low_byte"], high = self.span
            shown["shared_bytes"] = high - self.span[0]
        return shown


class Findings(tuple[Finding, ...]):
    """The findings that are listed, and how many there are of each code in all; empty for a sound plan.

    Attributes:
        counts: number of defects by code, those that are not listed too.
    """

    counts: Mapping[str, int]

    def __new__(cls, findings: Iterable[Finding] = (), counts: Mapping[str, int] | None = None) -> Findings:
        """A tuple that knows the counts."""
        made = super().__new__(cls, findings)
        made.counts = MappingProxyType(dict(counts or {}))
        return made

    @property
    def total(self) -> int:
        """All defects, listed or not."""
        return sum(self.counts.values())


class Collector:
    """Gathers findings by code and lists no more than a limit, so that no code hides behind another.

    Args:
        limit: how many findings are listed in all; codes take turns until it is reached.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._by_code: dict[str, list[Finding]] = {}
        self._counts: dict[str, int] = {}

    def add(self, code: str, count: int, findings: Iterable[Finding]) -> None:
        """Takes note of ``count`` defects of a code, of which only the first so many are described."""
        if count:
            self._counts[code] = self._counts.get(code, 0) + count
            kept = self._by_code.setdefault(code, [])
            for finding in findings:
                if len(kept) >= self.limit:
                    break
                kept.append(finding)

    def finish(self) -> Findings:
        """The findings, those of one code together, codes in the order in which they were added."""
        share = dict.fromkeys(self._by_code, 0)
        left = self.limit
        while left > 0 and (hungry := [code for code, kept in self._by_code.items() if share[code] < len(kept)]):
            for code in hungry[:left]:
                share[code] += 1
            left -= len(hungry[:left])
        listed = [finding for code, kept in self._by_code.items() for finding in kept[: share[code]]]
        return Findings(listed, self._counts)
