"""``gexplorer lab`` for a test: no settings of the user's, no token, one folder."""

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
    """Serves a folder; gives the address.

    Args:
        folder: the folder with the notebooks; ours are added.
        settings: an empty folder for all that Jupyter writes.
    """
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    places = {
        name: str(settings / name.lower())
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    log = settings / "lab.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "gexplorer", "lab", "--folder", str(folder), f"--port={port}", *OPTIONS],
            env={**os.environ, **places, "PYTHONPATH": path},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            end = time.monotonic() + SECONDS
            while True:
                try:
                    urllib.request.urlopen(f"{address}/api/status", timeout=5).close()
                    break
                except (urllib.error.URLError, OSError):
                    assert server.poll() is None, log.read_text()[-2000:]
                    assert time.monotonic() < end, log.read_text()[-2000:]
                    time.sleep(0.3)
            yield address
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
