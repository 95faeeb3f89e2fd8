"""A page with the explorer in it: one file that holds all it needs, and says the same in words."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from xml.etree.ElementTree import Element

from gexplorer.render.base91 import encoded
from gexplorer.render.html import Child, code, document, h

# Best compression costs two to three times the time of the default, and a large document has tens of megabytes.
_BEST_BELOW_BYTES = 4_000_000


def carried(parts: Mapping[str, bytes], names: Iterable[str]) -> dict[str, str]:
    """Packed parts as a page carries them. Equal parts give equal text."""
    return {name: zipped(parts[name]) for name in names}


def zipped(data: bytes) -> str:
    """The text of gzip (``base91.py``), the same on every day."""
    return encoded(gzip.compress(data, 9 if len(data) < _BEST_BELOW_BYTES else 6, mtime=0))


def page(title: str, summary: Child, carries: Mapping[str, object]) -> str:
    """A page as text.

    The explorer's program and style sheet are zipped; a few lines unpack them, and the page's policy allows these three
    and no others, by their hashes.

    Args:
        title: of the page.
        summary: what it says in words: shown where no program runs, and in print.
        carries: what ``widgets/src/report.ts`` reads: ``parts``, ``variants``, ``panel``.
    """
    loader = files("gexplorer.render").joinpath("loader.js").read_text(encoding="utf-8")
    data = json.dumps(carries, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    style, program = _front_end()
    head = [code("style", _styles("report.css"), id="summary-style"), code("style", _FRAME)]
    body = [
        h("div", id="gexplorer"),
        h("p", id="gexplorer-note", role="alert", hidden=""),
        h("div", summary, id="summary"),
        code("script", data, type="application/json", id="gexplorer-document"),
        code("script", zipped(style.encode()), type="text/plain", id="gexplorer-style"),
        code("script", zipped(program.encode()), type="text/plain", id="gexplorer-code"),
        code("script", loader),
    ]
    return document(title, head, body, also=[("style", style), ("script", program)])


def plain_page(title: str, summary: Iterable[Element]) -> str:
    """A page without the explorer: words alone, no program."""
    css = _styles("report.css", "pictures.css")
    return document(title, [code("style", css)], [h("div", summary, id="summary", class_="plain")])


def framed(html: str, title: str, height_px: int) -> str:
    """A page inside another, shut off from it: for the output of a notebook's cell."""
    style = f"width:100%;height:{height_px}px;border:0"
    return (
        f'<iframe sandbox="allow-scripts" title="{escape(title)}" style="{style}" loading="lazy" '
        f'srcdoc="{escape(html)}"></iframe>'
    )


# What the page itself needs while the explorer is shown: it fills the window, and stays off the paper.
_FRAME = """
body.with-explorer { margin: 0; padding: 0; max-width: none; }
@media print { #gexplorer, #gexplorer-note { display: none !important; } #summary[hidden] { display: block; } }
"""


@cache
def _styles(*names: str) -> str:
    """Style sheets one behind the other, without the room between their words that only readers need."""
    own = files("gexplorer.render")
    whole = "".join(own.joinpath(name).read_text(encoding="utf-8") for name in names)
    return re.sub(r"\s*([{};,])\s*|(?<=:) ", r"\1", whole).strip()


@cache
def _front_end() -> tuple[str, str]:
    """Style sheet and program."""
    static = files("gexplorer").joinpath("static")
    style = static.joinpath("gexplorer.css").read_text(encoding="utf-8")
    return style, static.joinpath("report.js").read_text(encoding="utf-8")
