"""A proxy that lets nothing through, and notes who was asked for."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

LOCAL = ("127.0.0.1", "localhost")


def outside(address: str) -> str | None:
    """Host of a URL that leaves this machine; None of any other."""
    parts = urlsplit(address)
    return parts.hostname if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in LOCAL else None


class RefusingProxy:
    """Answers every request with 403 while it is open.

    Attributes:
        hosts: the host of each request, in order, repeats kept.
        address: ``http://127.0.0.1:PORT``.
    """

    def __init__(self) -> None:
        self.hosts: list[str] = []
        hosts = self.hosts

        class Refuse(BaseHTTPRequestHandler):
            def refuse(self) -> None:
                where = urlsplit(self.path if "://" in self.path else f"//{self.path}").hostname
                hosts.append(where or "?")
                self.send_error(403, "No request leaves this measurement")

            do_CONNECT = do_GET = do_POST = do_HEAD = do_PUT = refuse  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Refuse)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None):
        self._server.shutdown()
        self._server.server_close()

    def environment(self) -> dict[str, str]:
        """Variables by which a program's requests come here, those within the machine apart."""
        kinds = ("http_proxy", "https_proxy", "all_proxy")
        found = {name: self.address for kind in kinds for name in (kind, kind.upper())}
        return {**found, "no_proxy": ",".join(LOCAL), "NO_PROXY": ",".join(LOCAL)}
