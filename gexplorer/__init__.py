"""gexplorer: open a model, watch a graph compiler turn it into an offline NPU program, one decision at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gexplorer.compared import diff as diff
    from gexplorer.compiler import Compilation as Compilation
    from gexplorer.compiler import compile as compile
    from gexplorer.errors import GexplorerError as GexplorerError
    from gexplorer.errors import ModelError as ModelError
    from gexplorer.errors import OptionError as OptionError
    from gexplorer.errors import PassError as PassError
    from gexplorer.errors import VerifyError as VerifyError
    from gexplorer.frontends import zoo as zoo
    from gexplorer.frontends.torch import from_torch as from_torch
    from gexplorer.offline.session import load_om as load_om
    from gexplorer.passes.base import Pass as Pass
    from gexplorer.passes.manager import register as register

# Where each public name lives; they are imported when first used, so that ``import gexplorer`` costs nothing.
_PUBLIC = {
    "Compilation": "gexplorer.compiler",
    "GexplorerError": "gexplorer.errors",
    "ModelError": "gexplorer.errors",
    "OptionError": "gexplorer.errors",
    "Pass": "gexplorer.passes.base",
    "PassError": "gexplorer.errors",
    "VerifyError": "gexplorer.errors",
    "compile": "gexplorer.compiler",
    "diff": "gexplorer.compared",
    "from_torch": "gexplorer.frontends.torch",
    "load_om": "gexplorer.offline.session",
    "register": "gexplorer.passes.manager",
}

__all__ = [
    "Compilation",
    "GexplorerError",
    "ModelError",
    "OptionError",
    "Pass",
    "PassError",
    "VerifyError",
    "compile",
    "diff",
    "from_torch",
    "load_om",
    "register",
    "zoo",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    if name == "zoo":
        return import_module("gexplorer.frontends.zoo")
    if name == "__version__":
        from importlib.metadata import version

        return version("gexplorer")
    raise AttributeError(f"module 'gexplorer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))
