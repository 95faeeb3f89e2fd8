"""Runs offline models in a process that never saw the models they came from: only files go in, only files come out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import gexplorer as gx
from gexplorer.execution.machine import Machine


def run(path: Path) -> dict[str, str]:
    """Runs ``NAME.om`` with each ``NAME.*.in.npz`` beside it and writes ``NAME.*.out.npz``; says what is wrong.

    Every run is done twice, poisoned in the planned pool and with memory apart: all bits must be equal.
    """
    wrong: dict[str, str] = {}
    try:
        session = gx.load_om(path, poison=True)
        apart = Machine(session.program, private=True)
        for given in sorted(path.parent.glob(f"{path.stem}.*.in.npz")):
            inputs = dict(np.load(given))
            results = session.run(inputs)
            private = apart.run(inputs).outputs
            if any(value.tobytes() != private[name].tobytes() for name, value in results.items()):
                wrong[given.name] = "the pool gives other bits than memory apart"
            np.savez(given.with_suffix("").with_suffix(".out.npz"), *results.values())
    except gx.GexplorerError as error:
        wrong[path.name] = str(error)
    assert "gexplorer.compiler" not in sys.modules
    return wrong


if __name__ == "__main__":  # a path in, a line of JSON out, for as many as are asked for
    for line in sys.stdin:
        print(json.dumps(run(Path(line.rstrip("\n")))), flush=True)
