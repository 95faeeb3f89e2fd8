"""CPU seconds to start: ``python -m benchmarks.startup``."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import gexplorer": ["-c", "import gexplorer"],
    "gexplorer --help": ["-c", "from gexplorer.cli import main; main()", "--help"],
}


def measure(repeats: int = 5) -> dict[str, float]:
    """User and system time of a fresh process for each command, the interpreter's own included; medians."""
    return {name: statistics.median(_once(command) for _ in range(repeats)) for name, command in COMMANDS.items()}


def _once(command: list[str]) -> float:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, *command], env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    for name, seconds in measure().items():
        print(f"{name:20} {seconds:6.3f} s CPU")
