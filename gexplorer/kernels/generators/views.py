"""Kernels of the vector unit that also take tensors apart and put them together."""

from __future__ import annotations

from gexplorer.kernels.described import Described
from gexplorer.kernels.described_views import describe_views
from gexplorer.kernels.formula import Refusal
from gexplorer.kernels.generators.vector import VectorUnit
from gexplorer.kernels.part import Part


class Views(VectorUnit):
    """What the vector unit's own generator does not take because of views, Slices, Splits or Concats."""

    name = "views"
    order = 95

    def describe(self, part: Part) -> Described | Refusal | None:
        """One formula over pieces of tensors."""
        return describe_views(part)
