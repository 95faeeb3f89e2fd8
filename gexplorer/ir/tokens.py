"""Words of the text form: how names and strings are quoted, and a cursor over the words of one line."""

from __future__ import annotations

import json
import re

from gexplorer.errors import ModelError

# Two slashes would begin a comment.
_PLAIN = re.compile(r"(?!//)[A-Za-z0-9_./:@-]+")
_INTEGER = re.compile(r"-?[0-9]{1,1000}")  # a bound, as Python refuses to read very long ones
_TOKEN = re.compile(r""" *(b?"(?:[^"\\]|\\.)*"|[A-Za-z0-9_./:@+-]+|[%#(){}\[\]<>,=*?])""")


def quoted(text: str) -> str:
    """A string in JSON's quotes."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def quoted_name(name: str) -> str:
    """A name, in quotes only where it is not a plain word."""
    return name if _PLAIN.fullmatch(name) else quoted(name)


def quoted_bytes(data: bytes) -> str:
    """A byte string: each byte as the character of that number, in quotes after a ``b``."""
    return "b" + json.dumps(data.decode("latin-1"))


class Cursor:
    """The tokens of one line and a place among them. What does not fit raises ModelError("line N: ...").

    Args:
        text: the line.
        line: its number.
    """

    def __init__(self, text: str, line: int) -> None:
        self.line = line
        self._tokens: list[str] = []
        self._at = 0
        end = 0
        while end < len(text):
            found = _TOKEN.match(text, end)
            if found is None:
                raise self.error(f"cannot read {_shown(text[end:].strip())}")
            self._tokens.append(found.group(1))
            end = found.end()
        self._tokens.append("")

    def error(self, why: str) -> ModelError:
        """The error to raise when something on this line is wrong."""
        return ModelError(f"line {self.line}: {why}")

    @property
    def token(self) -> str:
        """The token at the cursor, "" at the line's end."""
        return self._tokens[self._at]

    @property
    def following(self) -> str:
        """The token after that."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def take(self) -> str:
        """The token at the cursor, which moves on."""
        token = self.token
        if token:
            self._at += 1
        return token

    def accept(self, token: str) -> bool:
        """Moves on if this is the token at the cursor."""
        if self.token != token:
            return False
        self._at += 1
        return True

    def expect(self, token: str) -> None:
        """Moves on over this token."""
        if not self.accept(token):
            raise self._unexpected(_shown(token))

    def end(self) -> None:
        """Nothing may be left."""
        if self.token:
            raise self.error(f"cannot read {_shown(self.token)} here")

    def name(self) -> str:
        """A name, plain or in quotes."""
        token = self.token
        if token.startswith('"'):
            return self._string(self.take())
        if not _PLAIN.fullmatch(token):
            raise self._unexpected("a name")
        return self.take()

    def is_string(self) -> bool:
        """True when a string or a byte string is next."""
        return self.token.endswith('"')

    def string(self) -> str | bytes:
        """A string or a byte string."""
        if not self.is_string():
            raise self._unexpected("a string")
        token = self.take()
        if not token.startswith("b"):
            return self._string(token)
        try:
            return self._string(token[1:]).encode("latin-1")
        except UnicodeEncodeError:
            raise self.error(f"{_shown(token)} holds characters that are no bytes") from None

    def is_integer(self) -> bool:
        """True when an integer is next."""
        return _INTEGER.fullmatch(self.token) is not None

    def integer(self) -> int:
        """An integer."""
        if not self.is_integer():
            raise self._unexpected("an integer")
        return int(self.take())

    def hexadecimal(self) -> bytes:
        """Bytes in parentheses, two digits each."""
        self.expect("(")
        digits = "" if self.token == ")" else self.take()
        self.expect(")")
        try:
            return bytes.fromhex(digits)
        except ValueError:
            raise self.error(f"{_shown(digits)} is not hexadecimal") from None

    def _string(self, token: str) -> str:
        try:
            return json.loads(token)
        except ValueError:
            raise self.error(f"{_shown(token)} is not a valid string") from None

    def _unexpected(self, expected: str) -> ModelError:
        found = _shown(self.token) if self.token else "the line's end"
        return self.error(f"{expected} is expected, not {found}")


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:37] + "...")
