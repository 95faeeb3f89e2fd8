"""The zoo: well-known networks as ONNX models, full-size without weight bytes or small with seeded weights.

Every file in ``models/`` is one family of architectures; it is found by being there. A family module
defines ``ENTRIES``, a tuple of `ZooEntry`.

    >>> from gexplorer.frontends import zoo
    >>> model = zoo.build("llama2-7b", small=True, layers=1)
    >>> [value.name for value in model.graph.outputs]
    ['logits']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gexplorer.frontends.zoo.spec import parse_spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnx_ir as ir

    from gexplorer.frontends.zoo.entry import ZooEntry

__all__ = ["build", "describe", "names", "parse_spec"]


def names() -> tuple[str, ...]:
    """The names of all models, sorted.

    >>> "resnet50" in names()
    True
    """
    return tuple(sorted(_entries()))


def describe(name: str) -> ZooEntry:
    """What is known about one model: a sentence, its options and defaults, where its numbers come from.

    Raises:
        ValueError: no model has this name; the message lists those that exist.

    >>> describe("llama2-7b").defaults["hidden"]
    4096
    """
    entries = _entries()
    if name not in entries:
        raise ValueError(f"no model named {name!r} in the zoo; there are: {', '.join(sorted(entries))}")
    return entries[name]


def build(name: str, **options: object) -> ir.Model:
    """Write one model.

    Without options the model has its published size, and its weights are `onnx_ir.ExternalTensor`s which
    name a file ``<name>.weights`` that does not exist: sizes are right, no byte is allocated.

    Args:
        name: one of `names()`.
        options: those that `describe(name).defaults` lists. ``small=True`` is a preset of tiny sizes with
            seeded random weights, over which the other options still have the last word.

    Raises:
        ValueError: an unknown model or option, or a value that does not fit; the message names it.

    >>> build("mlp", small=True, batch="n").graph.inputs[0].shape[0].value
    'n'
    """
    from gexplorer.frontends.zoo.entry import resolve

    entry = describe(name)
    return entry.write(name, resolve(entry, options))


def _entries() -> Mapping[str, ZooEntry]:
    # Imported here and not above: families need numpy and onnx_ir, which `import gexplorer` should not load.
    from gexplorer.frontends.zoo.discovery import entries

    return entries()
