"""Where a pass or rule is written: file and line inside the package."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gexplorer.passes.base import Pass

_PACKAGE = Path(__file__).parents[2]


@cache
def place_of(pass_class: type[Pass]) -> str | None:
    """File and line of a pass, such as ``gexplorer/passes/fusion/rules/gelu.py:14``.

    Returns:
        None for a pass that is no file of this package: one that a notebook has registered, or another package.
    """
    file = getattr(sys.modules.get(pass_class.__module__), "__file__", None)
    if file is None or not Path(file).is_relative_to(_PACKAGE):
        return None
    found = re.search(rf"^class {pass_class.__name__}\b", text := Path(file).read_text(), re.MULTILINE)
    line = text.count("\n", 0, found.start()) + 1 if found is not None else 1
    return f"{_PACKAGE.name}/{Path(file).relative_to(_PACKAGE).as_posix()}:{line}"
