"""Builds HTML as a tree, never as text, so that nothing can be forgotten to be escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape
from xml.etree.ElementTree import Element

Child = Element | str | None | Iterable["Child"]

# What HTML forbids in text (controls, halves of surrogate pairs, noncharacters) is shown, not dropped.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_INVALID = re.compile("[\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

_VOID = frozenset(("meta", "link", "br", "hr", "img", "input"))
_SHAPES = frozenset(("path", "rect"))  # of SVG, where an element may close itself

# Nothing is loaded, nothing runs, nothing is sent: the page holds all that it needs.
_POLICY = "default-src 'none'; img-src data:; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'"


def h(tag: str, *children: Child, **attributes: str | int | None) -> Element:
    """An element. Attributes with None are left out; ``class_`` is ``class``, ``a_b`` is ``a-b``.

    Example:
        >>> text(h("p", "1 < 2", class_="note"))
        '<p class="note">1 &lt; 2</p>'
    """
    element = Element(tag)
    for name, value in attributes.items():
        if value is not None:
            element.set(name.rstrip("_").replace("_", "-"), clean(str(value)))
    append(element, children)
    return element


def append(parent: Element, child: Child) -> None:
    """Adds text, an element, or several of them, at the end."""
    if child is None:
        return
    if isinstance(child, Element):
        parent.append(child)
    elif isinstance(child, str):
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + clean(child)
        else:
            parent.text = (parent.text or "") + clean(child)
    else:
        for item in child:
            append(parent, item)


def clean(words: str) -> str:
    """Text with a visible sign in place of each character that HTML does not allow."""
    return _INVALID.sub("\ufffd", _CONTROL.sub(lambda found: chr(0x2400 + ord(found.group())), words))


def text(element: Element) -> str:
    """An element as text that is HTML and, but for void elements, XML too (SVG stands on its own).

    The standard library's own writer leaves ``<`` in attributes as it is; here nothing is.
    """
    parts: list[str] = []
    _write(element, parts)
    return "".join(parts)


def document(title: str, css: str, body: Iterable[Element]) -> str:
    """A whole page without scripts; its policy lets the browser use this style sheet and nothing else."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    page = h(
        "html",
        h(
            "head",
            h("meta", charset="utf-8"),
            h("meta", http_equiv="Content-Security-Policy", content=_POLICY.format(digest)),
            h("meta", name="viewport", content="width=device-width, initial-scale=1"),
            h("meta", name="color-scheme", content="light dark"),
            h("meta", name="referrer", content="no-referrer"),
            h("link", rel="icon", href="data:,"),
            h("title", title),
            h("style", css),
        ),
        h("body", body),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{text(page)}\n"


def _write(element: Element, parts: list[str]) -> None:
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in element.items())
    parts.append(f"<{element.tag}{attributes}")
    if element.tag in _SHAPES:
        parts.append("/>")
    elif element.tag in _VOID:
        parts.append(">")
    else:
        raw = element.text or ""
        # A style sheet is ours and is not escaped in HTML; this would be the only way out of it.
        parts.append(">" + (raw.replace("</", "<\\/") if element.tag == "style" else escape(raw, quote=False)))
        for child in element:
            _write(child, parts)
            parts.append(escape(child.tail or "", quote=False))
        parts.append(f"</{element.tag}>")
