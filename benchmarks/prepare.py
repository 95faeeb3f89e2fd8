"""Writes models in a process of its own, so that the measuring process stays small.

The system counts a parent's resident size at the start of a child as the child's peak.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.models import Prepared

ROOT = Path(__file__).parents[1]


def prepare(name: str, folder: Path) -> Prepared:
    """A model of ``models.NAMES``, or a synthetic one of so many nodes, written into a folder."""
    command = [sys.executable, "-m", "benchmarks.models", name, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return Prepared(**json.loads(done.stdout))
