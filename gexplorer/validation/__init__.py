"""Proving that what came out computes what went in."""

from __future__ import annotations

from gexplorer.validation.bisection import Bisection, bisect
from gexplorer.validation.stage import Validation, validate

__all__ = ["Bisection", "Validation", "bisect", "validate"]
