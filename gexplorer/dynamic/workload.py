"""Requests: which sizes arrive when. From a list, a CSV file, or made up with a seed."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gexplorer.dynamic.free import FreeDims, Sizes
from gexplorer.errors import OptionError

MAX_REQUESTS = 1_000_000
_TIME_COLUMNS = {"arrival_us": 1.0, "arrival_ms": 1e3, "arrival_s": 1e6}


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes:
        arrival_us: when it comes, from the start of the workload.
        sizes: of the free dimensions.
    """

    arrival_us: float
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests in order of arrival.

    Attributes:
        requests: at least one.
        origin: where they are from, in words.
    """

    requests: tuple[Request, ...]
    origin: str

    @property
    def distinct(self) -> dict[Sizes, int]:
        """How often each sizes are asked for, in order of first appearance."""
        counts: dict[Sizes, int] = {}
        for request in self.requests:
            counts[request.sizes] = counts.get(request.sizes, 0) + 1
        return counts


def from_sizes(sizes: Sequence[Sizes], gap_us: float, origin: str = "a list") -> Workload:
    """Requests that come one after the other, ``gap_us`` apart."""
    if not sizes:
        raise OptionError("the workload has no request")
    return Workload(tuple(Request(i * gap_us, s) for i, s in enumerate(sizes)), origin)


def read_csv(path: Path, free: FreeDims) -> Workload:
    """Requests from a CSV file: a column ``arrival_us`` (or ``_ms``, ``_s``) and one for each free dimension.

    Rows may stand in any order; without a column of times they come one millisecond apart.

    Raises:
        OptionError: names the file and the line.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            columns = {(name or "").strip(): name for name in reader.fieldnames or ()}
            time = next((name for name in _TIME_COLUMNS if name in columns), None)
            missing = [name for name in free.names if name not in columns]
            if missing:
                raise OptionError(f"{path}: no column {missing[0]}; the free dimensions are {', '.join(free.names)}")
            requests: list[Request] = []
            for row in reader:
                if len(requests) == MAX_REQUESTS:
                    raise OptionError(f"{path}: more than {MAX_REQUESTS:,} requests")
                where = f"{path}, line {reader.line_num}"
                arrival = _time(row[columns[time]], where) * _TIME_COLUMNS[time] if time else len(requests) * 1e3
                values = {name: _size(row[columns[name]], name, where) for name in free.names}
                requests.append(Request(arrival, free.sizes(values)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise OptionError(f"{path}: cannot be read as CSV: {error}") from None
    if not requests:
        raise OptionError(f"{path}: the workload has no request")
    return Workload(tuple(sorted(requests, key=lambda r: r.arrival_us)), str(path))


def generate(
    free: FreeDims, ranges: Mapping[str, tuple[int, int]], count: int, per_second: float, seed: int = 0
) -> Workload:
    """Requests that come at random (Poisson), with sizes between two bounds.

    Sizes are drawn evenly on a logarithmic scale, so short requests are as frequent as in a range ten times as long:
    the common case of prompts. The same seed gives the same workload.

    Args:
        free: the model's free dimensions.
        ranges: smallest and largest size of each, both included.
        count: how many requests.
        per_second: how many come in a second on average.
        seed: of the random numbers.
    """
    if not 1 <= count <= MAX_REQUESTS:
        raise OptionError(f"a workload has 1 to {MAX_REQUESTS:,} requests, not {count}")
    if not (per_second > 0 and math.isfinite(per_second)):
        raise OptionError(f"requests per second: a number above 0 is wanted, not {per_second}")
    free.sizes({name: low for name, (low, _) in ranges.items()})
    for name, (low, high) in ranges.items():
        if low > high:
            raise OptionError(f"range of {name}: {low} is above {high}")
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.exponential(1e6 / per_second, count))
    columns = [
        np.minimum(np.exp(random.uniform(np.log(low), np.log(high + 1), count)).astype(np.int64), high)
        for low, high in (ranges[name] for name in free.names)
    ]
    sizes = zip(*(column.tolist() for column in columns), strict=True) if columns else iter([()] * count)
    requests = tuple(Request(float(a), free.checked(s)) for a, s in zip(arrivals, sizes, strict=True))
    shown = ", ".join(f"{name} {low} to {high}" for name, (low, high) in ranges.items())
    return Workload(requests, f"{count} made up with seed {seed}: {shown}, {per_second:g} a second")


def _time(text: str | None, where: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise OptionError(f"{where}: arrival {text!r} is no time")
    return value


def _size(text: str | None, name: str, where: str) -> int:
    if not (text or "").strip().isdecimal() or len(text or "") > 12:
        raise OptionError(f"{where}: {name} {text!r} is no size")
    return int(text or "")
