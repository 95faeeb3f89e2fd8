"""Runs an offline model: no compiler, no original model, no search; the pool as it was planned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gexplorer.errors import ModelError
from gexplorer.execution.machine import Machine, Run, Watch
from gexplorer.execution.program import Program
from gexplorer.execution.sessions import Evaluator, Sessions
from gexplorer.offline.model import OfflineModel

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Timings:
    """Wall times of one run on this machine's CPU; they say nothing of an NPU.

    Attributes:
        total_us: the whole run.
        planning_us: planning memory for shapes that were not seen before; 0 where a plan was there.
        instructions: name, operator and microseconds of every instruction that ran, in order.
    """

    total_us: float
    planning_us: float
    instructions: tuple[tuple[str, str, float], ...]


class Session:
    """An offline model, loaded.

    Args:
        path: the file.
        private: gives every tensor memory of its own, instead of its place in the planned pool.
        poison: fills memory with a pattern where it is dead, so that what is read too late shows.
        evaluator: what runs the kernels: onnxruntime (the reference where it has no kernel), or only the reference.

    Attributes:
        model: the file.

    Raises:
        ModelError: it is no offline model, or cut off, altered, newer; or it says what cannot be.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        private: bool = False,
        poison: bool = False,
        evaluator: Evaluator = "onnxruntime",
    ) -> None:
        self.model = OfflineModel(path)
        self.model.check_sections()
        self._program: Program = self.model.program
        sessions = Sessions(self._program.kernels, evaluator)
        self._machine = Machine(self._program, private=private, poison=poison, sessions=sessions)
        self._last: Run | None = None

    def __repr__(self) -> str:
        return f"Session({str(self.model.path)!r}, {self._program!r})"

    @property
    def program(self) -> Program:
        """What runs."""
        return self._program

    @property
    def inputs(self) -> Sequence[Mapping[str, Any]]:
        """Name, dtype and shape of every input; symbols are text."""
        return self.model.manifest["inputs"]

    @property
    def outputs(self) -> Sequence[Mapping[str, Any]]:
        """Name, dtype and shape of every result."""
        return self.model.manifest["outputs"]

    def info(self) -> Mapping[str, Any]:
        """The manifest: model, options, instructions, constants, memory."""
        return self.model.manifest

    def run(self, inputs: Mapping[str, Any], *, watch: Watch | None = None) -> dict[str, np.ndarray]:
        """Runs the model once.

        Args:
            inputs: an array for every input that has no default.
            watch: called behind each instruction with the instruction and what it wrote.

        Returns:
            the results by name: arrays (lists for sequences, None for optional values that are absent).

        Raises:
            ModelError: a wrong name, shape or element type (the message says what is wanted), weights that are not
                there, or a kernel that fails.
        """
        if not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ModelError(f"inputs: a mapping from name to array is wanted, not {type(inputs).__name__}")
        self._last = self._machine.run(inputs, watch=watch)
        return dict(self._last.outputs)

    def run_batch(self, calls: Iterable[Mapping[str, Any]]) -> list[dict[str, np.ndarray]]:
        """Runs the model once for each set of inputs, in order; shapes may differ from call to call."""
        return [self.run(inputs) for inputs in calls]

    @property
    def timings(self) -> Timings | None:
        """Of the last run; None before the first."""
        if self._last is None:
            return None
        rows = zip(self._program.instructions, self._last.instruction_seconds.tolist(), strict=True)
        ran = tuple([(row.name, row.op, seconds * 1e6) for row, seconds in rows if not row.is_spared])
        return Timings(self._last.seconds * 1e6, self._last.planning_seconds * 1e6, ran)

    @property
    def pool_bytes(self) -> int:
        """The pool of the last run; before the first, that of the saved plan (0 where the inputs decide)."""
        return self._program.pool_bytes if self._last is None else self._last.placing.pool_bytes


def load_om(path: str | Path, **options: Any) -> Session:
    """Loads an offline model; see ``Session``."""
    return Session(path, **options)
