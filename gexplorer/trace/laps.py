"""Where the time of a stage goes."""

from __future__ import annotations

from time import process_time


class Laps:
    """CPU seconds between laps.

    Attributes:
        seconds: by the name of the lap that they ended in.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = process_time()

    def lap(self, name: str) -> None:
        """Ends a lap; the next one begins."""
        now = process_time()
        self.seconds[name] = now - self._last
        self._last = now
