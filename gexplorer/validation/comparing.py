"""What every check that runs the model needs first: weights, inputs, and time for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gexplorer.errors import ModelError
from gexplorer.units import bytes_text
from gexplorer.validation.effort import Budget
from gexplorer.validation.inputs import batch_dims, free_dims, random_inputs, size_tries
from gexplorer.validation.record import Note, Outcome
from gexplorer.validation.subject import Subject

if TYPE_CHECKING:
    import numpy as np

# Seeds of a quick and of a full validation, and the batches of a full one besides that of the first run.
QUICK_SEEDS = (0,)
FULL_SEEDS = (0, 1, 2)
FULL_BATCHES = (1, 3)


class LeftOutError(Exception):
    """A check cannot be made; it holds the note that says why."""

    def __init__(self, note: Note) -> None:
        super().__init__(note.sentence)
        self.note = note


def require_weights(subject: Subject) -> None:
    """Raises LeftOutError where bytes of the model do not exist."""
    absent = subject.absent
    if absent:
        first = min(absent)
        shown = {"size": bytes_text(sum(absent.values())), "tensor": first, "tensors": len(absent)}
        raise LeftOutError(Note("weights_absent", shown, first))


def require_time(seconds: float, budget: Budget, *, is_least: bool = False) -> None:
    """Raises LeftOutError where so many seconds are more than what is left.

    Args:
        seconds: that are needed.
        budget: the time that there is.
        is_least: whether more may be needed.
    """
    left = budget.left_seconds
    if seconds <= left:
        return
    shown = {
        "needed": f"{'at least' if is_least else 'about'} {seconds_text(seconds)}",
        "budget": seconds_text(budget.seconds),
        "left": seconds_text(max(left, 0)),
    }
    raise LeftOutError(Note("over_budget" if seconds > budget.seconds else "budget_spent", shown))


def inputs_of(subject: Subject, seed: int, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Random inputs of the model. Raises LeftOutError where none can be made."""
    try:
        return random_inputs(subject.typed, seed, sizes)
    except ModelError as error:
        raise LeftOutError(Note("no_inputs", {"why": str(error)})) from None
    except (MemoryError, ValueError):  # numpy refuses a shape that no memory holds
        raise LeftOutError(Note("no_inputs", {"why": "the inputs are too large to be filled"})) from None


def size_candidates(subject: Subject) -> list[dict[str, int]]:
    """Sizes of the free dimensions to try, those that a check before has found to work first."""
    tries, known = size_tries(subject.typed), subject.known.sizes
    return [known, *(sizes for sizes in tries if sizes != known)] if known else tries


def size_choices(subject: Subject, sizes: Mapping[str, int], budget: Budget) -> list[dict[str, int]]:
    """Sizes to run with: those that work, and in a full validation other batches too."""
    batch = batch_dims(subject.typed) or free_dims(subject.typed)
    several = () if budget.is_limited or not batch else FULL_BATCHES
    choices = [dict(sizes), *({**sizes, **dict.fromkeys(batch, size)} for size in several)]
    return [one for number, one in enumerate(choices) if one not in choices[:number]]


def seeds_of(budget: Budget) -> tuple[int, ...]:
    """Seeds of the inputs."""
    return QUICK_SEEDS if budget.is_limited else FULL_SEEDS


def left_out(error: LeftOutError) -> Outcome:
    """The outcome of a check that cannot be made."""
    return Outcome("skipped", (error.note,))


def seconds_text(seconds: float) -> str:
    """Seconds for people: ``0.3 s``, ``40 s``, ``3 min``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Sizes of free dimensions: ``batch=2, seq=2``."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
