"""CPU time and resident memory of a process with all that it started, from Linux's /proc."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
EVERY_S = 0.1


@dataclass(frozen=True)
class Process:
    """One line of ``/proc/PID/stat`` (man 5 proc_pid_stat).

    Attributes:
        parent: process id of the parent.
        cpu_s: user and system time, that of children which have ended included.
        rss_bytes: resident memory; pages shared by two processes count in both.
    """

    parent: int
    cpu_s: float
    rss_bytes: int


def parse(line: str) -> Process:
    """Reads the one line; the name in it, in parentheses, may hold anything."""
    fields = line.rpartition(")")[2].split()  # from field 3, the state
    return Process(int(fields[1]), sum(map(int, fields[11:15])) * TICK_S, int(fields[21]) * PAGE_BYTES)


def tree(running: Mapping[int, Process], root: int) -> list[int]:
    """A process and all that descend from it, by id; empty when it is not running."""
    children: dict[int, list[int]] = {}
    for process, said in running.items():
        children.setdefault(said.parent, []).append(process)
    found: list[int] = [root] if root in running else []
    for process in found:  # grows while it is walked
        found += children.get(process, [])
    return found


def running() -> dict[int, Process]:
    """All processes of this machine that may be read."""
    found: dict[int, Process] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                found[int(entry)] = parse(Path(f"/proc/{entry}/stat").read_text(errors="replace"))
            except OSError:
                continue
    return found


class Watch:
    """Follows one started process and its descendants until it is stopped.

    Args:
        process: what was started.
        limit_s: CPU time after which all of them are killed; ``over`` is true then.
        wall_s: time by the clock after which they are killed, so that nothing hangs for ever.
    """

    def __init__(self, process: subprocess.Popen[str], limit_s: float, wall_s: float) -> None:
        self._process, self._limit_s, self._end = process, limit_s, time.monotonic() + wall_s
        self._stop = threading.Event()
        self.base_s = 0.0
        self.cpu_s = 0.0
        self.peak_bytes = 0
        self.over = False
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def read(self) -> float:
        """CPU seconds so far, without those before ``mark``."""
        now = running()
        members = [now[process] for process in tree(now, self._process.pid)]
        if members:
            self.cpu_s = max(self.cpu_s, sum(one.cpu_s for one in members))
            self.peak_bytes = max(self.peak_bytes, sum(one.rss_bytes for one in members))
        return self.cpu_s - self.base_s

    def mark(self) -> None:
        """From here on, CPU time counts from 0; the memory stays what it is."""
        self.base_s += self.read()

    def alive(self) -> bool:
        """Whether what was started still runs."""
        return self._process.poll() is None

    def _follow(self) -> None:
        while not self._stop.wait(EVERY_S):
            if self.read() > self._limit_s or time.monotonic() > self._end:
                self.over = True
                self.kill()
                return

    def kill(self) -> None:
        """Ends the process and its descendants, and nothing else."""
        self._stop.set()
        if self._process.poll() is not None:
            return  # its id may be another's by now
        for process in reversed(tree(running(), self._process.pid)):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()

    def wait(self) -> float:
        """Waits for a process that ends by itself; returns its CPU seconds up to the last look."""
        status = self._process.poll()
        while status is None:
            time.sleep(EVERY_S / 4)
            self.read()
            status = self._process.poll()
        self._stop.set()
        return self.cpu_s - self.base_s
