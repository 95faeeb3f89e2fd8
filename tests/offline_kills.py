"""Saves an offline model over and over in processes that are killed at any moment, and looks at what is left."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import gexplorer as gx
from gexplorer.offline.model import OfflineModel


def kills(folder: Path, count: int) -> tuple[int, int]:
    """How many of some kills hit in the middle of a save, and how many leftovers the last save found.

    There are more kills, up to ten times as many, where chance hits the middle in less than a tenth of them.
    After every kill the file must be whole: that of a save that ended, or what was there before.
    """
    compiled = gx.compile("bert-base:small=true,layers=1,dtype=float32")
    path = folder / "model.om"
    compiled.save(path)
    start = time.perf_counter()
    compiled.save(path)
    seconds = time.perf_counter() - start
    draw = random.Random(0)
    in_the_middle = left = 0
    for number in range(10 * count):
        if number >= count and in_the_middle > count // 10:
            break
        child = os.fork()
        if not child:
            try:
                while True:
                    compiled.save(path)
            finally:
                os._exit(1)
        time.sleep(draw.uniform(0, 3 * seconds))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        parts = list(folder.glob(".gexplorer-*.part"))
        in_the_middle += bool(parts)
        left = max(left, len(parts))
        OfflineModel(path).check()
    compiled.save(path)
    assert [entry.name for entry in folder.iterdir()] == ["model.om"]
    return in_the_middle, left


if __name__ == "__main__":
    print(*kills(Path(sys.argv[1]), int(sys.argv[2])))
