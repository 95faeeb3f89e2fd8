"""The free dimensions of a compiled model, and what a request says of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gexplorer.errors import OptionError
from gexplorer.ir.graph import Graph
from gexplorer.ir.symbols import base_atoms, substitute
from gexplorer.ir.types import TensorType
from gexplorer.ops.shapes import Facts, bind_inputs, infer_graph, with_types

# Sizes of the free dimensions, in the order of ``FreeDims.names``.
Sizes = tuple[int, ...]

_PAIR = re.compile(r"\s*([^,;]*[^,;\s])\s*=\s*([0-9]{1,9})\s*")
_NUMBER = re.compile(r"\s*([0-9]{1,9})\s*")


@dataclass(frozen=True, slots=True)
class FreeDims:
    """Dimensions of inputs that have no size yet.

    Attributes:
        graph: the compiled graph; fusion has been done for all sizes at once.
        names: the dimensions, in order of appearance in the inputs.
    """

    graph: Graph
    names: tuple[str, ...]

    @staticmethod
    def of(graph: Graph) -> FreeDims:
        """The free dimensions of a graph's inputs."""
        names: dict[str, None] = {}
        for name in graph.inputs:
            type_ = graph.values[name].type
            for dim in (type_.shape or ()) if isinstance(type_, TensorType) else ():
                names.update(dict.fromkeys(sorted(base_atoms(dim))))
        return FreeDims(graph, tuple(names))

    def bind(self, sizes: Sizes) -> tuple[Graph, Facts]:
        """The graph at these sizes, and what follows from them: the same kernels, every size known that inputs give.

        Raises:
            OptionError: the model does not work at these sizes; the message names the operator.
        """
        shapes: dict[str, tuple[int | str | None, ...]] = {}
        values = dict(zip(self.names, sizes, strict=True))
        for name in self.graph.inputs:
            type_ = self.graph.values[name].type
            if isinstance(type_, TensorType) and type_.shape:
                dims = (substitute(dim, values) for dim in type_.shape)
                shapes[name] = tuple(dim if isinstance(dim, int) else None for dim in dims)
        bound = bind_inputs(self.graph, shapes)
        facts = infer_graph(bound)
        return with_types(bound, facts), facts

    def parse(self, text: str) -> Sizes:
        """Sizes from text: ``batch=4,seq=128``, ``4,128``, or the whole shape of the first input, ``4,128,768``.

        Raises:
            OptionError: what is wrong, and what was expected.
        """
        parts = text.split(",")
        pairs = [_PAIR.fullmatch(part) for part in parts]
        if all(pairs):
            return self.sizes({m[1]: int(m[2]) for m in pairs if m})
        numbers = [_NUMBER.fullmatch(part) for part in parts]
        if not all(numbers):
            raise OptionError(f"sizes {text!r}: {self.expected} is wanted")
        values = tuple(int(m[1]) for m in numbers if m)
        return self._of_shape(values) or self._of_values(text, values)

    def sizes(self, values: Mapping[str, int]) -> Sizes:
        """Sizes by name of the dimension. Raises OptionError for a missing or unknown one, and for 0."""
        unknown = sorted(values.keys() - set(self.names))
        missing = [name for name in self.names if name not in values]
        if unknown or missing:
            wrong = f"no free dimension {unknown[0]}" if unknown else f"no size of {missing[0]}"
            raise OptionError(f"{wrong}; {self.expected} is wanted")
        return self.checked(values[name] for name in self.names)

    def checked(self, values: Iterable[int]) -> Sizes:
        """The sizes, each at least 1. Raises OptionError."""
        sizes = tuple(values)
        for name, size in zip(self.names, sizes, strict=True):
            if size < 1:
                raise OptionError(f"size {size} of {name}: at least 1 is wanted")
        return sizes

    def text(self, sizes: Sizes) -> str:
        """``batch=4,seq=128``."""
        return ",".join(f"{name}={size}" for name, size in zip(self.names, sizes, strict=True))

    @property
    def expected(self) -> str:
        """What a request looks like."""
        return ",".join(f"{name}=SIZE" for name in self.names) or "nothing (no dimension is free)"

    def _of_shape(self, shape: Sizes) -> Sizes | None:
        """Sizes from the whole shape of the first input, None where it is no shape of it."""
        first = next((self.graph.values[name].type for name in self.graph.inputs), None)
        dims = first.shape if isinstance(first, TensorType) else None
        if dims is None or len(dims) != len(shape):
            return None
        values: dict[str, int] = {}
        for dim, size in zip(dims, shape, strict=True):
            text = str(dim)
            if isinstance(dim, int):
                if dim != size:
                    return None
            elif text in self.names and values.setdefault(text, size) != size:
                return None
        if values.keys() != set(self.names):
            return None
        return self.checked(values[name] for name in self.names)

    def _of_values(self, text: str, values: Sizes) -> Sizes:
        if len(values) != len(self.names):
            raise OptionError(f"sizes {text!r}: {self.expected} is wanted")
        return self.checked(values)
