"""One tool on one model, in a process of its own: ``python -m benchmarks.worker TOOL MODEL TINY SECONDS BYTES``."""

from __future__ import annotations

import json
import math
import os
import resource
import sys
from pathlib import Path

from benchmarks.tools import TOOLS, count


def cpu_seconds() -> float:
    """User and system time of this process so far, all threads and finished children counted."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(tool: str, model: str, tiny: str, seconds: str, memory: str) -> None:
    """Measures one call. The tiny model goes first: what it makes the tool import is not the call's cost."""
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the tool itself prints is no result
    optimise = TOOLS[tool].start()
    optimise(Path(tiny))
    resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
    before = cpu_seconds()
    limit = math.ceil(before) + int(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    result = optimise(Path(model))
    spent = cpu_seconds() - before
    resource.setrlimit(resource.RLIMIT_CPU, (limit + 5, limit + 5))
    json.dump({"cpu_seconds": spent, "nodes_after": count(result)}, report)
    report.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
