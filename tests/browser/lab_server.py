"""Servers of notebooks for a test: no settings of the user's, no token, one folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

SECONDS = 120
OPTIONS = (
    "--no-browser",
    "--allow-root",
    "--ip=127.0.0.1",
    "--IdentityProvider.token=",
    "--ServerApp.password=",
    "--ServerApp.disable_check_xsrf=True",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
)


@contextmanager
def lab_server(folder, settings):
    """Serves a folder by ``gexplorer lab``; gives the address. Where Notebook 7 is installed, it serves that, too.

    Args:
        folder: the folder with the notebooks; ours are added.
        settings: an empty folder for all that Jupyter writes.
    """
    places = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    port = free_port()
    command = [sys.executable, "-m", "gexplorer", "lab", "--folder", str(folder), f"--port={port}", *OPTIONS]
    with served(command, f"http://127.0.0.1:{port}", "/api/status", settings, places) as address:
        yield address


@contextmanager
def marimo_server(file, settings, *, mode="run"):
    """Serves one notebook of marimo's; gives the address.

    Args:
        file: the notebook.
        settings: an empty folder for all that marimo writes.
        mode: ``run`` or ``edit``.
    """
    port = free_port()
    command = [sys.executable, "-m", "marimo", "-q", mode, "--headless", "--no-token", f"--port={port}", str(file)]
    places = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    with served([*command, "--host=127.0.0.1"], f"http://127.0.0.1:{port}", "/health", settings, places) as address:
        yield address


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def served(command, address, path, settings, places):
    """Runs a server while its address is needed; ``places`` are variables that name folders of its settings."""
    root = str(Path(__file__).parents[2])
    python = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    own = {name: str(settings / name.lower()) for name in places}
    log = settings / "server.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, env={**os.environ, **own, "PYTHONPATH": python}, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            end = time.monotonic() + SECONDS
            while True:
                try:
                    urllib.request.urlopen(f"{address}{path}", timeout=5).close()
                    break
                except (urllib.error.URLError, OSError):
                    assert server.poll() is None, log.read_text()[-2000:]
                    assert time.monotonic() < end, log.read_text()[-2000:]
                    time.sleep(0.1)
            yield address
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
