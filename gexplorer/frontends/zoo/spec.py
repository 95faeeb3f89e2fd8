"""The text form of a model and its options, for command lines: ``name:option=value,option=value``."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"[+-]?\d+")
_WORDS = {"true": True, "false": False}


def parse_spec(text: str) -> tuple[str, dict[str, object]]:
    """Split ``name:option=value,...`` into the name and the options, with integers and booleans as such.

    Whether the model and the options exist is for `build` to say.

    Raises:
        ValueError: an option without a value or without a name, or an option given twice.

    >>> parse_spec("qwen2.5-7b:layers=2,seq=s,small=true")
    ('qwen2.5-7b', {'layers': 2, 'seq': 's', 'small': True})
    """
    name, _, rest = text.partition(":")
    name = name.strip()
    if not name:
        raise ValueError(f"{text!r} names no model; write name or name:option=value,option=value")
    options: dict[str, object] = {}
    for part in rest.split(",") if rest.strip() else ():
        option, equals, value = (piece.strip() for piece in part.partition("="))
        if not (option and equals and value):
            raise ValueError(f"{part.strip()!r} in {text!r} is not of the form option=value")
        if option in options:
            raise ValueError(f"option {option!r} is given twice in {text!r}")
        options[option] = _value(value)
    return name, options


def _value(text: str) -> object:
    if _INTEGER.fullmatch(text):
        return int(text)
    return _WORDS.get(text.lower(), text)
