"""Small models written out in the graph's text form, for claims about a few operators."""

from __future__ import annotations

from gexplorer.compiler import Compilation
from gexplorer.compiler import compile as compile_
from gexplorer.ir.text import from_text


def compiled(lines: str, **options: object) -> Compilation:
    """Compiles the lines of a graph in text form, without the first.

    Args:
        lines: inputs, nodes and outputs.
        **options: fields of ``Options``.
    """
    body = "".join(f"  {line.strip()}\n" for line in lines.strip().splitlines())
    return compile_(from_text(f"graph article opset(20)\n{body}").to_onnx(), tell=None, **options)
