"""Compiles files in a process of its own, so that a crash, a hang or a flood of memory there can be told."""

from __future__ import annotations

import os
import resource
import traceback
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

COMPILE_SECONDS = 20
RUN_SECONDS = 10
MEMORY_BYTES = 2 << 30  # what a small model may make the process grow by


@dataclass(frozen=True)
class Outcome:
    """What became of one model.

    Attributes:
        fault: what a user must never see: a traceback, a crash, a hang, a wrong answer; "" for none.
        refused: the message, where the model was refused.
        compared: whether onnxruntime could run it, so that the answers were compared.
    """

    fault: str = ""
    refused: str = ""
    compared: bool = False


class Trials:
    """A process that tries one model after the other; it is started anew when it dies."""

    def __init__(self) -> None:
        self._start()

    def __enter__(self) -> Trials:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def run(self, path: Path) -> Outcome:
        """Compiles the file, and where onnxruntime runs it too, compares the answers."""
        self._pipe.send(path)
        stage, seconds = "compile", COMPILE_SECONDS
        while True:
            try:
                if not self._pipe.poll(seconds):
                    return self._died(stage, f"no end after {seconds} s")
                said = self._pipe.recv()
            except (EOFError, ConnectionError):
                self._process.join()
                return self._died(stage, f"the process died with {self._process.exitcode}")
            if isinstance(said, Outcome):
                return said
            stage, seconds = said, RUN_SECONDS

    def _died(self, stage: str, how: str) -> Outcome:
        self._stop()
        self._start()
        return Outcome() if stage == "run as it is" else Outcome(fault=f"{stage}: {how}")

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        assert self._pipe.poll(120)
        assert self._pipe.recv() == "ready"

    def _stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _work(pipe: Connection) -> None:
    import onnx.reference  # noqa: F401  # all that is loaded later counts against the limit
    import onnxruntime  # noqa: F401

    import gexplorer.compiler  # noqa: F401

    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)  # onnxruntime speaks of what it refuses
    os.dup2(silence, 2)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, used + MEMORY_BYTES))
    pipe.send("ready")
    while True:
        path = pipe.recv()
        try:
            outcome = _try(path, pipe)
        except BaseException:
            outcome = Outcome(fault=traceback.format_exc())
        pipe.send(outcome)


def _try(path: Path, pipe: Connection) -> Outcome:
    import gexplorer
    from gexplorer.validation.equality import difference
    from gexplorer.validation.inputs import random_inputs

    try:
        compiled = gexplorer.compile(path)
    except gexplorer.GexplorerError as error:
        return _judge(error)
    try:
        feeds = random_inputs(compiled.steps["infer_shapes"].after, 0)
    except (gexplorer.GexplorerError, ValueError, MemoryError):
        return Outcome()  # an input of another kind, or too large to fill
    if sum(array.nbytes for array in feeds.values()) > 1 << 24:
        return Outcome()
    pipe.send("run as it is")
    try:
        expected, again = (_run(str(path), feeds) for _ in range(2))
    except Exception:
        return Outcome()  # onnxruntime does not take it
    if any(difference(a, b)[2] for a, b in zip(expected, again, strict=True)):
        return Outcome()
    pipe.send("run as compiled")
    actual = _run(compiled.graph, feeds)
    faults = [difference(a, b)[2] for a, b in zip(expected, actual, strict=True)]
    return Outcome(fault="; ".join(f"wrong answer: {fault}" for fault in faults if fault), compared=True)


def _judge(error: Exception) -> Outcome:
    import gexplorer

    if isinstance(error, gexplorer.PassError) and not isinstance(error.__cause__, gexplorer.GexplorerError):
        return Outcome(fault="".join(traceback.format_exception(error)))
    text = str(error)
    fault = "" if text and text.isprintable() else f"not one line: {text!r}"
    return Outcome(fault=fault, refused=text)


def _run(model: object, feeds: object) -> list[object]:
    import onnxruntime

    from gexplorer.ir.to_onnx import to_onnx

    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1
    source = model if isinstance(model, str) else to_onnx(model).SerializeToString()  # pyright: ignore
    session = onnxruntime.InferenceSession(source, settings, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)
