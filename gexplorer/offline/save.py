"""Writes an offline model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from gexplorer.errors import OptionError
from gexplorer.execution.program import Program
from gexplorer.memory.stage import Memory
from gexplorer.offline import encode
from gexplorer.offline.constants import DATA, ConstantWriter, Weights
from gexplorer.offline.container import BY_PARTS, Source, write_container
from gexplorer.offline.manifest import About, manifest
from gexplorer.offline.timetable import timetable
from gexplorer.schedule.stage import Schedule


def save(
    path: Path,
    program: Program,
    about: About,
    memory: Memory,
    schedule: Schedule,
    *,
    tiles: str = "",
    weights: Weights = "inline",
) -> None:
    """Writes a compiled model as one file, whole or not at all.

    Args:
        path: where, ``.om`` by custom.
        program: what runs.
        about: what it was made from.
        memory: the plan.
        schedule: streams and modelled times.
        tiles: the tile programs as text; left out where there are none.
        weights: ``reference`` names weights that lie in a file of their own, instead of copying them; that file must
            then lie in the offline model's folder when it runs. Weights that are not available are always references.

    Raises:
        OptionError: the plan is not sound, or the file cannot be written.
        ModelError: a constant cannot be read.
    """
    if weights not in ("inline", "reference"):
        raise OptionError(f"weights: inline or reference is wanted, not {weights!r}")
    if not memory.is_sound:
        raise OptionError("the memory plan is not sound, so the program would compute something else: it is not saved")
    constants = ConstantWriter(program.constants, weights)
    defaults = ConstantWriter(program.defaults, "inline")
    first = manifest(program, about, constants, memory, schedule)
    write_container(
        path,
        [
            _json("manifest", first),
            _json("instructions", encode.instructions(program)),
            _json("kernels", encode.kernels(program)),
            ("kernel-models", 0, lambda: [kernel.model for kernel in program.kernels]),
            _json("memory", encode.memory(program)),
            _json("schedule", timetable(schedule)),
            *([("tiles", 0, lambda: [tiles.encode()])] if tiles else []),
            _json("constants", constants.rows),
            (DATA, BY_PARTS, constants.pieces),
            *([_json("defaults", defaults.rows), ("default-data", BY_PARTS, defaults.pieces)] if defaults.rows else []),
        ],
    )


def _json(name: str, data: object) -> Source:
    def pieces() -> Iterable[bytes]:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return [text.encode(errors="surrogatepass")]

    make: Callable[[], Iterable[bytes | memoryview]] = pieces
    return name, 0, make
