"""Running an offline model in the articles' words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gexplorer.errors import OptionError
from gexplorer.frontends.torch import require_torch


class Session:
    """Loads an offline model and runs it."""

    def __init__(self) -> None:
        self._session: Any = None

    def load_model(self, path: str | Path) -> None:
        """Loads a ``.om`` file. Raises ModelError where it is none."""
        from gexplorer.offline.session import load_om

        self._session = load_om(path)

    def run(self, *inputs: Any) -> Any:
        """Runs the model.

        Args:
            *inputs: arrays or torch tensors in the order of the model's inputs, one list of them, or one mapping by
                name.

        Returns:
            What went in comes out: torch tensors for torch tensors, else arrays; one alone, or a tuple of several.

        Raises:
            OptionError: nothing is loaded, or too many or too few inputs are given.
        """
        if self._session is None:
            raise OptionError("no model is loaded; call load_model first")
        given = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], Mapping | list | tuple) else inputs
        feeds = self._by_name(given)
        is_torch = any(type(value).__module__.split(".")[0] == "torch" for value in feeds.values())
        results = self._session.run({name: _array(value) for name, value in feeds.items()})
        values = tuple(_tensor(value) if is_torch else value for value in results.values())
        return values[0] if len(values) == 1 else values

    def _by_name(self, given: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
        if isinstance(given, Mapping):
            return dict(given)
        names = [row["name"] for row in self._session.inputs]
        if len(given) != len(names):
            raise OptionError(f"the model has {len(names)} inputs ({', '.join(names)}), {len(given)} are given")
        return dict(zip(names, given, strict=True))


def _array(value: Any) -> Any:
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)


def _tensor(value: Any) -> Any:
    return require_torch().from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value
