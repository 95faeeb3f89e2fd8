"""Reads the interfaces of the front end's contract, and says where data is not as they want it.

Knows just the TypeScript that ``widgets/src/core/document.ts`` uses: interfaces, aliases, enums, unions, lists, records
and objects within objects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

CONTRACT = Path(__file__).parents[4] / "widgets" / "src" / "core" / "document.ts"
ARRAYS = {"Int32Array": "i4", "Uint8Array": "u1", "Float64Array": "f8", "Float32Array": "f4"}
TOKEN = re.compile(r'"[^"]*"|[A-Za-z_$][\w$]*|\d+|[{}()\[\]<>:;,|=?]')


class Contract:
    """The interfaces by name; a type is a list of alternatives, each a text, or a mapping of fields."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"/\*.*?\*/", "", re.sub(r"//[^\n]*", "", text), flags=re.DOTALL)
        self.types: dict[str, Any] = {}
        self.constants = dict(re.findall(r'export const (\w+) = "([^"]*)"', text))
        for name in re.findall(r"export enum (\w+)", text):
            self.types[name] = ["number"]
        for kind, name, start in ((m[1], m[2], m.end()) for m in re.finditer(r"export (interface|type) (\w+)", text)):
            tokens = TOKEN.findall(text[start:])
            if kind == "type":
                if "keyof" in tokens[:3]:
                    continue
                tokens = tokens[1:]
            self.types[name] = _type(tokens, 0)[0]

    def faults(self, value: object, name: str) -> list[str]:
        """Where a value is not what the interface says."""
        return list(self._faults(value, self.types[name], name))

    def _faults(self, value: Any, wanted: Any, path: str) -> list[str]:
        tries = [self._against(value, one, path) for one in wanted]
        return min(tries, key=len)

    def _against(self, value: Any, wanted: Any, path: str) -> list[str]:
        wrong = [f"{path}: {wanted if isinstance(wanted, str) else 'an object'} is wanted, not {value!r:.60}"]
        if isinstance(wanted, dict):
            if not isinstance(value, Mapping):
                return wrong
            found = [f"{path}.{name} is missing" for name in wanted if name not in value]
            found += [f"{path}.{name} is not in the contract" for name in value if name not in wanted]
            for name in wanted.keys() & value.keys():
                found += self._faults(value[name], wanted[name], f"{path}.{name}")
            return found
        if isinstance(wanted, tuple):
            kind, inner = wanted
            if kind == "record":
                fits = isinstance(value, Mapping)
                items = value.items() if fits else ()
            else:
                fits = isinstance(value, list)
                items = enumerate(value) if fits else ()
            return [f for key, one in items for f in self._faults(one, inner, f"{path}[{key}]")] if fits else wrong
        if wanted in self.types:
            return self._faults(value, self.types[wanted], path)
        if wanted in ARRAYS:
            fits = isinstance(value, np.ndarray) and value.dtype == np.dtype(ARRAYS[wanted]) and value.ndim == 1
        elif wanted == "number":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        elif wanted in ("string", "boolean"):
            fits = isinstance(value, str if wanted == "string" else bool)
        elif wanted == "null":
            fits = value is None
        elif wanted == "unknown":
            fits = True
        else:
            fits = value == self.constants.get(wanted, wanted.strip('"'))
        return [] if fits else wrong


def _type(tokens: list[str], at: int) -> tuple[list[Any], int]:
    """A union of types from a token on; where it ends."""
    found: list[Any] = []
    while True:
        one, at = _single(tokens, at)
        found.append(one)
        if at >= len(tokens) or tokens[at] != "|":
            return found, at
        at += 1


def _single(tokens: list[str], at: int) -> tuple[Any, int]:
    one: Any = tokens[at]
    at += 1
    if one == "{":
        one, at = _fields(tokens, at)
    elif one == "(":
        one, at = _type(tokens, at)
        at += 1
    elif one == "typeof":
        one, at = tokens[at], at + 1
    elif one == "Record":
        inner, at = _type(tokens, at + 3)  # < string ,
        one, at = ("record", inner), at + 1
    while tokens[at : at + 2] == ["[", "]"]:
        one, at = ("list", one if isinstance(one, list) else [one]), at + 2
    return one, at


def _fields(tokens: list[str], at: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while tokens[at] != "}":
        name = tokens[at]
        found[name], at = _type(tokens, at + 2)
        at += tokens[at] == ";"
    return found, at + 1


def contract() -> Contract:
    """The front end's contract as it is."""
    return Contract(CONTRACT.read_text())
