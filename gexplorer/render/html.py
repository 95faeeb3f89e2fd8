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
_RAW = frozenset(("style", "script"))  # not escaped in HTML; ``code`` makes them
_SHAPES = frozenset(("path", "rect"))  # of SVG, where an element may close itself

# Nothing is loaded, nothing is sent, and what runs is what the page was made with.
_POLICY = "default-src 'none'; img-src data:; {}base-uri 'none'; form-action 'none'"
_ENDS = re.compile("</(?=script|style)|<!--", re.IGNORECASE)


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


def document(title: str, head: Iterable[Element], body: Iterable[Element], also: Iterable[tuple[str, str]] = ()) -> str:
    """A whole page, whose policy lets the browser use the style sheets and programs in it and nothing else.

    Args:
        title: of the page.
        head: elements of its head.
        body: elements of its body.
        also: ``style`` or ``script`` and its text: what a program of the page will put in.
    """
    first, second = list(head), list(body)
    found = [(one.tag, one.text or "") for whole in (*first, *second) for one in whole.iter() if _is_code(one)]
    page = h(
        "html",
        h(
            "head",
            h("meta", charset="utf-8"),
            h("meta", http_equiv="Content-Security-Policy", content=_policy([*found, *also])),
            h("meta", name="viewport", content="width=device-width, initial-scale=1"),
            h("meta", name="color-scheme", content="light dark"),
            h("meta", name="referrer", content="no-referrer"),
            h("link", rel="icon", href="data:,"),
            h("title", title),
            first,
        ),
        h("body", second),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{text(page)}\n"


def code(tag: str, words: str, **attributes: str | None) -> Element:
    """A ``style`` or ``script`` element; its text goes into the page as it is.

    Raises:
        ValueError: the text would end the element before its time.
    """
    if _ENDS.search(words):
        raise ValueError(f"what is in a {tag} element must not end it")
    element = h(tag, **attributes)
    element.text = words
    return element


def _is_code(element: Element) -> bool:
    return element.tag == "style" or (element.tag == "script" and "type" not in element.attrib)


def _policy(codes: Iterable[tuple[str, str]]) -> str:
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for tag, words in codes:
        digest = base64.b64encode(hashlib.sha256(words.encode()).digest()).decode()
        hashes[tag].append(f"'sha256-{digest}'")
    return _POLICY.format("".join(f"{tag}-src {' '.join(found)}; " for tag, found in hashes.items() if found))


def _write(element: Element, parts: list[str]) -> None:
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in element.items())
    parts.append(f"<{element.tag}{attributes}")
    if element.tag in _SHAPES:
        parts.append("/>")
    elif element.tag in _VOID:
        parts.append(">")
    else:
        raw = element.text or ""
        parts.append(">" + (raw if element.tag in _RAW else escape(raw, quote=False)))
        for child in element:
            _write(child, parts)
            parts.append(escape(child.tail or "", quote=False))
        parts.append(f"</{element.tag}>")
