import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from gexplorer.errors import OptionError
from gexplorer.ir.constant import constant
from gexplorer.ir.graph import Node, Value, make_graph
from gexplorer.ir.to_onnx import save_onnx
from gexplorer.output import require_writable, whole_file, write_file


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    return path


def alone(path: Path) -> bool:
    """Whether nothing but the file is in its folder."""
    return [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("data", ["new \u2713", b"new \xff", ""])
def test_a_file_is_written(data, old):
    write_file(old, data)
    assert old.read_bytes() == (data.encode() if isinstance(data, str) else data)
    assert alone(old)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_writer_that_fails_halfway_leaves_what_was_there(error, old):
    def write_half():
        with whole_file(old) as file:
            file.write(b"half")
            file.flush()
            raise error

    with pytest.raises(error):
        write_half()
    assert old.read_text() == "old"
    assert alone(old)


def test_a_killed_writer_leaves_what_was_there(old):
    program = f"""
        import time
        from pathlib import Path
        from gexplorer.output import whole_file

        with whole_file(Path({str(old)!r})) as file:
            file.write(b"half" * 1_000_000)
            file.flush()
            print("written", flush=True)
            time.sleep(60)
    """
    running = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    with running:
        assert running.stdout.readline() == "written\n"
        running.send_signal(signal.SIGKILL)
    assert old.read_text() == "old"


def test_what_is_seen_meanwhile_is_the_old_file(old):
    with whole_file(old) as file:
        file.write(b"new")
        file.flush()
        assert old.read_text() == "old"
    assert old.read_text() == "new"


def test_a_full_disk_is_an_error_of_one_line(old, monkeypatch):
    def fail(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OptionError, match=r"out\.txt: cannot write: No space left on device"):
        write_file(old, "new")
    assert old.read_text() == "old"
    assert alone(old)


def test_what_is_no_regular_file_is_written_to_and_not_replaced(tmp_path):
    # A pipe of our own: to try this on a real device would, as root and with a fault in the code, destroy it.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(pipe, "new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_is_followed(old):
    link = old.with_name("link")
    link.symlink_to(old.name)
    write_file(link, "new")
    assert link.is_symlink()
    assert old.read_text() == "new"


def test_modes(old):
    old.chmod(0o600)
    write_file(old, "new")
    assert stat.S_IMODE(old.stat().st_mode) == 0o600
    before = os.umask(0o027)
    try:
        write_file(old.with_name("fresh"), "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE(old.with_name("fresh").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (".", "is a directory"),
        ("nowhere/x", "there is no folder"),
        ("out.txt/x", "there is no folder"),
        ("x" * 300, "File name too long"),
        ("a\0b", "null"),
    ],
)
def test_a_place_that_cannot_be_written(name, why, old):
    with pytest.raises(OptionError, match=why):
        write_file(old.parent / name, "new")
    assert alone(old)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written(old):
    old.chmod(0o400)
    with pytest.raises(OptionError, match="Permission denied"):
        require_writable(old)


def test_a_model_and_its_data_file_are_written_whole_or_not_at_all(old, monkeypatch):
    monkeypatch.setattr("gexplorer.ir.to_onnx.EMBED_LIMIT_BYTES", 1000)
    old.unlink()
    weight = constant(np.ones((64, 64), np.float32))
    wrong = make_graph(
        "wrong",
        inputs=[Value("x")],
        nodes=[Node("add", "Add", ("x", "w"), ("y",), attributes={"bad": object()})],
        values=[Value("w", constant=weight), Value("y", producer="add")],
        outputs=("y",),
        opsets={"": 21},
    )
    with pytest.raises(TypeError, match="is no attribute"):
        save_onnx(wrong, old)
    assert not list(old.parent.iterdir())
