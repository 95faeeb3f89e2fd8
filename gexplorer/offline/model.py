"""An offline model that is open for reading: the manifest at once, all else when it is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from gexplorer.errors import GexplorerError, ModelError
from gexplorer.offline.container import Container
from gexplorer.offline.manifest import SCHEMA

Made = TypeVar("Made")
# What reading hostile data may raise where it has another form than it should.
_BAD_FORM = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError)


class OfflineModel:
    """A ``.om`` file.

    Args:
        path: the file.

    Attributes:
        path: the file.
        container: its sections.
        manifest: what the model is; see ``docs/om-format.md``.

    Raises:
        ModelError: it is no offline model of ours, or cut off, altered, or of a newer version.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.container = Container(self.path)
        self.manifest: Mapping[str, Any] = self._json("manifest", dict)
        if self.manifest.get("schema") != SCHEMA:
            raise ModelError(f"{self.path}: its manifest is of schema {self.manifest.get('schema')!r}, not {SCHEMA}")

    @cached_property
    def program(self) -> Any:
        """The program (``execution.program.Program``); its constants are mapped from the file when they are read.

        Raises:
            ModelError: a section is altered, or says what cannot be.
        """
        from gexplorer.execution.program import Kernel
        from gexplorer.offline import decode
        from gexplorer.offline.constants import read_constants

        def made() -> Any:
            index = self._json("kernels", dict)
            models = self.container.read("kernel-models")
            columns = zip(*(index[key] for key in ("op", "domain", "engine", "bytes")), strict=True)
            kernels: list[Kernel] = []
            at = 0
            for op, domain, engine, size in columns:
                if size.__class__ is not int or not 0 <= size <= len(models) - at:
                    raise ModelError("a kernel's model does not lie in the file")
                kernels.append(Kernel(str(op), str(domain), str(engine), bytes(models[at : at + size])))
                at += size
            has_defaults = "defaults" in self.container.sections
            defaults = self._json("defaults", list) if has_defaults else []
            return decode.program(
                self._json("instructions", dict),
                kernels,
                self._json("memory", dict),
                read_constants(self._json("constants", list), self.container),
                read_constants(defaults, self.container, "default-data"),
            )

        return self._read("its program", made)

    @property
    def schedule(self) -> Mapping[str, Any]:
        """Streams, events and modelled times, as plain data."""
        return self._json("schedule", dict)

    @property
    def tiles(self) -> str:
        """The tile programs as text; "" where the file has none."""
        if "tiles" not in self.container.sections:
            return ""
        return self._read("section tiles", lambda: bytes(self.container.read("tiles")).decode())

    def check_sections(self) -> None:
        """Checks all sections but the constants, which are checked when they are read. Raises ModelError."""
        for section in self.container.sections:
            self.container.read(section)

    def check(self) -> None:
        """Reads and checks every byte of the file. Raises ModelError where it is altered."""
        self.check_sections()
        for constant in (*self.program.constants.values(), *self.program.defaults.values()):
            if constant.available:
                self._read("a constant", constant.array)

    def _json(self, section: str, form: type[Made]) -> Made:
        def made() -> Made:
            data = json.loads(bytes(self.container.read(section)).decode(errors="surrogatepass"))
            if not isinstance(data, form):
                raise TypeError
            return data

        return self._read(f"section {section}", made)

    def _read(self, what: str, made: Callable[[], Made]) -> Made:
        try:
            return made()
        except GexplorerError as error:
            text = str(error)
            raise ModelError(text if str(self.path) in text else f"{self.path}: {text}") from None
        except _BAD_FORM as error:
            named = f" ({type(error).__name__})"
            raise ModelError(f"{self.path}: {what} is damaged{named}") from None
